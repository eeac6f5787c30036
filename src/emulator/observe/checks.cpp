#include "emulator/observe/checks.h"

#include "emulator/core/program.h"
#include "emulator/core/written_bytes.h"
#include "emulator/isa/op.h"
#include "emulator/observe/init_check.h"
#include "emulator/observe/wait_check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>

namespace flyemu {

namespace {
constexpr unsigned kAnyRace = kCheckRace | kCheckRaceSame;

class Checks : public Observer {
public:
  explicit Checks(CheckState &s)
      : state_(s), checks_(s.checks), program_(s.findings.program()), init_(program_) {
    if (checks_ & kCheckWait || s.landLate)
      waits_.emplace(program_, s.landLate,
                     [&s](const Inst &inst) { return s.findings.place(inst); });
  }

  void beginGroup(Group &g) override {
    group_ = state_.findings.beginGroup(g);
    order_ = {};
    epoch_ = 1;
    if (checks_ & kAnyRace)
      if (const uint64_t bytes = g.waves.empty() ? 0 : g.waves[0].ldsSize; lds_.size() != bytes)
        lds_ = Histories(bytes);
    startMask_.clear();
    for (Wave &w : g.waves)
      startMask_.push_back(w.exec());
    if (checks_ & kCheckInit)
      init_.beginGroup(g);
    if (waits_)
      waits_->beginGroup(g);
  }

  void before(Wave &w, const Inst &i) override {
    judge();
    flush();
    if (checks_ & kCheckSync)
      checkBarrier(w, i);
    if (checks_ & kCheckInit) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        state_.findings.add(kCheckInit, what, w, i, lanes);
      };
      init_.before(w, i, std::ref(report));
    }
    if (checks_ & kAnyRace && synchronizes(i))
      state_.races.synchronize(group_, order_);
    if (waits_) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        if (checks_ & kCheckWait)
          state_.findings.add(kCheckWait, what, w, i, lanes);
      };
      waits_->before(w, i, std::ref(report));
    }
  }

  void access(Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes,
              bool write, bool atomic) override {
    if (&i != lastAccess_) {
      lastAccess_ = &i;
      lastIsAtomic_ = program_.isAtomic(i);
    }
    atomic |= lastIsAtomic_;
    if (checks_ & kCheckMemory && space == Space::Lds)
      checkLds(w, i, lane, address, bytes, atomic);
    if (checks_ & kCheckInit) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        pend(kCheckInit, what, w, i, lanes);
      };
      init_.access(w, i, lane, space, address, bytes, write, atomic, std::ref(report));
      if (space == Space::Global)
        checkWritten(w, i, lane, address, bytes, write, atomic);
    }
    if (waits_ && space == Space::Lds) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        if (checks_ & kCheckWait)
          pend(kCheckWait, what, w, i, lanes);
      };
      waits_->access(w, i, lane, address, bytes, write, std::ref(report));
    }
    if (checks_ & kAnyRace)
      checkRace(w, i, {lane, 1, bytes}, space, address, write, atomic);
  }
  void accessLanes(Wave &w, const Inst &i, uint64_t lanes, Space space, const uint64_t *at,
                   uint64_t origin, unsigned bytes, bool write) override {
    if (waits_ && space == Space::Lds && waits_->followsLds())
      return Probe::accessLanes(w, i, lanes, space, at, origin, bytes, write);
    // Neighbouring lanes that access neighbouring bytes are looked at together.
    const bool together = std::has_single_bit(bytes);
    while (lanes) {
      Run run{static_cast<unsigned>(std::countr_zero(lanes)), 0, bytes};
      do
        ++run.lanes;
      while (together && run.first + run.lanes < w.lanes && lanes >> (run.first + run.lanes) & 1 &&
             at[run.first + run.lanes] == at[run.first] + uint64_t(run.lanes) * bytes);
      lanes &= ~run.mask();
      if (!accessRun(w, i, run, space, at[run.first] - origin, write))
        Probe::accessLanes(w, i, run.mask(), space, at, origin, bytes, write);
    }
  }
  void accessesDone(Wave &, const Inst &) override { flush(); }

  void barrier(Group &g) override {
    judge();
    flush();
    ++epoch_;
    if (waits_)
      waits_->barrier();
    if (!(checks_ & kCheckSync))
      return;
    const Wave *first = nullptr;
    for (const Wave &w : g.waves) {
      if (w.stop == Stop::End)
        state_.findings.add(kCheckSync,
                            "wave " + std::to_string(w.index) +
                                " has ended while others wait at a barrier",
                            w, *w.current, 0);
      else if (!first)
        first = &w;
      else if (w.current != first->current)
        state_.findings.add(kCheckSync,
                            "waves " + std::to_string(first->index) + " and " +
                                std::to_string(w.index) +
                                " meet at different barriers; the other is at " +
                                state_.findings.place(*first->current),
                            w, *w.current, 0);
    }
  }
  void passedGridBarrier(Wave &) override {
    if (checks_ & kAnyRace)
      state_.races.synchronize(group_, order_);
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
  /// Lanes one after another that access bytes one behind the other.
  struct Run {
    unsigned first, lanes, laneBytes;
    uint64_t bytes() const { return uint64_t(lanes) * laneBytes; }
    /// As Touch has it; several lanes have as many bytes as a power of two.
    unsigned laneShift() const {
      return lanes > 1 ? static_cast<unsigned>(std::countr_zero(laneBytes)) : Touch::kOneLane;
    }
    /// The lanes, as bits, from one of the run to another.
    uint64_t part(uint64_t from, uint64_t to) const {
      return (~uint64_t(0) >> (63 - (to - from))) << (first + from);
    }
    uint64_t mask() const { return part(0, lanes - 1); }
  };

  /// Returns false, and has done nothing, if the lanes must be looked at one by one.
  bool accessRun(Wave &w, const Inst &i, const Run &run, Space space, uint64_t address,
                 bool write) {
    const uint64_t bytes = run.bytes();
    if (checks_ & kCheckInit && space == Space::Global) {
      if (!known_ || !known_->contains(address))
        known_ = state_.memory.written(address);
      if (known_ && !write && !known_->all(address, bytes))
        return false;
      if (known_ && write)
        known_->mark(address, bytes);
    } else if (checks_ & kCheckInit && !init_.accessLds(address, bytes, write)) {
      return false;
    }
    if (checks_ & kAnyRace)
      checkRace(w, i, run, space, address, write, false);
    return true;
  }

  // Reports are passed by reference (std::ref): what is called for each lane must not allocate.

  /// Collects the lanes of one instruction that have the same finding.
  void pend(Check check, const std::string &what, Wave &w, const Inst &i, uint64_t lanes) {
    for (Pending &p : pending_)
      if (p.check == check) {
        p.lanes |= lanes;
        return;
      }
    pending_.push_back({check, what, &w, &i, lanes});
  }
  void flush() {
    for (const Pending &p : pending_)
      state_.findings.add(p.check, p.what, *p.wave, *p.inst, p.lanes);
    pending_.clear();
  }

  /// Two unordered writes are a harmless race if the second one leaves the value that was there. So
  /// the report waits until the instruction has run. `place` is where it writes.
  void suspect(const std::string &what, Wave &w, const Inst &i, uint64_t lanes,
               const uint8_t *place, uint64_t bytes) {
    Suspect s{{kCheckRace, what, &w, &i, lanes}, place, {}, 0};
    s.bytes = static_cast<unsigned>(std::min<uint64_t>(bytes, s.old.size()));
    std::memcpy(s.old.data(), place, s.bytes);
    suspects_.push_back(std::move(s));
  }
  /// Called when the instruction of the suspects has run.
  void judge() {
    for (Suspect &s : suspects_) {
      const bool same = std::memcmp(s.old.data(), s.place, s.bytes) == 0;
      const Check check = same ? kCheckRaceSame : kCheckRace;
      if (checks_ & check)
        pend(check, s.found.what + (same ? "; both write the same value" : ""), *s.found.wave,
             *s.found.inst, s.found.lanes);
    }
    suspects_.clear();
  }

  void checkLds(Wave &w, const Inst &i, unsigned lane, uint64_t address, unsigned bytes,
                bool atomic) {
    const uint64_t bit = uint64_t(1) << lane;
    if (address + bytes > w.ldsSize)
      pend(kCheckMemory,
           "LDS access of " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
               " of " + std::to_string(w.ldsSize),
           w, i, bit);
    // LDS, as global memory, may be accessed at any byte: kernels for amdhsa are compiled for that
    // (LLVM's features unaligned-access-mode and unaligned-ds-access, which all targets since gfx9
    // have), and LLVM merges neighbouring narrow accesses accordingly. Atomics alone need alignment.
    if (atomic && address % bytes)
      pend(kCheckMemory,
           "misaligned atomic of " + std::to_string(bytes) + " bytes at LDS byte " +
               std::to_string(address),
           w, i, bit);
  }

  /// Global memory that nobody has written: neither the host nor a kernel.
  void checkWritten(Wave &w, const Inst &i, unsigned lane, uint64_t address, unsigned bytes,
                    bool write, bool atomic) {
    if (!known_ || !known_->contains(address)) {
      known_ = state_.memory.written(address);
      if (!known_)
        return;
    }
    if ((!write || atomic) && !known_->all(address, bytes))
      pend(kCheckInit,
           "read of " + std::to_string(bytes) +
               " bytes of memory that nobody has written: " + state_.findings.describe(address),
           w, i, uint64_t(1) << lane);
    if (write)
      known_->mark(address, bytes);
  }

  void checkRace(Wave &w, const Inst &i, const Run &run, Space space, uint64_t address, bool write,
                 bool atomic) {
    const uint64_t bytes = run.bytes();
    Touch now;
    now.inst = static_cast<uint32_t>(&i - program_.insts.data());
    now.group = group_;
    auto tell = [&](const Touch &other, bool wrote, const std::string &where, uint64_t at,
                    const uint8_t *place, uint64_t size) {
      const std::string what = std::string(wrote ? "write" : "read") + " and " +
                               (write ? "write" : "read") + " of " + where +
                               " are not ordered: the other is " + state_.findings.who(other);
      const uint64_t before = at - address;
      const uint64_t those = run.part(before >> now.shift(), (before + size - 1) >> now.shift());
      if (wrote && write && place)
        suspect(what, w, i, those, place, size);
      else if (checks_ & kCheckRace)
        pend(kCheckRace, what, w, i, those);
    };
    if (space == Space::Global) {
      if (state_.exchange.contains(address, bytes))
        return;
      order_.touched = true;
      now.time = state_.races.now();
      now.who = Touch::of(w.index, run.first, atomic || synchronizes(i), run.laneShift());
      auto report = [&](const Touch &other, bool wrote, uint64_t at, uint64_t size) {
        // The access is reported before its address is checked, so the address may be invalid.
        MemoryRange range;
        const bool mapped = w.memory->find(at, range) && range.contains(at, size);
        tell(other, wrote, "global memory (" + state_.findings.describe(at) + ")", at,
             mapped ? reinterpret_cast<const uint8_t *>(at) : nullptr, size);
      };
      state_.races.access(now, order_, address, bytes, write, std::ref(report));
    } else if (space == Space::Lds && address + bytes <= lds_.size()) {
      // Other waves of the workgroup, between two barriers.
      now.time = epoch_;
      now.who = Touch::of(w.index, run.first, atomic, run.laneShift());
      lds_.each(address, address + bytes, [&](History &h, uint64_t place, uint64_t size) {
        const uint64_t at = std::max(place, address);
        // Reads come first: a write after them is a race whatever it writes.
        for (const Touch *t : {&h.read, &h.otherRead, &h.write})
          if ((write || t == &h.write) && t->group == group_ && t->time == epoch_ &&
              t->wave() != w.index && races(*t, t == &h.write, now, write)) {
            tell(*t, t == &h.write, "LDS byte " + std::to_string(at), at, w.lds + at,
                 std::min(place + size, address + bytes) - at);
            break;
          }
        h.note(now, at - address, write, h.read.group == group_ && h.read.wave() == w.index);
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
    return i.flags & kWideScope || program_.isAtomic(i);
  }

  void checkBarrier(Wave &w, const Inst &i) {
    if (i.op && i.op->has(kBarrier) && w.exec() != startMask_[w.index])
      state_.findings.add(kCheckSync,
                          "barrier in divergent code: lanes that started the wave are off", w, i,
                          startMask_[w.index] & ~w.exec());
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
    std::array<uint8_t, Histories::kLine> old;
    unsigned bytes;
  };
  CheckState &state_;
  const unsigned checks_;
  const Program &program_;
  const Inst *lastAccess_ = nullptr;
  bool lastIsAtomic_ = false;
  std::vector<Pending> pending_;
  std::vector<Suspect> suspects_; ///< of the instruction that runs
  InitCheck init_;
  std::optional<WaitCheck> waits_;
  std::shared_ptr<WrittenBytes> known_; ///< of the allocation touched last
  Histories lds_;
  std::vector<uint64_t> startMask_;
  GlobalRaces::GroupOrder order_;
  uint32_t group_ = 0; ///< the workgroup's number
  uint32_t epoch_ = 1;
};
} // namespace

std::unique_ptr<Observer> makeChecks(CheckState &state) { return std::make_unique<Checks>(state); }

} // namespace flyemu
