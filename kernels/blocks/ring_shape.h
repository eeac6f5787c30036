// The sizes of the main loop of ring_a_regs_b.h. No compiler is needed to ask.
#pragma once

#include "blocks/matrix_form.h"

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the loop is traced for.
struct RingShape {
  MatrixForm form;
  int tileM, tileN, tileK;
  int waves;      ///< side by side along N
  std::int64_t k; ///< columns of A

  int threads() const { return waves * form.lanes; }
  int steps() const { return static_cast<int>((k + tileK - 1) / tileK); }
  int parts() const { return tileK / form.part(); }
  /// The parts of a step, of which the last step may have fewer.
  int partsOf(int step) const {
    const std::int64_t left = k - static_cast<std::int64_t>(step) * tileK;
    return left >= tileK ? parts() : static_cast<int>((left + form.part() - 1) / form.part());
  }
  /// Bytes of a row of A's tile, and of the ring.
  int rowBytes() const { return tileK * form.bytes(); }
  int ringBytes() const { return 2 * tileM * rowBytes(); }
  /// Loads of 16 bytes a thread for a tile of A, and for a part of a tile of B.
  int loadsA() const { return tileM * rowBytes() / kPieceBytes / threads(); }
  int loadsB() const { return tileN / waves / 16 * form.part() / form.granule(); }
  /// Reads of 16 bytes of shared memory for a part, and its multiplications.
  int reads() const { return tileM / 16 * form.part() / form.granule(); }
  int products() const { return tileM / 16 * (tileN / waves / 16) * form.products(); }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
