#include "emulator/observe/checks.h"

#include "emulator/core/program.h"
#include "emulator/core/written_bytes.h"
#include "emulator/isa/op.h"
#include "emulator/observe/init_check.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>

namespace flyemu {

namespace {
constexpr unsigned kAnyRace = kCheckRace | kCheckRaceSame;

class Checks : public Observer {
public:
  explicit Checks(CheckState &s)
      : state(s), checks(s.checks), program(s.findings.program()), init(program) {}

  void beginGroup(Group &g) override {
    group = state.findings.beginGroup(g);
    order = {};
    epoch = 1;
    if (checks & kAnyRace)
      if (const uint64_t bytes = g.waves.empty() ? 0 : g.waves[0].ldsSize; lds.size() != bytes)
        lds = Histories(bytes);
    startMask.clear();
    for (Wave &w : g.waves)
      startMask.push_back(w.exec());
    if (checks & kCheckInit)
      init.beginGroup(g);
  }

  void before(Wave &w, const Inst &i) override {
    judge();
    flush();
    if (checks & kCheckSync)
      checkBarrier(w, i);
    if (checks & kCheckInit) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        state.findings.add(kCheckInit, what, w, i, lanes);
      };
      init.before(w, i, std::ref(report));
    }
    if (checks & kAnyRace && synchronizes(i))
      state.races.synchronize(group, order);
  }

  void access(Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes,
              bool write, bool atomic) override {
    if (&i != lastAccess) {
      lastAccess = &i;
      lastIsAtomic = program.isAtomic(i);
    }
    atomic |= lastIsAtomic;
    if (checks & kCheckMemory && space == Space::Lds)
      checkLds(w, i, lane, address, bytes);
    if (checks & kCheckInit) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        pend(kCheckInit, what, w, i, lanes);
      };
      init.access(w, i, lane, space, address, bytes, write, atomic, std::ref(report));
      if (space == Space::Global)
        checkWritten(w, i, lane, address, bytes, write, atomic);
    }
    if (checks & kAnyRace)
      checkRace(w, i, lane, space, address, bytes, write, atomic);
  }
  void accessesDone(Wave &, const Inst &) override { flush(); }

  void barrier(Group &g) override {
    judge();
    flush();
    ++epoch;
    if (!(checks & kCheckSync))
      return;
    const Wave *first = nullptr;
    for (const Wave &w : g.waves) {
      if (w.stop == Stop::End)
        state.findings.add(kCheckSync,
                           "wave " + std::to_string(w.index) +
                               " has ended while others wait at a barrier",
                           w, *w.current, 0);
      else if (!first)
        first = &w;
      else if (w.current != first->current)
        state.findings.add(kCheckSync,
                           "waves " + std::to_string(first->index) + " and " +
                               std::to_string(w.index) +
                               " meet at different barriers; the other is at " +
                               state.findings.place(*first->current),
                           w, *w.current, 0);
    }
  }
  void passedGridBarrier(Wave &) override {
    if (checks & kAnyRace)
      state.races.synchronize(group, order);
  }
  void endGroup(Group &) override {
    judge();
    flush();
  }
  void finish(DispatchResult &) override {
    judge();
    flush();
  }

private:
  // Reports are passed by reference (std::ref): what is called for each lane must not allocate.

  /// Collects the lanes of one instruction that have the same finding.
  void pend(Check check, const std::string &what, Wave &w, const Inst &i, uint64_t lanes) {
    for (Pending &p : pending)
      if (p.check == check) {
        p.lanes |= lanes;
        return;
      }
    pending.push_back({check, what, &w, &i, lanes});
  }
  void flush() {
    for (const Pending &p : pending)
      state.findings.add(p.check, p.what, *p.wave, *p.inst, p.lanes);
    pending.clear();
  }

  /// Two unordered writes are a harmless race if the second one leaves the value that was there. So
  /// the report waits until the instruction has run. `place` is where it writes.
  void suspect(const std::string &what, Wave &w, const Inst &i, uint64_t lanes,
               const uint8_t *place, uint64_t bytes) {
    Suspect s{{kCheckRace, what, &w, &i, lanes}, place, {}, 0};
    s.bytes = static_cast<unsigned>(std::min<uint64_t>(bytes, s.old.size()));
    std::memcpy(s.old.data(), place, s.bytes);
    suspects.push_back(std::move(s));
  }
  /// Called when the instruction of the suspects has run.
  void judge() {
    for (Suspect &s : suspects) {
      const bool same = std::memcmp(s.old.data(), s.place, s.bytes) == 0;
      const Check check = same ? kCheckRaceSame : kCheckRace;
      if (checks & check)
        pend(check, s.found.what + (same ? "; both write the same value" : ""), *s.found.wave,
             *s.found.inst, s.found.lanes);
    }
    suspects.clear();
  }

  void checkLds(Wave &w, const Inst &i, unsigned lane, uint64_t address, unsigned bytes) {
    const uint64_t bit = uint64_t(1) << lane;
    if (address + bytes > w.ldsSize)
      pend(kCheckMemory,
           "LDS access of " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
               " of " + std::to_string(w.ldsSize),
           w, i, bit);
    // Global memory may be accessed at any byte, as kernels for amdhsa are compiled; a DS
    // instruction says what alignment its data has: a dword's for wide ones, else their own.
    if (i.enc == Enc::Ds && address % std::min(bytes, 4u))
      pend(kCheckMemory,
           "misaligned access of " + std::to_string(bytes) + " bytes at LDS byte " +
               std::to_string(address),
           w, i, bit);
  }

  /// Global memory that nobody has written: neither the host nor a kernel.
  void checkWritten(Wave &w, const Inst &i, unsigned lane, uint64_t address, unsigned bytes,
                    bool write, bool atomic) {
    if (!known || !known->contains(address)) {
      known = state.memory.written(address);
      if (!known)
        return;
    }
    if ((!write || atomic) && !known->all(address, bytes))
      pend(kCheckInit,
           "read of " + std::to_string(bytes) +
               " bytes of memory that nobody has written: " + state.findings.describe(address),
           w, i, uint64_t(1) << lane);
    if (write)
      known->mark(address, bytes);
  }

  void checkRace(Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address,
                 unsigned bytes, bool write, bool atomic) {
    const uint64_t bit = uint64_t(1) << lane;
    Touch now;
    now.inst = static_cast<uint32_t>(&i - program.insts.data());
    now.group = group;
    now.wave = static_cast<uint8_t>(w.index);
    now.lane = static_cast<uint8_t>(lane);
    auto tell = [&](const Touch &other, bool wrote, const std::string &where, const uint8_t *place,
                    uint64_t rest) {
      const std::string what = std::string(wrote ? "write" : "read") + " and " +
                               (write ? "write" : "read") + " of " + where +
                               " are not ordered: the other is " + state.findings.who(other);
      if (wrote && write && place)
        suspect(what, w, i, bit, place, rest);
      else if (checks & kCheckRace)
        pend(kCheckRace, what, w, i, bit);
    };
    if (space == Space::Global) {
      if (state.exchange.contains(address, bytes))
        return;
      order.touched = true;
      now.time = state.races.now();
      now.atomic = atomic || synchronizes(i);
      auto report = [&](const Touch &other, bool wrote, uint64_t at) {
        // The access is reported before its address is checked, so the address may be invalid.
        MemoryRange range;
        const uint64_t rest = address + bytes - at;
        const bool mapped = w.memory->find(at, range) && range.contains(at, rest);
        tell(other, wrote, "global memory (" + state.findings.describe(at) + ")",
             mapped ? reinterpret_cast<const uint8_t *>(at) : nullptr, rest);
      };
      state.races.access(now, order, address, bytes, write, std::ref(report));
    } else if (space == Space::Lds && address + bytes <= lds.size()) {
      // Other waves of the workgroup, between two barriers.
      now.time = epoch;
      now.atomic = atomic;
      lds.each(address, address + bytes, [&](History &h, uint64_t at) {
        // Reads come first: a write after them is a race whatever it writes.
        for (const Touch *t : {&h.read, &h.otherRead, &h.write})
          if ((write || t == &h.write) && t->group == group && t->time == epoch &&
              t->wave != w.index && races(*t, t == &h.write, now, write)) {
            tell(*t, t == &h.write, "LDS byte " + std::to_string(at), w.lds + at,
                 address + bytes - at);
            break;
          }
        h.note(now, write, h.read.group == group && h.read.wave == w.index);
      });
    }
  }

  /// Returns true for instructions that order memory between workgroups: atomic operations,
  /// accesses whose scope is wider than a workgroup, and cache control.
  bool synchronizes(const Inst &i) const {
    if (!i.op)
      return false;
    if (i.op->has(kOrders))
      return true;
    if (i.enc != Enc::Flat && i.enc != Enc::Global && i.enc != Enc::Mubuf)
      return false;
    return i.flags & kWideScope || program.isAtomic(i);
  }

  void checkBarrier(Wave &w, const Inst &i) {
    if (i.op && i.op->has(kBarrier) && w.exec() != startMask[w.index])
      state.findings.add(kCheckSync,
                         "barrier in divergent code: lanes that started the wave are off", w, i,
                         startMask[w.index] & ~w.exec());
  }

  struct Pending {
    Check check;
    std::string what;
    Wave *wave;
    const Inst *inst;
    uint64_t lanes;
  };
  struct Suspect {
    Pending found;
    const uint8_t *place;
    std::array<uint8_t, 16> old;
    unsigned bytes;
  };
  CheckState &state;
  const unsigned checks;
  const Program &program;
  const Inst *lastAccess = nullptr;
  bool lastIsAtomic = false;
  std::vector<Pending> pending;
  std::vector<Suspect> suspects; ///< of the instruction that runs
  InitCheck init;
  std::shared_ptr<WrittenBytes> known; ///< of the allocation touched last
  Histories lds;
  std::vector<uint64_t> startMask;
  GlobalRaces::GroupOrder order;
  uint32_t group = 0; ///< the workgroup's number
  uint32_t epoch = 1;
};
} // namespace

std::unique_ptr<Observer> makeChecks(CheckState &state) { return std::make_unique<Checks>(state); }

} // namespace flyemu
