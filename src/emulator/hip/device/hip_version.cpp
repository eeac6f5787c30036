#include "emulator/hip/device/hip_version.h"

#include "emulator/hip/device/device.h"

namespace flyemu::hip {
namespace {
constexpr int kMajor = 10000000, kMinor = 100000;
} // namespace

int hipVersion() {
  switch (Runtime::get().configuration().hipMajor) {
  case 6:
    return 6 * kMajor + 3 * kMinor;
  case 7:
    return 7 * kMajor + 1 * kMinor;
  default:
    return HIP_VERSION; // 5.2, whose headers this is built with
  }
}

bool isSinceHip6(int version) { return version >= kMinor ? version >= 6 * kMajor : version >= 600; }

bool answersAsHip6() { return isSinceHip6(hipVersion()); }

hipMemoryType memoryTypeOf(MemoryPlace place) {
  if (!answersAsHip6())
    return place == MemoryPlace::Host ? hipMemoryTypeHost : hipMemoryTypeDevice;
  return static_cast<hipMemoryType>(place); // 0 to 3 in this order
}

hipGraphNodeType graphNodeTypeOf(hipGraphNodeType type) {
  if (!answersAsHip6())
    return type;
  switch (type) {
  case hipGraphNodeTypeMemcpy1D: // has no number of its own any more
    return graphNodeTypeOf(hipGraphNodeTypeMemcpy);
  case hipGraphNodeTypeMemcpyFromSymbol:
  case hipGraphNodeTypeMemcpyToSymbol:
    return static_cast<hipGraphNodeType>(type + 2);
  default:
    return static_cast<hipGraphNodeType>(type - 1); // 0 is the first since then
  }
}

} // namespace flyemu::hip
