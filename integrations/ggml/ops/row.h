// What ops on rows share: a block of threads takes a row.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// Threads of a row. Each takes its elements one after another and waits for each, so that a row of many
/// wants many threads. Where a row is gone over more than once, see pieces.h.
inline int threadsOf(std::int64_t n) { return n > 1024 ? 1024 : n > 256 ? 256 : 64; }

/// The row of a block: the blocks of a grid are the rows of a tensor.
struct Row {
  fx::Int32 i1, i2, i3, tid;
  int threads;
  fx::SharedAllocator shared;

  explicit Row(int threads)
      : i1(fx::block_idx().x), i2(fx::block_idx().y), i3(fx::block_idx().z),
        tid(fx::thread_idx().x), threads(threads) {}

  fx::Int64 of(const TracedOperand &x) const { return rowAddress(x, i1, i2, i3); }
  fx::Numeric reduce(const fx::Numeric &value, fx::Reduction op) {
    return fx::gpu::block_reduce(value, op, shared);
  }
  /// The sum over the columns of a function of their number.
  fx::Numeric sum(const fx::Int32 &n, const std::function<fx::Numeric(const fx::Int32 &)> &value) {
    fx::Var<fx::Float32> total(0.0f);
    for (fx::Int32 i : fx::range(tid, n, threads))
      total += value(i);
    return reduce(total.get(), fx::Reduction::add);
  }
};
inline fx::Dim3 gridOf(const ggml_tensor *x) { return {x->ne[1], x->ne[2], x->ne[3]}; }

/// Reads columns of a row in f32.
inline auto columnsOf(const TracedOperand &x, ggml_type type, const fx::Int64 &row) {
  return [=](const fx::Int32 &i) { return inRow(type, row, x.stride[0], i); };
}
inline void storeF32(const TracedOperand &y, const fx::Int64 &row, const fx::Int32 &i,
                     const fx::Numeric &value) {
  fx::Pointer::from_address(row + i.to(fx::i64) * y.stride[0], fx::f32).store(value);
}

} // namespace flydsl_ggml
