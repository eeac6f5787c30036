// Loading a kernel on a device, and the refusals of a launch: the launch itself is in the header.
#include "runtime/loaded_kernel.h"

#include "runtime/current_driver.h"
#include "runtime/device_info.h"
#include "runtime/ktrace/recording.h"
#include "runtime/profiler_range.h"
#include "runtime/tensor_words.h"
#include "support/env_variables.h"
#include "support/exiting.h"
#include "support/process_use.h"
#include "target/processors.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace flydsl::runtime {
namespace {

/// Kernels are often objects with static storage, and the driver may be gone when those die. This
/// notices exit() before they are destroyed, because it is registered after them, at the first
/// load.
void noteExit() {
  static constinit std::atomic<bool> noted{false};
  if (!noted.exchange(true))
    support::noteExitBeforeStatics();
}

std::string text(const Dim3 &d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

/// All loaded kernels, for a reset of their device. Never destroyed: kernels of static storage die
/// late.
struct Registry {
  std::mutex mutex;
  std::set<LoadedKernel *> kernels;
};
Registry &registry() {
  static auto *const all = new Registry;
  return *all;
}

/// The target of an id; none where this library does not know the processor.
Target knownTarget(const std::string &id) {
  try {
    return Target::parse(id);
  } catch (const CompileError &) {
    return {};
  }
}

} // namespace

bool runsOn(const Target &code, const std::string &device) {
  const Target to = knownTarget(device);
  return code && to && code.runs_on(to);
}

LoadedKernel::LoadedKernel(std::span<const std::uint8_t> image, std::shared_ptr<const void> owner,
                           const LaunchFacts &facts, int device, const SourceLocation &where)
    : device_(device), facts_(facts), image_(image), owner_(std::move(owner)) {
  const Driver &used = driver();
  const DeviceInfo &info = deviceInfo(device);
  launch_ = used.launch;
  endOfArguments_ = used.endOfArguments;
  hasRange_ = support::env::kRoctxLaunches.get();
  hasDetour_ = used.deviceCount > 1 || !facts.eventNames.empty() || hasRange_;
  if (!runsOn(facts.target, info.archFull))
    throw RuntimeError("kernel " + facts.name + ": its code is for " + facts.target.id() +
                           ", device " + std::to_string(device) + " is " + info.archFull,
                       0, where);
  const std::size_t shared = facts.maxSharedBytes ? facts.maxSharedBytes : info.sharedBytes;
  if (facts.sharedBytes > shared)
    throw RuntimeError("kernel " + facts.name + " needs " + std::to_string(facts.sharedBytes) +
                           " bytes of LDS; " + info.arch + " has " + std::to_string(shared),
                       0, where);
  if (facts.dynamicBytes > shared - facts.sharedBytes)
    throw RuntimeError("kernel " + facts.name + " needs " + std::to_string(facts.sharedBytes) +
                           " bytes of LDS and " + std::to_string(facts.dynamicBytes) +
                           " of dynamic shared memory; " + info.arch + " has " +
                           std::to_string(shared),
                       0, where);
  dynamicRange_ = shared - facts.sharedBytes - facts.dynamicBytes;
  loadModule(where);
  std::lock_guard lock(registry().mutex);
  registry().kernels.insert(this);
}

void LoadedKernel::loadModule(const SourceLocation &where) {
  const Driver &used = driver();
  DeviceScope scope(device_);
  Status status = used.loadModule(&module_, image_.data(), image_.size());
  check(status, "loading kernel " + facts_.name + " on device " + std::to_string(device_), where);
  noteExit();
  status = used.getFunction(&function_, module_, facts_.name.c_str());
  if (status != 0) {
    (void)used.unloadModule(std::exchange(module_, nullptr));
    check(status, "finding kernel " + facts_.name + " in its module", where);
  }
}

LoadedKernel::~LoadedKernel() {
  if (support::lostByFork())
    return;
  {
    std::lock_guard lock(registry().mutex);
    registry().kernels.erase(this);
  }
  if (const Driver *used = module_ ? driverToLetGo() : nullptr)
    (void)used->unloadModule(module_);
}

KernelReload::KernelReload(int device) : lock_(registry().mutex) {
  for (LoadedKernel *kernel : registry().kernels)
    if (kernel->device_ == device) {
      kernels_.push_back(kernel);
      if (kernel->module_)
        (void)driver().unloadModule(std::exchange(kernel->module_, nullptr));
    }
}

void KernelReload::load(const SourceLocation &where) const {
  for (LoadedKernel *kernel : kernels_)
    kernel->loadModule(where);
}

void LoadedKernel::launchOnDevice(const LaunchConfig &config, std::span<const std::byte> arguments,
                                  const std::source_location &where) const {
  DeviceScope scope(device_);
  std::optional<ProfilerRange> range;
  if (hasRange_)
    range.emplace("flydsl launch", facts_.name);
  if (facts_.eventNames.empty())
    launchHere(config, arguments.data(), arguments.size(), where);
  else
    launchRecording(config, arguments, where);
}

void LoadedKernel::launchRecording(const LaunchConfig &config, std::span<const std::byte> arguments,
                                   const std::source_location &where) const {
  for (std::int64_t extent : {config.grid.x, config.grid.y, config.grid.z})
    if (extent < 1) { // a launch of nothing, or a mistake that is said there
      launchHere(config, arguments.data(), arguments.size(), where);
      return;
    }
  Recording recording(facts_, config, device_, where);
  const std::size_t at = (arguments.size() + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
  std::vector<std::byte> withBuffer(at + sizeof(void *));
  std::ranges::copy(arguments, withBuffer.begin());
  void *const buffer = recording.buffer();
  std::memcpy(withBuffer.data() + at, &buffer, sizeof buffer);
  launchHere(config, withBuffer.data(), withBuffer.size(), where);
  recording.finish();
}

bool LoadedKernel::refuse(const LaunchConfig &config, const std::source_location &where) const {
  const std::string who = "kernel " + facts_.name + ": ";
  if (!config.stream.native())
    refuseInCapture((who + "a launch on the default stream").c_str(),
                    ".stream = the stream that the work is given makes it a part of the graph",
                    where);
  bool empty = false;
  for (std::int64_t extent : {config.grid.x, config.grid.y, config.grid.z}) {
    if (extent < 0 || (extent == 0 && !config.allow_empty))
      throw TraceError(
          who + "the grid " + text(config.grid) + " has a dimension below 1" +
              (extent == 0 ? "; with .allow_empty = true it is a launch of nothing" : ""),
          where);
    empty |= extent == 0;
  }
  if (config.smem < facts_.dynamicBytes)
    throw TraceError(who + "it uses " + std::to_string(facts_.dynamicBytes) +
                         " bytes of dynamic shared memory or more, the launch gives " +
                         std::to_string(config.smem) +
                         "; .smem = " + std::to_string(facts_.dynamicBytes) + " is the least",
                     where);
  if (const std::size_t most = dynamicRange_ + facts_.dynamicBytes; config.smem > most)
    throw TraceError(who + std::to_string(config.smem) + " bytes of dynamic shared memory and " +
                         std::to_string(facts_.sharedBytes) + " of its own are over the " +
                         std::to_string(most + facts_.sharedBytes) +
                         " that a workgroup may have on " + facts_.target.id(),
                     where);
  for (std::int64_t extent : {config.cluster.x, config.cluster.y, config.cluster.z})
    if (extent < 1)
      throw TraceError(who + "the cluster " + text(config.cluster) + " has a dimension below 1",
                       where);
  if (config.cluster != Dim3() && !facts_.target.has(Feature::clusters))
    throw TraceError(who + "a cluster of workgroups " + text(config.cluster) + ", but " +
                         facts_.target.id() + " has no clusters; leave .cluster out",
                     where);
  if (config.cluster != Dim3() && !driver().launchClusters)
    throw RuntimeError(who + "clusters of workgroups " + text(config.cluster) +
                           " need a launch function that " + driver().path + " does not have",
                       0, where);
  if (config.grid.x % config.cluster.x || config.grid.y % config.cluster.y ||
      config.grid.z % config.cluster.z)
    throw TraceError(who + "the grid " + text(config.grid) +
                         " is no whole number of clusters of workgroups " + text(config.cluster),
                     where);
  // A mask of a cluster's workgroups has 16 bits.
  constexpr std::int64_t kMostOfCluster = 16;
  std::int64_t members = 1;
  for (std::int64_t extent : {config.cluster.x, config.cluster.y, config.cluster.z})
    members *= std::min(extent, kMostOfCluster + 1);
  if (members > kMostOfCluster)
    throw TraceError(who + "the cluster " + text(config.cluster) + " has more than 16 workgroups",
                     where);
  if (empty)
    return true;
  constexpr std::int64_t limit = 0xffffffff;
  auto isWide = [](std::int64_t blocks, std::int64_t items) {
    return blocks > limit || items > limit / blocks;
  };
  if (!isWide(config.grid.x, config.block.x) && !isWide(config.grid.y, config.block.y) &&
      !isWide(config.grid.z, config.block.z))
    return false;
  throw TraceError(who + "the grid " + text(config.grid) + " of blocks " + text(config.block) +
                       " has 2^32 work-items or more in a dimension",
                   where);
}

void LoadedKernel::launchClusters(const LaunchConfig &config, void **extra,
                                  const std::source_location &where) const {
  const auto extent = [](const Dim3 &dim) {
    return std::array{static_cast<unsigned>(dim.x), static_cast<unsigned>(dim.y),
                      static_cast<unsigned>(dim.z)};
  };
  const Status status = driver().launchClusters(
      extent(config.cluster), function_, extent(config.grid), extent(config.block),
      static_cast<unsigned>(config.smem), config.stream.native(), extra);
  if (status != 0)
    fail(status, where);
}

void LoadedKernel::fail(Status status, const std::source_location &where) const {
  throwDriverError(
      status, "launching kernel " + facts_.name + " on device " + std::to_string(device_), where);
}

int askDeviceOf(const StreamRef &stream, const Driver &driver) {
  int device = 0;
  const bool known = stream.native() && driver.deviceOfStream &&
                     driver.deviceOfStream(stream.native(), &device) == 0;
  if (!known && driver.getDevice(&device) != 0)
    return 0;
  if (device >= driver.deviceCount)
    throw RuntimeError("a launch on device " + std::to_string(device) + "; the first " +
                       std::to_string(driver.deviceCount) + " can be used");
  return device;
}

void refusePack(const std::string &kernel, const detail::ArgPack &pack,
                const std::source_location &where) {
  throw TraceError("kernel " + kernel + ": argument " + std::to_string(pack.errorArgument()) +
                       ": " + pack.error(),
                   where);
}

void refuseTypes(const std::string &kernel, const detail::ArgPack &pack,
                 std::span<const std::uint64_t> made, const std::source_location &where) {
  if (pack.error())
    refusePack(kernel, pack, where);
  const std::string who = "kernel " + kernel + ": ";
  const std::vector<detail::ArgType> given = pack.types(), wanted = detail::typesOf(made);
  // The fields of structs and the elements of arrays are counted where there are such. That an argument
  // is there is not one more argument.
  const auto marks = std::ranges::count_if(given, saysGiven);
  const bool isFlat = given.size() - static_cast<std::size_t>(marks) ==
                      static_cast<std::size_t>(pack.argumentCount());
  const std::string each = isFlat ? "argument " : "leaf argument ";
  std::size_t number = 0;
  for (std::size_t i = 0; i < std::min(given.size(), wanted.size()); ++i) {
    if (detail::sameType(given[i], wanted[i])) {
      number += !saysGiven(given[i]);
      continue;
    }
    const std::string now = detail::signatureText(given[i]),
                      then = detail::signatureText(wanted[i]);
    throw TraceError(who + each + std::to_string(number) + " is " +
                         (now == then ? "another " + now : now) + ", it was compiled for " + then +
                         "; compile or export it for these arguments too, or launch the fx::Kernel "
                         "itself, which compiles for each new type",
                     where);
  }
  throw TraceError(who + std::to_string(given.size()) + " arguments, it was compiled for " +
                       std::to_string(wanted.size()),
                   where);
}

/// The most work-items that a workgroup may have on the target; on any, where it is not known.
static std::int64_t largestBlock(const Target &target) {
  if (target)
    return target.max_block_size();
  int most = 0;
  for (const detail::Processor &processor : detail::processors())
    most = std::max(most, processor.maxBlockSize);
  return most;
}

void checkBlock(const Dim3 &block, const LaunchFacts &facts, const std::source_location &where) {
  if (block == Dim3(0))
    throw TraceError("kernel " + facts.name +
                         ": the launch gives no block; .block = {x, y, z} says how many threads a "
                         "workgroup has, .block = 1 where one is meant",
                     where);
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
                         " is the most" + (facts.target ? " on " + facts.target.id() : ""),
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
