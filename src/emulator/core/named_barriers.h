// The named barriers of a workgroup (gfx1250), which some of its waves meet at.
//
// A wave joins one barrier at a time, and waits at that one. Any wave of the workgroup signals, a
// member or not. When as many have signalled as the barrier has members, those that have joined it
// may go on, and it counts from 0 again.
//
// Sources: what LLVM compiles llvm.amdgcn.s.barrier.init, .signal.var, .join and .wait to (the
// number and the members in M0; 0 members leave them as they were; a wait whose number is above 0
// is one at the barrier joined); RDNA4's manual of split barriers, whose completion is kept for each
// wave until it waits; HipKittens' sync.cuh for gfx1250 and FlyDSL's NamedBarrier, which use them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace flyemu {

class NamedBarriers {
public:
  /// They have the numbers 1 to 16. A kernel has four, eight, twelve or all of them.
  static constexpr unsigned kMost = 16;

  /// A workgroup begins.
  void begin(unsigned barriers, size_t waves);
  /// Sets the members, if they are not 0, and counts signals from 0.
  void init(unsigned number, unsigned members);
  /// Sets the members, if they are not 0, and signals. Returns whether it is the round's first
  /// signal.
  bool signal(unsigned number, unsigned members);
  /// A wave becomes a member, and is no longer one of another barrier. Number 0 joins none.
  void join(unsigned wave, unsigned number);
  /// A wave waits at the barrier that it has joined.
  void wait(unsigned wave);

  /// Whether the wave waits.
  bool isHeld(unsigned wave) const {
    return wave < waves_.size() && waves_[wave].waits && !isPassed(waves_[wave]);
  }
  /// Whether the wave has waited, and goes on now. It says so once.
  bool hasPassed(unsigned wave);
  /// The bits of s_get_barrier_state: whether it is there, its members and its signals.
  uint32_t state(unsigned number) const;
  /// What a wave that is held waits for.
  std::string describe(unsigned wave) const;

private:
  struct Barrier {
    unsigned members = 0, signals = 0;
    uint64_t rounds = 0; ///< how often all members have signalled
  };
  struct Member {
    unsigned joined = 0;
    uint64_t seen = 0; ///< rounds of the barrier joined that it has waited for
    bool waits = false;
  };
  bool isPassed(const Member &member) const {
    return barriers_[member.joined].rounds > member.seen;
  }
  Barrier &at(unsigned number);

  unsigned count_ = 0;
  std::array<Barrier, kMost + 1> barriers_ = {};
  std::vector<Member> waves_;
};

} // namespace flyemu
