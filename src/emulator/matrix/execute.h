// Executes one matrix instruction over the registers of a wave.
#pragma once

#include "emulator/matrix/kernels.h"
#include "emulator/matrix/matrix_op.h"

#include <optional>
#include <vector>

namespace flyemu::matrix {

/// Registers of one wave, each [register][lane] with `laneStride` 32-bit words between registers.
/// Inline constants are spread over such an array by the caller. D may overlap any source.
struct WaveRegisters {
  const uint32_t *a = nullptr, *b = nullptr, *c = nullptr;
  uint32_t *d = nullptr;
  const uint32_t *index = nullptr;                     ///< sparse: which two of four k
  const uint32_t *scaleA = nullptr, *scaleB = nullptr; ///< scaled: E8M0 bytes
  unsigned laneStride = 64;
};

struct Modifiers {
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  bool clamp = false;
  uint8_t negLo = 0,
          negHi = 0; ///< WMMA, bit 0 = A, 1 = B, 2 = C: signs; for iu8 and iu4, negLo marks signed
  /// Scaled: the byte of the scale register; on gfx1250 the half of the wave.
  uint8_t opselA = 0, opselB = 0;
  bool upperHalf = false; ///< gfx11's 16-bit results: OP_SEL writes and reads the upper halves
};

/// How sums of products are made.
enum class Precision : uint8_t {
  Exact, ///< bit by bit as the hardware does, as far as that is known
  Fast,  ///< by fused multiply-adds in f32, k by k, where this is a rounding away from exact
  None,  ///< not at all: D is C
};

/// Strips of an operand: [block][k][16 rows].
struct OperandStrips {
  std::vector<StripPlace> places;
  bool paired; ///< an even k and the next one are the halves of the same words
};

/// The operands of a product of small floats that is summed in f32, if 16 rows of A, columns of B
/// and columns of D are each 16 neighbouring lanes of one register.
struct FloatStrips {
  OperandStrips a, b;
  std::vector<StripPlace> d; ///< [block][row][16 columns]
};

/// An instruction made ready once, when it is decoded.
class MatrixPlan {
public:
  explicit MatrixPlan(const MatrixOp &op);

  const MatrixOp &op() const { return op_; }
  const OperandMaps &maps() const { return maps_; }
  unsigned regsA() const { return maps_.regsA; }
  unsigned regsB() const { return maps_.regsB; }
  unsigned regsD() const { return maps_.regsD; }

  /// All lanes take part whatever EXEC holds, as with MFMA. WMMA needs all of EXEC set, which the
  /// caller checks.
  void execute(const Modifiers &modifiers, const WaveRegisters &registers,
               Precision precision = Precision::Exact) const;

private:
  std::optional<FloatStrips> findFloatStrips() const;

  MatrixOp op_;
  OperandMaps maps_;
  std::optional<FloatStrips> strips_;
};

} // namespace flyemu::matrix
