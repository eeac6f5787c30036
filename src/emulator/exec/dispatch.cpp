#include "emulator/exec/dispatch.h"

#include "emulator/exec/checks.h"
#include "emulator/exec/group.h"
#include "emulator/exec/observer.h"
#include "emulator/exec/program.h"
#include "emulator/exec/wave_setup.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace flyemu {

void GroupStorage::Free::operator()(void *p) const { std::free(p); }

void *GroupStorage::reserve(Sized &s, size_t bytes) {
  if (s.bytes < bytes) {
    s.bytes = (bytes + 4095) / 4096 * 4096;
    s.block.reset(std::aligned_alloc(4096, s.bytes));
    if (!s.block)
      throw WaveFault{"out of host memory"};
  }
  return s.block.get();
}

uint32_t *GroupStorage::registers(unsigned index, unsigned vgprs, unsigned accVgprs) {
  if (files.size() <= index)
    files.resize(index + 1);
  constexpr size_t kRow = kLanes * sizeof(uint32_t);
  auto *v = static_cast<uint32_t *>(reserve(files[index], kFileRows * kRow));
  std::memset(v, 0, std::min<size_t>(vgprs, 256) * kRow);
  std::memset(v + 256 * kLanes, 0, std::min<size_t>(accVgprs, 256) * kRow);
  return v;
}

uint8_t *GroupStorage::lds(size_t bytes) {
  auto *p = static_cast<uint8_t *>(reserve(ldsBlock, bytes + 64));
  std::memset(p, 0, bytes);
  return p;
}

uint8_t *GroupStorage::scratch(unsigned index, size_t bytes) {
  if (scratches.size() <= index)
    scratches.resize(index + 1);
  auto *p = static_cast<uint8_t *>(reserve(scratches[index], bytes + 64));
  std::memset(p, 0, bytes);
  return p;
}

namespace {
/// The AQL dispatch packet as the kernel may read it (HSA Runtime, hsa_kernel_dispatch_packet_t).
struct alignas(64) Packet {
  uint16_t header = 2, setup = 3;
  uint16_t workgroup[3] = {};
  uint16_t reserved0 = 0;
  uint32_t grid[3] = {};
  uint32_t privateSize = 0, groupSize = 0;
  uint64_t kernelObject = 0, kernarg = 0, reserved2 = 0, completion = 0;
};
static_assert(sizeof(Packet) == 64);

/// The device's memory and, beside it, the packet of this launch.
class LaunchMemory : public MemoryMap {
public:
  LaunchMemory(const MemoryMap &m, const Packet &p)
      : base(m), packet{reinterpret_cast<uint64_t>(&p), 64, false} {}
  bool find(uint64_t address, MemoryRange &range) const override {
    if (packet.contains(address, 1)) {
      range = packet;
      return true;
    }
    return base.find(address, range);
  }
  std::string describe(uint64_t address) const override { return base.describe(address); }
  std::shared_ptr<WrittenBytes> written(uint64_t address) const override {
    return base.written(address);
  }

private:
  const MemoryMap &base;
  MemoryRange packet;
};

/// One launch as its threads see it.
struct Launch {
  Launch(const Dispatch &d, const Options &o, const MemoryMap &m, const Program &p)
      : dispatch(d), options(o), memory(m), program(p) {}

  const Dispatch &dispatch;
  const Options &options;
  const MemoryMap &memory;
  const Program &program;
  uint64_t packet = 0;
  unsigned lanes = 64, wavesOfGroup = 1;
  uint32_t ldsBytes = 0;
  uint64_t groups = 1;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::unique_ptr<CheckState> checks;
  DispatchResult result;
};

constexpr int64_t kSlice = 1 << 16; ///< instructions of a wave before its neighbours get their turn

Fault describe(const Launch &l, const Group &group, const Wave &w, const WaveFault &f) {
  Fault out;
  const KernelCode &k = *l.dispatch.kernel;
  size_t index = static_cast<size_t>(w.current - w.codeBegin);
  out.kernel = k.name;
  out.pc = w.pcOf(w.current);
  out.codeOffset = out.pc - k.entry;
  out.instruction = l.program.text(index);
  out.lane = f.lane;
  out.address = f.address;
  out.workgroup = group.id;
  out.wave = w.index;
  char text[256];
  std::snprintf(
      text, sizeof text, " at pc 0x%llx (kernel + 0x%llx), workgroup (%u, %u, %u), wave %u",
      static_cast<unsigned long long>(out.pc), static_cast<unsigned long long>(out.codeOffset),
      group.id[0], group.id[1], group.id[2], w.index);
  out.message = "kernel '" + k.name + "': " + f.what + text;
  if (f.lane >= 0)
    out.message += ", lane " + std::to_string(f.lane);
  if (f.address) {
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
}

class Worker {
public:
  explicit Worker(Launch &l)
      : launch(l), observer(makeObserver(l.options, l.program, l.checks.get())) {}

  void run() {
    const auto &grid = launch.dispatch.grid;
    while (!launch.failed.load(std::memory_order_relaxed)) {
      uint64_t g = launch.next.fetch_add(1);
      if (g >= launch.groups)
        break;
      group.id = {static_cast<uint32_t>(g % grid[0]), static_cast<uint32_t>(g / grid[0] % grid[1]),
                  static_cast<uint32_t>(g / grid[0] / grid[1])};
      runGroup();
    }
    if (observer) {
      std::lock_guard lock(launch.mutex);
      observer->finish(launch.result);
    }
  }

private:
  void fail(const Wave &w, const WaveFault &f) {
    Fault fault = describe(launch, group, w, f);
    std::lock_guard lock(launch.mutex);
    if (launch.result.ok)
      launch.result.fault = std::move(fault);
    launch.result.ok = false;
    launch.failed = true;
  }

  bool setup(Wave &w, unsigned index, uint8_t *lds) {
    const Program &p = launch.program;
    const uint64_t scratchSize = scratchBytes();
    w.target = p.target;
    w.memory = &launch.memory;
    w.group = &group;
    w.index = index;
    w.lanes = launch.lanes;
    w.codeBegin = p.insts.data();
    w.codeEnd = p.insts.data() + p.insts.size() - 1;
    w.codeAddress = p.address;
    w.current = w.codeBegin;
    w.probe = observer.get();
    w.lds = lds;
    w.ldsSize = launch.ldsBytes;
    try {
      w.v = storage.registers(index, std::max(p.vgprs, 3u), p.accVgprs);
      w.scratchSize = static_cast<uint32_t>(scratchSize);
      w.scratch = scratchSize ? storage.scratch(index, scratchSize * kLanes) : nullptr;
      setupWave(w, launch.dispatch, group.id, index, launch.packet);
    } catch (const WaveFault &f) {
      fail(w, f);
      return false;
    }
    return true;
  }

  /// Dynamic stacks get a fixed size, as the HSA runtime gives by default.
  uint64_t scratchBytes() const {
    const KernelDescriptor &k = launch.dispatch.kernel->descriptor;
    uint64_t bytes = k.privateSegmentFixedSize;
    if (k.dynamicStack())
      bytes = std::max<uint64_t>(bytes, 16 << 10);
    return (bytes + 15) / 16 * 16;
  }

  void runGroup() {
    const unsigned count = launch.wavesOfGroup;
    uint8_t *lds = storage.lds(launch.ldsBytes);
    group.waves.assign(count, Wave());
    for (unsigned i = 0; i < count; ++i)
      if (!setup(group.waves[i], i, lds))
        return;
    if (observer)
      observer->beginGroup(group);
    unsigned running = count, waiting = 0;
    while (running) {
      for (Wave &w : group.waves) {
        if (w.stop == Stop::End || w.stop == Stop::Barrier)
          continue;
        if (launch.failed.load(std::memory_order_relaxed))
          return;
        w.stop = Stop::None;
        w.fuel = kSlice;
        try {
          if (observer)
            runWaveObserved(w, *observer);
          else
            runWave(w);
        } catch (const WaveFault &f) {
          fail(w, f);
          return;
        }
        if (w.stop == Stop::End) {
          --running;
        } else if (w.stop == Stop::Barrier) {
          ++waiting;
        } else if ((w.executed += kSlice) > launch.options.instructionLimit) {
          fail(w, {"the wave exceeded its limit of " +
                   std::to_string(launch.options.instructionLimit) + " instructions"});
          return;
        }
      }
      if (waiting && waiting == running) {
        if (observer)
          observer->barrier(group);
        for (Wave &w : group.waves)
          if (w.stop == Stop::Barrier)
            w.stop = Stop::None;
        waiting = 0;
      }
    }
    if (observer)
      observer->endGroup(group);
  }

  Launch &launch;
  std::unique_ptr<Observer> observer;
  GroupStorage storage;
  Group group;
};

std::string checkGeometry(const Dispatch &d, const TargetInfo &t) {
  uint64_t items = uint64_t(d.block[0]) * d.block[1] * d.block[2];
  for (unsigned axis = 0; axis < 3; ++axis)
    if (d.grid[axis] == 0 || d.block[axis] == 0)
      return "a grid or block dimension is zero";
  if (items > 1024 || d.block[0] > 1024 || d.block[1] > 1024 || d.block[2] > 1024)
    return "a workgroup of more than 1024 work-items";
  uint64_t lds = uint64_t(d.kernel->descriptor.groupSegmentFixedSize) + d.dynamicLds;
  if (lds > t.ldsBytes)
    return std::to_string(lds) + " bytes of LDS, and " + std::string(t.name) + " has " +
           std::to_string(t.ldsBytes);
  return {};
}
} // namespace

DispatchResult runDispatch(const Dispatch &d, const MemoryMap &memory, const Options &options) {
  const KernelCode &kernel = *d.kernel;
  const Program &program = *kernel.program;
  if (std::string bad = checkGeometry(d, *program.target); !bad.empty()) {
    DispatchResult r;
    r.ok = false;
    r.fault.kernel = kernel.name;
    r.fault.message = "kernel '" + kernel.name + "': " + bad;
    return r;
  }
  Packet packet;
  for (unsigned axis = 0; axis < 3; ++axis) {
    packet.workgroup[axis] = static_cast<uint16_t>(d.block[axis]);
    packet.grid[axis] = d.grid[axis] * d.block[axis];
  }
  packet.privateSize = kernel.descriptor.privateSegmentFixedSize;
  packet.groupSize = kernel.descriptor.groupSegmentFixedSize + d.dynamicLds;
  packet.kernarg = d.kernarg;
  LaunchMemory withPacket(memory, packet);

  Launch launch(d, options, withPacket, program);
  launch.packet = d.dispatchPacket ? d.dispatchPacket : reinterpret_cast<uint64_t>(&packet);
  launch.lanes = waveLanes(kernel);
  uint64_t items = uint64_t(d.block[0]) * d.block[1] * d.block[2];
  launch.wavesOfGroup = static_cast<unsigned>((items + launch.lanes - 1) / launch.lanes);
  launch.ldsBytes = packet.groupSize;
  launch.groups = uint64_t(d.grid[0]) * d.grid[1] * d.grid[2];

  unsigned threads =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  if (options.trace)
    threads = 1;
  if (options.checks)
    launch.checks = std::make_unique<CheckState>(options.checks, kernel, withPacket);
  threads = static_cast<unsigned>(std::min<uint64_t>(threads, launch.groups));
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t)
    pool.emplace_back([&launch] { Worker(launch).run(); });
  Worker(launch).run();
  for (std::thread &t : pool)
    t.join();
  if (launch.checks)
    launch.result.findings = launch.checks->findings.take();
  return std::move(launch.result);
}

} // namespace flyemu
