// The end of a product whose K is shared by the waves of a block: their sums are added in shared
// memory, always in the same order.
#pragma once

#include "blocks/products/product_sums.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Runs `finish` in the waves that hold the total, the first of those that share K. `wave` is
/// the number of a wave among these, `thread` that of a thread among the waves side by side.
/// `memory` are LoopShape::slicesBytes bytes of shared memory, which no thread uses any more.
inline void withTotal(const LoopShape &shape, const Sums &sums, const Pointer &memory,
                      const Int32 &wave, const Int32 &thread, const std::function<void()> &finish) {
  // Groups of four values of all threads follow one another, so that lanes meet no bank twice.
  const int quads = shape.form.sums() / 4,
            groups = shape.halves * shape.tilesOfHalf() * shape.tilesM(),
            group = 4 * shape.threads();
  const Tensor shared =
      make_view(memory.recast(shape.form.acc),
                make_layout({4, shape.threads(), quads, groups, shape.wavesK - 1},
                            {1, 4, group, group * quads,
                             group * quads * groups})); // (4, threads, quads, groups, waves - 1)
  const auto load = [&](int number, int other) {
    const auto quad = [&](int at) { return shared(_, thread, at, number, other).load(); }; // (4)
    return quads == 1 ? quad(0) : joined(quad(0), quad(1));
  };
  const auto each = [&](const std::function<void(const Tensor &, int)> &body) {
    int number = 0;
    for (int half = 0; half < shape.halves; ++half)
      for (int j = 0; j < shape.tilesOfHalf(); ++j)
        for (int i = 0; i < shape.tilesM(); ++i)
          body(sums.fragment(half)(_, j, i), number++); // (V)
  };
  if_(wave > 0, [&] {
    each([&](const Tensor &own, int number) {
      for (int quad = 0; quad < quads; ++quad)
        shared(_, thread, quad, number, wave - 1).store(part(own.load(), 4 * quad, 4)); // (4)
    });
  });
  gpu::barrier(AddressSpace::shared);
  if_(wave == 0, [&] {
    each([&](const Tensor &own, int number) {
      for (int other = 0; other < shape.wavesK - 1; ++other)
        own.store(own.load() + load(number, other));
    });
    finish();
  });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
