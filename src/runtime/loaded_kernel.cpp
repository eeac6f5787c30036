#include "runtime/loaded_kernel.h"

#include "runtime/device_info.h"
#include "runtime/hip_error.h"
#include "target/processors.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace flydsl::runtime {
namespace {

std::atomic<bool> exiting{false};

/// Kernels are often objects with static storage, and HIP may be gone when those die. Registered
/// after them, at the first load, this runs before they are destroyed.
void noteExit() {
  static const bool once = [] {
    std::atexit([] { exiting = true; });
    return true;
  }();
  (void)once;
}

std::string text(const Dim3 &d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

/// The value of a feature in a target id: '+', '-' or 0 where the id does not fix it.
char feature(const std::string &id, const std::string &name) {
  std::size_t at = id.find(":" + name);
  return at == std::string::npos ? 0 : id[at + 1 + name.size()];
}

} // namespace

bool runsOn(const std::string &code, const std::string &device) {
  if (code.substr(0, code.find(':')) != device.substr(0, device.find(':')))
    return false;
  for (const char *name : {"sramecc", "xnack"})
    if (char wanted = feature(code, name); wanted && feature(device, name) != wanted)
      return false;
  return true;
}

LoadedKernel::LoadedKernel(std::span<const std::uint8_t> image, std::shared_ptr<const void> owner,
                           const KernelFacts &facts, int device, const SourceLocation &where)
    : device_(device), facts_(facts), owner_(std::move(owner)) {
  const HipFunctions &functions = hip();
  const DeviceInfo &info = deviceInfo(device);
  launch_ = functions.hipModuleLaunchKernel;
  severalDevices_ = functions.deviceCount > 1;
  if (!runsOn(facts.target, info.archFull))
    throw RuntimeError("kernel " + facts.name + ": its code is for " + facts.target + ", device " +
                           std::to_string(device) + " is " + info.archFull,
                       0, where);
  const std::size_t shared = facts.maxSharedBytes ? facts.maxSharedBytes : info.sharedBytes;
  if (facts.sharedBytes > shared)
    throw RuntimeError("kernel " + facts.name + " needs " + std::to_string(facts.sharedBytes) +
                           " bytes of LDS; " + info.arch + " has " + std::to_string(shared),
                       0, where);
  maxDynamicShared_ = shared - facts.sharedBytes;

  DeviceScope scope(device);
  // Loading allocates, which a capture of a graph on this thread would refuse.
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  const auto exchange = functions.hipThreadExchangeStreamCaptureMode;
  if (exchange)
    (void)exchange(&mode);
  hipError_t code = functions.hipModuleLoadData(&module_, image.data());
  if (exchange)
    (void)exchange(&mode);
  check(code, "loading kernel " + facts.name + " on device " + std::to_string(device), where);
  noteExit();
  code = functions.hipModuleGetFunction(&function_, module_, facts.name.c_str());
  if (code != hipSuccess) {
    (void)functions.hipModuleUnload(module_);
    check(code, "finding kernel " + facts.name + " in its module", where);
  }
}

LoadedKernel::~LoadedKernel() {
  if (!exiting.load(std::memory_order_relaxed))
    (void)hip().hipModuleUnload(module_);
}

void LoadedKernel::launchOnDevice(const LaunchConfig &config, const detail::ArgPack &pack,
                                  const std::source_location &where) const {
  DeviceScope scope(device_);
  launchHere(config, pack, where);
}

void LoadedKernel::refuse(const LaunchConfig &config, const std::source_location &where) const {
  const std::string who = "kernel " + facts_.name + ": ";
  for (std::int64_t extent : {config.grid.x, config.grid.y, config.grid.z})
    if (extent < 1)
      throw TraceError(who + "the grid " + text(config.grid) + " has a dimension below 1", where);
  if (config.smem > maxDynamicShared_)
    throw TraceError(who + std::to_string(config.smem) + " bytes of dynamic shared memory and " +
                         std::to_string(facts_.sharedBytes) + " of its own are over the " +
                         std::to_string(maxDynamicShared_ + facts_.sharedBytes) +
                         " that a workgroup may have on " + facts_.target,
                     where);
  if (config.cluster != Dim3())
    throw RuntimeError(who + "clusters of workgroups " + text(config.cluster) +
                           " need a launch function that " + hip().path + " does not have",
                       0, where);
  throw TraceError(who + "the grid " + text(config.grid) + " of blocks " + text(config.block) +
                       " has 2^32 work-items or more in a dimension",
                   where);
}

void LoadedKernel::fail(hipError_t code, const std::source_location &where) const {
  throwHipError(code, "launching kernel " + facts_.name + " on device " + std::to_string(device_),
                where);
}

void refusePack(const std::string &kernel, const detail::ArgPack &pack,
                const std::source_location &where) {
  const std::string who = "kernel " + kernel + ": ";
  if (pack.error())
    throw TraceError(who + "argument " + std::to_string(pack.errorArgument()) + ": " + pack.error(),
                     where);
  throw TraceError(who + "the arguments are of other types than it was compiled for", where);
}

/// The most work-items that a workgroup may have on the target; on any, where it is not known.
static std::int64_t largestBlock(const std::string &target) {
  if (const detail::Processor *known = detail::findProcessor(target.substr(0, target.find(':'))))
    return known->maxBlockSize;
  int most = 0;
  for (const detail::Processor &processor : detail::processors())
    most = std::max(most, processor.maxBlockSize);
  return most;
}

void checkBlock(const Dim3 &block, const KernelFacts &facts, const std::source_location &where) {
  const std::string who = "kernel " + facts.name + ": the block " + text(block) + " ";
  const std::int64_t most = largestBlock(facts.target);
  for (std::int64_t extent : {block.x, block.y, block.z}) {
    if (extent < 1)
      throw TraceError(who + "has a dimension below 1", where);
    if (extent > most)
      throw TraceError(who + "has more than " + std::to_string(most) + " work-items", where);
  }
  const std::int64_t items = block.x * block.y * block.z;
  if (items > most)
    throw TraceError(who + "has " + std::to_string(items) + " work-items; " + std::to_string(most) +
                         " is the most" + (facts.target.empty() ? "" : " on " + facts.target),
                     where);
  if (facts.block[0] &&
      (block.x != facts.block[0] || block.y != facts.block[1] || block.z != facts.block[2]))
    throw TraceError(who + "is not the (" + std::to_string(facts.block[0]) + ", " +
                         std::to_string(facts.block[1]) + ", " + std::to_string(facts.block[2]) +
                         ") that it was compiled for",
                     where);
  if (facts.maxBlock && items > facts.maxBlock)
    throw TraceError(who + "has " + std::to_string(items) +
                         " work-items; it was compiled for at most " +
                         std::to_string(facts.maxBlock),
                     where);
}

} // namespace flydsl::runtime
