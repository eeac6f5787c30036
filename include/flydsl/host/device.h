// Devices: GPUs, or the emulator's devices if there is no GPU.
#pragma once

#include <flydsl/error.h>
#include <flydsl/host/counters.h>
#include <flydsl/target.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// A device of this process, given by its ordinal. It is a plain value. The first use of any device
/// loads HIP (or the emulator). Its functions throw RuntimeError if neither has a device.
class FLYDSL_API Device {
public:
  /// Throws RuntimeError if there is no device with that ordinal.
  explicit Device(int ordinal, std::source_location where = std::source_location::current());
  /// The current device of the calling thread, as HIP defines it.
  static Device current(std::source_location where = std::source_location::current());
  /// The number of devices.
  static int count();
  /// All devices, by ordinal.
  static std::vector<Device> all();

  /// The number by which HIP knows the device.
  int ordinal() const { return ordinal_; }
  /// The marketing name, or the emulator's name for the device.
  std::string name() const;
  /// The target without features: "gfx942".
  std::string arch() const;
  /// The target as HIP states it, with features: "gfx942:sramecc+:xnack-".
  std::string arch_full() const;
  /// The target that kernels for this device are compiled for, with features. Throws CompileError
  /// if the library does not compile for this processor.
  Target target() const;
  /// True for a device of the emulator.
  bool is_emulator() const;
  /// The number of compute units, as the driver counts them: on RDNA those are pairs of compute
  /// units (work-group processors).
  int compute_units() const;
  /// The number of accelerator dies (XCDs). A launch's blocks go to them in turn, and
  /// each has an L2 cache of its own. It is 1 for a device of one die. The driver
  /// tells it; if the driver is too old to know, it follows from the number of compute
  /// units. Throws RuntimeError if neither says.
  int xcds() const;
  /// The number of lanes of a wave.
  int warp_size() const;
  /// The largest number of bytes of LDS that one workgroup may have.
  std::size_t shared_memory() const;
  /// Bytes of device memory.
  std::size_t total_memory() const;
  /// The device as text for people: "gfx942 (emulator), device 0".
  std::string str() const;

  /// Makes this the current device of the calling thread.
  void make_current(std::source_location where = std::source_location::current()) const;
  /// Waits for all work on the device. Throws the error of a kernel that failed.
  void synchronize(std::source_location where = std::source_location::current()) const;

  /// Waits for the device and puts it back to its initial state, as hipDeviceReset does; an error
  /// that a failed kernel left is cleared. Memory, streams and events of the device are gone: using
  /// one of those objects throws RuntimeError, destroying one does nothing. Kernels are loaded
  /// again when they are launched. No other thread may use the device meanwhile.
  void reset(std::source_location where = std::source_location::current()) const;

  /// Calls \p work, waits for the device, and returns the counters of each launch that ran on it
  /// meanwhile, in the order in which the launches ended. Launches of all threads are counted; the
  /// last 1024 are kept. Counted launches run slower. Only the emulator counts; on a GPU this
  /// throws RuntimeError.
  std::vector<LaunchCounters>
  count_launches(const std::function<void()> &work,
                 std::source_location where = std::source_location::current()) const;

  friend bool operator==(Device a, Device b) { return a.ordinal_ == b.ordinal_; }

private:
  int ordinal_;
};

/// Memory that was allocated as one.
struct FLYDSL_API Allocation {
  void *data = nullptr; ///< the first byte
  std::size_t bytes = 0;
};
/// The allocation that an address is in, as the driver knows it: of hipMalloc and DeviceArray, of a
/// memory pool, or pinned memory of the host. None if the driver does not know the address, which is
/// one of memory that was freed, or the host's own. Of a block that a framework's allocator deals out
/// in parts, it is the block. It waits for nothing, and may be called while a graph is captured.
/// Throws RuntimeError if the driver can't tell.
FLYDSL_API std::optional<Allocation>
allocation_of(const void *pointer, std::source_location where = std::source_location::current());

FLYDSL_NAMESPACE_END
