// The 64-byte kernel descriptor (LLVM AMDGPUUsage, "Kernel Descriptor"), as fields.
#pragma once

#include <cstdint>
#include <cstring>

namespace flyemu {

/// The descriptor that the symbol `<kernel>.kd` points at. The raw register images are kept;
/// accessors name the bits that the wave setup needs.
struct KernelDescriptor {
  uint32_t groupSegmentFixedSize = 0;   ///< static LDS in bytes
  uint32_t privateSegmentFixedSize = 0; ///< scratch in bytes for each lane
  uint32_t kernargSize = 0;             ///< bytes
  int64_t entryOffset = 0;              ///< from the descriptor's address to the first instruction
  uint32_t rsrc3 = 0, rsrc1 = 0, rsrc2 = 0;
  uint16_t properties = 0;
  uint16_t kernargPreload = 0;

  /// Reads the 64 bytes at `bytes`.
  static KernelDescriptor parse(const void *bytes) {
    auto *p = static_cast<const unsigned char *>(bytes);
    KernelDescriptor d;
    std::memcpy(&d.groupSegmentFixedSize, p + 0, 4);
    std::memcpy(&d.privateSegmentFixedSize, p + 4, 4);
    std::memcpy(&d.kernargSize, p + 8, 4);
    std::memcpy(&d.entryOffset, p + 16, 8);
    std::memcpy(&d.rsrc3, p + 44, 4);
    std::memcpy(&d.rsrc1, p + 48, 4);
    std::memcpy(&d.rsrc2, p + 52, 4);
    std::memcpy(&d.properties, p + 56, 2);
    std::memcpy(&d.kernargPreload, p + 58, 2);
    return d;
  }

  bool property(unsigned bit) const { return properties >> bit & 1; }
  bool privateSegmentBuffer() const { return property(0); }
  bool dispatchPtr() const { return property(1); }
  bool queuePtr() const { return property(2); }
  bool kernargSegmentPtr() const { return property(3); }
  bool dispatchId() const { return property(4); }
  bool flatScratchInit() const { return property(5); }
  bool privateSegmentSize() const { return property(6); }
  bool wave32() const { return property(10); }
  bool dynamicStack() const { return property(11); }

  unsigned preloadLength() const { return kernargPreload & 127; } ///< in dwords
  unsigned preloadOffset() const { return kernargPreload >> 7; }  ///< in dwords

  bool hasPrivateSegment() const { return rsrc2 & 1; }
  /// Of five bits, or of six where there are as many as 32.
  unsigned userSgprCount(unsigned most) const { return rsrc2 >> 1 & (most < 32 ? 31 : 63); }
  bool workgroupId(unsigned axis) const { return rsrc2 >> (7 + axis) & 1; }
  bool workgroupInfo() const { return rsrc2 >> 10 & 1; }
  unsigned workItemIdMode() const { return rsrc2 >> 11 & 3; } ///< 0: x; 1: x, y; 2: x, y, z
  /// The exceptions that trap, seven bits: five of IEEE 754, denormal operands, division by zero of
  /// integers.
  unsigned exceptions() const { return rsrc2 >> 24 & 127; }

  /// gfx1250: how many named barriers the kernel has (NAMED_BAR_CNT counts fours).
  unsigned namedBarriers() const { return (rsrc3 >> 14 & 7) * 4; }

  unsigned vgprGranules() const { return rsrc1 & 63; }
  unsigned sgprGranules() const { return rsrc1 >> 6 & 15; }
  /// The initial FP_ROUND (bits 0-3) and FP_DENORM (bits 4-7) of MODE.
  unsigned floatMode() const { return rsrc1 >> 12 & 255; }
  bool dx10Clamp() const { return rsrc1 >> 21 & 1; } ///< before gfx12
  bool ieeeMode() const { return rsrc1 >> 23 & 1; }  ///< before gfx12
  bool fp16Overflow() const { return rsrc1 >> 26 & 1; }
};

} // namespace flyemu
