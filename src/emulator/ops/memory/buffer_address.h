// Addresses of buffer instructions: the descriptor, its range checks, its swizzle.
#pragma once

#include "emulator/core/scratch_buffer.h"
#include "emulator/ops/memory/memory_ops.h"

#include <algorithm>
#include <string>

namespace flyemu {

/// A buffer descriptor (V#) and the addresses it gives (CDNA3 ISA, "Buffer Addressing" and "Range
/// Checking").
///
/// Raw buffers (no stride, or no index) are checked by byte offset against NUM_RECORDS - SOFFSET,
/// each dword by itself; structured ones by index against NUM_RECORDS, and, swizzled, by offset
/// against the stride.
///
/// Any address may be used. The ISA manuals say that the two lowest bits of the address of a dword
/// are ignored, which is so in one of the modes of SH_MEM_CONFIG.ALIGNMENT_MODE. Linux chooses
/// UNALIGNED for all targets (amdkfd's update_qpd_v9 for gfx90a, gfx942 and gfx950;
/// DEFAULT_SH_MEM_CONFIG of gfx_v11_0 and gfx_v12_0), and LLVM compiles for amdhsa so
/// (unaligned-access-mode).
struct BufferAddress {
  Wave &w;
  const Inst &i;
  uint64_t base, records;
  uint32_t stride, soffset;
  bool swizzle, addTid, scratch;
  uint32_t indexStride;
  const uint32_t *first, *second;

  BufferAddress(Wave &wave, const Inst &inst) : w(wave), i(inst) {
    const uint32_t *d = w.s + i.src[2].index;
    soffset = read32(w, i.soffset);
    first = w.row(i.src[0].index);
    second = first + kLanes;
    if (w.target->isGfx1250()) {
      wideDescriptor(d);
      return;
    }
    base = static_cast<uint64_t>(
        static_cast<int64_t>((d[0] | uint64_t(d[1] & 0xffff) << 32) << 16) >> 16);
    stride = d[1] >> 16 & 0x3fff;
    swizzle = w.target->encoding == Encoding::Gfx9 ? d[1] >> 31 : (d[1] >> 30 & 3) != 0;
    records = d[2];
    indexStride = 8u << (d[3] >> 21 & 3);
    addTid = d[3] >> 23 & 1;
    scratch = isScratchBuffer(w, d);
    if (swizzle && stride == 0 && !scratch)
      throw WaveFault{"swizzled buffer descriptor without a stride"};
  }

  /// gfx1250: 57 bits of address, and 45 of NUM_RECORDS after them (LLVM's lowering of
  /// llvm.amdgcn.make.buffer.rsrc, Feature45BitNumRecordsBufferResource). Only raw buffers are known.
  void wideDescriptor(const uint32_t *d) {
    const uint64_t low = d[0] | uint64_t(d[1]) << 32, high = d[2] | uint64_t(d[3]) << 32;
    base = static_cast<uint64_t>(static_cast<int64_t>(low << 7) >> 7);
    records = low >> 57 | (high & ((uint64_t(1) << 38) - 1)) << 7;
    if (high >> 38)
      throw WaveFault{"a buffer descriptor of gfx1250 with a stride or flags, whose meaning is not "
                      "published: only raw buffers are emulated"};
    stride = indexStride = 0;
    swizzle = addTid = scratch = false;
  }

  /// Linear raw buffers whose lanes are all in range.
  bool bulk(uint64_t exec, uint32_t bytes, bool write, uint64_t *at) const {
    if (swizzle || stride || addTid || i.flags & kIdxen || scratch)
      return false;
    const uint64_t fixed = static_cast<uint32_t>(i.offset);
    const bool offen = i.flags & kOffen;
    uint32_t highest = 0;
    if (offen && exec == w.fullMask())
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        highest = std::max(highest, first[lane]);
    else if (offen)
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        highest = std::max(highest, exec >> lane & 1 ? first[lane] : 0);
    const uint64_t most = fixed + highest;
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      at[lane] = base + soffset + fixed + (offen ? first[lane] : 0);
    return most + bytes + soffset <= records && inOneRange(w, exec, at, bytes, write);
  }

  uint8_t *at(unsigned lane, unsigned skip, unsigned bytes, bool write) const {
    const uint32_t *offsets = i.flags & kIdxen ? second : first;
    uint64_t offset =
        uint64_t(static_cast<uint32_t>(i.offset)) + skip + (i.flags & kOffen ? offsets[lane] : 0);
    if (scratch)
      return scratchAt(lane, offset, bytes, write);
    uint64_t index = (i.flags & kIdxen ? first[lane] : 0) + (addTid ? lane : 0);
    bool structured = stride != 0 && (i.flags & kIdxen || addTid);
    uint64_t address;
    if (structured) {
      if (index >= records || (swizzle && offset >= stride))
        return nullptr;
    } else if (offset + bytes + soffset > records) {
      return nullptr;
    }
    if (swizzle) {
      uint64_t elementSize = 4;
      if (offset % elementSize + bytes > elementSize) {
        if (bytes > elementSize && offset % elementSize == 0)
          return nullptr; // the caller goes on dword by dword
        throw WaveFault{"an access of " + std::to_string(bytes) + " bytes at offset " +
                            std::to_string(offset) +
                            " of a swizzled buffer, across elements that are not neighbours",
                        static_cast<int>(lane)};
      }
      uint64_t msb = index / indexStride, lsb = index % indexStride;
      address = base + soffset + (msb * stride + offset / elementSize * elementSize) * indexStride +
                lsb * elementSize + offset % elementSize;
    } else {
      address = base + soffset + offset + index * stride;
    }
    if (__builtin_expect(w.probe != nullptr, 0))
      w.probe->access(w, i, lane, Space::Global, address, bytes, write, false);
    return w.global(address, bytes, write, static_cast<int>(lane));
  }

  /// Scratch is swizzled by dwords over the lanes, so that what is added outside of the swizzle
  /// counts for all lanes together. Here each lane's bytes are in one piece.
  uint8_t *scratchAt(unsigned lane, uint64_t offset, unsigned bytes, bool write) const {
    const uint64_t fixed = base - reinterpret_cast<uint64_t>(w.scratch) + soffset;
    if (fixed % (4 * kLanes))
      throw WaveFault{"scratch buffer with an offset of " + std::to_string(fixed) +
                          " bytes, which is no dword of each lane",
                      static_cast<int>(lane)};
    offset += fixed / kLanes;
    return laneScratch(w, i, lane, offset, bytes, write);
  }
};

} // namespace flyemu
