// Devices: their figures, which one is current, and resets.
#include "runtime/current_driver.h"
#include "runtime/device_info.h"
#include "runtime/loaded_kernel.h"
#include "target/processors.h"
#include "target/products.h"

#include <flydsl/detail/resets.h>
#include <flydsl/host/device.h>
#include <flydsl/host/product.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <memory>
#include <mutex>

namespace flydsl::runtime {
/// The list of `deviceInfo`, never destroyed, and its lock.
static constinit std::vector<std::unique_ptr<DeviceInfo>> *infos = nullptr;
static constinit std::mutex mutex;

const DeviceInfo &deviceInfo(int ordinal) {
  const int count = driver().deviceCount;
  if (ordinal < 0 || ordinal >= count)
    throw RuntimeError("device " + std::to_string(ordinal) + " does not exist; there " +
                       (count == 1 ? "is 1" : "are " + std::to_string(count)));
  const auto at = static_cast<std::size_t>(ordinal);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!infos)
      infos = new std::vector<std::unique_ptr<DeviceInfo>>(static_cast<std::size_t>(count));
    if (const auto &known = (*infos)[at])
      return *known;
  }
  auto asked = std::make_unique<DeviceInfo>(
      driver().describeDevice(ordinal)); // no lock is held over the driver's calls
  std::lock_guard<std::mutex> lock(mutex);
  auto &slot = (*infos)[at];
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
  check(driver().getDevice(&before_), "asking for the current device");
  if (ordinal == before_)
    return;
  check(driver().setDevice(ordinal), "making device " + std::to_string(ordinal) + " current");
  changed_ = true;
}

DeviceScope::~DeviceScope() {
  if (const Driver *used = changed_ ? driverToLetGo() : nullptr)
    (void)used->setDevice(before_);
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
  const int count = driver().deviceCount;
  if (ordinal < 0 || ordinal >= count)
    throw RuntimeError("device " + std::to_string(ordinal) + " does not exist; there " +
                           (count == 1 ? "is 1" : "are " + std::to_string(count)),
                       0, where);
}

Device Device::current(std::source_location where) {
  int ordinal = 0;
  check(driver().getDevice(&ordinal), "asking for the current device", where);
  return Device(ordinal, where);
}

int Device::count() { return driver().deviceCount; }

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
bool Device::is_emulator() const { return driver().isEmulator; }
int Device::compute_units() const { return deviceInfo(ordinal_).computeUnits; }
int Device::xcds() const {
  const DeviceInfo &info = deviceInfo(ordinal_);
  if (info.xcds > 0)
    return info.xcds;
  const detail::Processor *processor = detail::findProcessor(info.arch);
  if (const std::optional<int> dies =
          processor ? detail::diesOf(*processor, info.computeUnits) : std::optional<int>(1))
    return *dies;
  throw RuntimeError("the number of XCDs of " + str() + " is not known: the driver does not say, " +
                     "and no die of " + info.arch + " has a number of compute units that divides " +
                     std::to_string(info.computeUnits));
}
std::optional<Product> product(const Device &device) {
  const DeviceInfo &info = deviceInfo(device.ordinal());
  const detail::Processor *processor = detail::findProcessor(info.arch);
  if (!processor)
    return std::nullopt;
  const Target target = Target::parse(info.arch);
  const int units = info.computeUnits * processor->unitsOfMultiprocessor, dies = device.xcds();
  // MI300X and MI325X have as many units, and differ by their names.
  const std::vector<Product> all = products(target);
  const auto fits = [&](const Product &known) {
    return known.compute_units == units && known.dies == dies;
  };
  for (const Product &known : all)
    if (fits(known) && info.name.find(known.name) != std::string::npos)
      return known;
  for (const Product &known : all)
    if (fits(known))
      return known;
  std::optional<Product> part = default_product(target);
  if (part && units > 0) {
    part->compute_units = units;
    part->dies = dies;
  }
  return part;
}
std::optional<Product> product_in_hand(const Target &target) {
  if (Device::count() > 0)
    if (const Device device = Device::current(); device.arch() == target.name())
      return product(device);
  return default_product(target);
}

int Device::warp_size() const { return deviceInfo(ordinal_).warpSize; }
std::size_t Device::shared_memory() const { return deviceInfo(ordinal_).sharedBytes; }
std::size_t Device::total_memory() const { return deviceInfo(ordinal_).memoryBytes; }

std::string Device::str() const {
  const DeviceInfo &info = deviceInfo(ordinal_);
  return info.arch + " (" + (is_emulator() ? "emulator" : info.name) + "), device " +
         std::to_string(ordinal_);
}

void Device::make_current(std::source_location where) const {
  check(driver().setDevice(ordinal_), "making device " + std::to_string(ordinal_) + " current",
        where);
}

void Device::synchronize(std::source_location where) const {
  DeviceScope scope(ordinal_);
  check(driver().synchronizeDevice(), "waiting for device " + std::to_string(ordinal_), where);
}

std::optional<Allocation> allocation_of(const void *pointer, std::source_location where) {
  const Driver &used = driver();
  const char *what = "asking for the allocation of an address";
  if (!used.allocationOf)
    throw RuntimeError(std::string(what) + ": " + used.path + " can't tell", 0, where);
  Allocation found;
  check(used.allocationOf(pointer, &found.data, &found.bytes), what, where);
  return found.data ? std::optional(found) : std::nullopt;
}

void Device::reset(std::source_location where) const {
  const Driver &used = driver();
  const std::string what = "resetting device " + std::to_string(ordinal_);
  if (!used.resetDevice || static_cast<std::size_t>(ordinal_) >= resets.size())
    throw RuntimeError(what + ": " + used.path + " can't", 0, where);
  DeviceScope scope(ordinal_);
  (void)used.synchronizeDevice(); // it may report the failure that the reset is for
  const KernelReload reload(ordinal_);
  const Status status = used.resetDevice();
  if (status == 0) {
    ++resets[static_cast<std::size_t>(ordinal_)];
    ++detail::allResets;
  } else {
    check(status, what, where);
  }
  reload.load(where);
}

FLYDSL_NAMESPACE_END
