// Device memory: allocation, copies, and what a reset of the device does to it.
#include "runtime/current_driver.h"
#include "runtime/graph_capture.h"

#include <flydsl/host/device_array.h>

#include <limits>
#include <string>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace detail {

DeviceMemory::DeviceMemory(std::size_t bytes, const std::source_location &where)
    : bytes_(bytes), made_(Device::current(where).ordinal()) {
  refuseInCapture("an allocation",
                  "make the array before the capture, and keep it for as long as "
                  "the graph",
                  where);
  if (bytes)
    check(driver().allocate(&data_, bytes),
          "allocating " + std::to_string(bytes) + " bytes of device memory", where);
}

DeviceMemory::~DeviceMemory() { free(); }

/// A reset of the device frees its memory, and the address may belong to somebody else since.
void DeviceMemory::free() noexcept {
  const Driver *used = data_ ? driverToLetGo() : nullptr;
  if (used && made_.isThere())
    (void)used->release(data_);
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)),
      made_(other.made_), moved_(std::exchange(other.moved_, true)) {}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  if (this == &other)
    return *this;
  free();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  made_ = other.made_;
  moved_ = std::exchange(other.moved_, true);
  return *this;
}

const char *DeviceMemory::reasonGone() const {
  if (moved_)
    return "the array was moved from";
  if (!made_.isThere())
    return "the array's device was reset after it was made";
  return nullptr;
}

void DeviceMemory::refuse(const char *why, const std::source_location &where) {
  throw RuntimeError(std::string("a DeviceArray can't be used: ") + why, 0, where);
}

void DeviceMemory::checkRange(std::size_t offset, std::size_t bytes,
                              const std::source_location &where) const {
  expectAlive(where);
  if (offset > bytes_ || bytes > bytes_ - offset)
    throw RuntimeError(std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                           " on, of an allocation of " + std::to_string(bytes_),
                       0, where);
}

void DeviceMemory::copyFrom(const void *host, std::size_t offset, std::size_t bytes,
                            const std::source_location &where) {
  checkRange(offset, bytes, where);
  refuseInCapture("a copy to the device", "copy before the capture, or by a kernel", where);
  if (bytes)
    check(driver().copyToDevice(static_cast<char *>(data_) + offset, host, bytes),
          "copying to the device", where);
}

void DeviceMemory::copyTo(void *host, std::size_t offset, std::size_t bytes,
                          const std::source_location &where) const {
  checkRange(offset, bytes, where);
  refuseInCapture("a copy from the device", "copy after the graph was launched and has run", where);
  if (bytes)
    check(driver().copyToHost(host, static_cast<const char *>(data_) + offset, bytes),
          "copying from the device", where);
}

void DeviceMemory::fillBytes(int value, const std::source_location &where) {
  expectAlive(where);
  refuseInCapture("filling memory", "fill it before the capture, or by a kernel", where);
  if (!bytes_)
    return;
  check(driver().fill(data_, value, bytes_), "filling device memory", where);
  // The driver may return before it is done, and other streams do not wait for the default stream.
  check(driver().synchronizeStream(nullptr), "filling device memory", where);
}

std::size_t byteCount(std::span<const std::int64_t> shape, DType dtype, std::size_t elementBytes,
                      const std::source_location &where) {
  // Checked as a tensor's shape; a null pointer passes, for nothing is read.
  const TensorArg tensor(nullptr, dtype, shape, {}, where);
  std::size_t bytes = 0;
  // More than half of an address space is nobody's to give, and pointers to it do not subtract.
  if (__builtin_mul_overflow(static_cast<std::size_t>(tensor.size()), elementBytes, &bytes) ||
      bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()))
    throw TraceError("an array of " + std::to_string(tensor.size()) + " elements of " +
                         std::to_string(elementBytes) +
                         " bytes each has more bytes than memory can have",
                     where);
  return bytes;
}

} // namespace detail
FLYDSL_NAMESPACE_END
