// Memory of the host that devices reach too.
#pragma once

#include <flydsl/detail/resets.h>
#include <flydsl/host/device.h>

#include <cstddef>
#include <source_location>

FLYDSL_NAMESPACE_BEGIN

/// Pinned memory of the host, which kernels of all devices read and write at the same address. What
/// a kernel stores with MemoryScope::system is seen by the host while the kernel runs. The bytes are
/// 0 at first. The memory may be made while the thread captures a graph. The destructor frees it;
/// the caller makes sure that no kernel uses it then.
class FLYDSL_API HostMemory {
public:
  /// Throws RuntimeError if there is no device, or if its driver has no such memory.
  explicit HostMemory(std::size_t bytes,
                      std::source_location where = std::source_location::current());
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  /// The address, for the host and for kernels. Throws RuntimeError if the device that was current
  /// when the memory was made was reset since.
  void *data(std::source_location where = std::source_location::current()) const {
    if (made_.isThere()) [[likely]]
      return data_;
    refuse(where);
  }
  std::size_t bytes() const { return bytes_; }

private:
  [[noreturn]] static void refuse(const std::source_location &where);
  void *data_ = nullptr;
  std::size_t bytes_ = 0;
  detail::MadeOn made_;
};

FLYDSL_NAMESPACE_END
