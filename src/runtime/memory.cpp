#include "runtime/hip_error.h"

#include <flydsl/device_array.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace detail {

DeviceMemory::DeviceMemory(std::size_t bytes, const std::source_location &where) : bytes_(bytes) {
  if (bytes)
    check(hip().hipMalloc(&data_, bytes),
          "allocating " + std::to_string(bytes) + " bytes of device memory", where);
}

DeviceMemory::~DeviceMemory() {
  if (data_)
    (void)hip().hipFree(data_);
}

void DeviceMemory::checkRange(std::size_t offset, std::size_t bytes,
                              const std::source_location &where) const {
  if (offset > bytes_ || bytes > bytes_ - offset)
    throw RuntimeError("bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) +
                           " of an allocation of " + std::to_string(bytes_),
                       0, where);
}

void DeviceMemory::copyFrom(const void *host, std::size_t offset, std::size_t bytes,
                            const std::source_location &where) {
  checkRange(offset, bytes, where);
  if (bytes)
    check(hip().hipMemcpy(static_cast<char *>(data_) + offset, host, bytes, hipMemcpyHostToDevice),
          "copying to the device", where);
}

void DeviceMemory::copyTo(void *host, std::size_t offset, std::size_t bytes,
                          const std::source_location &where) const {
  checkRange(offset, bytes, where);
  if (bytes)
    check(hip().hipMemcpy(host, static_cast<const char *>(data_) + offset, bytes,
                          hipMemcpyDeviceToHost),
          "copying from the device", where);
}

void DeviceMemory::fillBytes(int value, const std::source_location &where) {
  if (!bytes_)
    return;
  check(hip().hipMemset(data_, value, bytes_), "filling device memory", where);
  // HIP's memset may return before it is done, and non-blocking streams do not wait for the null
  // stream.
  check(hip().hipStreamSynchronize(nullptr), "filling device memory", where);
}

std::size_t elementCount(std::span<const std::int64_t> shape, DType dtype,
                         const std::source_location &where) {
  // Checked as a tensor's shape; a null pointer passes, for nothing is read.
  return static_cast<std::size_t>(TensorArg(nullptr, dtype, shape, {}, where).size());
}

} // namespace detail
FLYDSL_NAMESPACE_END
