// What a rank's kernel does in a collective. A body is a class of its own, so that tests can leave out
// what orders memory and see that it is missed.
#pragma once

#include "collective/collective_family.h"
#include "collective/meeting.h"
#include "collective/wire.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class CollectiveBody {
public:
  using Params = CollectiveParams<OnDevice>;
  CollectiveBody(const Params &params, const Spec<CollectiveProblem> &spec,
                 CollectiveOrder order = {})
      : p_(params), problem_(spec.problem), config_(spec.config), order_(order), wire_(problem_),
        meeting_(p_.group, problem_.ranks, config_.block, order), block_(block_idx().x) {}

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
    return operand.view(problem_.type, {p_.accesses, elementsOf(problem_)},
                        kAccessBytes); // (accesses, elements)
  }
  /// A region of this turn of a window.
  PacketMemory region(const WindowParams<OnDevice> &window, Region region) const {
    const Tensor turns =
        window.data.view(problem_.wire ? DType(u8) : problem_.type, {2, 2, kAccessBytes},
                         kAccessBytes); // (turns, regions, an access)
    return wire_.memory(turns(meeting_.turn(), static_cast<int>(region), _),
                        Int32(p_.part * ranks())); // (an access)
  }
  PacketMemory ofRank(int rank, Region of) const {
    return region(p_.group.windows[static_cast<std::size_t>(rank)], of);
  }
  PacketMemory ofOwn(Region of) const { return region(p_.group.own, of); }
  /// The thread's values of a unit of x.
  Vector load(const Tensor &x, const Numeric &unit) const {
    return x(wire_.access(unit), _).load(); // (an access)
  }
  /// Writes values of y, rounded to its type.
  void store(const Tensor &y, const Numeric &unit, const Vector &values) const {
    y(wire_.access(unit), _).store(values.to(problem_.type)); // (an access)
  }
  void store(const PacketMemory &to, const Numeric &unit, const Packet &packet) const {
    wire_.store(to, unit, packet);
  }
  /// The values of a unit that came from a rank.
  Vector taken(const PacketMemory &from, const Numeric &unit) const {
    return wire_.values(wire_.load(from, unit));
  }

  /// The units of a part.
  Int32 unitsOfPart() const { return wire_.units(p_.part); }
  /// Calls `body` with each unit of a part that is this thread's.
  template <class F> void eachOfPart(const F &body) const {
    const int ofBlock = config_.block / wire_.lanes();
    const Int32 first = Int32(block_ * ofBlock + wire_.unitOfThread());
    for (Int32 unit : range(first, unitsOfPart(), grid_dim().x * ofBlock))
      body(unit);
  }
  /// The last part of a vector may have fewer units.
  template <class F> void ifInside(const Numeric &unit, const F &body) const {
    if_(Boolean(unit < wire_.units(p_.accesses)), [&] { body(); });
  }

  /// The values of all ranks, summed up in their order, in f32.
  static Vector sum(const std::vector<Vector> &values) {
    std::vector<Vector> sums{values.front().to(f32)};
    for (std::size_t i = 1; i < values.size(); ++i)
      sums.push_back(sums.back() + values[i].to(f32));
    return sums.back();
  }
  /// A unit of each rank's window.
  std::vector<Vector> ofAll(Region of, const Numeric &unit) const {
    std::vector<Vector> values;
    for (int rank = 0; rank < ranks(); ++rank)
      values.push_back(taken(ofRank(rank, of), unit));
    return values;
  }
  void lookAhead(Region of) const {
    if (!order_.looksAhead)
      return;
    const Tensor y = vectorOf(p_.y); // which is written again
    eachOfPart([&](const Int32 &unit) { store(y, unit, sum(ofAll(of, unit))); });
  }

  void oneStage() {
    const Tensor x = vectorOf(p_.x), y = vectorOf(p_.y);
    const bool parts = problem_.kind == CollectiveKind::reduce_scatter ||
                       problem_.kind == CollectiveKind::all_to_all;
    lookAhead(given);
    const auto give = [&] {
      eachOfPart([&](const Int32 &unit) {
        for (int part = 0; part < (parts ? ranks() : 1); ++part) {
          const Numeric at = unit + unitsOfPart() * part;
          store(ofOwn(given), at, wire_.packet(load(x, at)));
        }
      });
    };
    if (problem_.kind == CollectiveKind::broadcast)
      if_(Boolean(p_.root == p_.group.rank), give);
    else
      give();
    meeting_.meet(1);
    meeting_.ifGoing([&] {
      const Int32 ownPart = Int32(p_.group.rank * unitsOfPart());
      eachOfPart([&](const Int32 &unit) { take(y, unit, Int32(ownPart + unit)); });
    });
  }
  /// What a rank makes of a unit after one stage; `ofOwnPart` is the same unit of its own part.
  void take(const Tensor &y, const Int32 &unit, const Int32 &ofOwnPart) const {
    const auto intoParts = [&](const std::vector<Vector> &values) {
      for (std::size_t rank = 0; rank < values.size(); ++rank)
        store(y, unit + unitsOfPart() * static_cast<int>(rank), values[rank]);
    };
    switch (problem_.kind) {
    case CollectiveKind::all_reduce:
      return store(y, unit, sum(ofAll(given, unit)));
    case CollectiveKind::reduce_scatter:
      return store(y, unit, sum(ofAll(given, ofOwnPart)));
    case CollectiveKind::all_gather:
      return intoParts(ofAll(given, unit));
    case CollectiveKind::all_to_all:
      return intoParts(ofAll(given, ofOwnPart));
    case CollectiveKind::broadcast:
      for (int rank = 0; rank < ranks(); ++rank)
        if_(Boolean(p_.root == rank), [&] { store(y, unit, taken(ofRank(rank, given), unit)); });
      return;
    }
  }

  /// An all-reduce by parts. `writes`: what is for another rank goes into its window; otherwise it
  /// stays in the own one, and the other reads it.
  void twoStages(bool writes) {
    const Tensor x = vectorOf(p_.x), y = vectorOf(p_.y);
    const Int32 ownPart = Int32(p_.group.rank * unitsOfPart());
    lookAhead(given);
    lookAhead(results);
    eachOfPart([&](const Int32 &unit) {
      for (int part = 0; part < ranks(); ++part) {
        const Numeric at = unit + unitsOfPart() * part;
        ifInside(at, [&] {
          if (writes)
            store(ofRank(part, given), ownPart + unit, wire_.packet(load(x, at)));
          else
            store(ofOwn(given), at, wire_.packet(load(x, at)));
        });
      }
    });
    meeting_.meet(1);
    meeting_.ifGoing([&] {
      eachOfPart([&](const Int32 &unit) {
        const Numeric at = ownPart + unit;
        ifInside(at, [&] {
          std::vector<Vector> values;
          for (int rank = 0; rank < ranks(); ++rank)
            values.push_back(writes ? taken(ofOwn(given), unit + unitsOfPart() * rank)
                                    : taken(ofRank(rank, given), at));
          const Packet total = wire_.packet(sum(values));
          store(y, at, wire_.values(total)); // what the others get, too
          if (!writes)
            return store(ofOwn(results), unit, total);
          for (int rank = 0; rank < ranks(); ++rank)
            if_(Boolean(p_.group.rank != rank), [&] { store(ofRank(rank, results), at, total); });
        });
      });
    });
    meeting_.meet(2);
    meeting_.ifGoing([&] {
      eachOfPart([&](const Int32 &unit) {
        for (int part = 0; part < ranks(); ++part) {
          const Numeric at = unit + unitsOfPart() * part;
          ifInside(at, [&] {
            if_(Boolean(p_.group.rank != part), [&] {
              store(y, at, writes ? taken(ofOwn(results), at) : taken(ofRank(part, results), unit));
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
  const Wire wire_;
  Meeting meeting_;
  Int32 block_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
