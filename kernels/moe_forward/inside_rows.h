// The rows of h with scales of their own: what stands between the two products of a mixture with
// scales of rows, because no block of the first one has all of a row.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/moe_sort.h>

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// q = x / scale for each row of x, those of the places of moe_sort that have a slot, with the scale of
/// Quantisation::row. Rows of padding are neither read nor written.
struct InsideRows {
  DType x = bf16, q = i8;
  std::int64_t n = 0;
  int topk = 1; ///< slots of a token
  friend bool operator==(const InsideRows &, const InsideRows &) = default;
};
/// The tensors of a call, for all places that there may be.
struct InsideRowsArgs {
  TensorArg x, q;      ///< (places, n), contiguous
  TensorArg scale;     ///< (places), f32
  TensorArg sortedIds; ///< (places), i32
  TensorArg totals;    ///< those of moe_sort: the first is the number of places in use
};

template <class Side> struct InsideRowsParams {
  Strided<Side, 1> x, q;                     // (places, n)
  Strided<Side, 0> scale, sortedIds, totals; // (places), (places), (3)
  Param<Side, Int32> places;
};
inline constexpr KernelOf<InsideRowsParams> kInsideRows{"moe_forward_inside_rows"};

/// A row is a block's: whether it has a slot is the same for all threads then, and blocks without one end
/// at once. Up to 32 elements of it are a thread's.
inline RowConfig insideConfig(const InsideRows &problem) {
  constexpr std::int64_t kOfThread = 32;
  constexpr int kFewest = 64, kMost = 1024;
  const std::int64_t wanted = (problem.n + kOfThread - 1) / kOfThread;
  const int threads =
      wanted >= kMost
          ? kMost
          : std::max(kFewest, static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted))));
  return {.threads = threads, .block = threads, .resident = wanted <= kMost};
}

} // namespace kernels::impl

namespace kernels {
template <> struct FamilyOf<impl::InsideRows> {
  using Config = RowConfig;
  using Args = impl::InsideRowsArgs;
  static constexpr std::string_view name = "moe_forward_inside_rows";
};
} // namespace kernels

namespace kernels::impl {

template <> struct Family<InsideRows> : FamilyDefaults<InsideRows, &InsideRowsArgs::x> {
  static RowShape shape(const P &problem) { return RowShape::of(problem.n, 0, problem.x.bytes()); }
  static KernelNames kernels(const P &, const C &) { return {&kInsideRows}; }
  static void launch(const Call<P> &call);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
