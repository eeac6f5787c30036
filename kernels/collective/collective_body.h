// What a rank's kernel does in a collective. A body is a class of its own, so that tests can leave out
// what orders memory and see that it is missed.
#pragma once

#include "collective/collective_family.h"
#include "collective/meeting.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class CollectiveBody {
public:
  using Params = CollectiveParams<OnDevice>;
  CollectiveBody(const Params &params, const Spec<CollectiveProblem> &spec,
                 CollectiveOrder order = {})
      : p_(params), problem_(spec.problem), config_(spec.config), order_(order),
        meeting_(p_.group, problem_.ranks, config_.block, order), thread_(thread_idx().x),
        block_(block_idx().x) {}

  void run() {
    meeting_.ifGoing([&] {
      switch (config_.stages) {
      case CollectiveStages::one:
        return oneStage();
      case CollectiveStages::two:
        return twoStages(false);
      case CollectiveStages::write:
        return twoStages(true);
      }
    });
    meeting_.end();
  }

private:
  enum Region { given = 0, results = 1 };

  int ranks() const { return problem_.ranks; }
  /// Accesses of an operand: (accesses, elements).
  Tensor vectorOf(const Strided<OnDevice, 0> &operand) const {
    return operand.view(problem_.type, {p_.accesses, elementsOf(problem_)}, kAccessBytes);
  }
  /// A region of this turn of a window: (accesses, elements).
  Tensor region(const WindowParams<OnDevice> &window, Region region) const {
    return window.data.view(problem_.type, {2, 2, p_.part * ranks(), elementsOf(problem_)},
                            kAccessBytes)(meeting_.turn(), static_cast<int>(region), _, _);
  }
  Tensor ofRank(int rank, Region of) const {
    return region(p_.group.windows[static_cast<std::size_t>(rank)], of);
  }
  Tensor ofOwn(Region of) const { return region(p_.group.own, of); }
  static Vector load(const Tensor &from, const Numeric &access) { return from(access, _).load(); }
  static void store(const Tensor &to, const Numeric &access, const Vector &values) {
    to(access, _).store(values);
  }

  /// Calls `body` with each access of a part that is this thread's.
  template <class F> void eachOfPart(const F &body) const {
    const Int32 first = Int32(block_ * config_.block + thread_);
    for (Int32 access : range(first, p_.part, grid_dim().x * config_.block))
      body(access);
  }
  /// The last part of a vector may have fewer accesses.
  template <class F> void ifInside(const Numeric &access, const F &body) const {
    if_(Boolean(access < p_.accesses), [&] { body(); });
  }

  /// The values of all ranks, summed up in their order.
  Vector sum(const std::vector<Vector> &values) const {
    std::vector<Vector> sums{values.front().to(f32)};
    for (std::size_t i = 1; i < values.size(); ++i)
      sums.push_back(sums.back() + values[i].to(f32));
    return sums.back().to(problem_.type);
  }
  /// An access of each rank's window.
  std::vector<Vector> ofAll(Region of, const Numeric &access) const {
    std::vector<Vector> values;
    for (int rank = 0; rank < ranks(); ++rank)
      values.push_back(load(ofRank(rank, of), access));
    return values;
  }
  void lookAhead(Region of) const {
    if (!order_.looksAhead)
      return;
    const Tensor y = vectorOf(p_.y); // which is written again
    eachOfPart([&](const Int32 &access) { store(y, access, sum(ofAll(of, access))); });
  }

  void oneStage() {
    const Tensor x = vectorOf(p_.x), y = vectorOf(p_.y);
    const bool parts = problem_.kind == CollectiveKind::reduce_scatter ||
                       problem_.kind == CollectiveKind::all_to_all;
    lookAhead(given);
    const auto give = [&] {
      eachOfPart([&](const Int32 &access) {
        for (int part = 0; part < (parts ? ranks() : 1); ++part) {
          const Numeric at = access + p_.part * part;
          store(ofOwn(given), at, load(x, at));
        }
      });
    };
    if (problem_.kind == CollectiveKind::broadcast)
      if_(Boolean(p_.root == p_.group.rank), give);
    else
      give();
    meeting_.meet(1);
    meeting_.ifGoing([&] {
      const Int32 ownPart = Int32(p_.group.rank * p_.part);
      eachOfPart([&](const Int32 &access) { take(y, access, Int32(ownPart + access)); });
    });
  }
  /// What a rank makes of an access after one stage; `ofOwnPart` is the same access of its own part.
  void take(const Tensor &y, const Int32 &access, const Int32 &ofOwnPart) const {
    const auto intoParts = [&](const std::vector<Vector> &values) {
      for (std::size_t rank = 0; rank < values.size(); ++rank)
        store(y, access + p_.part * static_cast<int>(rank), values[rank]);
    };
    switch (problem_.kind) {
    case CollectiveKind::all_reduce:
      return store(y, access, sum(ofAll(given, access)));
    case CollectiveKind::reduce_scatter:
      return store(y, access, sum(ofAll(given, ofOwnPart)));
    case CollectiveKind::all_gather:
      return intoParts(ofAll(given, access));
    case CollectiveKind::all_to_all:
      return intoParts(ofAll(given, ofOwnPart));
    case CollectiveKind::broadcast:
      for (int rank = 0; rank < ranks(); ++rank)
        if_(Boolean(p_.root == rank), [&] { store(y, access, load(ofRank(rank, given), access)); });
      return;
    }
  }

  /// An all-reduce by parts. `writes`: what is for another rank goes into its window; otherwise it
  /// stays in the own one, and the other reads it.
  void twoStages(bool writes) {
    const Tensor x = vectorOf(p_.x), y = vectorOf(p_.y);
    const Int32 ownPart = Int32(p_.group.rank * p_.part);
    lookAhead(given);
    lookAhead(results);
    eachOfPart([&](const Int32 &access) {
      for (int part = 0; part < ranks(); ++part) {
        const Numeric at = access + p_.part * part;
        ifInside(at, [&] {
          if (writes)
            store(ofRank(part, given), ownPart + access, load(x, at));
          else
            store(ofOwn(given), at, load(x, at));
        });
      }
    });
    meeting_.meet(1);
    meeting_.ifGoing([&] {
      eachOfPart([&](const Int32 &access) {
        const Numeric at = ownPart + access;
        ifInside(at, [&] {
          std::vector<Vector> values;
          for (int rank = 0; rank < ranks(); ++rank)
            values.push_back(writes ? load(ofOwn(given), access + p_.part * rank)
                                    : load(ofRank(rank, given), at));
          const Vector total = sum(values);
          store(y, at, total);
          if (!writes)
            return store(ofOwn(results), access, total);
          for (int rank = 0; rank < ranks(); ++rank)
            if_(Boolean(p_.group.rank != rank), [&] { store(ofRank(rank, results), at, total); });
        });
      });
    });
    meeting_.meet(2);
    meeting_.ifGoing([&] {
      eachOfPart([&](const Int32 &access) {
        for (int part = 0; part < ranks(); ++part) {
          const Numeric at = access + p_.part * part;
          ifInside(at, [&] {
            if_(Boolean(p_.group.rank != part), [&] {
              store(y, at, writes ? load(ofOwn(results), at) : load(ofRank(part, results), access));
            });
          });
        }
      });
    });
  }

  const Params p_;
  const CollectiveProblem problem_;
  const CollectiveConfig config_;
  const CollectiveOrder order_;
  Meeting meeting_;
  Int32 thread_, block_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
