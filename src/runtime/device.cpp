#include "runtime/device_info.h"
#include "runtime/hip_error.h"
#include "runtime/loaded_kernel.h"
#include "support/fork.h"

#include <flydsl/detail/resets.h>
#include <flydsl/device.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <memory>
#include <mutex>

namespace flydsl::runtime {
namespace {

/// The target's name out of a device's properties of unknown layout: HIP 5 and HIP 6 place
/// gcnArchName at different offsets, but in both it is the only text that begins with "gfx" after
/// the device's name (256 bytes).
std::string findArch(const char *properties, std::size_t size) {
  for (std::size_t at = 256; at + 4 < size; ++at)
    if (std::memcmp(properties + at, "gfx", 3) == 0 &&
        std::isxdigit(static_cast<unsigned char>(properties[at + 3])))
      return std::string(properties + at,
                         strnlen(properties + at, std::min<std::size_t>(256, size - at)));
  return {};
}

DeviceInfo ask(int ordinal) {
  const HipFunctions &functions = hip();
  const std::string what = "reading the properties of device " + std::to_string(ordinal);
  DeviceInfo info;
  // Both layouts take less than 2 KiB.
  auto properties = std::make_unique<char[]>(8192);
  std::memset(properties.get(), 0, 8192);
  check(functions.getProperties(properties.get(), ordinal), what);
  info.archFull = findArch(properties.get(), 8192);
  if (info.archFull.empty())
    throw RuntimeError(what + ": no target name in them");
  info.arch = info.archFull.substr(0, info.archFull.find(':'));
  // The name is the first field of both layouts.
  info.name.assign(properties.get(), strnlen(properties.get(), 256));

  auto attribute = [&](hipDeviceAttribute_t which) {
    int value = 0;
    check(functions.hipDeviceGetAttribute(&value, which, ordinal), what);
    return value;
  };
  info.computeUnits = attribute(hipDeviceAttributeMultiprocessorCount);
  info.warpSize = attribute(hipDeviceAttributeWarpSize);
  info.sharedBytes = static_cast<std::size_t>(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock));
  if (functions.hipDeviceTotalMem)
    check(functions.hipDeviceTotalMem(&info.memoryBytes, ordinal), what);
  return info;
}

} // namespace

const DeviceInfo &deviceInfo(int ordinal) {
  static std::mutex &mutex = *[] {
    auto *made = new std::mutex;
    support::holdAtFork(*made);
    return made;
  }();
  static auto &infos = *new std::vector<std::unique_ptr<DeviceInfo>>();
  const int count = hip().deviceCount;
  if (ordinal < 0 || ordinal >= count)
    throw RuntimeError("device " + std::to_string(ordinal) + " does not exist; there " +
                       (count == 1 ? "is 1" : "are " + std::to_string(count)));
  const auto at = static_cast<std::size_t>(ordinal);
  {
    std::lock_guard<std::mutex> lock(mutex);
    infos.resize(static_cast<std::size_t>(count));
    if (infos[at])
      return *infos[at];
  }
  auto asked = std::make_unique<DeviceInfo>(ask(ordinal)); // no lock is held over HIP's calls
  std::lock_guard<std::mutex> lock(mutex);
  auto &slot = infos[at];
  if (!slot)
    slot = std::move(asked);
  return *slot;
}

namespace {
std::array<std::atomic<unsigned>, 64> resets{};
} // namespace

unsigned resetsOf(int device) {
  const auto index = static_cast<std::size_t>(device);
  return index < resets.size() ? resets[index].load(std::memory_order_relaxed) : 0;
}

DeviceScope::DeviceScope(int ordinal) {
  check(hip().hipGetDevice(&before_), "asking for the current device");
  if (ordinal == before_)
    return;
  check(hip().hipSetDevice(ordinal), "making device " + std::to_string(ordinal) + " current");
  changed_ = true;
}

DeviceScope::~DeviceScope() {
  if (const HipFunctions *functions = changed_ ? hipToLetGo() : nullptr)
    (void)functions->hipSetDevice(before_);
}

} // namespace flydsl::runtime

FLYDSL_NAMESPACE_BEGIN

namespace detail {
std::atomic<unsigned> allResets{0};

MadeOn::MadeOn(int device)
    : device_(device), seen_(allResets), resets_(runtime::resetsOf(device)) {}
bool MadeOn::wasNotReset() const { return resets_ == runtime::resetsOf(device_); }
} // namespace detail
using namespace flydsl::runtime;

Device::Device(int ordinal, std::source_location where) : ordinal_(ordinal) {
  const int count = hip().deviceCount;
  if (ordinal < 0 || ordinal >= count)
    throw RuntimeError("device " + std::to_string(ordinal) + " does not exist; there " +
                           (count == 1 ? "is 1" : "are " + std::to_string(count)),
                       0, where);
}

Device Device::current(std::source_location where) {
  int ordinal = 0;
  check(hip().hipGetDevice(&ordinal), "asking for the current device", where);
  return Device(ordinal, where);
}

int Device::count() { return hip().deviceCount; }

std::vector<Device> Device::all() {
  std::vector<Device> devices;
  for (int i = 0; i < count(); ++i)
    devices.emplace_back(i);
  return devices;
}

std::string Device::name() const { return deviceInfo(ordinal_).name; }
std::string Device::arch() const { return deviceInfo(ordinal_).arch; }
std::string Device::arch_full() const { return deviceInfo(ordinal_).archFull; }
Target Device::target() const { return Target::parse(deviceInfo(ordinal_).archFull); }
bool Device::is_emulator() const { return hip().isEmulator; }
int Device::compute_units() const { return deviceInfo(ordinal_).computeUnits; }
int Device::warp_size() const { return deviceInfo(ordinal_).warpSize; }
std::size_t Device::shared_memory() const { return deviceInfo(ordinal_).sharedBytes; }
std::size_t Device::total_memory() const { return deviceInfo(ordinal_).memoryBytes; }

std::string Device::str() const {
  const DeviceInfo &info = deviceInfo(ordinal_);
  return info.arch + " (" + (is_emulator() ? "emulator" : info.name) + "), device " +
         std::to_string(ordinal_);
}

void Device::make_current(std::source_location where) const {
  check(hip().hipSetDevice(ordinal_), "making device " + std::to_string(ordinal_) + " current",
        where);
}

void Device::synchronize(std::source_location where) const {
  DeviceScope scope(ordinal_);
  check(hip().hipDeviceSynchronize(), "waiting for device " + std::to_string(ordinal_), where);
}

void Device::reset(std::source_location where) const {
  const HipFunctions &functions = hip();
  const std::string what = "resetting device " + std::to_string(ordinal_);
  if (!functions.hipDeviceReset || static_cast<std::size_t>(ordinal_) >= resets.size())
    throw RuntimeError(what + ": " + functions.path + " can't", 0, where);
  DeviceScope scope(ordinal_);
  (void)functions.hipDeviceSynchronize(); // it may report the failure that the reset is for
  const KernelReload reload(ordinal_);
  const hipError_t code = functions.hipDeviceReset();
  if (code == hipSuccess) {
    ++resets[static_cast<std::size_t>(ordinal_)];
    ++detail::allResets;
  } else {
    check(code, what, where);
  }
  reload.load(where);
}

FLYDSL_NAMESPACE_END
