#include "emulator/observe/timing.h"

#include "emulator/matrix/execute.h"
#include "emulator/matrix/passes.h"

#include <algorithm>

namespace flyemu {

TimingFigures timingFigures(const Machine &target, unsigned lanes, unsigned latency) {
  // Issue: CDNA's SIMDs are 16 lanes wide and have double precision at full rate; RDNA's are 32
  // wide and have it at 1/32 (ISA manuals; AMD's published peak rates). Which other classes are
  // slower, and by how much, is from LLVM's scheduling models: from gfx90a on CDNA has integer
  // products at full rate, and conversions of f32 at a quarter, RDNA the other way round; the
  // double-precision functions of CDNA are those of quarter rate, of RDNA little slower than its
  // sums. Latencies of a global load that finds its data in the vector cache or L2: RRZE's pointer
  // chases, on MI300X 120 and 213 cycles, on MI210 129 and 258, on an RX 6900 XT 73 and 222.
  // LDS, results and barriers: traces of real waves (tests/emulator/traces); of a barrier of CDNA there
  // is none.
  if (target.encoding == Encoding::Gfx9) {
    const bool isOld = target.processor->family == flydsl::Family::cdna2;
    return {.vector = 4,
            .quarter = 16,
            .product = 4,
            .conversion = 16,
            .wide = 4,
            .wideQuarter = 16,
            .scalar = 4,
            .memoryLatency = latency,
            .l2Latency = isOld ? 258u : 213u,
            .cacheLatency = isOld ? 129u : 120u,
            .scalarLatency = 200,
            .ldsLatency = 32,
            .resultLatency = 4,
            .resultToMemory = 12,
            .barrier = 0,
            .lineCycles = 2,
            .matrixIssue = MatrixIssue::Queued,
            .oneVectorUnit = false};
  }
  const unsigned passes = lanes == 64 ? 2 : 1;
  return {.vector = passes,
          .quarter = 4 * passes,
          .product = 4 * passes,
          .conversion = passes,
          .wide = 32 * passes,
          .wideQuarter = 34 * passes,
          .scalar = 1,
          .memoryLatency = latency,
          .l2Latency = 222,
          .cacheLatency = 73,
          .scalarLatency = 160,
          .ldsLatency = 32,
          .resultLatency = 5,
          .resultToMemory = 17,
          .barrier = 12,
          .lineCycles = 2,
          .matrixIssue = MatrixIssue::InOrder,
          .oneVectorUnit = !target.isGfx1250()};
}

unsigned vectorCycles(const OpDef &op, const TimingFigures &f) {
  switch (op.cost) {
  case Cost::Transcendental:
    return op.isDouble() ? f.wideQuarter : f.quarter;
  case Cost::Product:
    return f.product;
  case Cost::Conversion:
    return f.conversion;
  case Cost::Quarter:
    return f.quarter;
  case Cost::Full:
    break;
  }
  return op.isDouble() ? f.wide : f.vector;
}

namespace {
/// Of instructions that are neither vector nor matrix ones.
Activity activityOf(Pace pace) {
  switch (pace) {
  case Pace::Load:
  case Pace::Store:
    return Activity::Memory;
  case Pace::Lds:
    return Activity::Lds;
  default:
    return Activity::Scalar;
  }
}
} // namespace

uint64_t ServingUnit::reserve(uint64_t from, uint64_t cycles) {
  if (!cycles)
    return from;
  auto after = last_ && (*last_)->first <= from ? *last_ : busy_.upper_bound(from);
  while (after != busy_.end() && after->first <= from)
    ++after;
  if (after != busy_.begin())
    from = std::max(from, std::prev(after)->second);
  for (; after != busy_.end() && after->first < from + cycles; ++after)
    from = after->second;
  uint64_t end = from + cycles;
  if (after != busy_.end() && after->first == end) {
    end = after->second;
    after = busy_.erase(after);
  }
  if (after != busy_.begin() && std::prev(after)->second == from) {
    last_ = std::prev(after);
    (*last_)->second = end;
  } else {
    last_ = busy_.emplace_hint(after, from, end);
  }
  return from;
}

void ServingUnit::forgetBefore(uint64_t time) {
  last_.reset();
  auto first = busy_.begin();
  while (first != busy_.end() && first->second <= time)
    first = busy_.erase(first);
}

void GroupClock::beginGroup(Group &group, std::vector<TimelineEvent> *timeline) {
  timeline_ = timeline;
  group_ = group.number;
  if (group.waves.empty())
    return;
  figures_ = timingFigures(*group.waves[0].target, group.waves[0].lanes, latency_);
  clocks_.assign(group.waves.size(), {});
  simds_ = {};
  lds_ = memoryPath_ = {};
  for (size_t i = 0; i < group.waves.size(); ++i)
    group.waves[i].cycles = &clocks_[i].now;
}

GroupClock::GroupClock(const Program &program, unsigned latency)
    : program_(program),
      latency_(latency ? latency : memoryLatency(program.target->product(), false)),
      costs_(program.insts.size()) {
  if (timingFigures(*program.target, 64, latency_).matrixIssue != MatrixIssue::Queued)
    return;
  for (const Inst &inst : program.insts)
    if (inst.op && inst.op->cls == Class::Mfma)
      for (const RegisterRange &range : waitRule(program, inst).writes)
        for (unsigned i = range.first; i < range.first + range.count; ++i) {
          sums_.resize(std::max<size_t>(sums_.size(), i + 1));
          sums_[i] = true;
        }
}

void GroupClock::chooseRegisters(Cost &cost, const Inst &inst) {
  const bool isMatrix = cost.pace == Pace::Matrix, isVector = isMatrix || cost.pace == Pace::Vector;
  if (!isVector && cost.pace != Pace::Load && cost.pace != Pace::Store && cost.pace != Pace::Lds)
    return;
  WaitRule rule = waitRule(program_, inst);
  const auto isScalar = [](const RegisterRange &range) { return range.first < kVectorRows; };
  std::erase_if(rule.reads, isScalar);
  std::erase_if(rule.writes, isScalar);
  std::optional<RegisterRange> sums; // that a matrix instruction adds to
  if (isMatrix && !rule.writes.empty()) {
    const auto isC = [&](const RegisterRange &range) {
      return range.count == rule.writes.front().count &&
             (range.first == rule.writes.front().first ||
              (inst.src[2].isVgpr() && range.first == kVectorRows + inst.src[2].index));
    };
    const auto c = std::find_if(rule.reads.begin(), rule.reads.end(), isC);
    if (c != rule.reads.end()) {
      sums = *c;
      rule.reads.erase(c);
    }
  }
  const auto areSums = [&](const std::vector<RegisterRange> &ranges) {
    for (const RegisterRange &range : ranges)
      for (size_t i = range.first; i < std::min<size_t>(range.first + range.count, sums_.size());
           ++i)
        if (sums_[i])
          return true;
    return false;
  };
  const bool inOrder = figures_.matrixIssue == MatrixIssue::InOrder;
  cost.meetsSums =
      areSums(rule.reads) || (isMatrix ? sums && areSums({*sums}) : areSums(rule.writes));
  // Where a result is there when its instruction has issued, vector instructions wait for none.
  cost.readsResults = !rule.reads.empty() &&
                      (!isVector || figures_.resultLatency > figures_.vector) &&
                      (!isMatrix || inOrder);
  cost.registers = static_cast<uint32_t>(registers_.size());
  registers_.push_back({std::move(rule.reads), std::move(rule.writes), sums});
}

const GroupClock::Cost &GroupClock::costOf(const Wave &wave, const Inst &inst) {
  Cost &c = costs_[static_cast<size_t>(&inst - program_.insts.data())];
  if (c.pace != Pace::Unknown)
    return c;
  c.pace = Pace::Scalar;
  c.cycles = static_cast<uint16_t>(figures_.scalar);
  if (!inst.op)
    return c;
  switch (inst.op->cls) {
  case Class::Valu:
    c.pace = Pace::Vector;
    c.waitsForProduct = inst.op->has(Trait::WaitsForProduct);
    c.cycles = static_cast<uint16_t>(vectorCycles(*inst.op, figures_));
    break;
  case Class::Mfma:
    c.pace = Pace::Matrix;
    if (inst.plan) {
      const auto &plan = *static_cast<const matrix::MatrixPlan *>(inst.plan);
      const matrix::Processor &processor = *wave.target->processor;
      const matrix::CoExecution after =
          matrix::coExecutionOf(plan.op(), plan.regsA(), plan.regsB(), processor);
      c.cycles = static_cast<uint16_t>(matrix::cyclesOf(plan.op(), processor));
      c.isHalf8 = matrix::isHalfRate8(plan.op(), processor);
      c.operands = static_cast<uint16_t>(after.operands);
      c.vector = static_cast<uint16_t>(after.vector);
      c.packed = static_cast<uint16_t>(after.packed);
      c.sums = static_cast<uint16_t>(after.sums);
    }
    break;
  case Class::VmemRead:
    c.pace = Pace::Load;
    break;
  case Class::VmemWrite:
    c.pace = Pace::Store;
    c.isInL2 = !program_.isAtomic(inst);
    break;
  case Class::Lds:
    c.pace = Pace::Lds;
    break;
  case Class::Smem:
    c.pace = Pace::ScalarLoad;
    break;
  default:
    if (inst.op->waits) {
      c.pace = Pace::Wait;
      c.registers = static_cast<uint32_t>(waits_.size());
      waits_.push_back(waitCounts(*program_.target, inst));
    } else if (inst.op->name == "s_nop") { // one wait state and as many as it says (ISA manuals)
      c.cycles = static_cast<uint16_t>(figures_.scalar * (1 + (inst.offset & 0xf)));
    }
    break;
  }
  chooseRegisters(c, inst);
  return c;
}

bool GroupClock::overlaps(const Result &result, const std::vector<RegisterRange> &ranges) const {
  const std::vector<RegisterRange> &writes = registers_[result.registers].writes;
  return std::any_of(writes.begin(), writes.end(), [&](const RegisterRange &written) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const RegisterRange &range) { return range.overlaps(written); });
  });
}

uint64_t GroupClock::resultsAre(const Clock &clock, const Cost &cost) const {
  uint64_t all = clock.now;
  const auto time = cost.pace == Pace::Vector ? &Result::there : &Result::toMemory;
  for (const Result &result : clock.results)
    if (result.*time > all && overlaps(result, registers_[cost.registers].reads))
      all = result.*time;
  return all;
}

void GroupClock::waitForSums(Clock &clock, const Cost &cost) const {
  const Registers &registers = registers_[cost.registers];
  // Sums go from one product to the next one inside the unit, if that adds to just these.
  const auto meetsInPart = [&](const Result &result) {
    const RegisterRange &sums = *registers.sums,
                        &written = registers_[result.registers].writes.front();
    return sums.overlaps(written) && (sums.first != written.first || sums.count != written.count);
  };
  for (const Result &result : clock.matrix.results)
    if (result.there > clock.now &&
        (overlaps(result, registers.reads) ||
         (registers.sums ? meetsInPart(result)
                         : cost.pace != Pace::Matrix && overlaps(result, registers.writes))))
      clock.now = result.there;
}

void GroupClock::waitUntil(Clock &clock, uint64_t time) {
  if (time <= clock.now)
    return;
  note(clock, Activity::Contention, clock.now, time);
  clock.now = time;
}

void GroupClock::give(Clock &clock, uint64_t lastCycles, const Cost &cost) {
  clock.results[clock.nextResult] = {lastCycles + figures_.resultLatency,
                                     lastCycles + figures_.resultToMemory, cost.registers};
  clock.nextResult = (clock.nextResult + 1) % clock.results.size();
}

void GroupClock::issueVector(Clock &clock, Simd &simd, const Cost &cost) {
  uint64_t at =
      std::max(clock.now, cost.waitsForProduct ? clock.matrix.packed : clock.matrix.vector);
  if (isShared())
    at = simd.vector.reserve(at, cost.cycles);
  waitUntil(clock, at);
  note(clock, Activity::Vector, at, at + cost.cycles);
  timing_.valuCycles += cost.cycles;
  clock.now = at + cost.cycles;
  give(clock, clock.now - std::min<uint64_t>(cost.cycles, figures_.vector), cost);
}

void GroupClock::queueMatrix(Clock &clock, uint64_t begins, const Cost &cost) {
  const uint64_t issues = clock.now - figures_.scalar;
  clock.matrix.operands = issues + cost.operands;
  clock.matrix.packed = begins + cost.packed;
  clock.matrix.vector = cost.vector < cost.packed ? issues + cost.vector : clock.matrix.packed;
  const uint64_t there = clock.matrix.leaves + cost.sums;
  clock.matrix.results[clock.matrix.next] = {there, there, cost.registers};
  clock.matrix.next = (clock.matrix.next + 1) % clock.matrix.results.size();
  clock.matrix.sums = std::max(clock.matrix.sums, there);
}

void GroupClock::issueMatrix(Clock &clock, Simd &simd, const Cost &cost, uint64_t operands) {
  const bool isInOrder = figures_.matrixIssue == MatrixIssue::InOrder;
  if (!isInOrder) // one waits for the unit besides the one that has it, and its operands are read
    waitUntil(clock, std::max(clock.matrix.begins, clock.matrix.operands));
  uint64_t begins = std::max({clock.now, operands, clock.matrix.leaves});
  if (isShared())
    begins = (figures_.oneVectorUnit ? simd.vector : simd.matrix).reserve(begins, cost.cycles);
  note(clock, Activity::Matrix, clock.now, clock.now + figures_.scalar);
  note(clock, Activity::MatrixUnderWay, begins, begins + cost.cycles);
  timing_.matrixCycles += cost.cycles;
  timing_.matrixHalf8 += cost.isHalf8;
  clock.now += figures_.scalar;
  clock.matrix.begins = begins;
  clock.matrix.leaves = begins + cost.cycles;
  if (!isInOrder) {
    queueMatrix(clock, begins, cost);
    return;
  }
  clock.matrix.vector = clock.matrix.packed = clock.matrix.leaves;
  const uint64_t lastCycles =
      clock.matrix.leaves - std::min<uint64_t>(cost.cycles, figures_.vector);
  give(clock, lastCycles, cost);
  clock.matrix.ends[clock.matrix.next] = lastCycles + figures_.resultLatency;
  clock.matrix.next = (clock.matrix.next + 1) % kMatrixUnderWay;
  waitUntil(clock, clock.matrix.ends[clock.matrix.next]);
}

void GroupClock::issue(const Wave &wave, const Inst &inst) {
  const Cost &cost = costOf(wave, inst);
  Clock &clock = clocks_[wave.index];
  clock.inst = static_cast<uint32_t>(program_.entryOf(inst));
  clock.pace = cost.pace;
  if (cost.pace == Pace::Matrix || cost.pace == Pace::Store || cost.pace == Pace::Lds ||
      (cost.pace == Pace::Load && clock.inst != clock.look.inst))
    clock.look.isThere = false;
  clock.look.again = false;
  const uint64_t operands = cost.readsResults ? resultsAre(clock, cost) : clock.now;
  // Where matrix instructions are served in order, they wait for operands there as well.
  if (cost.pace != Pace::Matrix)
    clock.now = operands;
  if (cost.meetsSums && clock.matrix.sums > clock.now)
    waitForSums(clock, cost);
  if (cost.pace == Pace::Matrix)
    issueMatrix(clock, simds_[wave.index % kSimds], cost, operands);
  else if (cost.pace == Pace::Vector)
    issueVector(clock, simds_[wave.index % kSimds], cost);
  else {
    note(clock, activityOf(cost.pace), clock.now, clock.now + cost.cycles);
    clock.now += cost.cycles;
    timing_.scalarCycles +=
        figures_.scalar; // of s_nop, whose wave issues nothing, while others may
  }
  clock.last = nullptr;
  auto start = [&](Outstanding &queue, unsigned latency) {
    // The hardware's counters have a limit too, and an operation beyond it waits to issue.
    if (queue.size() >= 63) {
      clock.now = std::max(clock.now, queue.front());
      queue.pop_front();
    }
    queue.push_back(clock.now + latency);
    clock.last = &queue;
    if (timeline_) {
      clock.lastEvent = timeline_->size();
      note(clock, cost.pace == Pace::Lds ? Activity::LdsUnderWay : Activity::MemoryUnderWay,
           clock.now, clock.now + latency);
    }
  };
  const bool oneCounter = wave.target->encoding == Encoding::Gfx9;
  const auto countedApart = [&](Outstanding &otherwise) -> Outstanding & {
    return inst.enc == Enc::Tensor                ? clock.tensor
           : inst.op && inst.op->transfer.isAsync ? clock.async
                                                  : otherwise;
  };
  switch (cost.pace) {
  case Pace::Load:
    start(countedApart(clock.vector), figures_.memoryLatency);
    break;
  case Pace::Store:
    start(countedApart(oneCounter ? clock.vector : clock.store),
          cost.isInL2 ? figures_.l2Latency : figures_.memoryLatency);
    break;
  case Pace::Lds:
    start(clock.lds, figures_.ldsLatency);
    break;
  case Pace::ScalarLoad:
    start(clock.lds, figures_.scalarLatency);
    break;
  case Pace::Wait:
    wait(clock, waits_[cost.registers]);
    break;
  default:
    break;
  }
}

void GroupClock::wait(Clock &clock, const WaitCounts &left) {
  // All but the youngest `left` operations must have ended. Those of one counter end in order, but
  // for scalar loads, which code waits for with 0.
  auto until = [&](Outstanding &queue, unsigned left) {
    while (queue.size() > left) {
      clock.now = std::max(clock.now, queue.front());
      queue.pop_front();
    }
  };
  const uint64_t before = clock.now;
  until(clock.vector, left[WaitCounter::Load]);
  until(clock.lds, std::min(left[WaitCounter::Ds], left[WaitCounter::Km]));
  until(clock.store, left[WaitCounter::Store]);
  until(clock.async, left[WaitCounter::Async]);
  until(clock.tensor, left[WaitCounter::Tensor]);
  if (clock.now > before)
    note(clock, Activity::Wait, before, clock.now);
}

void GroupClock::note(const Clock &clock, Activity activity, uint64_t start, uint64_t end) {
  if (timeline_)
    timeline_->push_back(
        {start, end, group_, clock.inst, static_cast<uint16_t>(&clock - clocks_.data()), activity});
}

void GroupClock::touched(const Wave &wave, uint64_t lines, uint64_t ldsCycles, uint64_t ready,
                         ServedBy by) {
  Clock &clock = clocks_[wave.index];
  if (!clock.last || clock.last->empty())
    return;
  // A workgroup that runs alone finds in the caches what it loaded itself, once that has arrived.
  if (lines && clock.pace == Pace::Load)
    clock.last->back() = std::max(
        ready, clock.now + (by == ServedBy::L2 ? figures_.l2Latency : figures_.cacheLatency));
  // Until the path is free, and as long as it takes.
  auto spent = [&](ServingUnit &path, uint64_t cycles) {
    return path.reserve(clock.now, cycles) - clock.now + cycles;
  };
  if (!clock.look.again) // the first look has taken the path
    clock.last->back() += spent(memoryPath_, lines * figures_.lineCycles) + spent(lds_, ldsCycles);
  if (timeline_)
    (*timeline_)[clock.lastEvent].end = clock.last->back();
}

void GroupClock::looked(const Wave &wave, uint64_t line) {
  Clock &clock = clocks_[wave.index];
  if (clock.pace != Pace::Load)
    return;
  if (clock.look.isThere && clock.look.inst == clock.inst && clock.look.line == line) {
    clock.now = clock.look.now;
    clock.look.again = true;
  } else {
    clock.look = {true, false, clock.inst, line, clock.now};
  }
}

void GroupClock::barrier() { meet(figures_.barrier); }

void GroupClock::meet(unsigned later) {
  uint64_t latest = 0;
  for (const Clock &c : clocks_)
    latest = std::max(latest, c.now);
  latest += later;
  for (Clock &c : clocks_) {
    if (c.now < latest)
      note(c, Activity::Barrier, c.now, latest);
    c.now = latest;
  }
  for (Simd &simd : simds_) {
    simd.vector.forgetBefore(latest);
    simd.matrix.forgetBefore(latest);
  }
  lds_.forgetBefore(latest);
  memoryPath_.forgetBefore(latest);
}

uint64_t GroupClock::endGroup() {
  timeline_ = nullptr; // waves that have ended wait for nobody
  meet(0);
  const uint64_t cycles = clocks_.empty() ? 0 : clocks_[0].now;
  timing_.groupCycles += cycles;
  ++timing_.groups;
  return cycles;
}

} // namespace flyemu
