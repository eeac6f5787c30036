// A kernel of a code object, loaded on a device, and its launch. Knows nothing of how the code was
// made: the just-in-time path and ahead-of-time objects both end here.
#pragma once

#include "runtime/hip_functions.h"

#include <flydsl/args.h>
#include <flydsl/error.h>
#include <flydsl/launch.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace flydsl::runtime {

/// What a launch must know of a kernel, out of its code object's metadata.
struct KernelFacts {
  std::string name;
  std::string target;             ///< target id of the code object
  std::size_t sharedBytes = 0;    ///< static LDS
  std::size_t maxSharedBytes = 0; ///< the target's limit of LDS for a workgroup; 0: ask the device
  unsigned maxBlock = 0; ///< most work-items that the code was made for; 0: the target's most
  std::array<unsigned, 3> block = {0, 0,
                                   0}; ///< the one workgroup size that it was made for; zeros: any
};

class LoadedKernel {
public:
  /// Loads `image`, which `owner` keeps in memory, on `device`. Throws RuntimeError where the code
  /// is for another target, or HIP refuses.
  LoadedKernel(std::span<const std::uint8_t> image, std::shared_ptr<const void> owner,
               const KernelFacts &facts, int device, const SourceLocation &where);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;

  const KernelFacts &facts() const { return facts_; }
  /// One hipModuleLaunchKernel, with the kernel's device current. The caller has checked the
  /// arguments' types, and the workgroup size with `checkBlock`.
  void launch(const LaunchConfig &config, const detail::ArgPack &pack,
              const std::source_location &where) const {
    if (severalDevices_) [[unlikely]]
      launchOnDevice(config, pack, where);
    else
      launchHere(config, pack, where);
  }

private:
  void launchHere(const LaunchConfig &config, const detail::ArgPack &pack,
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
        gy * by > limit || gz * bz > limit || config.smem > maxDynamicShared_ ||
        config.cluster != Dim3()) [[unlikely]]
      refuse(config, where);
    std::size_t size = pack.byteCount();
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte *>(pack.bytes()),
                     HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    const hipError_t code = launch_(
        function_, static_cast<unsigned>(gx), static_cast<unsigned>(gy), static_cast<unsigned>(gz),
        static_cast<unsigned>(bx), static_cast<unsigned>(by), static_cast<unsigned>(bz),
        static_cast<unsigned>(config.smem), config.stream.native(), nullptr, extra);
    if (code != hipSuccess) [[unlikely]]
      fail(code, where);
  }

  void launchOnDevice(const LaunchConfig &config, const detail::ArgPack &pack,
                      const std::source_location &where) const;
  [[noreturn]] void refuse(const LaunchConfig &config, const std::source_location &where) const;
  [[noreturn]] void fail(hipError_t code, const std::source_location &where) const;

  decltype(&::hipModuleLaunchKernel) launch_;
  hipFunction_t function_ = nullptr;
  std::size_t maxDynamicShared_ = 0;
  hipModule_t module_ = nullptr;
  int device_;
  bool severalDevices_;
  KernelFacts facts_;
  std::shared_ptr<const void> owner_; // HIP may read the image for as long as the module lives
};

/// Whether code for the target id `code` runs on a device that reports `device`: the same
/// processor, and each feature that the code fixes set as on the device.
bool runsOn(const std::string &code, const std::string &device);

/// Throws TraceError for arguments that can't be packed, or else are not of the kernel's types.
[[noreturn]] void refusePack(const std::string &kernel, const detail::ArgPack &pack,
                             const std::source_location &where);

/// Throws TraceError where a workgroup of `block` can't be on the facts' target (on any target,
/// where they name none), or is not what the code was made for.
void checkBlock(const Dim3 &block, const KernelFacts &facts, const std::source_location &where);

/// The device that a launch on `stream` runs on.
inline int deviceOf(const StreamRef &stream, const HipFunctions &functions) {
  if (stream.device() >= 0)
    return stream.device();
  if (functions.deviceCount == 1)
    return 0;
  int device = 0;
  if (stream.native() && functions.streamGetDevice &&
      functions.streamGetDevice(stream.native(), &device) == hipSuccess)
    return device;
  if (functions.hipGetDevice(&device) != hipSuccess)
    return 0;
  return device;
}

} // namespace flydsl::runtime
