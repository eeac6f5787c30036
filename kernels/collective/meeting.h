// How the blocks of a launch meet those of the other ranks. Each block talks to the block of the same
// number of each other rank, and to no other: it reads of the windows what those blocks have written.
// The two turns of a window are used by one call after the other. A block that fills a turn has, in
// the call before, heard from its partners, whose launch began after their rank had ended the call
// before that, which was the last one to read this turn.
#pragma once

#include "blocks/common/joined.h"
#include "collective/group_call.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/clock.h>

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

/// Puts an error into a rank's status, (1). One that is there already stays, unless this one is sure.
inline void reportStatus(const Tensor &status, const Int32 &code, const Boolean &isSure) {
  // Not every bus to the host has atomic operations, so it is no exchange.
  const Numeric known = atomic_load(status.iter(), MemoryOrder::relaxed, MemoryScope::system);
  if_(Boolean(isSure | (known == 0)),
      [&] { atomic_store(status.iter(), code, MemoryOrder::relaxed, MemoryScope::system); });
}

/// A block among those of its launch that meet blocks of other ranks.
struct MeetingBlock {
  Int32 number, blocks;
  /// All blocks of the launch meet.
  static MeetingBlock ofLaunch() { return {Int32(block_idx().x), Int32(grid_dim().x)}; }
};

/// A block's part in the calls of its rank.
class Meeting {
public:
  /// Every thread of the block makes one, before any block ends the call. A block has `block` threads.
  Meeting(const GroupParams<OnDevice> &params, int ranks, int block, const CollectiveOrder &order,
          const MeetingBlock &at = MeetingBlock::ofLaunch())
      : p_(params), ranks_(ranks), threads_(block), order_(order), thread_(thread_idx().x),
        block_(at.number), blocks_(at.blocks),
        counts_(p_.counts.view(u32, {GroupMemory::most_blocks})),
        status_(p_.status.view(i32, {1})), // (blocks), (1)
        calls_(UInt32(counts_(block_))), turn_(Int32((calls_ & 1).to(i32))),
        going_(shared_.allocate<Going>().going.view(make_layout(1, 1))) { // (1)
    if_(thread_ == 0, [&] {
      const Numeric status = atomic_load(status_.iter(), MemoryOrder::relaxed, MemoryScope::system);
      going_(0) = select(status == 0, Int32(1), Int32(0));
    });
    gpu::barrier();
  }

  int ranks() const { return ranks_; }
  /// The block's number among those that meet, and how many these are.
  const Int32 &block() const { return block_; }
  const Int32 &blocks() const { return blocks_; }
  /// Which half of each window this call has.
  const Int32 &turn() const { return turn_; }
  /// Whether all ranks have come in time so far.
  Boolean isGoing() const { return Boolean(Int32(going_(0)) == 1); }
  /// Runs `body` unless a rank did not come in time.
  template <class F> void ifGoing(const F &body) const {
    if_(isGoing(), [&] { body(); });
  }

  /// Gives signal `number` of this call, 1 or 2, to the partners of the other ranks, and waits until
  /// all have given it.
  void meet(int number) {
    const UInt32 expected = UInt32(calls_ * kSignalsOfCall + number);
    gpu::barrier(); // the block has written all
    if_(Boolean((thread_ < ranks_) & (thread_ != p_.rank)), [&] {
      if (order_.releases)
        fence(MemoryOrder::release, order_.scope);
      // One word has both numbers, so that they come together.
      const Int64 numbers = joined(p_.call, expected);
      for (int rank = 0; rank < ranks_; ++rank)
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
  /// The turn of the call that is under way, for blocks that meet none.
  static Int32 turnOfCall(const GroupParams<OnDevice> &params) {
    const UInt32 calls(params.counts.view(u32, {GroupMemory::most_blocks})(0)); // (blocks)
    return Int32((calls & 1).to(i32));
  }
  /// The turn of the call that has just ended, for kernels of it that are launched later.
  static Int32 turnOfEnded(const GroupParams<OnDevice> &params) {
    const UInt32 calls(params.counts.view(u32, {GroupMemory::most_blocks})(0)); // (blocks)
    return Int32(((calls + 1) & 1).to(i32));
  }
  /// Tells the blocks of all other ranks that this one had too few places, by the threads of a block of
  /// `threads`. The signals of the call that it writes over may be looked for still, by ranks that then
  /// end the call with the same error.
  static void giveUp(const GroupParams<OnDevice> &params, int ranks, int threads) {
    const Int64 word(std::int64_t{kNoPlacesCall} << 32);
    for (int rank = 0; rank < ranks; ++rank)
      if_(Boolean(params.rank != rank), [&] {
        for (Int32 block :
             range(Int32(thread_idx().x), Int32(GroupMemory::most_blocks), Int32(threads)))
          atomic_store(signalOf(params.windows[static_cast<std::size_t>(rank)], params.rank, block),
                       word, MemoryOrder::relaxed, MemoryScope::system);
      });
  }
  /// The call has ended. The numbers of blocks that this launch does not have are counted too, so
  /// that all agree on the turn of the next call. If another launch of the rank has counted meanwhile,
  /// both were under way together and have used one turn: the rank's status says so.
  void end() {
    gpu::barrier(); // the block has read its number
    for (Int32 number :
         range(Int32(block_ + thread_ * blocks_), GroupMemory::most_blocks, blocks_ * threads_)) {
      const Numeric before = atomic(AtomicOp::add, counts_.iter() + number, 1, MemoryOrder::relaxed,
                                    MemoryScope::agent);
      if_(Boolean(before.to(i32) != calls_.to(i32)),
          [&] { reportStatus(status_, Int32(GroupMemory::overlapping), Boolean(true)); });
    }
  }

private:
  struct Going {
    Array<Int32, 1> going;
  };
  static constexpr int kSignalsOfCall = 2;
  /// States of a wait.
  static constexpr int kWaiting = 0, kCame = 1, kLate = 2, kOther = 3, kNoPlaces = 4;

  /// Where a window has the signals of rank `from` to a block.
  static Pointer signalOf(const WindowParams<OnDevice> &window, const Numeric &from,
                          const Int32 &block) {
    const Tensor all = window.signals.view(
        i64, {GroupMemory::most_ranks, GroupMemory::most_blocks}); // (ranks, blocks)
    return all(from, _).iter() + block;                            // (blocks)
  }
  Pointer signal(const WindowParams<OnDevice> &window, const Numeric &from) const {
    return signalOf(window, from, block_);
  }
  /// Waits for rank `thread_`. If it does not come in time, or with another call, the rank's status
  /// says so and the block does nothing more.
  void await(const UInt32 &expected) {
    const Pointer word = signal(p_.own, thread_);
    const Int64 start = gpu::steady_clock();
    const Var<Int32> state{Int32(kWaiting)};
    while_([&] { return Boolean(state == kWaiting); },
           [&] {
             const Numeric seen = atomic_load(word, MemoryOrder::relaxed, MemoryScope::system);
             // Signals grow, and start again at 0; a partner may be a call ahead.
             const Numeric ahead = (seen.to(i32) - expected.to(i32)).to(i32);
             const Boolean isOther((ahead == 0) & ((seen >> 32).to(i32) != p_.call));
             const Boolean isEnded((seen >> 32).to(i32) == kNoPlacesCall);
             const Boolean isLate((gpu::steady_clock() - start) > p_.timeout);
             const Int32 came = Int32(
                 select(ahead >= 0, Int32(kCame), select(isLate, Int32(kLate), Int32(kWaiting))));
             state = Int32(
                 select(isEnded, Int32(kNoPlaces), Int32(select(isOther, Int32(kOther), came))));
           });
    if_(state >= kLate, [&] {
      const Int32 code =
          Int32(thread_ + Int32(select(state == kLate, Int32(1),
                                       Int32(select(state == kOther, Int32(GroupMemory::other_call),
                                                    Int32(GroupMemory::no_places + 1))))));
      // Where calls differ, blocks that wait for partners which have given up come late, too, so what
      // a rank knows stays.
      reportStatus(status_, code, Boolean(state >= kOther));
      going_(0) = Int32(0);
    });
  }

  const GroupParams<OnDevice> p_;
  const int ranks_, threads_;
  const CollectiveOrder order_;
  SharedAllocator shared_;
  Int32 thread_, block_, blocks_;
  Tensor counts_, status_;
  UInt32 calls_;
  Int32 turn_;
  Tensor going_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
