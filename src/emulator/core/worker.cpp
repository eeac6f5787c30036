#include "emulator/core/worker.h"

#include "emulator/core/group.h"
#include "emulator/core/observer.h"
#include "emulator/core/program.h"
#include "emulator/core/wave_setup.h"
#include "emulator/core/weak_memory.h"
#include "emulator/isa/op.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

namespace flyemu {

namespace {
/// The most instructions of a slice in a workgroup that waits for another.
constexpr int64_t kWaitingSlice = 1 << 10;
constexpr int64_t kBreak = 64; ///< what a turn that ends early, in a wait, counts as

Fault describe(const Launch &l, const Group &group, const Wave &w, const WaveFault &f) {
  Fault out;
  const KernelCode &k = *l.dispatch.kernel;
  size_t index = static_cast<size_t>(w.current - w.codeBegin);
  out.kernel = k.name;
  out.pc = w.pcOf(w.current);
  out.instruction = l.program.text(index);
  out.lane = f.lane;
  out.address = f.address;
  out.kind = f.kind == FaultKind::Kernel && f.address ? FaultKind::Address : f.kind;
  out.workgroup = group.id;
  out.wave = w.index;
  char text[256];
  std::snprintf(text, sizeof text, " at pc 0x%llx (kernel %s), workgroup (%u, %u, %u), wave %u",
                static_cast<unsigned long long>(out.pc), k.offsetText(out.pc).c_str(), group.id[0],
                group.id[1], group.id[2], w.index);
  out.message = "kernel '" + k.name + "': " + f.what + text;
  if (f.lane >= 0)
    out.message += ", lane " + std::to_string(f.lane);
  if (out.kind == FaultKind::Address) {
    std::snprintf(text, sizeof text, ", address 0x%llx",
                  static_cast<unsigned long long>(f.address));
    out.message += text;
    std::string more = l.memory.describe(f.address);
    if (!more.empty())
      out.message += " (" + more + ")";
  }
  if (!out.instruction.empty())
    out.message += ", instruction: " + out.instruction;
  if (k.source) {
    out.source = k.source(out.pc);
    if (!out.source.empty())
      out.message += ", source: " + out.source;
  }
  if (out.source.empty())
    out.message += "; the line of its source is named where the code has line tables: "
                   "FLYDSL_DEBUG_ENABLE_DEBUG_INFO=1, or -gline-tables-only";
  return out;
}

/// Runs until the wave stops or its slice is over.
void runWave(Wave &w) {
  const Inst *ip = w.ip;
  while (w.fuel > 0) {
    --w.fuel;
    const Inst &inst = *ip;
    w.current = &inst;
    w.ip = ip + inst.dwords;
    inst.fn(w, inst);
    ip = w.ip;
  }
}

void runWaveObserved(Wave &w, Observer &o) {
  while (w.fuel > 0) {
    --w.fuel;
    const Inst &inst = *w.ip;
    w.current = &inst;
    w.ip += inst.dwords;
    o.before(w, inst);
    inst.fn(w, inst);
  }
  o.paused(w);
}

/// Returns true if the wave seems to wait for another workgroup: it is in a small loop that reads
/// memory and changes nothing that others see. The loop is found by a branch back from the code
/// that follows.
bool looksWaiting(const Program &program, const Wave &w) {
  constexpr int64_t kMost = 256; ///< dwords of such a loop
  const int64_t at = w.ip - w.codeBegin, end = w.codeEnd - w.codeBegin;
  int64_t first = -1, last = -1;
  for (int64_t i = at; i < std::min(end, at + kMost) && first < 0;
       i += std::max<int64_t>(w.codeBegin[i].dwords, 1)) {
    const Inst &inst = w.codeBegin[i];
    if (!inst.op || inst.op->cls != Class::Branch || inst.enc != Enc::Sopp)
      continue;
    const int64_t to = i + 1 + inst.offset;
    if (to <= at && i - to < kMost) {
      first = std::max<int64_t>(to, 0);
      last = i;
    }
  }
  bool reads = false;
  for (int64_t i = first; first >= 0 && i < last;
       i += std::max<int64_t>(w.codeBegin[i].dwords, 1)) {
    const Inst &inst = w.codeBegin[i];
    if (!inst.op)
      return false;
    const bool atomic = program.isAtomic(inst);
    reads |= inst.op->cls == Class::VmemRead || inst.op->cls == Class::Smem || atomic;
    if (inst.op->cls == Class::Mfma ||
        (inst.op->cls == Class::VmemWrite && !atomic && inst.enc != Enc::Scratch))
      return false;
  }
  return reads;
}

/// A workgroup in execution and what it needs; taken over by another when it is done.
struct Slot {
  Group group;
  GroupStorage storage;
  std::unique_ptr<Observer> observer;
  unsigned running = 0; ///< waves that have not ended; 0: the slot is free
  unsigned atBarrier = 0;
  bool waiting = false; ///< for another workgroup, as it seems
  uint64_t turns = 0;   ///< that the workgroup has had
};

class Worker {
public:
  explicit Worker(Launch &l) : launch_(l) {}

  void run() {
    while (!launch_.failed.load(std::memory_order_relaxed)) {
      Slot *slot = pick();
      if (!slot)
        break;
      turn(*slot);
      if (!slot->running) {
        --launch_.active;
        ++launch_.ended;
      }
      serve(*slot);
      watchTime(*slot);
      if (!slot->running || !slot->waiting) {
        waitingTurns_ = 0;
        waitsSince_.reset();
      } else if (++waitingTurns_ > slots_.size()) { // what they wait for is not this thread's
        std::this_thread::yield();
        waitingTurns_ = 0;
        passTime();
      }
    }
    std::lock_guard lock(launch_.mutex);
    for (auto &slot : slots_)
      if (slot->observer)
        slot->observer->finish(launch_.result);
  }

private:
  /// Chooses the workgroup that runs next: the current one until it is done or waits for another,
  /// then a new one. If there is no new one, or too many are running, the next of those that have
  /// begun is chosen. Returns null at the end.
  Slot *pick() {
    if (current_ < slots_.size() && slots_[current_]->running && !slots_[current_]->waiting)
      return slots_[current_].get();
    if (Slot *fresh = start())
      return fresh;
    for (size_t i = 1; i <= slots_.size(); ++i) {
      const size_t k = (current_ + i) % slots_.size();
      if (slots_[k]->running) {
        current_ = k;
        return slots_[k].get();
      }
    }
    return nullptr;
  }

  /// Begins the next workgroup.
  Slot *start() {
    const bool busy =
        std::any_of(slots_.begin(), slots_.end(), [](const auto &s) { return s->running != 0; });
    if (launch_.next.load(std::memory_order_relaxed) >= launch_.groups)
      return nullptr;
    // A thread without work may always begin one. The limit is for threads that hold waiting
    // workgroups.
    if (launch_.active.fetch_add(1) >= launch_.resident && busy) {
      --launch_.active;
      return nullptr;
    }
    const uint64_t g = launch_.next.fetch_add(1);
    if (g >= launch_.groups) {
      --launch_.active;
      return nullptr;
    }
    auto free =
        std::find_if(slots_.begin(), slots_.end(), [](const auto &s) { return s->running == 0; });
    if (free == slots_.end()) {
      slots_.push_back(std::make_unique<Slot>());
      if (launch_.watch)
        slots_.back()->observer = launch_.watch->observer();
      free = std::prev(slots_.end());
    }
    current_ = static_cast<size_t>(free - slots_.begin());
    begin(**free, g);
    return free->get();
  }

  void fail(const Group &group, const Wave &w, const WaveFault &f) {
    fail(describe(launch_, group, w, f));
  }

  void fail(Fault fault) {
    std::lock_guard lock(launch_.mutex);
    if (launch_.result.ok)
      launch_.result.fault = std::move(fault);
    launch_.result.ok = false;
    launch_.failed = true;
  }

  bool setup(Slot &slot, unsigned index, uint8_t *lds) {
    Wave &w = slot.group.waves[index];
    const Program &p = launch_.program;
    const uint64_t scratchSize = scratchBytes();
    w.runsOn(*p.target);
    w.memory = &launch_.memory;
    w.group = &slot.group;
    if ((w.weak = launch_.options.weakMemory))
      w.cache = w.weak->cacheOf(slot.group.number);
    w.fastMatrix = launch_.options.fastMatrix;
    w.index = index;
    w.lanes = launch_.lanes;
    w.program = &p;
    w.codeBegin = p.insts.data();
    w.codeEnd = p.insts.data() + p.entries() - 1;
    w.codeAddress = p.address;
    w.clockBase = static_cast<uint64_t>(launch_.started.time_since_epoch().count());
    w.current = w.codeBegin;
    w.probe = slot.observer.get();
    w.lds = lds;
    w.ldsSize = launch_.ldsBytes;
    try {
      w.v = slot.storage.registers(*p.target, index, std::max(p.vgprs, 3u), p.accVgprs);
      w.scratchSize = static_cast<uint32_t>(scratchSize);
      w.scratch = scratchSize ? slot.storage.scratch(index, scratchSize * kLanes) : nullptr;
      setupWave(w, launch_.dispatch, slot.group.id, index, launch_.packet);
    } catch (const WaveFault &f) {
      fail(slot.group, w, f);
      return false;
    }
    return true;
  }

  /// Dynamic stacks get a fixed size, as the HSA runtime gives by default.
  uint64_t scratchBytes() const {
    const KernelDescriptor &k = launch_.dispatch.kernel->descriptor;
    uint64_t bytes = k.privateSegmentFixedSize;
    if (k.dynamicStack())
      bytes = std::max<uint64_t>(bytes, 16 << 10);
    return (bytes + 15) / 16 * 16;
  }

  void begin(Slot &slot, uint64_t place) {
    const uint64_t number = launch_.options.order.workgroup(place, launch_.groups);
    const auto &grid = launch_.dispatch.grid;
    slot.group.id = {static_cast<uint32_t>(number % grid[0]),
                     static_cast<uint32_t>(number / grid[0] % grid[1]),
                     static_cast<uint32_t>(number / grid[0] / grid[1])};
    slot.group.number = number;
    slot.group.dies = launch_.options.dies;
    slot.running = launch_.wavesOfGroup;
    slot.atBarrier = 0;
    slot.waiting = false;
    slot.turns = 0;
    uint8_t *lds = slot.storage.lds(launch_.ldsBytes);
    slot.group.grid = &launch_.grid;
    slot.group.waves.assign(launch_.wavesOfGroup, Wave());
    for (unsigned i = 0; i < launch_.wavesOfGroup; ++i)
      if (!setup(slot, i, lds))
        return;
    if (slot.observer)
      slot.observer->beginGroup(slot.group);
  }

  /// What other devices and processes do takes time that no estimate counts. Where waves wait for it
  /// for longer than others of their launch make them, the time of the host is theirs, so that a wait
  /// that ends at a time does end.
  void passTime() {
    const auto now = std::chrono::steady_clock::now();
    if (!waitsSince_) {
      waitsSince_ = now;
    } else if (now - *waitsSince_ >= kPatience) {
      for (const std::unique_ptr<Slot> &slot : slots_)
        for (Wave &wave : slot->group.waves)
          wave.clockBase += static_cast<uint64_t>(std::chrono::nanoseconds(now - passed_).count());
    }
    passed_ = now;
  }

  /// Lets the host answer the requests of waves. A workgroup that waited for an answer runs next.
  void serve(Slot &slot) {
    if (!launch_.options.serve)
      return;
    try {
      if (launch_.options.serve())
        slot.waiting = false;
    } catch (const WaveFault &f) {
      fail(slot.group, someWave(slot.group), f);
    }
  }

  /// The wave that shows best where the group is: a running one if there is one, else a waiting
  /// one.
  static const Wave &someWave(const Group &group) {
    const Wave *best = &group.waves.front();
    for (const Wave &w : group.waves)
      if (w.stop < best->stop)
        best = &w;
    return *best;
  }

  /// Gives notice once if the launch takes long, and ends it when its time is over.
  void watchTime(const Slot &slot) {
    using namespace std::chrono;
    const Options &options = launch_.options;
    const bool notices = options.notice && !launch_.noticed.load(std::memory_order_relaxed);
    const bool limited = options.timeLimit.count() > 0;
    if (!notices && !limited)
      return;
    const nanoseconds elapsed = steady_clock::now() - launch_.started;
    auto progress = [&](nanoseconds time) {
      char text[32];
      const double s = duration<double>(time).count();
      std::snprintf(text, sizeof text, "%.*f", s < 10 ? 1 : 0, s);
      return std::string(text) + " s, and " + std::to_string(launch_.ended) + " of " +
             std::to_string(launch_.groups) + " workgroups have ended";
    };
    if (limited && elapsed >= options.timeLimit) {
      const Wave &w = someWave(slot.group);
      const bool waits = w.stop != Stop::End && looksWaiting(launch_.program, w);
      return fail(slot.group, w,
                  {"the launch exceeded its limit of " + progress(options.timeLimit) + "; a wave " +
                       (waits ? "is in a loop that waits for memory to change," : "is"),
                   -1, 0, FaultKind::Limit});
    }
    const nanoseconds after =
        limited ? std::min(options.noticeAfter, options.timeLimit / 2) : options.noticeAfter;
    if (!notices || elapsed < after || launch_.noticed.exchange(true))
      return;
    const std::string text = "it has run for " + progress(elapsed);
    if (slot.running)
      options.notice(
          describe(launch_, slot.group, someWave(slot.group), {text + "; a wave is"}).message);
    else
      options.notice("kernel '" + launch_.dispatch.kernel->name + "': " + text);
  }

  /// Each wave of the workgroup runs for a slice, or until it must wait.
  void turn(Slot &slot) {
    if (isAbandoned())
      return;
    std::optional<WeakMemory::Turn> caches;
    if (launch_.options.weakMemory)
      caches.emplace(*launch_.options.weakMemory);
    if (!runWaves(slot))
      return;
    if (!slot.running) {
      if (slot.observer)
        slot.observer->endGroup(slot.group);
    } else if (slot.atBarrier == slot.running) {
      passBarrier(slot);
    } else {
      slot.waiting = allWait(slot.group);
    }
  }

  /// Whether the host gives the launch up; ends it if so.
  bool isAbandoned() {
    if (!launch_.options.abandon || !launch_.options.abandon())
      return false;
    Fault fault;
    fault.kernel = launch_.dispatch.kernel->name;
    fault.message = "kernel '" + fault.kernel + "': abandoned";
    fail(std::move(fault));
    return true;
  }

  /// The waves run, each for its slice, in the order of the launch. Returns false if the launch has
  /// failed.
  bool runWaves(Slot &slot) {
    const Options &options = launch_.options;
    const int64_t slice = slot.waiting ? std::min<int64_t>(kWaitingSlice, options.slice)
                                       : static_cast<int64_t>(options.slice);
    options.order.waves(order_, launch_.wavesOfGroup, slot.group.number, slot.turns++);
    for (const unsigned index : order_) {
      Wave &w = slot.group.waves[index];
      if (w.stop == Stop::End || w.stop == Stop::Barrier)
        continue;
      if (launch_.failed.load(std::memory_order_relaxed) || !runSlice(slot, w, slice))
        return false;
    }
    return true;
  }

  /// A wave runs for a slice, unless it waits at the barrier of the grid. Returns false if the
  /// launch has failed.
  bool runSlice(Slot &slot, Wave &w, int64_t slice) {
    if (w.gridTarget && launch_.grid.arrived.load(std::memory_order_acquire) >= w.gridTarget) {
      w.gridTarget = 0;
      if (slot.observer)
        slot.observer->passedGridBarrier(w);
    }
    w.stop = w.gridTarget ? Stop::Yield : Stop::None;
    w.fuel = w.gridTarget ? 0 : slice;
    try {
      if (slot.observer)
        runWaveObserved(w, *slot.observer);
      else
        runWave(w);
    } catch (const WaveFault &f) {
      fail(slot.group, w, f);
      return false;
    }
    if (w.stop == Stop::End) {
      --slot.running;
      return true;
    }
    if (w.stop == Stop::Barrier)
      ++slot.atBarrier;
    w.executed += static_cast<uint64_t>(w.stop == Stop::None ? slice : kBreak);
    if (w.executed <= launch_.options.instructionLimit)
      return true;
    const char *where = w.gridTarget ? ", at a barrier of the grid where others do not come"
                        : looksWaiting(launch_.program, w)
                            ? ", in a loop that waits for memory to change"
                            : "";
    fail(slot.group, w,
         {"the wave exceeded its limit of " + std::to_string(launch_.options.instructionLimit) +
              " instructions" + where,
          -1, 0, FaultKind::Limit});
    return false;
  }

  /// All waves have come to the barrier, and go on.
  static void passBarrier(Slot &slot) {
    if (slot.observer)
      slot.observer->barrier(slot.group);
    for (Wave &w : slot.group.waves)
      if (w.stop == Stop::Barrier)
        w.stop = Stop::None;
    slot.atBarrier = 0;
    slot.waiting = false;
  }

  /// Whether no wave can go on before another workgroup does something, as it seems.
  bool allWait(const Group &group) const {
    return std::all_of(group.waves.begin(), group.waves.end(), [this](const Wave &w) {
      return w.stop == Stop::End || w.stop == Stop::Barrier || w.stop == Stop::Yield ||
             looksWaiting(launch_.program, w);
    });
  }

  Launch &launch_;
  std::vector<std::unique_ptr<Slot>> slots_;
  size_t current_ = 0;
  std::vector<unsigned> order_; ///< of the waves in the current turn
  size_t waitingTurns_ = 0;     ///< in a row
  static constexpr std::chrono::milliseconds kPatience{20};
  std::optional<std::chrono::steady_clock::time_point> waitsSince_; ///< none: some wave goes on
  std::chrono::steady_clock::time_point passed_; ///< up to then the clocks have the host's time
};
} // namespace

void runWorker(Launch &launch) { Worker(launch).run(); }

} // namespace flyemu
