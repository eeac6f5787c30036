#include "builder/coop/block.h"
#include "builder/coop/wave.h"

#include <flydsl/atomic.h>
#include <flydsl/coop/block_histogram.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

using namespace impl;

BlockHistogram::BlockHistogram(int threads, int bins, BlockHistogramAlgorithm algorithm, Loc loc)
    : BlockCollective("BlockHistogram", u32, threads, loc), bins_(bins), algorithm_(algorithm) {
  if (bins < 1)
    throw TraceError("BlockHistogram of " + std::to_string(bins) + " bins: at least one", loc);
}

void BlockHistogram::expectCounts(const Tensor &counts, Loc loc) const {
  const DType type = counts.dtype(loc);
  if (type != u32 && type != i32)
    throw TraceError("BlockHistogram counts in u32 or i32, and the tensor is of " +
                         std::string(type.name()),
                     loc);
  if (counts.address_space(loc) != AddressSpace::shared)
    throw TraceError("BlockHistogram counts in shared memory, and the tensor is elsewhere", loc);
  if (onlyNumber(counts.shape(loc), loc) != bins_ || onlyNumber(counts.stride(loc), loc) != 1)
    throw TraceError("BlockHistogram of " + std::to_string(bins_) + " bins is given a tensor " +
                         counts.layout(loc).str() + ": it counts in neighbouring elements, " +
                         std::to_string(bins_) + ":1",
                     loc);
}

void BlockHistogram::clear(const Tensor &counts, Loc loc) const {
  expectCounts(counts, loc);
  const Thread thread(loc);
  for (int first = 0; first < bins_; first += threads_) {
    const Expr bin = thread.number() + first;
    auto set = [&] {
      counts.point(bin.index(), loc) = Numeric::Arg(Expr(counts.dtype(loc), 0, loc).number(), loc);
    };
    if (first + threads_ <= bins_)
      set();
    else
      where(bin < bins_, set);
  }
}

void BlockHistogram::count(const Items &items, const IntTuple *valid, const Tensor &counts,
                           Loc loc) const {
  expectItems(items, loc);
  expectCounts(counts, loc);
  const DType type = counts.dtype(loc);
  const Thread thread(loc);
  const Lanes lanes("BlockHistogram", thread.lanes(), loc);
  const int n = static_cast<int>(items.size());
  auto add = [&](const Expr &bin, const Expr &number) {
    atomic(AtomicOp::add, counts.iter(loc) + IntTuple::Arg(bin.number(), loc),
           Numeric::Arg(number.to(type).number(), loc), "workgroup");
  };
  for (int i = 0; i < n; ++i) {
    const Expr bin = Expr(items[static_cast<std::size_t>(i)].front(), loc).to(i32);
    std::optional<Expr> counted;
    if (valid)
      counted = thread.number() * n + i < numberOf(*valid, loc);
    if (algorithm_ == BlockHistogramAlgorithm::atomic) {
      auto one = [&] { add(bin, Expr(type, 1, loc)); };
      if (counted)
        where(*counted, one);
      else
        one();
      continue;
    }
    // The first of the lanes with the same bin counts all of them.
    int bits = 1;
    while (bits < 31 && (1 << bits) < bins_)
      ++bits;
    Expr same = peers(lanes, bin.to(u32), bits);
    if (counted)
      same = same & lanes.ballot(*counted);
    const Expr isFirst = trailingZeros(same).to(i32) == thread.lane();
    where(counted ? *counted & isFirst : isFirst, [&] { add(bin, popcount(same)); });
  }
}

} // namespace coop
FLYDSL_NAMESPACE_END
