// Hints to the scheduler of instructions that spread a loop's memory operations evenly between its
// multiplications.
#pragma once

#include <flydsl/flydsl.h>

#include <algorithm>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The order of instructions that the compiler is asked for, for one part of a step: memory operations with
/// multiplications between them.
class Interleave {
public:
  enum class Kind { ldsRead, ldsWrite, vectorMemory };

  /// Adds `count` operations, spread evenly over the current section.
  Interleave &add(Kind kind, int count) {
    for (int i = 0; i < count; ++i)
      ops_.push_back({section_ + (i + 0.5) / count, ops_.size(), kind});
    return *this;
  }
  /// Begins a section: operations that are added from here on come after those of all sections before.
  Interleave &nextSection() {
    section_ += 1;
    return *this;
  }
  /// Asks for the order: the operations with `products` multiplications between them.
  void emit(int products) const {
    std::vector<Op> ops = ops_;
    std::sort(ops.begin(), ops.end(), [](const Op &a, const Op &b) {
      return std::pair(a.at, a.number) < std::pair(b.at, b.number);
    });
    const int count = static_cast<int>(ops.size());
    int emitted = 0;
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
      if (due > emitted)
        gpu::schedule_next(gpu::Scheduled::products, due - emitted);
      emitted = due;
    }
    if (emitted < products)
      gpu::schedule_next(gpu::Scheduled::products, products - emitted);
  }

private:
  struct Op {
    double at; ///< the position: the section, and how far in it
    std::size_t number;
    Kind kind;
  };
  std::vector<Op> ops_;
  double section_ = 0;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
