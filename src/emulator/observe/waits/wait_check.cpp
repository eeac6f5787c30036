#include "emulator/observe/waits/wait_check.h"

#include "emulator/isa/op.h"
#include "emulator/observe/lane_loops.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <optional>

namespace flyemu {

namespace {
/// The most that a counter holds; an instruction that would count beyond waits. 0: there is no such
/// counter.
unsigned most(const Machine &machine, WaitCounter counter) {
  const flydsl::detail::WaitCounters &most = machine.processor->waitCounters;
  switch (counter) {
  case WaitCounter::Load:
    return static_cast<unsigned>(most.loads);
  case WaitCounter::Store:
    return static_cast<unsigned>(most.stores);
  case WaitCounter::Ds:
    return static_cast<unsigned>(most.lds);
  case WaitCounter::Km:
    return static_cast<unsigned>(most.scalar);
  case WaitCounter::Async:
    // How many it holds is not known, so that no copy is taken to have ended without a wait.
    return machine.has(flydsl::Feature::async_lds) ? UINT_MAX : 0;
  case WaitCounter::Tensor: // six bits (the CDNA5 ISA manual, 10.11)
    return machine.has(flydsl::Feature::tensor_mover) ? 63 : 0;
  }
  return 0;
}

const char *counterName(const Machine &machine, WaitCounter counter) {
  const bool named = machine.encoding == Encoding::Gfx12; // each by a name of its own
  switch (counter) {
  case WaitCounter::Load:
    return named ? "loadcnt" : "vmcnt";
  case WaitCounter::Store:
    return named ? "storecnt" : machine.encoding == Encoding::Gfx9 ? "vmcnt" : "vscnt";
  case WaitCounter::Ds:
    return named ? "dscnt" : "lgkmcnt";
  case WaitCounter::Km:
    return named ? "kmcnt" : "lgkmcnt";
  case WaitCounter::Async:
    return "asynccnt";
  case WaitCounter::Tensor:
    return "tensorcnt";
  }
  return "";
}

/// Whether loads that write one register do so in the order of issue (LLVM's
/// FeatureVmemWriteVgprInOrder, which gfx12 does not have).
bool writesInOrder(const Machine &machine, WaitCounterSet counter) {
  return counter == WaitCounter::Ds || machine.encoding != Encoding::Gfx12;
}

/// The bytes of WaitCheck::WaveState::pending that count who writes these halves of a register.
uint64_t bytesOf(uint8_t halves) {
  return (halves & RegisterRange::kLow ? 0xffffffffull : 0) |
         (halves & RegisterRange::kHigh ? 0xffffffffull << 32 : 0);
}
constexpr uint64_t kOnes = 0x0000000100000001; ///< one operation of the first kind, of both halves
} // namespace

WaitCheck::WaitCheck(const Program &program, bool late, Place place)
    : program_(program), late_(late), place_(std::move(place)), rules_(program.insts.size()) {
  for (const Inst &inst : program.insts)
    followsLds_ |= loadsToLds(inst) || copiesFromLds(inst);
  for (unsigned k = 0; k < kWaitCounters; ++k)
    most_[k] = most(*program.target, static_cast<WaitCounter>(k));
}

void WaitCheck::beginGroup(Group &group) {
  running_ = nullptr;
  waves_.resize(group.waves.size());
  for (Wave &wave : group.waves) {
    WaveState &state = waves_[wave.index];
    state.wave = &wave;
    if (state.pending.empty() || state.operations.size())
      state.pending.assign(registersOf(*program_.target), 0);
    state.operations.clear();
    state.writeBacks = 0;
  }
  loads_.clear();
  crossed_.clear();
  copiesOut_.clear();
  passed_ = 1;
  settled_ = 0;
  const size_t dwords = followsLds_ && !group.waves.empty() ? (group.waves[0].ldsSize + 3) / 4 : 0;
  for (std::vector<uint32_t> *part : {&lds_, &users_[0], &users_[1], &usedAt_[0], &usedAt_[1]})
    part->assign(dwords, 0);
}

WaitCheck::Kind WaitCheck::kindOf(const WaitRule &rule) {
  if (rule.counters != rule.ordered)
    return kOthers;
  return rule.counters == WaitCounter::Load ? kVector
         : rule.counters == WaitCounter::Ds ? kLds
                                            : kOthers;
}

void WaitCheck::before(Wave &wave, const Inst &inst, const Report &report) {
  settle();
  WaveState &state = waves_[wave.index];
  const WaitRule &rule = ruleOf(inst);
  if (rule.waits) {
    for (unsigned k = 0; k < kWaitCounters; ++k) {
      const auto counter = static_cast<WaitCounter>(k);
      if (rule.left[counter] != WaitCounts::kAny)
        state.operations.wait(counter, rule.left[counter],
                              [&](CountedOperation &o) { end(state, o); });
    }
    return;
  }
  if (state.operations.size())
    checkRegisters(state, rule, report);
  if (state.writeBacks && rule.publishes)
    checkWriteBack(state, report);
  if (!rule.counters.empty())
    issue(state, inst, rule);
}

void WaitCheck::issue(WaveState &state, const Inst &inst, const WaitRule &rule) {
  for (WaitCounter counter : rule.counters) {
    const unsigned limit = most_[static_cast<unsigned>(counter)];
    if (!limit)
      throw WaveFault{std::string("the wait check has an operation counted by ") +
                      counterName(*program_.target, counter) + ", which this target does not have"};
    state.operations.makeRoom(counter, limit, [&](CountedOperation &o) { end(state, o); });
  }
  const Kind kind = kindOf(rule);
  state.writeBacks += rule.writesBack;
  CountedOperation &operation = state.operations.issue(inst, rule);
  operation.exec = state.wave->exec();
  if (rule.toLds) {
    loads_.push_back({&inst, state.wave->index});
    operation.load = static_cast<uint32_t>(loads_.size());
  }
  if (copiesFromLds(inst))
    copiesOut_.push_back({&operation, &inst, state.wave->index, 0, {}});
  for (const RegisterRange &r : rule.writes)
    for (unsigned row = r.first; row < r.first + r.count; ++row)
      state.pending[row] += bytesOf(r.halves) & kOnes << (8 * kind);
  running_ = &state;
  last_ = &operation;
}

std::string WaitCheck::remedy(const WaveState &state, const CountedOperation &operation) const {
  std::string text;
  for (WaitCounter counter : operation.open)
    text += std::string(text.empty() ? "" : " and ") + counterName(*program_.target, counter) +
            "(" + std::to_string(state.operations.leftBy(operation, counter)) + ")";
  return text;
}

void WaitCheck::checkRegisters(WaveState &state, const WaitRule &rule, const Report &report) {
  auto pending = [&](const RegisterRange &wanted, uint64_t bytes) {
    uint64_t counts = 0;
    for (unsigned row = wanted.first; row < wanted.first + wanted.count; ++row)
      counts |= state.pending[row];
    return counts & bytes & bytesOf(wanted.halves);
  };
  for (const RegisterRange &r : rule.reads)
    if (pending(r, ~uint64_t(0)))
      return reportRegister(state, r, true, kKinds, report);
  // A load may write after another one of its kind.
  const Kind kind = kindOf(rule);
  const Kind allowed =
      kind != kOthers && writesInOrder(*program_.target, rule.ordered) ? kind : kKinds;
  const uint64_t others = allowed == kKinds ? ~uint64_t(0) : ~(0xff * kOnes << (8 * allowed));
  for (const RegisterRange &r : rule.writes)
    if (pending(r, others))
      return reportRegister(state, r, false, allowed, report);
}

void WaitCheck::reportRegister(const WaveState &state, const RegisterRange &wanted, bool reads,
                               Kind except, const Report &report) const {
  const CountedOperation *first = nullptr;
  const RegisterRange *written = nullptr;
  state.operations.each([&](const CountedOperation &o) {
    if (kindOf(*o.rule) != except)
      for (const RegisterRange &r : o.rule->writes)
        if (r.overlaps(wanted) && (!first || o.number < first->number)) {
          first = &o;
          written = &r;
        }
  });
  report(registerName(*program_.target, std::max(written->first, wanted.first)) + " is " +
             (reads ? "read" : "overwritten") + " before the load into it has landed, for which " +
             remedy(state, *first) + " would wait: the load is " + place_(*first->inst),
         0);
}

void WaitCheck::checkWriteBack(const WaveState &state, const Report &report) const {
  const CountedOperation *last = nullptr;
  state.operations.each([&](const CountedOperation &o) {
    if (o.rule->writesBack && (!last || o.number > last->number))
      last = &o;
  });
  report("others learn by this instruction what the wave has written before the cache that keeps "
         "it is written back, for which " +
             remedy(state, *last) + " would wait: the write-back is " + place_(*last->inst),
         0);
}

void WaitCheck::end(WaveState &state, CountedOperation &o) {
  state.writeBacks -= o.rule->writesBack;
  for (const RegisterRange &r : o.rule->writes)
    for (unsigned row = r.first; row < r.first + r.count; ++row)
      state.pending[row] -= bytesOf(r.halves) & kOnes << (8 * kindOf(*o.rule));
  if (late_)
    land(*state.wave, o);
  if (o.load) {
    loads_[o.load - 1].ended = true;
    loads_[o.load - 1].time = passed_;
  }
  for (CopyOut &copy : copiesOut_)
    if (copy.operation == &o) {
      copy.operation = nullptr;
      copy.time = passed_;
    }
  for (size_t k = o.crossed ? 0 : crossed_.size(); k < crossed_.size(); ++k)
    if (Crossed &c = crossed_[k]; c.number == o.crossed) {
      c.ended = true;
      c.time = passed_;
    }
}

template <class Rows, class Visit>
void WaitCheck::eachValue(Wave &wave, const CountedOperation &o, Rows rows, Visit visit) const {
  if (o.rule->toLds) {
    for (const LdsBytes &b : o.lds)
      for (uint32_t at = b.from; at + 4 <= std::min(b.to, wave.ldsSize); at += 4)
        visit(reinterpret_cast<uint32_t *>(wave.lds + at), ~0u);
    return;
  }
  for (const RegisterRange &r : o.rule->writes) {
    if (r.first >= kVectorRows && o.exec == wave.fullMask() && r.halves == RegisterRange::kBoth) {
      rows(wave.row(r.first - kVectorRows), r.count);
      continue;
    }
    for (unsigned row = r.first; row < r.first + r.count; ++row) {
      if (row < kVectorRows) {
        visit(&wave.s[row], ~0u);
        continue;
      }
      for (uint64_t lanes = o.exec; lanes; lanes &= lanes - 1)
        visit(&wave.row(row - kVectorRows)[std::countr_zero(lanes)], r.mask());
    }
  }
}

namespace {
/// Replaces the bits of `mask`; the place may be any byte of LDS.
void replace(void *place, uint32_t mask, uint32_t value) {
  uint32_t old;
  std::memcpy(&old, place, 4);
  old = (old & ~mask) | (value & mask);
  std::memcpy(place, &old, 4);
}
} // namespace

void WaitCheck::land(Wave &wave, const CountedOperation &o) {
  if (!o.valueCount)
    return;
  const uint32_t *next = o.values.data();
  eachValue(
      wave, o,
      [&](uint32_t *rows, unsigned count) {
        for (unsigned r = 0; r < count; ++r, next += wave.lanes)
          std::memcpy(rows + r * kLanes, next, wave.lanes * sizeof(uint32_t));
      },
      [&](void *place, uint32_t mask) { replace(place, mask, *next++); });
}

void WaitCheck::settleRunning() {
  Wave &wave = *running_->wave;
  running_ = nullptr;
  if (!late_)
    return;
  CountedOperation &o = *last_;
  auto take = [&](size_t count) {
    if (o.values.size() < o.valueCount + count)
      o.values.resize(o.valueCount + count);
    uint32_t *place = o.values.data() + o.valueCount;
    o.valueCount += count;
    return place;
  };
  eachValue(
      wave, o,
      [&](uint32_t *rows, unsigned count) {
        uint32_t *to = take(size_t(count) * wave.lanes);
        if (wave.lanes == kLanes)
          return laneLoops().hide(rows, count, to, kPoison);
        for (unsigned r = 0; r < count; ++r, to += wave.lanes) {
          uint32_t *row = rows + r * kLanes;
          std::memcpy(to, row, wave.lanes * sizeof(uint32_t));
          std::fill_n(row, wave.lanes, kPoison);
        }
      },
      [&](void *place, uint32_t mask) {
        std::memcpy(take(1), place, 4);
        replace(place, mask, kPoison);
      });
}

void WaitCheck::barrier() {
  settle();
  for (WaveState &state : waves_)
    state.operations.each([&](CountedOperation &o) {
      if (!o.load && !o.crossed && !o.lds.empty()) {
        o.crossed = ++crossings_;
        crossed_.push_back({o.crossed, o.inst, state.wave->index, o.writesLds, false, 0, o.lds});
      }
    });
  ++passed_;
  while (settled_ < loads_.size() && loads_[settled_].ended && loads_[settled_].time < passed_)
    ++settled_;
  std::erase_if(crossed_, [this](const Crossed &c) { return c.ended && c.time < passed_; });
  std::erase_if(copiesOut_, [this](const CopyOut &c) { return !c.operation && c.time < passed_; });
}

const CountedOperation *WaitCheck::operationOf(uint32_t load) const {
  const CountedOperation *found = nullptr;
  waves_[loads_[load - 1].wave].operations.each([&](const CountedOperation &o) {
    if (o.load == load)
      found = &o;
  });
  return found;
}

void WaitCheck::access(const Wave &wave, const Inst &inst, const LaneAccess &a,
                       const Report &report) {
  if (!followsLds_)
    return;
  WaveState &state = waves_[wave.index];
  const bool isRunning = running_ == &state;
  for (unsigned k = 0, lanes = 0; k < a.count; k += lanes) {
    lanes = a.isRun() ? a.count : a.runLength(k);
    const auto from = static_cast<uint32_t>(a.at(k)), to = from + lanes * a.bytes;
    const LaneRun run{a.lane(k), from, a.bytes};
    if (isRunning) {
      CountedOperation &operation = *last_;
      operation.writesLds |= a.write;
      if (!operation.lds.empty() && operation.lds.back().to == from)
        operation.lds.back().to = to;
      else
        operation.lds.push_back({from, to});
      if (operation.load)
        checkCrossed(wave, run, from, to, report);
      if (!copiesOut_.empty() && copiesOut_.back().operation == &operation)
        copiesOut_.back().lds.push_back({from, to});
    }
    if (a.write && !copiesOut_.empty())
      checkCopiesOut(wave, isRunning && last_->load ? "loaded to" : "written", run, from, to,
                     report);
    if (isRunning && last_->load)
      noteLoad(wave, run, from, to, report);
    else
      noteUse(wave, inst, a.write, run, from, to, report);
  }
}

void WaitCheck::checkCrossed(const Wave &wave, const LaneRun &run, uint32_t from, uint32_t to,
                             const Report &report) const {
  for (const Crossed &c : crossed_)
    if (c.wave != wave.index)
      for (const LdsBytes &b : c.lds)
        if (b.from < to && from < b.to) {
          report("LDS byte " + std::to_string(std::max(from, b.from)) +
                     " is loaded to while wave " + std::to_string(c.wave) + " may still " +
                     (c.writes ? "write" : "read") +
                     " it, which did not wait for that before the barrier: the other is " +
                     place_(*c.inst),
                 run.lanes(std::max(from, b.from), std::min(to, b.to)));
          return;
        }
}

void WaitCheck::checkCopiesOut(const Wave &wave, const char *what, const LaneRun &run,
                               uint32_t from, uint32_t to, const Report &report) const {
  for (const CopyOut &copy : copiesOut_) {
    const bool own = copy.wave == wave.index;
    if (own && !copy.operation)
      continue;
    for (const LdsBytes &b : copy.lds) {
      if (b.from >= to || from >= b.to)
        continue;
      const uint32_t byte = std::max(from, b.from);
      const std::string by = own ? "" : " by wave " + std::to_string(copy.wave);
      report(useText(byte, what) +
                 (copy.operation
                      ? " while a copy from it to memory" + by + " is under way, for which " +
                            remedy(waves_[copy.wave], *copy.operation) +
                            (own ? "" : " and then a barrier") + " would wait"
                      : " before a barrier after wave " + std::to_string(copy.wave) +
                            " has waited for a copy from it to memory") +
                 ": the copy is " + place_(*copy.inst),
             run.lanes(byte, std::min(to, b.to)));
      return;
    }
  }
}

std::string WaitCheck::useText(uint32_t byte, const char *what) {
  return "LDS byte " + std::to_string(byte) + " is " + what;
}

void WaitCheck::checkLoad(const Wave &wave, uint32_t number, bool loads, uint32_t byte,
                          const char *what, uint64_t lanes, const Report &report) const {
  const Load &l = loads_[number - 1];
  const bool own = l.wave == wave.index;
  if (!l.ended && !(own && loads)) {
    const CountedOperation *o = operationOf(number);
    report(useText(byte, what) + " while a load to it" +
               (own ? "" : " by wave " + std::to_string(l.wave)) + " is under way, for which " +
               (o ? remedy(waves_[l.wave], *o) : "that wave's counter") +
               (own ? "" : " and then a barrier") + " would wait: the load is " + place_(*l.inst),
           lanes);
  } else if (!own && l.ended && l.time >= passed_) {
    report(useText(byte, what) + " before a barrier after wave " + std::to_string(l.wave) +
               " has waited for a load to it: the load is " + place_(*l.inst),
           lanes);
  }
}

void WaitCheck::noteUse(const Wave &wave, const Inst &inst, bool write, const LaneRun &run,
                        uint32_t from, uint32_t to, const Report &report) {
  const uint32_t first = from / 4, count = (to + 3) / 4 - first;
  const uint32_t latest = laneLoops().noteUsers(
      {lds_.data() + first, users_[0].data() + first, users_[1].data() + first,
       usedAt_[0].data() + first, usedAt_[1].data() + first},
      count, passed_ << kWaveBits | wave.index,
      static_cast<uint32_t>(&inst - program_.insts.data()));
  if (latest <= settled_)
    return;
  for (uint32_t dword = first; dword < first + count; ++dword)
    if (lds_[dword] > settled_) {
      const uint32_t byte = std::max(from, dword * 4);
      checkLoad(wave, lds_[dword], false, byte, write ? "written" : "read",
                run.lanes(byte, std::min(to, dword * 4 + 4)), report);
    }
}

void WaitCheck::noteLoad(const Wave &wave, const LaneRun &run, uint32_t from, uint32_t to,
                         const Report &report) {
  for (uint32_t dword = from / 4; dword < (to + 3) / 4; ++dword) {
    const uint32_t byte = std::max(from, dword * 4);
    const uint64_t lanes = run.lanes(byte, std::min(to, dword * 4 + 4));
    if (lds_[dword] > settled_)
      checkLoad(wave, lds_[dword], true, byte, "loaded to", lanes, report);
    for (unsigned k = 0; k < 2; ++k) {
      const uint32_t user = users_[k][dword], other = user & ((1u << kWaveBits) - 1);
      if (user >> kWaveBits >= passed_ && other != wave.index) {
        report(useText(byte, "loaded to") + " while wave " + std::to_string(other) +
                   " may still access it, because no barrier stands between: the other is " +
                   place_(program_.insts[usedAt_[k][dword]]),
               lanes);
        break;
      }
    }
    lds_[dword] = last_->load;
  }
}

} // namespace flyemu
