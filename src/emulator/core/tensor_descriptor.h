// The descriptor of gfx1250's tensor data mover: which box of a tensor it moves, and where in LDS the
// box lies.
//
// Sources: AMD's HIP header amd_gfx1250_TDM.h, the lowering of MLIR's amdgpu.make_dma_descriptor,
// Triton's TDMUtility.cpp and rocjitsu's tensor_dma.h agree on every field. What a field does is what
// rocjitsu does and what those say who cite the CDNA5 ISA manual, section 10.11; where these differ, or
// one alone says it, the descriptor is refused.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace flyemu {

struct Wave;
struct Inst;

/// A decoded descriptor. Dimension 0 is the innermost one, whose elements are neighbours in memory.
struct TensorBox {
  static constexpr unsigned kMostRank = 5, kMostRows = 16;

  uint64_t global = 0;                      ///< address of the box's first element
  uint32_t lds = 0;                         ///< byte of LDS at which the box begins
  unsigned elementBytes = 0;                ///< 1, 2, 4 or 8
  unsigned rank = 0;                        ///< 0: nothing is moved
  std::array<uint32_t, kMostRank> box = {}; ///< elements along each dimension
  /// Elements of the tensor from the box's first one on; nothing is moved beyond them.
  std::array<uint32_t, kMostRank> tensor = {};
  std::array<uint64_t, kMostRank> strides = {}; ///< in elements; the innermost is 1
  uint32_t padAfter = 0; ///< bytes of LDS after which `pad` bytes are left free; 0: none are
  uint32_t pad = 0;
  uint32_t workgroups = 0; ///< of the cluster that get the box, as bits; 0: the wave's own
  /// A gather or scatter of rows: the coordinates along dimension 1, box[1] of them.
  bool gathers = false;
  std::array<uint32_t, kMostRows> rows = {};
};

/// How many dwords of each group the move depends on. What is in the others has no effect.
using TensorDwords = std::array<unsigned, 4>;

/// Decodes the descriptor that an instruction names. Throws WaveFault for one that means nothing, or
/// whose meaning is not known.
TensorBox tensorBox(const Wave &wave, const Inst &inst, bool isLoad);

/// The dwords of the groups on which the move depends. Throws nothing.
TensorDwords tensorDwords(const Wave &wave, const Inst &inst);

} // namespace flyemu
