// Matrix instructions as data: shape, formats, where every element sits in the registers.
#pragma once

#include "emulator/matrix/element.h"
#include "target/processors.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flyemu::matrix {

using Processor = flydsl::detail::Processor;

/// The matrix units of a line of processors, which share layouts and modifiers.
enum class MatrixCore : uint8_t {
  Cdna,    ///< MFMA and SMFMAC, 64 lanes
  Rdna3,   ///< WMMA of gfx11: A and B repeated in both halves of the wave
  Rdna4,   ///< WMMA and SWMMAC of gfx12
  Gfx1250, ///< WMMA of gfx1250
};

/// How a dot product is summed.
enum class Arithmetic : uint8_t {
  FmaChain,       ///< one fused multiply-add per k, in order (f32 and f64 MFMA)
  GroupTruncate,  ///< CDNA3's groups: products aligned and truncated, one rounding per group
                  ///< (MMA-Sim)
  SingleRounding, ///< exact in double, one rounding: for instructions whose arithmetic is not
                  ///< published
  Integer,
};

/// One matrix instruction; D = A * B + C for each of `blocks` independent M x N x K products.
struct MatrixOp {
  MatrixCore core = MatrixCore::Cdna;
  Arithmetic arithmetic = Arithmetic::SingleRounding;
  uint16_t m = 0, n = 0, k = 0, blocks = 1;
  Elem a = Elem::F32, b = Elem::F32;
  Elem acc = Elem::F32;   ///< of C and D
  uint8_t group = 0;      ///< products per rounding, for GroupTruncate
  bool sparse = false;    ///< A holds two of every four k; the index register tells which. C is D
  bool scaled = false;    ///< f8f6f4 with a block scale per `scaleBlock` k
  uint8_t scaleBlock = 32;
  bool anyFormat = false; ///< f8f6f4: CBSZ and BLGP choose the formats of A and B

  unsigned lanes() const { return core == MatrixCore::Cdna ? 64 : 32; }
};

/// Reads a mnemonic such as "v_mfma_f32_32x32x8_f16", "v_smfmac_f32_16x16x64_fp8_bf8" or
/// "v_wmma_f32_16x16x16_f16", upper or lower case, also in gfx90a's spelling
/// ("v_mfma_f32_32x32x8f16",
/// "..bf16_1k") and with an encoding suffix. `target` decides between the FNUZ and OCP formats.
/// nullopt when the mnemonic is no instruction of the cores above.
std::optional<MatrixOp> parseMatrixOp(std::string_view mnemonic, const Processor &target);

/// Whether BLGP of an MFMA permutes the lanes of B, or of f64 negates operands. Source: AMD's
/// matrix instruction calculator ("BLGP bits supported"): all of CDNA2 but f64; of CDNA3 those of
/// several blocks, f32 and f64. CDNA4 is taken to have kept that.
bool hasLanePattern(const MatrixOp &op, const Processor &target);

/// For an f8f6f4 instruction: the same with the formats that CBSZ (A) and BLGP (B) name: 0 fp8, 1
/// bf8, 2 fp6, 3 bf6, 4 fp4. nullopt for another code.
std::optional<MatrixOp> withFormats(const MatrixOp &op, unsigned cbsz, unsigned blgp);

/// Where an element starts: bit `bit` of the operand's registers of lane `lane`.
struct Slot {
  uint16_t bit = 0;
  uint16_t lane = 0;
};

/// Slots of all elements: A as [block][row][stored k], B as [block][column][k], D as
/// [block][row][column]. Sources: AMD's matrix instruction calculator for CDNA1-3, RDNA3, RDNA4;
/// Composable Kernel for what CDNA4 adds. Of gfx1250: AMD's emulator rocjitsu (wmma_input_loc and
/// wmma_block_scaled_input_loc of its mma_exec.h), FlyDSL (lib/Dialect/FlyROCDL/GFX1250 and
/// kernels/gemm/gemm_a8w4_mxscale_gfx1250.py) and Composable Kernel, which agree on what is here but
/// for the order of K of dense operands of 8 bits, A's and B's alike, which changes no product.
/// tests/dialect/matrix_layouts has them as tables.
struct OperandMaps {
  std::vector<Slot> a, b, d;
  unsigned storedK = 0; ///< k values that A stores per row: k, or k / 2 when sparse
  unsigned regsA = 0, regsB = 0, regsD = 0; ///< 32-bit registers per lane
};

OperandMaps mapOperands(const MatrixOp &op);

} // namespace flyemu::matrix
