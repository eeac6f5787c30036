#include "emulator/hip/target_info.h"

namespace flyemu::hip {
namespace {

// Figures from AMD's product pages and ISA manuals; LDS sizes and register granules from LLVM's
// GCNSubtarget features. L2 bandwidth: 128 bytes a clock for each channel of CDNA, 64 for RDNA's.
constexpr TargetInfo targets[] = {
    {"gfx90a", "MI250X", 9, 0, 110, 64, 65536, 65536, 2048, 4, 8, 512, 8, 1700000, 1600000, 4096,
     8 << 20, 1638, 4096},
    {"gfx942", "MI300X", 9, 4, 304, 64, 65536, 65536, 2048, 4, 8, 512, 8, 2100000, 1300000, 8192,
     4 << 20, 5300, 16384},
    {"gfx950", "MI355X", 9, 5, 256, 64, 163840, 65536, 2048, 4, 8, 512, 8, 2400000, 2000000, 8192,
     4 << 20, 8000, 16384},
    {"gfx1100", "RX 7900 XTX", 11, 0, 48, 32, 65536, 65536, 2048, 4, 16, 1536, 24, 2500000, 1250000,
     384, 6 << 20, 960, 3072},
    {"gfx1200", "RX 9060 XT", 12, 0, 16, 32, 65536, 65536, 2048, 4, 16, 1536, 24, 3130000, 1258000,
     128, 4 << 20, 322, 1024},
    {"gfx1201", "RX 9070 XT", 12, 0, 32, 32, 65536, 65536, 2048, 4, 16, 1536, 24, 2970000, 1258000,
     256, 8 << 20, 644, 2048},
};

} // namespace

const TargetInfo *findTargetInfo(std::string_view processor) {
  for (const TargetInfo &info : targets)
    if (processor == info.processor)
      return &info;
  return nullptr;
}

std::vector<const char *> declaredProcessors() {
  std::vector<const char *> names;
  for (const TargetInfo &info : targets)
    names.push_back(info.processor);
  return names;
}

} // namespace flyemu::hip
