// gfx1250: barriers at which some waves of a block meet. flydsl/flydsl.h does not include it.
#pragma once

#include <flydsl/detail/handle.h>
#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// gfx1250: a barrier of some waves of a block, so that waves of different work need not wait for all
/// others. A kernel has up to 16.
///
///     const rocdl::NamedBarrier full(producers), empty(consumers); // by all threads of the block
///     if_(isProducer, [&] { empty.join(); });
///     if_(!isProducer, [&] { full.join(); });
///     gpu::barrier(); // no signal comes before the joins
///     if_(isProducer, [&] { for (...) { ... full.signal(); rocdl::NamedBarrier::wait(); } });
///     if_(!isProducer, [&] { for (...) { rocdl::NamedBarrier::wait(); ... empty.signal(); } });
///
/// Any wave of the block signals, without waiting. When as many waves have signalled as the barrier
/// has members, the waves that have joined it may go on from their wait, and it counts from 0 again.
/// Signals are counted, and not who signals: between two signals of a wave at a barrier stands what
/// makes sure that the round of the first one is over. A wave has joined one barrier at a time, the
/// one of its last `join`; after signals that ended a round, it waits for the next round.
///
/// It orders accesses to shared memory as `gpu::barrier(AddressSpace::shared)` does: what a wave wrote
/// or read before it signals comes before what a wave does after its wait. It waits for no asynchronous
/// copy and no tensor transfer: `s_wait_asynccnt` or `s_wait_tensorcnt` stands before the signal.
///
/// Sources: LLVM's llvm.amdgcn.s.barrier.init, .join, .signal.var and .wait; FlyDSL's NamedBarrier.
class FLYDSL_API NamedBarrier {
public:
  /// Makes the barrier, and a barrier of the whole block, before which no wave joins: all threads of
  /// the block come here. `members` is how many signals of waves end a round. Throws TraceError for
  /// another target, for members that the block's waves do not have, and for the 17th barrier of a
  /// kernel.
  explicit NamedBarrier(int members, Loc loc = Loc::current());

  /// The wave waits at this barrier from now on.
  void join(Loc loc = Loc::current()) const;
  /// The wave signals and goes on.
  void signal(Loc loc = Loc::current()) const;
  /// Holds the wave until the barrier that it has joined has ended a round, since the join or since
  /// the wait before. Throws TraceError if no join was traced. The emulator ends a launch in which a
  /// wave that has joined no barrier waits, or that waits for ever.
  static void wait(Loc loc = Loc::current());

  /// How many signals of waves end a round.
  int members() const { return members_; }

private:
  detail::Handle place_; ///< its address
  int members_;
};

} // namespace rocdl
FLYDSL_NAMESPACE_END
