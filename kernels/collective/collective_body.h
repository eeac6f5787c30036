// What a rank's kernel does in a collective. A body is a class of its own, so that tests can leave out
// what orders memory and see that it is missed.
//
// Each block talks to the block of the same number of each other rank, and to no other: it reads of
// the windows what those blocks have written. The two turns of a window are used by one call after
// the other. A block that fills a turn has, in the call before, heard from its partners, whose launch
// began after their rank had ended the call before that, which was the last one to read this turn.
#pragma once

#include "collective/collective_family.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What orders a body's accesses. Without one of these a collective is wrong.
struct CollectiveOrder {
  bool releases = true; ///< a signal is given after what the block has written before
  bool acquires = true; ///< what is read after a signal is what was written before it
  bool waits = true;    ///< a block waits for signals at all
  MemoryScope scope = MemoryScope::system;
  /// Caches have lines of the windows before they are written, as they may by themselves.
  bool looksAhead = false;
};

class CollectiveBody {
public:
  using Params = CollectiveParams<OnDevice>;
  CollectiveBody(const Params &params, const Spec<CollectiveProblem> &spec,
                 CollectiveOrder order = {})
      : p_(params), problem_(spec.problem), config_(spec.config), order_(order),
        thread_(thread_idx().x), block_(block_idx().x),
        counts_(p_.counts.view(u32, {GroupMemory::most_blocks})), status_(p_.status.view(i32, {1})),
        calls_(UInt32(counts_(block_))), turn_(Int32((calls_ & 1).to(i32))),
        going_(shared_.allocate<Going>().going.view(make_layout(1, 1))) {}

  void run() {
    if_(thread_ == 0, [&] {
      const Numeric status = atomic_load(status_.iter(), MemoryOrder::relaxed, MemoryScope::system);
      going_(0) = select(status == 0, Int32(1), Int32(0));
    });
    gpu::barrier();
    ifGoing([&] {
      switch (config_.stages) {
      case CollectiveStages::one:
        return oneStage();
      case CollectiveStages::two:
        return twoStages(false);
      case CollectiveStages::write:
        return twoStages(true);
      }
    });
    count();
  }

private:
  struct Going {
    Array<Int32, 1> going;
  };
  enum Region { given = 0, results = 1 };
  static constexpr int kSignalsOfCall = 2;
  static constexpr int kWaiting = 0, kCame = 1, kLate = 2, kOther = 3; ///< states of a wait

  int ranks() const { return problem_.ranks; }
  /// Accesses of an operand: (accesses, elements).
  Tensor vectorOf(const Strided<OnDevice, 0> &operand) const {
    return operand.view(problem_.type, {p_.accesses, elementsOf(problem_)}, kAccessBytes);
  }
  /// A region of this turn of a window: (accesses, elements).
  Tensor region(const WindowParams<OnDevice> &window, Region region) const {
    return window.data.view(problem_.type, {2, 2, p_.part * ranks(), elementsOf(problem_)},
                            kAccessBytes)(turn_, static_cast<int>(region), _, _);
  }
  Tensor ofRank(int rank, Region of) const {
    return region(p_.windows[static_cast<std::size_t>(rank)], of);
  }
  Tensor ofOwn(Region of) const { return region(p_.own, of); }
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

  /// Gives signal `number` of this call to the partners of the other ranks, and waits until all have
  /// given it.
  void meet(int number) {
    const UInt32 expected = UInt32(calls_ * kSignalsOfCall + number);
    gpu::barrier(); // the block has written all
    if_(Boolean((thread_ < ranks()) & (thread_ != p_.rank)), [&] {
      if (order_.releases)
        fence(MemoryOrder::release, order_.scope);
      // One word has both numbers, so that they come together.
      const Int64 numbers(expected.to(i64) | (p_.call.to(i64) << 32));
      for (int rank = 0; rank < ranks(); ++rank)
        if_(thread_ == rank, [&] {
          atomic_store(signal(p_.windows[static_cast<std::size_t>(rank)], p_.rank), numbers,
                       MemoryOrder::relaxed, MemoryScope::system);
        });
      if (order_.waits)
        await(expected);
      if (order_.acquires)
        fence(MemoryOrder::acquire, order_.scope);
    });
    gpu::barrier();
  }
  /// Where a window has the signals of rank `from` to this block.
  Pointer signal(const WindowParams<OnDevice> &window, const Numeric &from) const {
    const Tensor all =
        window.signals.view(i64, {GroupMemory::most_ranks, GroupMemory::most_blocks});
    return all(from, _).iter() + block_;
  }
  static Numeric clock() { return rocdl::intrinsic("llvm.readsteadycounter", i64, {}); }
  /// Waits for rank `thread_`. If it does not come in time, or with another call, the rank's status
  /// says so and the block does nothing more.
  void await(const UInt32 &expected) {
    const Pointer word = signal(p_.own, thread_);
    const Int64 start(clock());
    const Var<Int32> state{Int32(kWaiting)};
    while_([&] { return Boolean(state == kWaiting); },
           [&] {
             const Numeric seen = atomic_load(word, MemoryOrder::relaxed, MemoryScope::system);
             // Signals grow, and start again at 0; a partner may be a call ahead.
             const Numeric ahead = (seen.to(i32) - expected.to(i32)).to(i32);
             const Boolean isOther((ahead == 0) & ((seen >> 32).to(i32) != p_.call));
             const Boolean isLate((Int64(clock()) - start) > p_.timeout);
             state = Int32(select(
                 isOther, Int32(kOther),
                 select(ahead >= 0, Int32(kCame), select(isLate, Int32(kLate), Int32(kWaiting)))));
           });
    if_(state >= kLate, [&] {
      const Int32 code =
          Int32(thread_ + select(state == kLate, Int32(1), Int32(GroupMemory::other_call)));
      // Where calls differ, blocks that wait for partners which have given up come late, too, so what
      // a rank knows stays. Not every bus to the host has atomic operations, so it is no exchange.
      const Numeric known = atomic_load(status_.iter(), MemoryOrder::relaxed, MemoryScope::system);
      if_(Boolean((state == kOther) | (known == 0)),
          [&] { atomic_store(status_.iter(), code, MemoryOrder::relaxed, MemoryScope::system); });
      going_(0) = Int32(0);
    });
  }

  template <class F> void ifGoing(const F &body) const {
    if_(Boolean(Int32(going_(0)) == 1), [&] { body(); });
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
      if_(Boolean(p_.root == p_.rank), give);
    else
      give();
    meet(1);
    ifGoing([&] {
      const Int32 ownPart = Int32(p_.rank * p_.part);
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
    const Int32 ownPart = Int32(p_.rank * p_.part);
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
    meet(1);
    ifGoing([&] {
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
            if_(Boolean(p_.rank != rank), [&] { store(ofRank(rank, results), at, total); });
        });
      });
    });
    meet(2);
    ifGoing([&] {
      eachOfPart([&](const Int32 &access) {
        for (int part = 0; part < ranks(); ++part) {
          const Numeric at = access + p_.part * part;
          ifInside(at, [&] {
            if_(Boolean(p_.rank != part), [&] {
              store(y, at, writes ? load(ofOwn(results), at) : load(ofRank(part, results), access));
            });
          });
        }
      });
    });
  }

  /// The call has ended. The numbers of blocks that this launch does not have are counted too, so
  /// that all agree on the turn of the next call.
  void count() {
    gpu::barrier(); // the block has read its number
    const Int32 blocks = Int32(grid_dim().x);
    for (Int32 number :
         range(Int32(block_ + thread_ * blocks), GroupMemory::most_blocks, blocks * config_.block))
      counts_(number) = calls_ + 1;
  }

  const Params p_;
  const CollectiveProblem problem_;
  const CollectiveConfig config_;
  const CollectiveOrder order_;
  SharedAllocator shared_;
  Int32 thread_, block_;
  Tensor counts_, status_;
  UInt32 calls_;
  Int32 turn_;
  Tensor going_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
