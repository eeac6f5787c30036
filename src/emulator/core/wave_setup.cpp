#include "emulator/core/wave_setup.h"

#include "emulator/core/group.h"
#include "emulator/core/hardware_register.h"
#include "emulator/core/program.h"

namespace flyemu {

unsigned waveLanes(const KernelCode &kernel) {
  const Machine &t = *kernel.program->target;
  if (t.encoding == Encoding::Gfx9)
    return 64;
  return kernel.descriptor.wave32() ? 32 : 64;
}

namespace {
/// Gives scalar registers their values, one after the other, and notes that they have one.
class Scalars {
public:
  explicit Scalars(Wave &wave) : w_(wave) {}

  void set(unsigned code, uint32_t x, uint32_t bits = ~0u) {
    w_.s[code] = x;
    w_.launched[code] |= bits;
  }
  void put(uint32_t x) { set(next++, x); }
  void put64(uint64_t x) {
    put(static_cast<uint32_t>(x));
    put(static_cast<uint32_t>(x >> 32));
  }
  /// Registers that are counted and get no value.
  void skip(unsigned count) { next += count; }

  unsigned next = 0;

private:
  Wave &w_;
};

/// All targets pack a work-item's coordinates into v0, ten bits each (LLVM AMDGPUUsage, "Register
/// Layout for Packed Work-Item ID Method"). Those that the descriptor does not ask for are zero:
/// code that has no use for y and z does not mask x.
void workItemIds(Wave &w, const Dispatch &d, unsigned index) {
  const unsigned mode = d.kernel->descriptor.workItemIdMode();
  if (mode > 2)
    throw WaveFault{"the descriptor asks for work-item ids by a mode that is not defined"};
  uint32_t *v0 = w.row(0);
  uint64_t total = uint64_t(d.block[0]) * d.block[1] * d.block[2], exec = 0;
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    uint64_t item = uint64_t(index) * w.lanes + lane;
    if (item >= total)
      break;
    exec |= uint64_t(1) << lane;
    uint32_t x = static_cast<uint32_t>(item % d.block[0]);
    uint32_t y = static_cast<uint32_t>(item / d.block[0] % d.block[1]);
    uint32_t z = static_cast<uint32_t>(item / d.block[0] / d.block[1]);
    v0[lane] = x | (mode > 0 ? y << 10 : 0) | (mode > 1 ? z << 20 : 0);
  }
  w.setExec(exec);
}

/// The buffer descriptor of scratch as the runtime makes it: no stride, swizzled by dwords over 64
/// lanes, the lane added to the index (ROCR, AqlQueue::FillBufRsrcWord0 to 3).
void scratchBuffer(Scalars &s, const Wave &w) {
  const uint64_t base = reinterpret_cast<uint64_t>(w.scratch);
  constexpr uint32_t kSelect = 4 | 5 << 3 | 6 << 6 | 7 << 9; // x, y, z, w
  constexpr uint32_t kUint32 = 4 << 12 | 4 << 15, kElement4 = 1 << 19, kStride64 = 3 << 21;
  s.put(static_cast<uint32_t>(base));
  s.put(static_cast<uint32_t>(base >> 32) | 1u << 31);
  s.put(w.scratchSize * kLanes);
  s.put(kSelect | kUint32 | kElement4 | kStride64 | 1u << 23);
}

/// Sets the registers that hardware maintains and code may read.
void specialRegisters(Scalars &s, const Wave &w, const KernelDescriptor &k,
                      bool architectedScratch) {
  constexpr unsigned kXnackMask = 104;
  for (unsigned half : {0u, 1u}) {
    s.set(kExec + half, w.s[kExec + half]);
    if (w.target->encoding == Encoding::Gfx9)
      s.set(kXnackMask + half, 0); // no lane waits for a page
  }
  if (w.target->flatScratch && architectedScratch && k.hasPrivateSegment()) {
    const uint64_t base = reinterpret_cast<uint64_t>(w.scratch);
    s.set(w.target->flatScratch, static_cast<uint32_t>(base));
    s.set(w.target->flatScratch + 1u, static_cast<uint32_t>(base >> 32));
  }
}

/// Workgroup ids. RDNA4 has them in trap temporaries, x in TTMP9, y and z in the halves of TTMP7,
/// and the wave's number within the workgroup in TTMP8[29:25]. A y or z that the descriptor does
/// not ask for is zero: code that has no use for z does not mask y (LLVM, AMDGPULegalizerInfo.cpp,
/// loadInputValue and legalizeWaveID).
void workgroupIds(Scalars &s, const Wave &w, const KernelDescriptor &k,
                  const std::array<uint32_t, 3> &group, unsigned index) {
  if (w.target->encoding == Encoding::Gfx12) {
    // In clusters, the numbers are the cluster's, and TTMP6 has the place in it: the coordinates, the
    // greatest coordinates, and the greatest number, of four bits each.
    uint32_t place = 0;
    std::array<uint32_t, 3> ids = group;
    if (const Cluster *cluster = w.group->cluster.get()) {
      for (unsigned axis = 0; axis < 3; ++axis) {
        const uint32_t size = cluster->size()[axis];
        place |= group[axis] % size << 4 * axis | (size - 1) << (12 + 4 * axis);
        ids[axis] = group[axis] / size;
      }
      place |= (cluster->groups() - 1) << 24;
    }
    s.set(kTtmp + 9, k.workgroupId(0) ? ids[0] : 0);
    s.set(kTtmp + 7,
          (k.workgroupId(1) ? ids[1] & 0xffff : 0) | (k.workgroupId(2) ? ids[2] << 16 : 0));
    s.set(kTtmp + 8, index << 25, 31u << 25);
    if (w.target->has(flydsl::Feature::clusters))
      s.set(kTtmp + 6, place);
  } else {
    for (unsigned axis = 0; axis < 3; ++axis)
      if (k.workgroupId(axis))
        s.put(group[axis]);
  }
  if (k.workgroupInfo())
    s.put(uint32_t(index == 0) << 31 | static_cast<uint32_t>(w.group->waves.size()));
}
} // namespace

void setupWave(Wave &w, const Dispatch &d, const std::array<uint32_t, 3> &group, unsigned index,
               uint64_t packet) {
  const KernelDescriptor &k = d.kernel->descriptor;
  const Machine &t = *w.target;
  // CDNA3, RDNA3 and later set FLAT_SCRATCH themselves; before, the kernel is told where its
  // scratch is, as a buffer and as an address, and what to add for the wave.
  const bool architectedScratch = t.architectedScratch;
  if (index == 0)
    w.group->barrierSignals = 0;
  w.descriptor = &k;
  Scalars s(w);
  if (k.privateSegmentBuffer()) {
    if (architectedScratch)
      throw WaveFault{"the descriptor asks for a buffer of the private segment, which " + t.name() +
                      " does not have"};
    scratchBuffer(s, w);
  }
  if (k.dispatchPtr())
    s.put64(packet);
  if (k.queuePtr()) {
    if (d.queue)
      s.put64(d.queue);
    else
      s.skip(2);
  }
  if (k.kernargSegmentPtr())
    s.put64(d.kernarg);
  if (k.dispatchId())
    s.put64(d.dispatchId);
  if (k.flatScratchInit()) {
    if (architectedScratch)
      throw WaveFault{"the descriptor asks for the address of flat scratch, which " + t.name() +
                      " sets itself"};
    s.put64(reinterpret_cast<uint64_t>(w.scratch));
  }
  if (k.privateSegmentSize())
    s.put((k.privateSegmentFixedSize + 3) / 4 * 4);
  uint64_t entry = d.kernel->entry;
  if (unsigned length = k.preloadLength()) {
    unsigned offset = k.preloadOffset();
    if (!t.kernargPreload)
      throw WaveFault{"the descriptor preloads arguments, which " + t.name() + " does not do"};
    if (s.next + length > t.userRegisters)
      throw WaveFault{"the descriptor preloads more arguments than there are user registers"};
    if (uint64_t(offset + length) * 4 > d.kernargSize)
      throw WaveFault{"the descriptor preloads arguments beyond the kernarg segment"};
    const uint8_t *arguments = w.global(d.kernarg + 4 * offset, 4 * length, false, -1);
    for (unsigned i = 0; i < length; ++i) {
      uint32_t x;
      std::memcpy(&x, arguments + 4 * i, 4);
      s.put(x);
    }
    // The first 256 bytes load the same registers, for firmware that does not preload.
    entry += 256;
  }
  const unsigned counted = k.userSgprCount(t.userRegisters);
  if (s.next > counted)
    throw WaveFault{"the descriptor enables more user registers than it counts"};
  if (counted > t.userRegisters)
    throw WaveFault{"the descriptor counts " + std::to_string(counted) + " user registers; " +
                    t.name() + " has " + std::to_string(t.userRegisters)};
  s.next = counted;
  workgroupIds(s, w, k, group, index);
  // Each wave's scratch has its own base here, so the wave offset is zero.
  if (k.hasPrivateSegment() && !architectedScratch)
    s.put(0);
  if (k.exceptions())
    throw WaveFault{"the descriptor asks for traps on arithmetic exceptions, which are not "
                    "emulated"};
  workItemIds(w, d, index);
  specialRegisters(s, w, k, architectedScratch);
  setModeBits(w, k.floatMode() | uint32_t(k.dx10Clamp()) << 8 | uint32_t(k.ieeeMode()) << 9 |
                     uint32_t(k.fp16Overflow()) << 23);
  w.jump(entry);
}

} // namespace flyemu
