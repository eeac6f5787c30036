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

/// Whether the waves of a workgroup wait for each other to execute such an instruction: it takes the path to
/// memory or LDS.
bool takesPath(const Inst &inst) {
  return inst.op && (inst.op->cls == Class::VmemRead || inst.op->cls == Class::VmemWrite ||
                     inst.op->cls == Class::Lds);
}

constexpr uint64_t kNoOther = ~uint64_t(0);

/// The same, and pauses before an instruction for which another wave, whose clock is `other`, comes first.
void runWaveObserved(Wave &w, Observer &o, uint64_t other) {
  while (w.fuel > 0) {
    const Inst &inst = *w.ip;
    if (other != kNoOther && *w.cycles > other && takesPath(inst))
      break;
    --w.fuel;
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
  uint64_t rounds = 0;  ///< of its cluster's barrier, when its last turn ended
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
        waitingTurns_ = 0;
        passTime();
        giveWay();
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
    if (Slot *member = ofSameCluster())
      return member;
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

  /// A workgroup of the current one's cluster that can go on, if there is one: it does not wait, or
  /// the cluster's barrier has been passed since its last turn.
  Slot *ofSameCluster() {
    if (current_ >= slots_.size() || !slots_[current_]->group.cluster)
      return nullptr;
    const std::shared_ptr<Cluster> cluster = slots_[current_]->group.cluster;
    for (size_t k = 0; k < slots_.size(); ++k) {
      const Slot &slot = *slots_[k];
      if (slot.group.cluster != cluster || !slot.running ||
          (slot.waiting && slot.rounds == cluster->rounds()))
        continue;
      current_ = k;
      return slots_[k].get();
    }
    return nullptr;
  }

  /// Begins the next workgroup, or the next cluster. Returns its first workgroup.
  Slot *start() {
    const bool busy =
        std::any_of(slots_.begin(), slots_.end(), [](const auto &s) { return s->running != 0; });
    const uint64_t members = launch_.clusterGroups;
    if (launch_.next.load(std::memory_order_relaxed) >= launch_.units())
      return nullptr;
    // A thread without work may always begin one. The limit is for threads that hold waiting
    // workgroups.
    if (launch_.active.fetch_add(members) >= launch_.resident && busy) {
      launch_.active -= members;
      return nullptr;
    }
    const uint64_t unit = launch_.next.fetch_add(1);
    if (unit >= launch_.units()) {
      launch_.active -= members;
      return nullptr;
    }
    const uint64_t number = launch_.options.order.workgroup(unit, launch_.units());
    if (members > 1)
      return startCluster(number);
    current_ = freeSlot();
    begin(*slots_[current_], idOf(number, launch_.dispatch.grid));
    return slots_[current_].get();
  }

  Slot *startCluster(uint64_t number) {
    const auto &size = launch_.dispatch.cluster, &grid = launch_.dispatch.grid;
    const std::array<uint32_t, 3> first =
        idOf(number, {grid[0] / size[0], grid[1] / size[1], grid[2] / size[2]});
    const auto cluster = std::make_shared<Cluster>(size);
    for (uint32_t left = launch_.clusterGroups; left--;) { // the first one is current at the end
      const std::array<uint32_t, 3> place = idOf(left, size);
      current_ = freeSlot();
      Slot &slot = *slots_[current_];
      slot.group.cluster = cluster;
      slot.group.rank = left;
      begin(slot, {first[0] * size[0] + place[0], first[1] * size[1] + place[1],
                   first[2] * size[2] + place[2]});
    }
    return slots_[current_].get();
  }

  /// The coordinates of a number in an extent, x first.
  static std::array<uint32_t, 3> idOf(uint64_t number, const std::array<uint32_t, 3> &extent) {
    return {static_cast<uint32_t>(number % extent[0]),
            static_cast<uint32_t>(number / extent[0] % extent[1]),
            static_cast<uint32_t>(number / extent[0] / extent[1])};
  }

  /// The place of a slot for a new workgroup.
  size_t freeSlot() {
    auto free =
        std::find_if(slots_.begin(), slots_.end(), [](const auto &s) { return s->running == 0; });
    if (free == slots_.end()) {
      slots_.push_back(std::make_unique<Slot>());
      if (launch_.watch)
        slots_.back()->observer = launch_.watch->observer();
      free = std::prev(slots_.end());
    }
    return static_cast<size_t>(free - slots_.begin());
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
    w.products = launch_.options.products;
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

  void begin(Slot &slot, const std::array<uint32_t, 3> &id) {
    const auto &grid = launch_.dispatch.grid;
    slot.group.id = id;
    slot.group.number = id[0] + uint64_t(grid[0]) * (id[1] + uint64_t(grid[1]) * id[2]);
    slot.group.clusterWaits.assign(slot.group.cluster ? launch_.wavesOfGroup : 0, 0);
    const KernelDescriptor &kernel = launch_.dispatch.kernel->descriptor;
    slot.group.named.begin(launch_.program.target->isGfx1250() ? kernel.namedBarriers() : 0,
                           launch_.wavesOfGroup);
    slot.group.dies = launch_.options.dies;
    slot.running = launch_.wavesOfGroup;
    slot.atBarrier = 0;
    slot.waiting = false;
    slot.turns = slot.rounds = 0;
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

  /// Leaves the processor to what the waves wait for. A thread that only yields takes its share of the
  /// processor from that, such as the launch of another rank; so one that has waited for long sleeps.
  void giveWay() const {
    if (passed_ - *waitsSince_ >= kPatience)
      std::this_thread::sleep_for(kNap);
    else
      std::this_thread::yield();
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
      if (slot.group.cluster)
        endInCluster(slot);
    } else if (slot.atBarrier == slot.running) {
      passBarrier(slot);
    } else {
      slot.waiting = allWait(slot.group);
      checkNamedBarriers(slot);
      if (slot.group.cluster) {
        slot.rounds = slot.group.cluster->rounds();
        checkClusterBarrier(slot);
      }
    }
  }

  /// Calls visit(slot) for each workgroup of the slot's cluster that has not ended.
  template <class Visit> void eachMember(const Slot &slot, Visit visit) const {
    for (const auto &other : slots_)
      if (other->running && other->group.cluster == slot.group.cluster)
        visit(*other);
  }

  /// A workgroup has ended. With the last one of a cluster, what all have asked for is known.
  void endInCluster(const Slot &slot) {
    bool isLast = true;
    eachMember(slot, [&](const Slot &other) {
      isLast = false;
      checkClusterBarrier(other);
    });
    if (!isLast)
      return;
    try {
      slot.group.cluster->checkRequests();
    } catch (const WaveFault &f) {
      fail(slot.group, slot.group.waves.front(), f);
    }
  }

  /// Ends the launch where all that is left of a cluster waits at its barrier for ever.
  void checkClusterBarrier(const Slot &slot) {
    bool isStuck = true;
    eachMember(slot, [&](const Slot &other) {
      for (const Wave &w : other.group.waves)
        isStuck &= w.stop == Stop::End || w.stop == Stop::Barrier || other.group.isHeld(w);
      isStuck &= other.atBarrier < other.running;
    });
    for (const Wave &w : slot.group.waves)
      if (isStuck && slot.group.isHeldByCluster(w))
        return fail(
            slot.group, w,
            {"a wave waits at the barrier of its cluster, where not all workgroups signal"});
  }

  /// Ends the launch where all that is left of a workgroup waits at its named barriers, or at these
  /// and its own one, for ever.
  void checkNamedBarriers(const Slot &slot) {
    const Wave *held = nullptr;
    for (const Wave &w : slot.group.waves) {
      const bool isNamed = slot.group.named.isHeld(w.index);
      if (!isNamed && w.stop != Stop::End && w.stop != Stop::Barrier)
        return;
      if (isNamed && !held)
        held = &w;
    }
    if (held)
      fail(slot.group, *held, {slot.group.named.describe(held->index)});
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
    if (slot.group.waves.front().cycles && options.order.kind == Order::Kind::Forwards)
      return runWavesByTime(slot, slice);
    options.order.waves(order_, launch_.wavesOfGroup, slot.group.number, slot.turns++);
    for (const unsigned index : order_) {
      Wave &w = slot.group.waves[index];
      if (w.stop == Stop::End || w.stop == Stop::Barrier)
        continue;
      if (launch_.failed.load(std::memory_order_relaxed) || !runSlice(slot, w, slice, kNoOther))
        return false;
    }
    return true;
  }

  /// The same where waves have clocks: they come to the path to memory and to LDS in the order of their clocks, as the
  /// estimate has these serve one at a time. One that sleeps, or whose slice is over, comes again in the next turn.
  bool runWavesByTime(Slot &slot, int64_t slice) {
    left_.assign(slot.group.waves.size(), slice);
    for (;;) {
      Wave *first = nullptr;
      uint64_t other = kNoOther; // the clock of the one after it
      for (Wave &w : slot.group.waves) {
        if (!left_[w.index] || w.stop == Stop::End || w.stop == Stop::Barrier)
          continue;
        if (!first || *w.cycles < *first->cycles) {
          if (first)
            other = *first->cycles;
          first = &w;
        } else {
          other = std::min(other, *w.cycles);
        }
      }
      if (!first)
        return true;
      int64_t &left = left_[first->index];
      if (launch_.failed.load(std::memory_order_relaxed) || !runSlice(slot, *first, left, other))
        return false;
      left = first->stop == Stop::None ? first->fuel : 0;
    }
  }

  /// A wave runs for a slice, unless it waits at the barrier of the grid, or until another one, whose clock is
  /// `other`, comes before it. Returns false if the launch has failed.
  bool runSlice(Slot &slot, Wave &w, int64_t slice, uint64_t other) {
    if (w.gridTarget && launch_.grid.arrived.load(std::memory_order_acquire) >= w.gridTarget) {
      w.gridTarget = 0;
      if (slot.observer)
        slot.observer->passedGridBarrier(w);
    }
    if (slot.group.named.hasPassed(w.index) && slot.observer)
      slot.observer->passedNamedBarrier(slot.group);
    const bool held = w.gridTarget || slot.group.isHeld(w);
    w.stop = held ? Stop::Yield : Stop::None;
    w.fuel = held ? 0 : slice;
    try {
      if (slot.observer)
        runWaveObserved(w, *slot.observer, other);
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
    w.executed += static_cast<uint64_t>(w.stop == Stop::None ? slice - w.fuel : kBreak);
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
  std::vector<int64_t> left_;   ///< of each wave's slice of the turn, where waves run by time
  size_t waitingTurns_ = 0;     ///< in a row
  static constexpr std::chrono::milliseconds kPatience{20};
  static constexpr std::chrono::microseconds kNap{200};
  std::optional<std::chrono::steady_clock::time_point> waitsSince_; ///< none: some wave goes on
  std::chrono::steady_clock::time_point passed_; ///< up to then the clocks have the host's time
};
} // namespace

void runWorker(Launch &launch) { Worker(launch).run(); }

} // namespace flyemu
