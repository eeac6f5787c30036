// Hints to the scheduler of instructions that spread a loop's memory operations evenly between its
// multiplications.
#pragma once

#include <flydsl/flydsl.h>

#include <algorithm>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Collects the memory operations of a stretch of a loop, then says the order.
class Interleave {
public:
  enum class Kind { ldsRead, ldsWrite, vectorMemory };

  /// `count` operations, spread evenly among those of the calls up to the next `then`.
  Interleave &add(Kind kind, int count) {
    for (int i = 0; i < count; ++i)
      ops_.push_back({round_ + (i + 0.5) / count, ops_.size(), kind});
    return *this;
  }
  /// What is added from here on follows what was added before.
  Interleave &then() {
    round_ += 1;
    return *this;
  }
  /// Says the order: the operations with `products` multiplications between them.
  void say(int products) const {
    std::vector<Op> ops = ops_;
    std::sort(ops.begin(), ops.end(), [](const Op &a, const Op &b) {
      return std::pair(a.at, a.number) < std::pair(b.at, b.number);
    });
    const int count = static_cast<int>(ops.size());
    int said = 0;
    for (int i = 0; i < count; ++i) {
      switch (ops[static_cast<std::size_t>(i)].kind) {
      case Kind::ldsRead:
        gpu::schedule_next(gpu::Scheduled::lds_reads, 1);
        break;
      case Kind::ldsWrite:
        gpu::schedule_next(gpu::Scheduled::lds_writes, 1);
        break;
      case Kind::vectorMemory:
        gpu::schedule_next(gpu::Scheduled::loads, 1);
        break;
      }
      const int due = (i + 1) * products / count;
      if (due > said)
        gpu::schedule_next(gpu::Scheduled::products, due - said);
      said = due;
    }
    if (said < products)
      gpu::schedule_next(gpu::Scheduled::products, products - said);
  }

private:
  struct Op {
    double at; ///< the position
    std::size_t number;
    Kind kind;
  };
  std::vector<Op> ops_;
  double round_ = 0;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
