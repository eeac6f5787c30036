// A kernel of a code object, loaded on a device, and its launch. Knows nothing of how the code was
// made: the just-in-time path and ahead-of-time objects both end here.
#pragma once

#include "runtime/current_driver.h"
#include "runtime/graph_capture.h"

#include <flydsl/error.h>
#include <flydsl/host/args.h>
#include <flydsl/host/launch.h>
#include <flydsl/target.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace flydsl::runtime {

/// What a launch must know of a kernel, out of its code object's metadata.
struct LaunchFacts {
  std::string name;
  Target target;                  ///< what the code is for; none where any will do
  std::size_t sharedBytes = 0;    ///< static LDS
  std::size_t dynamicBytes = 0;   ///< the least dynamic LDS that a launch must give
  std::size_t maxSharedBytes = 0; ///< the target's limit of LDS for a workgroup; 0: ask the device
  unsigned maxBlock = 0; ///< most work-items that the code was made for; 0: the target's most
  std::array<unsigned, 3> block = {0, 0,
                                   0}; ///< the one workgroup size that it was made for; zeros: any
  /// The names of the events that it records; none where it records none. Such a kernel has the
  /// buffer of the events as its last argument, behind those of the call.
  std::vector<std::string> eventNames;
};

class LoadedKernel {
public:
  /// Loads `image`, which `owner` keeps in memory, on `device`. Throws RuntimeError where the code
  /// is for another target, or the driver refuses.
  LoadedKernel(std::span<const std::uint8_t> image, std::shared_ptr<const void> owner,
               const LaunchFacts &facts, int device, const SourceLocation &where);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;

  const LaunchFacts &facts() const { return facts_; }
  /// One launch of the driver's, with the kernel's device current. The caller has checked the
  /// arguments' types, and the workgroup size with `checkBlock`.
  void launch(const LaunchConfig &config, const detail::ArgPack &pack,
              const std::source_location &where) const {
    launch(config, {pack.bytes(), pack.byteCount()}, where);
  }
  /// The same with the bytes of the kernel's arguments.
  void launch(const LaunchConfig &config, std::span<const std::byte> arguments,
              const std::source_location &where) const {
    if (hasDetour_) [[unlikely]]
      launchOnDevice(config, arguments, where);
    else
      launchHere(config, arguments.data(), arguments.size(), where);
  }

private:
  /// A driver's function may be declared with handle types of its own (see LaunchFunction), which
  /// UBSan would find fault with.
#if defined(__clang__)
  __attribute__((no_sanitize("function")))
#endif
  void launchHere(const LaunchConfig &config, const std::byte *bytes, std::size_t size,
                  const std::source_location &where) const {
    constexpr std::uint64_t limit = 0xffffffff; // work-items in a dimension
    const auto gx = static_cast<std::uint64_t>(config.grid.x),
               gy = static_cast<std::uint64_t>(config.grid.y),
               gz = static_cast<std::uint64_t>(config.grid.z);
    const auto bx = static_cast<std::uint64_t>(config.block.x),
               by = static_cast<std::uint64_t>(config.block.y),
               bz = static_cast<std::uint64_t>(config.block.z);
    // Unsigned: a zero wraps to the largest number, and a negative one is large. A block has passed
    // `checkBlock`, so the products do not wrap once the grid is in range.
    if (gx - 1 >= limit || gy - 1 >= limit || gz - 1 >= limit || gx * bx > limit ||
        gy * by > limit || gz * bz > limit || config.smem - facts_.dynamicBytes > dynamicRange_ ||
        config.cluster != Dim3() ||
        (!config.stream.native() && capturesUnderWay.load(std::memory_order_relaxed) > 0))
        [[unlikely]]
      if (refuse(config, where))
        return;
    void *extra[] = {kArgumentBuffer, const_cast<std::byte *>(bytes), kArgumentBytes, &size,
                     endOfArguments_};
    if (config.cluster != Dim3()) [[unlikely]]
      return launchClusters(config, extra, where);
    const Status status = launch_(
        function_, static_cast<unsigned>(gx), static_cast<unsigned>(gy), static_cast<unsigned>(gz),
        static_cast<unsigned>(bx), static_cast<unsigned>(by), static_cast<unsigned>(bz),
        static_cast<unsigned>(config.smem), config.stream.native(), nullptr, extra);
    if (status != 0) [[unlikely]]
      fail(status, where);
  }

  void launchClusters(const LaunchConfig &config, void **extra,
                      const std::source_location &where) const;
  void launchOnDevice(const LaunchConfig &config, std::span<const std::byte> arguments,
                      const std::source_location &where) const;
  void launchRecording(const LaunchConfig &config, std::span<const std::byte> arguments,
                       const std::source_location &where) const;
  /// Throws what is wrong with the launch; true where it is a launch of nothing, as asked for. False
  /// where nothing is wrong: another thread captures a graph.
  bool refuse(const LaunchConfig &config, const std::source_location &where) const;
  void loadModule(const SourceLocation &where);
  [[noreturn]] void fail(Status status, const std::source_location &where) const;

  LaunchFunction launch_;
  void *endOfArguments_;
  void *function_ = nullptr;
  std::size_t dynamicRange_ = 0; // from the least dynamic LDS to the most
  void *module_ = nullptr;
  int device_;
  bool hasDetour_; ///< the device must be made current, or one of the two below
  bool hasRange_;  ///< the launch is a range in a profiler's timeline
  LaunchFacts facts_;
  std::span<const std::uint8_t> image_;
  std::shared_ptr<const void>
      owner_; // the driver may read the image for as long as the module lives
  friend class KernelReload;
};

/// Takes all kernels off a device, for a reset of it; `load` puts them back. Nothing else may use
/// the device or make kernels meanwhile.
class KernelReload {
public:
  explicit KernelReload(int device);
  void load(const SourceLocation &where) const;

private:
  std::unique_lock<std::mutex> lock_;
  std::vector<LoadedKernel *> kernels_;
};

/// Whether code for the target id `code` runs on a device that reports `device` (Target::runs_on).
/// An id of a processor that this library does not know fits itself alone.
bool runsOn(const Target &code, const std::string &device);

/// Throws TraceError for arguments that can't be packed.
[[noreturn]] void refusePack(const std::string &kernel, const detail::ArgPack &pack,
                             const std::source_location &where);
/// Throws TraceError for arguments that can't be packed, or else says which argument is not of the
/// types whose signature words are `made`.
[[noreturn]] void refuseTypes(const std::string &kernel, const detail::ArgPack &pack,
                              std::span<const std::uint64_t> made,
                              const std::source_location &where);

/// The launch with the workgroup size that its code was made for.
inline LaunchConfig withBlock(const LaunchConfig &config, const std::array<unsigned, 3> &block) {
  LaunchConfig filled = config;
  filled.block = Dim3(block[0], block[1] ? block[1] : 1, block[2] ? block[2] : 1);
  return filled;
}
/// Whether a launch gives a workgroup size.
inline bool givesBlock(const LaunchConfig &config) { return config.block != Dim3(0); }

/// Throws TraceError where a workgroup of `block` can't be on the facts' target (on any target,
/// where they name none), or is not what the code was made for.
void checkBlock(const Dim3 &block, const LaunchFacts &facts, const std::source_location &where);

/// The device of a stream that does not know it, where there are several: the driver says it, or
/// else it is the current one. Throws RuntimeError for a device over kMaxDevices.
int askDeviceOf(const StreamRef &stream, const Driver &driver);

/// The device that a launch on `stream` runs on.
inline int deviceOf(const StreamRef &stream, const Driver &driver) {
  if (stream.device() >= 0)
    return stream.device();
  return driver.deviceCount == 1 ? 0 : askDeviceOf(stream, driver);
}

} // namespace flydsl::runtime
