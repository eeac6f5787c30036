#include "emulator/core/dispatch.h"

#include "emulator/core/group.h"
#include "emulator/core/program.h"
#include "emulator/core/wave_setup.h"
#include "emulator/core/weak_memory.h"
#include "emulator/core/worker.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace flyemu {

std::string KernelCode::offsetText(uint64_t address) const {
  const bool before = address < entry;
  char text[32];
  std::snprintf(text, sizeof text, "%c0x%llx", before ? '-' : '+',
                static_cast<unsigned long long>(before ? entry - address : address - entry));
  return text;
}

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

uint32_t *GroupStorage::registers(const Machine &machine, unsigned index, unsigned vgprs,
                                  unsigned accVgprs) {
  if (files_.size() <= index)
    files_.resize(index + 1);
  constexpr size_t kRow = kLanes * sizeof(uint32_t);
  auto *v = static_cast<uint32_t *>(reserve(files_[index], machine.fileRows() * kRow));
  const size_t rows = machine.vectorRows(), accRow = machine.accRow();
  std::memset(v, 0, std::min<size_t>(vgprs, accRow) * kRow);
  std::memset(v + accRow * kLanes, 0, std::min<size_t>(accVgprs, rows - accRow) * kRow);
  return v;
}

uint8_t *GroupStorage::lds(size_t bytes) {
  auto *p = static_cast<uint8_t *>(reserve(ldsBlock_, bytes + 64));
  std::memset(p, 0, bytes);
  return p;
}

uint8_t *GroupStorage::scratch(unsigned index, size_t bytes) {
  if (scratches_.size() <= index)
    scratches_.resize(index + 1);
  auto *p = static_cast<uint8_t *>(reserve(scratches_[index], bytes + 64));
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
class PacketAndMemory : public MemoryMap {
public:
  PacketAndMemory(const MemoryMap &m, const Packet &p)
      : base_(m), packet_{reinterpret_cast<uint64_t>(&p), 64, false} {}
  bool find(uint64_t address, MemoryRange &range) const override {
    if (packet_.contains(address, 1)) {
      range = packet_;
      return true;
    }
    return base_.find(address, range);
  }
  std::string describe(uint64_t address) const override { return base_.describe(address); }
  std::shared_ptr<WrittenBytes> written(uint64_t address) const override {
    return base_.written(address);
  }

private:
  const MemoryMap &base_;
  MemoryRange packet_;
};

std::string checkGeometry(const Dispatch &d, const Machine &t) {
  uint64_t items = uint64_t(d.block[0]) * d.block[1] * d.block[2];
  for (unsigned axis = 0; axis < 3; ++axis)
    if (d.grid[axis] == 0 || d.block[axis] == 0)
      return "a grid or block dimension is zero";
  for (unsigned axis = 1; axis < 3; ++axis)
    if (d.grid[axis] > t.maxGridYz)
      return "a grid of " + std::to_string(d.grid[axis]) + " workgroups along " + "xyz"[axis] +
             "; " + t.name() + " has 16 bits for a workgroup's number there";
  uint64_t members = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint32_t size = d.cluster[axis];
    if (!size || d.grid[axis] % size)
      return "a grid of " + std::to_string(d.grid[axis]) + " workgroups along " + "xyz"[axis] +
             ", and clusters of " + std::to_string(size) + ": the grid is whole clusters";
    members *= std::min<uint64_t>(size, UINT16_MAX);
  }
  if (members > 1 && !t.has(flydsl::Feature::clusters))
    return "clusters of workgroups, which " + t.name() + " does not have";
  if (members > Cluster::kMostGroups)
    return "a cluster of " + std::to_string(members) + " workgroups; it has at most " +
           std::to_string(Cluster::kMostGroups);
  const auto most = static_cast<uint64_t>(t.processor->maxBlockSize);
  if (items > most || d.block[0] > most || d.block[1] > most || d.block[2] > most)
    return "a workgroup of more than " + std::to_string(most) + " work-items";
  uint64_t lds = uint64_t(d.kernel->descriptor.groupSegmentFixedSize) + d.dynamicLds;
  if (lds > t.processor->ldsBytes)
    return std::to_string(lds) + " bytes of LDS, and " + t.name() + " has " +
           std::to_string(t.processor->ldsBytes);
  return {};
}
} // namespace

DispatchResult runLaunch(const Dispatch &d, const MemoryMap &memory, const Options &options,
                         Watch *watch) {
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
  PacketAndMemory withPacket(memory, packet);

  Launch launch(d, options, withPacket, program, watch);
  launch.packet = d.dispatchPacket ? d.dispatchPacket : reinterpret_cast<uint64_t>(&packet);
  launch.lanes = waveLanes(kernel);
  uint64_t items = uint64_t(d.block[0]) * d.block[1] * d.block[2];
  launch.wavesOfGroup = static_cast<unsigned>((items + launch.lanes - 1) / launch.lanes);
  launch.ldsBytes = packet.groupSize;
  launch.groups = uint64_t(d.grid[0]) * d.grid[1] * d.grid[2];
  launch.clusterGroups = d.cluster[0] * d.cluster[1] * d.cluster[2];
  launch.grid.exists = d.cooperative;
  launch.resident = d.residentGroups ? d.residentGroups : kDefaultResidentGroups;

  if (options.weakMemory)
    options.weakMemory->begin();

  unsigned threads =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  if (options.trace || options.weakMemory)
    threads = 1;
  threads = static_cast<unsigned>(std::min<uint64_t>(threads, launch.units()));
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t)
    pool.emplace_back([&launch] { runWorker(launch); });
  runWorker(launch);
  for (std::thread &t : pool)
    t.join();
  if (options.weakMemory)
    options.weakMemory->end();
  return std::move(launch.result);
}

} // namespace flyemu
