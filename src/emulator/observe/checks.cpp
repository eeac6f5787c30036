#include "emulator/observe/checks.h"

#include "emulator/core/program.h"
#include "emulator/core/touched_bytes.h"
#include "emulator/core/written_bytes.h"
#include "emulator/isa/op.h"
#include "emulator/observe/init_check.h"
#include "emulator/observe/lane_access.h"
#include "emulator/observe/lane_overlaps.h"
#include "emulator/observe/lds_arrays.h"
#include "emulator/observe/races/lds_races.h"
#include "emulator/observe/waits/wait_check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace flyemu {

namespace {
constexpr unsigned kAnyRace = kCheckRace | kCheckRaceSame;

/// Stores that are reported lane by lane, until all lanes of the instruction have been.
class LaneStores {
public:
  void add(unsigned lane, Space space, uint64_t address, unsigned bytes) {
    Part &part = parts_[space == Space::Lds];
    if (part.lanes >> lane & 1)
      return; // a dword of a lane that is reported in pieces
    if (part.lanes && part.bytes != bytes)
      return;
    part.bytes = bytes;
    part.lanes |= uint64_t(1) << lane;
    part.at[lane] = address;
  }
  template <class F> void eachSpace(F visit) {
    for (Part &part : parts_)
      if (part.lanes)
        visit(&part == &parts_[1] ? Space::Lds : Space::Global,
              LaneAccess(std::exchange(part.lanes, 0), part.at.data(), 0, part.bytes, true, false));
  }

private:
  struct Part {
    uint64_t lanes = 0;
    unsigned bytes = 0;
    std::array<uint64_t, 64> at;
  };
  std::array<Part, 2> parts_;
};

class Checks : public Observer {
public:
  explicit Checks(CheckState &s)
      : state_(s), checks_(s.checks), program_(s.findings.program()), init_(program_),
        touched_(s.touched), releaseBy_(releaseBy(*program_.target)),
        scopedFences_(hasScopedFences(*program_.target)),
        splitInvalidation_(program_.target->encoding == Encoding::Gfx11) {
    for (const Inst &inst : program_.insts)
      facts_.push_back(factsOf(inst));
    if (checks_ & kCheckWait || s.landLate)
      waits_.emplace(program_, s.landLate,
                     [&s](const Inst &inst) { return s.findings.place(inst); });
  }

  void beginGroup(Group &g) override {
    group_ = state_.findings.beginGroup(g);
    if (checks_ & kAnyRace)
      state_.races.begin(order_, g.waves.size());
    looks_ = false;
    if (checks_ & kAnyRace)
      lds_.beginGroup(group_, g.waves.empty() ? 0 : g.waves[0].ldsSize);
    startMask_.clear();
    for (Wave &w : g.waves)
      startMask_.push_back(w.exec());
    arrays_.beginGroup();
    if (checks_ & kCheckInit)
      init_.beginGroup(g);
    if (waits_)
      waits_->beginGroup(g);
  }

  void before(Wave &w, const Inst &i) override {
    if (looks_)
      look();
    if (!suspects_.empty())
      judge();
    if (!pending_.empty())
      flush();
    const uint16_t facts = facts_[static_cast<size_t>(&i - program_.insts.data())];
    if (facts & kIsBarrier && checks_ & kCheckSync)
      checkBarrier(w, i);
    if (facts & kMovesValues && checks_ & kCheckInit) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        state_.findings.add(kCheckInit, what, w, i, lanes);
      };
      init_.before(w, i, report);
    }
    if (facts & kScalarDwords && checks_ & kCheckMemory)
      checkScalarAddress(w, i);
    if (facts & kMarksArray && checks_ & kCheckMemory)
      arrays_.note(w, i);
    if (facts & kAnySynchronization && checks_ & kAnyRace)
      synchronize(w, facts);
    if (waits_) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        if (checks_ & kCheckWait)
          state_.findings.add(kCheckWait, what, w, i, lanes);
      };
      waits_->before(w, i, report);
    }
  }

  void access(Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes,
              bool write, bool atomic) override {
    lookAt(i);
    atomic |= lastIsAtomic_;
    if (checks_ & kCheckMemory && space == Space::Lds)
      checkLds(w, i, lane, address, bytes, atomic);
    if (checks_ & kCheckMemory && space == Space::Lds && !arrays_.empty())
      checkArrays(w, i, LaneAccess(lane, address, bytes, write, atomic));
    if (checks_ & kCheckInit) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        pend(kCheckInit, what, w, i, lanes);
      };
      init_.access(w, i, lane, space, address, bytes, write, atomic, report);
      if (space == Space::Global && i.enc == Enc::Smem && !write)
        checkScalarLoad(w, i, address, bytes);
      else if (space == Space::Global)
        checkWritten(w, i, lane, address, bytes, write, atomic);
    }
    if (waits_ && space == Space::Lds) {
      auto report = [&](const std::string &what, uint64_t lanes) {
        if (checks_ & kCheckWait)
          pend(kCheckWait, what, w, i, lanes);
      };
      if (address + bytes <= w.ldsSize)
        waits_->access(w, i, LaneAccess(lane, address, bytes, write, atomic), report);
    }
    if (touched_ && space == Space::Global)
      touch(i, LaneAccess(lane, address, bytes, write, atomic));
    if (checks_ & kAnyRace && space != Space::Scratch) {
      checkRace(w, i, space, LaneAccess(lane, address, bytes, write, atomic));
      if (write && !atomic && i.enc != Enc::Smem)
        stores_.add(lane, space, address, bytes);
    }
  }
  void accessLanes(Wave &w, const Inst &i, uint64_t lanes, Space space, const uint64_t *at,
                   uint64_t origin, unsigned bytes, bool write, bool atomic) override {
    auto oneByOne = [&] {
      Probe::accessLanes(w, i, lanes, space, at, origin, bytes, write, atomic);
    };
    if (space == Space::Scratch)
      return oneByOne();
    lookAt(i);
    const LaneAccess a(lanes, at, origin, bytes, write, atomic);
    if (atomic && a.ends % bytes)
      return oneByOne();
    if (checks_ & kCheckMemory && space == Space::Lds && !arrays_.empty())
      checkArrays(w, i, a);
    if (checks_ & kCheckInit) {
      if (!initChecked(space, a))
        return oneByOne();
      if (i.enc == Enc::Flat) {
        auto report = [&](const std::string &what, uint64_t those) {
          pend(kCheckInit, what, w, i, those);
        };
        init_.storeFlat(w, i, lanes, report);
      }
    }
    if (waits_ && space == Space::Lds && waits_->followsLds()) {
      auto report = [&](const std::string &what, uint64_t those) {
        if (checks_ & kCheckWait)
          pend(kCheckWait, what, w, i, those);
      };
      waits_->access(w, i, a, report);
    }
    if (touched_ && space == Space::Global)
      touch(i, a);
    if (!(checks_ & kAnyRace))
      return;
    checkRace(w, i, space, a);
    if (write && !atomic)
      checkLanes(w, i, space, a);
  }
  void accessesDone(Wave &w, const Inst &i) override {
    stores_.eachSpace([&](Space space, const LaneAccess &a) { checkLanes(w, i, space, a); });
    secondData_ = false;
    if (!pending_.empty())
      flush();
  }

  void paused(Wave &) override {
    if (looks_)
      look();
  }
  void barrier(Group &g) override {
    judge();
    flush();
    lds_.barrier();
    if (checks_ & kAnyRace)
      state_.races.barrier(order_);
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
      else {
        meetings_.passed(w);
        if (!first)
          first = &w;
        else if (w.current != first->current)
          meetings_.add(*first, w);
      }
    }
  }
  /// It is taken to order all waves of the workgroup, though it orders some: a race with a wave that
  /// has no part in it is not seen.
  void passedNamedBarrier(Group &) override {
    judge();
    flush();
    lds_.barrier();
    if (checks_ & kAnyRace)
      state_.races.barrier(order_);
    if (waits_)
      waits_->barrier();
  }
  void passedGridBarrier(Wave &) override {
    if (!(checks_ & kAnyRace))
      return;
    state_.races.look(order_);
    state_.races.acquire(order_);
  }
  void endGroup(Group &) override {
    judge();
    flush();
    meetings_.eachMistake([&](const Meetings::Meeting &m) {
      state_.findings.add(
          kCheckSync,
          "waves " + std::to_string(m.first->index) + " and " + std::to_string(m.second->index) +
              " meet at different barriers; the other is at " + state_.findings.place(*m.atFirst),
          *m.second, *m.atSecond, 0);
    });
    meetings_.clear();
  }
  void finish(DispatchResult &) override {
    judge();
    flush();
  }

private:
  /// Notes what the instruction is whose accesses are being reported.
  void lookAt(const Inst &i) {
    if (&i == lastAccess_)
      return;
    lastAccess_ = &i;
    lastIsAtomic_ = program_.isAtomic(i);
    lastAsks_ = lastIsAtomic_ && (!i.op->has(Trait::Overwrites) || i.flags & kGlc);
  }

  /// Notes the bytes of an access for the check of streams.
  void touch(const Inst &i, const LaneAccess &a) {
    const bool synchronizing = a.atomic || synchronizes(i);
    const TouchKind kind = !synchronizing ? a.write ? TouchKind::Write : TouchKind::Read
                           : a.write      ? TouchKind::AtomicWrite
                                          : TouchKind::AtomicRead;
    const auto inst = static_cast<uint32_t>(&i - program_.insts.data());
    for (unsigned k = 0, lanes = 0; k < a.count; k += lanes) {
      lanes = a.isRun() ? a.count : a.runLength(k);
      const uint64_t bytes = uint64_t(lanes) * a.bytes;
      if (!state_.exchange.contains(a.at(k), bytes))
        touched_.mark(a.at(k), bytes, kind, inst);
    }
  }

  /// Returns true where the init check has nothing to report of an access, and has noted it. Else
  /// its lanes must be looked at one by one.
  bool initChecked(Space space, const LaneAccess &a) {
    if (space == Space::Lds)
      return init_.accessLds(a);
    if (!known_ || !known_->contains(a.at(0))) {
      known_ = state_.memory.written(a.at(0));
      if (!known_)
        return true;
    }
    const uint64_t bytes = uint64_t(a.count) * a.bytes;
    if ((!a.write || lastAsks_) &&
        !(a.isRun() ? known_->all(a.at(0), bytes) : known_->all(a.addresses(), a.count, a.bytes)))
      return false;
    if (!a.write)
      return true;
    if (a.isRun())
      known_->mark(a.at(0), bytes);
    else
      known_->mark(a.addresses(), a.count, a.bytes);
    return true;
  }

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
    // LDS, as global memory, may be accessed at any byte: kernels for amdhsa are
    // compiled for that (LLVM's features unaligned-access-mode and unaligned-ds-access,
    // which all targets since gfx9 have), and LLVM merges neighbouring narrow accesses
    // accordingly. Atomics alone need alignment.
    if (atomic && address % bytes)
      pend(kCheckMemory,
           "misaligned atomic of " + std::to_string(bytes) + " bytes at LDS byte " +
               std::to_string(address),
           w, i, bit);
  }

  /// Accesses that leave their array in LDS and reach the red zone after it.
  void checkArrays(Wave &w, const Inst &i, const LaneAccess &a) {
    uint64_t first = a.at(0), end = a.at(a.count - 1);
    if (!a.isRun())
      for (unsigned k = 0; k < a.count; ++k) {
        first = std::min(first, a.at(k));
        end = std::max(end, a.at(k));
      }
    if (arrays_.isWithinOne(first, end + a.bytes))
      return;
    for (unsigned k = 0; k < a.count; ++k)
      if (const LdsArrays::Array *array = arrays_.overrun(a.at(k), a.bytes))
        pend(kCheckMemory, describeOverrun(*array, a.at(k), a.bytes, a.write), w, i,
             uint64_t(1) << a.lane(k));
  }
  std::string describeOverrun(const LdsArrays::Array &array, uint64_t at, unsigned bytes,
                              bool write) const {
    auto named = [&](const LdsArrays::Array &one) {
      const std::string line = state_.findings.line(*one.mark);
      return "the " + std::to_string(one.end - one.begin) + " bytes of shared memory " +
             (line.empty() ? "at LDS byte " + std::to_string(one.begin) : "made at " + line);
    };
    std::string text = std::string(write ? "write" : "read") + " of " + std::to_string(bytes) +
                       " bytes at LDS byte " + std::to_string(at) + ", which belongs to no array: ";
    text += at < array.end ? "it begins in " + named(array) + " and reaches past their end"
                           : "it is " + std::to_string(at - array.end) + " bytes past the end of " +
                                 named(array);
    if (const LdsArrays::Array *next = arrays_.after(array); next && at < next->begin)
      text += ", and " + std::to_string(next->begin - at) + " bytes before " + named(*next);
    return text;
  }

  /// Global memory that was never written: neither the host nor a kernel.
  void checkWritten(Wave &w, const Inst &i, unsigned lane, uint64_t address, unsigned bytes,
                    bool write, bool atomic) {
    if (!known_ || !known_->contains(address)) {
      known_ = state_.memory.written(address);
      if (!known_)
        return;
    }
    if ((!write || lastAsks_) && !known_->all(address, bytes))
      pend(kCheckInit,
           (atomic ? "atomic operation on " : "read of ") + std::to_string(bytes) +
               " bytes of memory that was never written: " + state_.findings.describe(address),
           w, i, i.enc == Enc::Smem ? 0 : uint64_t(1) << lane);
    if (write)
      known_->mark(address, bytes);
  }

  /// A scalar load of memory that was never written. Of one that is written in part, as
  /// compilers load a byte with the dword around it and three dwords as four, the rest of the
  /// registers becomes undefined.
  void checkScalarLoad(Wave &w, const Inst &i, uint64_t address, unsigned bytes) {
    if (!known_ || !known_->contains(address)) {
      known_ = state_.memory.written(address);
      if (!known_)
        return;
    }
    if (known_->all(address, bytes))
      return;
    std::array<uint32_t, 16> undefined = {};
    bool some = false;
    for (unsigned b = 0; b < bytes; ++b)
      if (known_->all(address + b, 1))
        some = true;
      else
        undefined[b / 4] |= 0xffu << 8 * (b % 4);
    if (!some)
      return pend(kCheckInit,
                  "read of " + std::to_string(bytes) + " bytes of memory that was never written: " +
                      state_.findings.describe(address),
                  w, i, 0);
    for (unsigned d = 0; d < bytes / 4; ++d)
      if (undefined[d])
        init_.scalarLoaded(w, i.scalarData.index + d, undefined[d]);
  }

  /// Asynchronous copies of several lanes of one instruction to one place, whose values no register
  /// has. Those to places beyond LDS copy nothing.
  void checkCopies(Wave &w, const Inst &i, Space space, const LaneAccess &a) {
    uint64_t lanes = 0, address = 0;
    overlaps_.each(a, [&](const LaneOverlaps::Pair &p) {
      if (space == Space::Lds && p.address >= w.ldsSize)
        return;
      lanes |= uint64_t(1) << p.first | uint64_t(1) << p.second;
      address = p.address;
    });
    if (lanes && checks_ & kCheckRace)
      pend(kCheckRace,
           "lanes of one wave copy by one instruction to " +
               (space == Space::Lds ? "LDS byte " + std::to_string(address)
                                    : "global memory (" + state_.findings.describe(address) + ")") +
               ", and which of them wins is not said",
           w, i, lanes);
  }

  /// Stores of several lanes of one instruction to one place: which of them wins is not said.
  void checkLanes(Wave &w, const Inst &i, Space space, const LaneAccess &a) {
    // An instruction with two data operands reports the places of the second after the first's.
    const bool second = i.rows.second && std::exchange(secondData_, true);
    if (i.op->transfer.isAsync)
      return checkCopies(w, i, space, a);
    if (i.flags & kToLds || i.op->transfer.toLds)
      return; // each lane has a place of its own
    const Operand &data = i.src[second ? 2 : 1];
    const unsigned rows = second ? i.rows.second : i.rows.data;
    if (!data.isVgpr() || !rows)
      return;
    const uint32_t part = a.bytes >= 4                                ? ~0u
                          : i.op->transfer.part == RegisterPart::High ? 0xffff0000u
                                                                      : (1u << 8 * a.bytes) - 1;
    uint64_t lanes = 0;
    bool differ = false;
    LaneOverlaps::Pair some = {};
    overlaps_.each(a, [&](const LaneOverlaps::Pair &p) {
      bool same = p.samePlace;
      for (unsigned r = 0; r < rows && same; ++r) {
        const uint32_t *row = w.row(data.index + r);
        same = !((row[p.first] ^ row[p.second]) & part);
      }
      if (same && differ)
        return;
      if (!same && !differ)
        lanes = 0; // those that store different values are worth more
      differ |= !same;
      some = p;
      lanes |= uint64_t(1) << p.first | uint64_t(1) << p.second;
    });
    const Check check = differ ? kCheckRace : kCheckRaceSame;
    if (!lanes || !(checks_ & check))
      return;
    pend(check,
         std::string("lanes of one wave store ") +
             (differ ? "different values" : "the same value") + " by one instruction to " +
             (space == Space::Lds
                  ? "LDS byte " + std::to_string(some.address)
                  : "global memory (" + state_.findings.describe(some.address) + ")"),
         w, i, lanes);
  }

  void checkRace(Wave &w, const Inst &i, Space space, const LaneAccess &a) {
    const auto inst = static_cast<uint32_t>(&i - program_.insts.data());
    auto tell = [&](const Touch &other, bool wrote, const std::string &where, const char *why,
                    uint64_t lanes, const uint8_t *place, uint64_t size) {
      // A scalar load of a dword may want a part of it alone: compilers load a byte so.
      const bool scalar = i.enc == Enc::Smem,
                 otherScalar = program_.insts[other.inst].enc == Enc::Smem;
      if (size < 4 &&
          ((scalar && !a.write && i.op->transfer.bytes >= 4) ||
           (otherScalar && !wrote && program_.insts[other.inst].op->transfer.bytes >= 4)))
        return;
      if (scalar)
        lanes = 0;
      const std::string what = std::string(wrote ? "write" : "read") + " and " +
                               (a.write ? "write" : "read") + " of " + where + " are not ordered" +
                               why + ": the other is " + state_.findings.who(other);
      if (wrote && a.write && place)
        suspect(what, w, i, lanes, place, size);
      else if (checks_ & kCheckRace)
        pend(kCheckRace, what, w, i, lanes);
    };
    if (space == Space::Global) {
      if (std::all_of(a.addresses(), a.addresses() + a.count,
                      [&](uint64_t place) { return state_.exchange.contains(place, a.bytes); }))
        return;
      order_.touched = true;
      auto report = [&](const Touch &other, bool wrote, GlobalRaces::Missing missing,
                        uint64_t lanes, uint64_t at, uint64_t size) {
        // The access is reported before its address is checked, so the address may be invalid.
        MemoryRange range;
        const bool mapped = w.memory->find(at, range) && range.contains(at, size);
        tell(other, wrote, "global memory (" + state_.findings.describe(at) + ")",
             whatIsMissing(missing), lanes,
             mapped ? reinterpret_cast<const uint8_t *>(at) : nullptr, size);
      };
      state_.races.access({inst, group_, w.index, kindOf(i, a)}, order_, a, report);
    } else if (a.count > 1 || a.at(0) + a.bytes <= lds_.size()) {
      auto report = [&](const Touch &other, bool wrote, unsigned lane, uint64_t at, uint64_t size) {
        tell(other, wrote, "LDS byte " + std::to_string(at), "", uint64_t(1) << lane, w.lds + at,
             size);
      };
      lds_.access(inst, w.index, a, report);
    }
  }

  /// What would have ordered an access to global memory after another one.
  const char *whatIsMissing(GlobalRaces::Missing missing) const {
    switch (missing) {
    case GlobalRaces::Missing::Barrier:
      return " by a barrier of the workgroup";
    case GlobalRaces::Missing::Publication:
      return releaseBy_ == ReleaseBy::WriteBack
                 ? " by a release of device scope (buffer_wbl2 sc1) and an atomic operation or "
                   "store "
                   "of that scope after the first"
                 : " by an atomic operation or store of device scope after the first";
    case GlobalRaces::Missing::Look:
      return " by an atomic operation or load of device scope that sees what the first one's "
             "workgroup released";
    case GlobalRaces::Missing::Acquire:
      return " by an acquire of device scope before the second, which invalidates caches after an "
             "atomic operation has seen the release";
    case GlobalRaces::Missing::Nothing:
      break;
    }
    return "";
  }

  /// What is asked of every instruction that runs.
  enum Fact : uint16_t {
    kMovesValues = 1,
    kIsBarrier = 2,
    kScalarDwords = 4,
    kSynchronizesWaves = 8, ///< atomic operations and fences of any memory and scope
    kPublishes = 16,        ///< writes, seen by the device
    kLooks = 32,            ///< reads what the device has seen
    kReleases = 64,         ///< writes caches back for the device
    kAcquires = 128,        ///< invalidates caches for the device
    kMarksArray = 256,      ///< says where an array in LDS lies
    kAnySynchronization = kSynchronizesWaves | kPublishes | kLooks | kReleases | kAcquires,
  };
  uint16_t factsOf(const Inst &i) {
    if (!i.op)
      return 0;
    unsigned facts =
        (init_.concerns(i) ? kMovesValues : 0) | (i.op->has(Trait::Barrier) ? kIsBarrier : 0);
    if (i.enc == Enc::Smem && accessesMemory(i.op->flow) && i.op->transfer.bytes >= 4)
      facts |= kScalarDwords;
    if (LdsArrays::isMark(program_, i))
      facts |= kMarksArray;
    if (synchronizes(i) || program_.isAtomic(i))
      facts |= kSynchronizesWaves;
    if (i.op->has(Trait::Orders)) {
      const bool ofDevice = !scopedFences_ || i.flags & kWideScope;
      if (i.op->has(Trait::GlobalSync)) // the grid's barrier
        facts |= kReleases | kPublishes;
      if (i.op->has(Trait::WritesBack) && ofDevice)
        facts |= kReleases;
      if (ofDevice && i.op->has(splitInvalidation_ ? Trait::ForgetsDevice : Trait::Invalidates))
        facts |= kAcquires;
    } else if (synchronizes(i)) {
      const unsigned effects = program_.effectsOf(i);
      facts |= (effects & kStores ? kPublishes : 0) | (effects & kLoads ? kLooks : 0);
    }
    return static_cast<uint16_t>(facts);
  }

  void synchronize(const Wave &w, unsigned facts) {
    state_.races.synchronize(order_, w.index);
    if (facts & kReleases)
      state_.races.release(order_);
    if (facts & kPublishes)
      state_.races.publish(group_, order_);
    if (facts & kAcquires)
      state_.races.acquire(order_);
    looks_ = facts & kLooks;
  }
  /// Called when a read of device scope has run.
  void look() {
    looks_ = false;
    state_.races.look(order_);
  }

  static bool accessesMemory(Flow flow) {
    return flow == Flow::Load || flow == Flow::Store || flow == Flow::Atomic;
  }

  /// Scalar memory alone drops the two lowest bits of a dword's address, whatever the mode of
  /// alignment (the ISA manuals, "Scalar Memory Addressing").
  void checkScalarAddress(const Wave &w, const Inst &i) {
    uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(i.offset));
    if (i.src[2].kind != Kind::None)
      offset += uint64_t(read32(w, i.src[2])) * (i.flags & kScaleOffset ? i.op->transfer.bytes : 1);
    const uint64_t base = w.s64(i.src[0].index);
    const uint64_t odd =
        i.op->has(Trait::DescriptorBase) ? (base | offset) & 3 : (base + offset) & 3;
    if (odd)
      state_.findings.add(kCheckMemory,
                          "scalar access to dwords at an address that is no multiple of 4, whose "
                          "lowest bits the hardware drops",
                          w, i, 0);
  }

  /// Waves of a workgroup that meet at different barriers. It is a mistake if neither wave ever
  /// comes to the other's barrier, as in the branches of a condition. Otherwise one is some
  /// barriers behind the other: groups of waves that take turns at the matrix units run so.
  class Meetings {
  public:
    struct Meeting {
      const Wave *first, *second;
      const Inst *atFirst, *atSecond;
    };
    void passed(const Wave &w) { passed_.emplace(w.index, w.current); }
    void add(const Wave &first, const Wave &second) {
      meetings_.try_emplace({first.current, second.current},
                            Meeting{&first, &second, first.current, second.current});
    }
    template <class Body> void eachMistake(Body body) const {
      for (const auto &[places, m] : meetings_)
        if (!passed_.contains({m.first->index, m.atSecond}) &&
            !passed_.contains({m.second->index, m.atFirst}))
          body(m);
    }
    void clear() {
      passed_.clear();
      meetings_.clear();
    }

  private:
    std::set<std::pair<unsigned, const Inst *>> passed_; // waves, and where they were
    std::map<std::pair<const Inst *, const Inst *>, Meeting> meetings_;
  };

  /// Touch's kind of an access to global memory. A relaxed atomic store of device scope is a plain
  /// store on gfx90a and gfx11 (LLVM's AMDGPUUsage, the tables of the memory model), so that a load
  /// of device scope, which can be told, may be meant to see it.
  uint32_t kindOf(const Inst &i, const LaneAccess &a) const {
    if (!a.atomic && !synchronizes(i))
      return 0;
    return Touch::kAtomic |
           (releaseBy_ == ReleaseBy::Access && !a.write ? Touch::kExpectsWrites : 0);
  }

  /// Returns true for instructions that order memory between workgroups: atomic operations,
  /// accesses whose scope is wider than a workgroup, and cache control.
  bool synchronizes(const Inst &i) const {
    if (!i.op)
      return false;
    if (i.op->has(Trait::Orders))
      return true;
    if (i.enc != Enc::Flat && i.enc != Enc::Global && i.enc != Enc::Mubuf)
      return false;
    return i.flags & kWideScope || program_.isAtomic(i);
  }

  void checkBarrier(Wave &w, const Inst &i) {
    if (w.exec() != startMask_[w.index])
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
  Meetings meetings_;
  CheckState &state_;
  const unsigned checks_;
  const Program &program_;
  std::vector<uint16_t> facts_; ///< of each instruction: Fact
  const Inst *lastAccess_ = nullptr;
  bool lastIsAtomic_ = false;
  bool lastAsks_ = false; ///< an atomic operation whose old value something depends on
  std::vector<Pending> pending_;
  std::vector<Suspect> suspects_; ///< of the instruction that runs
  InitCheck init_;
  std::optional<WaitCheck> waits_;
  std::shared_ptr<WrittenBytes> known_; ///< of the allocation touched last
  TouchMarker touched_;
  LdsArrays arrays_;
  LdsRaces lds_;
  LaneOverlaps overlaps_;
  LaneStores stores_;       ///< of the instruction whose accesses are reported lane by lane
  bool secondData_ = false; ///< its first data operand has been looked at
  const ReleaseBy releaseBy_;
  const bool scopedFences_;      ///< fences say by a scope how far they reach
  const bool splitInvalidation_; ///< the device's invalidation is an instruction of its own
  bool looks_ = false;           ///< the instruction that runs reads what the device has seen
  std::vector<uint64_t> startMask_;
  GlobalRaces::GroupOrder order_;
  uint32_t group_ = 0; ///< the workgroup's number
};
} // namespace

std::unique_ptr<Observer> makeChecks(CheckState &state) { return std::make_unique<Checks>(state); }

} // namespace flyemu
