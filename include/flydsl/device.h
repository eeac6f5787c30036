// Devices: GPUs, or the emulator's where there is none.
#pragma once

#include <flydsl/counters.h>
#include <flydsl/error.h>
#include <flydsl/target.h>

#include <cstddef>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN

/// A device of this process by its ordinal. A plain value. The first use of any device loads HIP
/// (or the emulator); functions throw RuntimeError where neither has a device.
class FLYDSL_API Device {
public:
  /// Throws RuntimeError where there is no device of that ordinal.
  explicit Device(int ordinal, std::source_location where = std::source_location::current());
  /// The calling thread's current device, HIP's notion.
  static Device current(std::source_location where = std::source_location::current());
  static int count();
  static std::vector<Device> all();

  /// HIP's number of the device.
  int ordinal() const { return ordinal_; }
  /// The marketing name, or what the emulator calls itself.
  std::string name() const;
  /// The target without features: "gfx942".
  std::string arch() const;
  /// The target as HIP gives it, features included: "gfx942:sramecc+:xnack-".
  std::string arch_full() const;
  /// What kernels for this device are compiled for, features included. Throws CompileError where
  /// the library compiles for no such processor.
  Target target() const;
  bool is_emulator() const;
  int compute_units() const;
  int warp_size() const;
  /// Most bytes of LDS that one workgroup may have.
  std::size_t shared_memory() const;
  /// Bytes of device memory.
  std::size_t total_memory() const;
  /// "gfx942 (emulator), device 0": for people.
  std::string str() const;

  /// Makes it the calling thread's current device.
  void make_current(std::source_location where = std::source_location::current()) const;
  /// Waits for all work on it; throws the error of a kernel that failed.
  void synchronize(std::source_location where = std::source_location::current()) const;

  /// Waits for the device and puts it back to its beginning, as hipDeviceReset does; what a kernel
  /// that failed has left is over. Memory, streams and events of the device are gone: to use one of
  /// those objects is a RuntimeError, to destroy one does nothing. Kernels are loaded again here.
  /// No other thread may use the device meanwhile.
  void reset(std::source_location where = std::source_location::current()) const;

  /// Calls \p work, waits for the device, and gives the counters of each launch that ran on it
  /// meanwhile (of any thread; the last 1024), in the order in which they ended. On the emulator
  /// alone: throws RuntimeError on a GPU. Counted launches run slower.
  std::vector<LaunchCounters>
  count_launches(const std::function<void()> &work,
                 std::source_location where = std::source_location::current()) const;

  friend bool operator==(Device a, Device b) { return a.ordinal_ == b.ordinal_; }

private:
  int ordinal_;
};

FLYDSL_NAMESPACE_END
