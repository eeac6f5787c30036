#include "emulator/observe/wait_check.h"

#include "emulator/isa/op.h"
#include "emulator/observe/wait_counts.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace flyemu {

namespace {
constexpr uint8_t kCounters[] = {kCountVector, kCountLds, kCountScalar};

/// The most that a counter holds; an instruction that would count beyond waits (LLVM's
/// AMDGPUBaseInfo, the widths of the wait instructions' fields).
unsigned most(const Machine &machine, uint8_t counter) {
  if (counter == kCountLds)
    return machine.encoding == Encoding::Gfx9 ? 15 : 63;
  return counter == kCountScalar && machine.encoding == Encoding::Gfx12 ? 31 : 63;
}

std::string counterName(const Machine &machine, uint8_t counter) {
  if (machine.encoding != Encoding::Gfx12)
    return counter == kCountVector ? "vmcnt" : "lgkmcnt";
  return counter == kCountVector ? "loadcnt" : counter == kCountLds ? "dscnt" : "kmcnt";
}

/// Whether loads that write one register do so in the order of issue (LLVM's
/// FeatureVmemWriteVgprInOrder, which gfx12 does not have).
bool writesInOrder(const Machine &machine, uint8_t counter) {
  return counter == kCountLds || machine.encoding != Encoding::Gfx12;
}

template <class Bits> bool anyOf(const Bits &bits, const RegisterRange &r) {
  for (unsigned row = r.first; row < r.first + r.count; ++row)
    if (bits[row / 32] >> (row % 32 * 2) & r.halves)
      return true;
  return false;
}
template <class Bits> void setAll(Bits &bits, const RegisterRange &r) {
  for (unsigned row = r.first; row < r.first + r.count; ++row)
    bits[row / 32] |= uint64_t(r.halves) << (row % 32 * 2);
}
} // namespace

WaitCheck::WaitCheck(const Program &program, bool late, Place place)
    : program_(program), late_(late), place_(std::move(place)) {
  for (const Inst &inst : program.insts)
    hasLoads_ |= loadsToLds(inst);
}

void WaitCheck::beginGroup(Group &group) {
  running_ = nullptr;
  waves_.assign(group.waves.size(), {});
  for (Wave &wave : group.waves)
    waves_[wave.index].wave = &wave;
  loads_.clear();
  crossed_.clear();
  passed_ = 1;
  if (hasLoads_)
    lds_.assign(group.waves.empty() ? 0 : (group.waves[0].ldsSize + 3) / 4, {});
}

const WaitRule &WaitCheck::ruleOf(const Inst &inst) {
  if (rules_.empty())
    rules_.resize(program_.insts.size());
  WaitRule &rule = rules_[static_cast<size_t>(&inst - program_.insts.data())];
  if (!rule.known)
    rule = waitRule(program_, inst);
  return rule;
}

void WaitCheck::before(Wave &wave, const Inst &inst, const Report &report) {
  settle();
  WaveState &state = waves_[wave.index];
  const WaitRule &rule = ruleOf(inst);
  if (rule.waits) {
    const WaitCounts left = waitCounts(*program_.target, inst);
    if (left.vector != WaitCounts::kAny)
      retire(state, kCountVector, left.vector);
    if (left.lds != WaitCounts::kAny)
      retire(state, kCountLds, left.lds);
    if (left.scalar != WaitCounts::kAny)
      retire(state, kCountScalar, left.scalar);
    return;
  }
  if (!state.operations.empty())
    checkRegisters(state, inst, rule, report);
  if (!rule.counters)
    return;
  for (uint8_t counter : kCounters)
    if (rule.counters & counter && state.operations.size() >= most(*program_.target, counter))
      retire(state, counter, most(*program_.target, counter) - 1);
  Operation operation;
  operation.inst = &inst;
  operation.open = rule.counters;
  operation.ordered = rule.ordered;
  operation.exec = wave.exec();
  for (uint8_t counter : kCounters)
    state.open[counter] += bool(rule.counters & counter);
  state.unordered += rule.counters != rule.ordered;
  if (!spare_.empty()) {
    operation.lds = std::move(spare_.back());
    spare_.pop_back();
  }
  if (!spareValues_.empty()) {
    operation.values = std::move(spareValues_.back());
    spareValues_.pop_back();
  }
  if (rule.toLds) {
    loads_.push_back({&inst, wave.index});
    operation.load = static_cast<uint32_t>(loads_.size());
  }
  for (const RegisterRange &r : rule.writes)
    setAll(state.busy, r);
  state.operations.push_back(std::move(operation));
  running_ = &state;
}

std::string WaitCheck::remedy(const WaveState &state, const Operation &operation) const {
  std::string text;
  for (uint8_t counter : kCounters) {
    if (!(operation.open & counter))
      continue;
    // As many as have been issued since may be left where the counter ends them in order.
    unsigned later = 0;
    for (auto o = state.operations.rbegin(); &*o != &operation; ++o)
      later += bool(o->open & o->ordered & counter);
    text += (text.empty() ? "" : " and ") + counterName(*program_.target, counter) + "(" +
            std::to_string(operation.ordered & counter ? later : 0) + ")";
  }
  return text;
}

void WaitCheck::checkRegisters(WaveState &state, const Inst &inst, const WaitRule &rule,
                               const Report &report) {
  auto find = [&](const RegisterRange &wanted, bool reads) {
    if (!anyOf(state.busy, wanted))
      return false;
    for (const Operation &o : state.operations) {
      // A load may write after another one of its kind.
      if (!reads && o.ordered == rule.ordered && std::has_single_bit(rule.ordered) &&
          o.open == rule.counters && writesInOrder(*program_.target, rule.ordered))
        continue;
      for (const RegisterRange &r :
           rules_[static_cast<size_t>(o.inst - program_.insts.data())].writes)
        if (r.overlaps(wanted)) {
          report(registerName(std::max(r.first, wanted.first)) + " is " +
                     (reads ? "read" : "overwritten") +
                     " before the load into it has landed, for which " + remedy(state, o) +
                     " would wait: the load is " + place_(*o.inst),
                 0);
          return true;
        }
    }
    // Busy is made anew when it has cost as much as that costs.
    if (++state.misses > state.operations.size()) {
      state.misses = 0;
      state.busy = {};
      for (const Operation &o : state.operations)
        for (const RegisterRange &r : ruleOf(*o.inst).writes)
          setAll(state.busy, r);
    }
    return false;
  };
  for (const RegisterRange &r : rule.reads)
    if (find(r, true))
      return;
  for (const RegisterRange &r : rule.writes)
    if (find(r, false))
      return;
}

void WaitCheck::retire(WaveState &state, uint8_t counter, unsigned left) {
  // Of the operations that end in order, those have ended behind which at least `left` others have
  // been issued: if one of them were under way, so were all of these. The others have ended if
  // nothing is left.
  size_t ended = 0;
  auto close = [&](Operation &o) {
    o.open &= static_cast<uint8_t>(~counter);
    --state.open[counter];
    ended += !o.open;
  };
  if (!state.unordered) {
    for (auto o = state.operations.begin(); state.open[counter] > left; ++o)
      if (o->open & counter)
        close(*o);
  } else {
    unsigned later = 0;
    for (auto o = state.operations.rbegin(); o != state.operations.rend(); ++o)
      if (o->open & counter && (o->ordered & counter ? later++ >= left : left == 0))
        close(*o);
  }
  // Unordered ones that no code waits for do not pile up.
  if (state.operations.size() > 4 * most(*program_.target, counter)) {
    Operation &oldest = state.operations.front();
    ended += bool(oldest.open);
    for (uint8_t c : kCounters)
      state.open[c] -= bool(oldest.open & c);
    oldest.open = 0;
  }
  if (ended)
    forget(state, ended);
}

void WaitCheck::forget(WaveState &state, size_t ended) {
  auto &operations = state.operations;
  for (; ended; --ended) { // the oldest, as a rule, which a deque forgets at little cost
    const auto o = std::find_if(operations.begin(), operations.end(),
                                [](const Operation &x) { return !x.open; });
    end(state, *o);
    operations.erase(o);
  }
  if (state.operations.empty())
    state.busy = {};
}

void WaitCheck::end(WaveState &state, Operation &o) {
  state.unordered -= ruleOf(*o.inst).counters != o.ordered;
  if (late_)
    land(*state.wave, o);
  if (o.load) {
    loads_[o.load - 1].ended = true;
    loads_[o.load - 1].time = passed_;
  }
  for (Crossed &c : crossed_)
    if (o.crossed && c.number == o.crossed) {
      c.ended = true;
      c.time = passed_;
    }
  o.lds.clear();
  spare_.push_back(std::move(o.lds));
  o.values.clear();
  spareValues_.push_back(std::move(o.values));
}

template <class Rows, class Visit>
void WaitCheck::eachValue(Wave &wave, const Operation &o, Rows rows, Visit visit) const {
  const WaitRule &rule = rules_[static_cast<size_t>(o.inst - program_.insts.data())];
  if (rule.toLds) {
    for (const Bytes &b : o.lds)
      for (uint32_t at = b.from; at + 4 <= std::min(b.to, wave.ldsSize); at += 4)
        visit(reinterpret_cast<uint32_t *>(wave.lds + at), ~0u);
    return;
  }
  for (const RegisterRange &r : rule.writes)
    for (unsigned row = r.first; row < r.first + r.count; ++row) {
      if (row >= kScalarRows) {
        visit(&wave.s[row - kScalarRows], ~0u);
        continue;
      }
      if (o.exec == wave.fullMask() && r.halves == RegisterRange::kBoth) {
        rows(wave.row(row));
        continue;
      }
      for (uint64_t lanes = o.exec; lanes; lanes &= lanes - 1)
        visit(&wave.row(row)[std::countr_zero(lanes)], r.mask());
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

void WaitCheck::land(Wave &wave, const Operation &o) {
  if (o.values.empty())
    return;
  size_t next = 0;
  eachValue(
      wave, o,
      [&](uint32_t *row) {
        std::copy_n(o.values.data() + next, wave.lanes, row);
        next += wave.lanes;
      },
      [&](void *place, uint32_t mask) { replace(place, mask, o.values[next++]); });
}

void WaitCheck::settle() {
  if (!running_)
    return;
  WaveState &state = *running_;
  running_ = nullptr;
  if (!late_)
    return;
  Operation &o = state.operations.back();
  eachValue(
      *state.wave, o,
      [&](uint32_t *row) {
        o.values.insert(o.values.end(), row, row + state.wave->lanes);
        std::fill_n(row, state.wave->lanes, kPoison);
      },
      [&](void *place, uint32_t mask) {
        uint32_t value;
        std::memcpy(&value, place, 4);
        o.values.push_back(value);
        replace(place, mask, kPoison);
      });
}

void WaitCheck::barrier() {
  settle();
  for (WaveState &state : waves_) {
    for (Operation &o : state.operations)
      if (!o.load && !o.crossed && !o.lds.empty()) {
        o.crossed = ++crossings_;
        crossed_.push_back({o.crossed, o.inst, state.wave->index, o.writesLds, false, 0, o.lds});
      }
  }
  ++passed_;
  std::erase_if(crossed_, [this](const Crossed &c) { return c.ended && c.time < passed_; });
}

const WaitCheck::Operation *WaitCheck::operationOf(uint32_t load) const {
  for (const Operation &o : waves_[loads_[load - 1].wave].operations)
    if (o.load == load)
      return &o;
  return nullptr;
}

void WaitCheck::access(const Wave &wave, const Inst &inst, unsigned lane, uint64_t address,
                       unsigned bytes, bool write, const Report &report) {
  if (address + bytes > wave.ldsSize)
    return;
  if (!hasLoads_)
    return;
  WaveState &state = waves_[wave.index];
  const auto from = static_cast<uint32_t>(address), to = from + bytes;
  const uint64_t bit = uint64_t(1) << lane;
  if (running_ == &state) {
    Operation &operation = state.operations.back();
    operation.writesLds |= write;
    if (!operation.lds.empty() && operation.lds.back().to == from)
      operation.lds.back().to = to;
    else
      operation.lds.push_back({from, to});
    if (operation.load)
      checkCrossed(wave, bit, from, to, report);
  }
  checkLoads(wave, inst, write, bit, from, to, report);
}

void WaitCheck::checkCrossed(const Wave &wave, uint64_t bit, uint32_t from, uint32_t to,
                             const Report &report) const {
  for (const Crossed &c : crossed_)
    if (c.wave != wave.index)
      for (const Bytes &b : c.lds)
        if (b.from < to && from < b.to) {
          report("LDS byte " + std::to_string(std::max(from, b.from)) +
                     " is loaded to while wave " + std::to_string(c.wave) + " may still " +
                     (c.writes ? "write" : "read") +
                     " it, which did not wait for that before the barrier: the other is " +
                     place_(*c.inst),
                 bit);
          return;
        }
}

void WaitCheck::checkLoads(const Wave &wave, const Inst &inst, bool write, uint64_t bit,
                           uint32_t from, uint32_t to, const Report &report) {
  const WaveState &state = waves_[wave.index];
  const bool loads = running_ == &state && state.operations.back().load;
  auto where = [&](uint32_t dword) {
    return "LDS byte " + std::to_string(std::max(from, dword * 4)) + " is " +
           (loads   ? "loaded to"
            : write ? "written"
                    : "read");
  };
  for (uint32_t dword = from / 4; dword < (to + 3) / 4; ++dword) {
    Dword &d = lds_[dword];
    if (d.load) {
      const Load &l = loads_[d.load - 1];
      const bool own = l.wave == wave.index;
      if (!l.ended && !(own && loads)) {
        const Operation *o = operationOf(d.load);
        report(where(dword) + " while a load to it" +
                   (own ? "" : " by wave " + std::to_string(l.wave)) + " is under way, for which " +
                   (o ? remedy(waves_[l.wave], *o) : "that wave's counter") +
                   (own ? "" : " and then a barrier") + " would wait: the load is " +
                   place_(*l.inst),
               bit);
      } else if (!own && l.ended && l.time >= passed_) {
        report(where(dword) + " before a barrier after wave " + std::to_string(l.wave) +
                   " has waited for a load to it: the load is " + place_(*l.inst),
               bit);
      }
    }
    if (loads) {
      for (const User &u : d.users)
        if (u.time >= passed_ && u.wave != wave.index) {
          report(where(dword) + " while wave " + std::to_string(u.wave) +
                     " may still access it, because no barrier stands between: the other is " +
                     place_(program_.insts[u.inst]),
                 bit);
          break;
        }
      d.load = state.operations.back().load;
    } else {
      if (d.users[0].wave != wave.index)
        d.users[1] = d.users[0];
      d.users[0] = {static_cast<uint32_t>(&inst - program_.insts.data()), passed_, wave.index};
    }
  }
}

} // namespace flyemu
