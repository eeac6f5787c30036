// Memory of other devices, and of other processes of the machine.
#pragma once

#include <flydsl/detail/resets.h>
#include <flydsl/host/device.h>

#include <array>
#include <cstddef>
#include <source_location>

FLYDSL_NAMESPACE_BEGIN

/// Whether kernels of `device` may be allowed to reach memory of `peer`. A device reaches its own.
/// Throws RuntimeError if the driver can't tell.
FLYDSL_API bool can_access(Device device, Device peer,
                           std::source_location where = std::source_location::current());
/// Lets kernels of `device` reach memory of `peer` (hipDeviceEnablePeerAccess). Without it they end
/// in a fault. It holds until the device is reset; asking again changes nothing. Throws RuntimeError
/// if the devices can't.
FLYDSL_API void enable_access(Device device, Device peer,
                              std::source_location where = std::source_location::current());

/// Memory of the current device that other devices and the host see while kernels write it: uncached
/// memory of hipExtMallocWithFlags, or fine-grained memory if HIP is too old to have that. A kernel
/// that reads what a kernel of another device writes meanwhile needs such memory, and fences of
/// MemoryScope::system. The bytes are 0 at first. The destructor frees it.
class FLYDSL_API SharedMemory {
public:
  /// Throws RuntimeError if the device has no room for it, or its driver no such memory.
  explicit SharedMemory(std::size_t bytes,
                        std::source_location where = std::source_location::current());
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// The address in this process. Throws RuntimeError if the device was reset since.
  void *data(std::source_location where = std::source_location::current()) const;
  std::size_t bytes() const { return bytes_; }

private:
  void *data_ = nullptr;
  std::size_t bytes_ = 0;
  detail::MadeOn made_;
};

/// By what other processes of the machine open memory of a device (hipIpcMemHandle_t). It is bytes,
/// to be sent as they are, and good for as long as the memory exists.
struct FLYDSL_API MemoryHandle {
  std::array<std::byte, 64> bytes = {};
  friend bool operator==(const MemoryHandle &, const MemoryHandle &) = default;
};
/// The handle of memory that begins at `pointer`: of SharedMemory, DeviceArray or hipMalloc. Throws
/// RuntimeError for other addresses.
FLYDSL_API MemoryHandle memory_handle(const void *pointer,
                                      std::source_location where = std::source_location::current());

/// Memory of another process, which kernels of the current device reach. The destructor closes it;
/// the caller makes sure that no kernel uses it then. The owner frees it later than that.
class FLYDSL_API OpenedMemory {
public:
  /// Throws RuntimeError if the handle is none, of this process, or of memory that is gone.
  explicit OpenedMemory(const MemoryHandle &handle,
                        std::source_location where = std::source_location::current());
  ~OpenedMemory();
  OpenedMemory(const OpenedMemory &) = delete;
  OpenedMemory &operator=(const OpenedMemory &) = delete;

  /// The address in this process. Throws RuntimeError if the device was reset since.
  void *data(std::source_location where = std::source_location::current()) const;

private:
  void *data_ = nullptr;
  detail::MadeOn made_;
};

FLYDSL_NAMESPACE_END
