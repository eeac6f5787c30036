// A row whose values become those of 8 bits by a scale of its own: Quantisation::row.
#pragma once

#include "blocks/quant/quant.h"
#include "blocks/rows/row_passes.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The bits of the largest magnitude of a row.
inline Numeric largestOfRow(RowPasses &row) {
  return row.reduce(
      Reduction::max,
      [](const RowThread::Cursor &at, const Vector &v) { return at.padded(magnitudes(v), 0); },
      u32);
}
/// Writes the row of q over `scale`; `keepNan` as `quantised` has it.
inline void storeScaled(RowPasses &row, const Tensor &q, const Numeric &scale, DType type,
                        bool keepNan) {
  const Numeric inverse = 1.0f / scale;
  row.each([&](const RowThread::Cursor &at, const Vector &v) {
    at.store(q, quantised(v, inverse, type, keepNan));
  });
}
/// Writes the row of q (m, n), and its scale to those of rows (m).
inline void storeByOwnScale(const RowThread &thread, RowPasses &row, const Tensor &q,
                            const Tensor &scales, DType type) {
  const Numeric scale = scaleOf(largestOfRow(row), type);
  thread.once([&] { scales(thread.row()) = scale; });
  storeScaled(row, q, scale, type, false);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
