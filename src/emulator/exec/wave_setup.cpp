#include "emulator/exec/wave_setup.h"

#include "emulator/exec/group.h"
#include "emulator/exec/program.h"

namespace flyemu {

unsigned waveLanes(const KernelCode &kernel) {
  const TargetInfo &t = *kernel.program->target;
  if (t.family == Family::Gfx9)
    return 64;
  return kernel.descriptor.wave32() ? 32 : 64;
}

namespace {
void workItemIds(Wave &w, const Dispatch &d, unsigned index) {
  uint32_t *v0 = w.row(0);
  uint64_t total = uint64_t(d.block[0]) * d.block[1] * d.block[2], exec = 0;
  const bool packed = w.target->gfx90a || w.target->family != Family::Gfx9;
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    uint64_t item = uint64_t(index) * w.lanes + lane;
    if (item >= total)
      break;
    exec |= uint64_t(1) << lane;
    uint32_t x = static_cast<uint32_t>(item % d.block[0]);
    uint32_t y = static_cast<uint32_t>(item / d.block[0] % d.block[1]);
    uint32_t z = static_cast<uint32_t>(item / d.block[0] / d.block[1]);
    if (packed) {
      v0[lane] = x | y << 10 | z << 20;
    } else {
      v0[lane] = x;
      w.row(1)[lane] = y;
      w.row(2)[lane] = z;
    }
  }
  w.setExec(exec);
}
} // namespace

void setupWave(Wave &w, const Dispatch &d, const std::array<uint32_t, 3> &group, unsigned index,
               uint64_t packet) {
  const KernelDescriptor &k = d.kernel->descriptor;
  const TargetInfo &t = *w.target;
  if (index == 0)
    w.group->barrierSignals = 0;
  unsigned n = 0;
  auto put = [&](uint32_t x) { w.s[n++] = x; };
  auto put64 = [&](uint64_t x) {
    put(static_cast<uint32_t>(x));
    put(static_cast<uint32_t>(x >> 32));
  };
  if (k.privateSegmentBuffer())
    n += 4; // no buffer descriptor: code for architected flat scratch does not use it
  if (k.dispatchPtr())
    put64(packet);
  if (k.queuePtr())
    put64(d.queue);
  if (k.kernargSegmentPtr())
    put64(d.kernarg);
  if (k.dispatchId())
    put64(d.dispatchId);
  if (k.flatScratchInit())
    put64(0);
  if (k.privateSegmentSize())
    put(k.privateSegmentFixedSize);
  uint64_t entry = d.kernel->entry;
  if (unsigned length = k.preloadLength()) {
    unsigned offset = k.preloadOffset();
    if (n + length > 16 && t.family == Family::Gfx9)
      throw WaveFault{"the descriptor preloads more arguments than there are user registers"};
    if (uint64_t(offset + length) * 4 > d.kernargSize)
      throw WaveFault{"the descriptor preloads arguments beyond the kernarg segment"};
    std::memcpy(&w.s[n], w.global(d.kernarg + 4 * offset, 4 * length, false, -1), 4 * length);
    n += length;
    // The first 256 bytes load the same registers, for firmware that does not preload.
    entry += 256;
  }
  if (n > k.userSgprCount())
    throw WaveFault{"the descriptor enables more user registers than it counts"};
  n = k.userSgprCount();
  if (t.family == Family::Gfx12) {
    // RDNA4 has workgroup ids in trap temporaries: x in TTMP9, y and z in the halves of TTMP7.
    w.s[108 + 9] = group[0];
    w.s[108 + 7] = (group[1] & 0xffff) | group[2] << 16;
  } else {
    for (unsigned axis = 0; axis < 3; ++axis)
      if (k.workgroupId(axis))
        put(group[axis]);
    if (k.workgroupInfo())
      put(0);
  }
  w.startScalars = n;
  workItemIds(w, d, index);
  initMode(w, k.floatMode() | uint32_t(k.dx10Clamp()) << 8 | uint32_t(k.ieeeMode()) << 9 |
                  uint32_t(k.fp16Overflow()) << 23);
  w.jump(entry);
}

} // namespace flyemu
