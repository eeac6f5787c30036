#include "emulator/hip/launch/occupancy.h"

#include <algorithm>

namespace flyemu::hip {

int residentWorkgroups(const DeviceFigures &info, const loader::KernelNotes &kernel,
                       uint64_t threads, uint64_t dynamicLds) {
  if (!threads || threads > kernel.maxFlatWorkgroupSize)
    return 0;
  const uint64_t lanes =
      kernel.wavefrontSize ? kernel.wavefrontSize : static_cast<uint64_t>(info.waveSize());
  // The register file is that of waves of the target's own size; wider waves take twice as much.
  const uint64_t width = std::max<uint64_t>(lanes / static_cast<uint64_t>(info.waveSize()), 1);
  const auto granule = static_cast<uint64_t>(info.registerGranule);
  const uint64_t registers =
      (std::max<uint64_t>(kernel.vgprCount, 1) + granule - 1) / granule * granule * width;
  const uint64_t wavesOfSimd = std::min(static_cast<uint64_t>(info.registersPerLane) / registers,
                                        static_cast<uint64_t>(info.wavesPerSimd));
  const uint64_t waves = (threads + lanes - 1) / lanes;
  uint64_t groups = wavesOfSimd * static_cast<uint64_t>(info.simdsPerUnit) / waves;
  if (uint64_t lds = kernel.groupSegmentSize + dynamicLds)
    groups = std::min(groups, static_cast<uint64_t>(info.ldsOfUnit()) / lds);
  return static_cast<int>(groups);
}

int residentAsHipSays(const DeviceFigures &info, const loader::KernelNotes &kernel,
                      uint64_t threads, uint64_t dynamicLds) {
  const int groups = residentWorkgroups(info, kernel, threads, dynamicLds);
  const uint64_t lds = kernel.groupSegmentSize + dynamicLds;
  return lds ? std::min(groups, static_cast<int>(static_cast<uint64_t>(info.ldsBytes()) / lds))
             : groups;
}

} // namespace flyemu::hip
