#include "emulator/hip/launch/launch_services.h"

#include "emulator/core/wave_setup.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

namespace flyemu::hip {
namespace {

/// Pointers that no launch has. The kernel gets the address of a page that nobody owns, so that a
/// message can tell its use from that of a null pointer.
struct Missing {
  const char *kind;
  const char *text;
};
constexpr Missing kMissing[] = {
    {"hidden_default_queue",
     "the kernel launches kernels itself (hidden_default_queue), which HIP does not do; launch "
     "them from the host"},
    {"hidden_completion_action",
     "the kernel waits for kernels that it launched (hidden_completion_action), which HIP does not "
     "do; launch them from the host"},
};
constexpr uint64_t kMissingBase = 0x00f1'0000'0000'0000ull, kMissingSize = uint64_t(1) << 16;

} // namespace

LaunchServices::LaunchServices(const loader::KernelNotes &kernel, DeviceHeap &heap,
                               std::vector<uint8_t> &kernarg, LaunchMemory &memory,
                               Dispatch &dispatch, Options &options)
    : kernel_(kernel), heap_(heap), kernarg_(kernarg), memory_(memory), printed_(kernel) {
  if (printed_.isUsed()) {
    printed_.passTo(kernarg_);
    memory_.addRange(printed_.range());
  }
  makeGridWords(dispatch);
  makeQueue(dispatch);
  makeHostcalls(dispatch, options);
  makeHeap();
  nameMissing();
}

void LaunchServices::finish() {
  if (const std::string text = printed_.text(); !text.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
}

void LaunchServices::pass(const char *kind, uint64_t address) {
  if (const loader::KernelParameter *argument = kernel_.hiddenPointer(kind))
    std::memcpy(kernarg_.data() + argument->offset, &address, sizeof address);
}

/// What HIP's runtime gives a cooperative launch for its barrier of the whole grid, as the device
/// libraries of gfx942 and later use it: at byte 32 the word that workgroups arrive at, at 40 their
/// number. What belongs to launches over several devices is zero, which says that this is none.
void LaunchServices::makeGridWords(const Dispatch &dispatch) {
  if (!kernel_.hiddenPointer("hidden_multigrid_sync_arg"))
    return;
  if (!dispatch.cooperative) {
    // Null, by which a kernel may see that there is no such barrier.
    memory_.addHole(0, 4096,
                    "and the kernel has no barrier of the whole grid (hidden_multigrid_sync_arg) "
                    "unless hipLaunchCooperativeKernel launches it");
    return;
  }
  gridWords_[10] = dispatch.grid[0] * dispatch.grid[1] * dispatch.grid[2];
  const auto address = reinterpret_cast<uint64_t>(gridWords_);
  pass("hidden_multigrid_sync_arg", address);
  memory_.addRange({address, sizeof gridWords_, true});
}

void LaunchServices::makeQueue(Dispatch &dispatch) {
  if (!dispatch.kernel->descriptor.queuePtr() && !kernel_.hiddenPointer("hidden_queue_ptr"))
    return;
  queue_.sharedBase = static_cast<uint32_t>(kSharedAperture >> 32);
  queue_.privateBase = static_cast<uint32_t>(kPrivateAperture >> 32);
  dispatch.queue = reinterpret_cast<uint64_t>(&queue_);
  pass("hidden_queue_ptr", dispatch.queue);
  memory_.addRange({dispatch.queue, sizeof queue_, false});
}

void LaunchServices::makeHostcalls(const Dispatch &dispatch, Options &options) {
  if (!kernel_.hiddenPointer("hidden_hostcall_buffer"))
    return;
  const uint64_t items = uint64_t(dispatch.block[0]) * dispatch.block[1] * dispatch.block[2];
  const uint64_t lanes = waveLanes(*dispatch.kernel);
  const uint64_t groups = uint64_t(dispatch.grid[0]) * dispatch.grid[1] * dispatch.grid[2];
  // Each thread may hold one workgroup more than the device does.
  const uint64_t threads =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  const uint64_t resident =
      dispatch.residentGroups ? dispatch.residentGroups : kDefaultResidentGroups;
  const uint64_t together = std::min(groups, resident + threads);
  hostcalls_ = std::make_unique<HostcallBuffer>(together * ((items + lanes - 1) / lanes), heap_);
  pass("hidden_hostcall_buffer", hostcalls_->address());
  memory_.addRange(hostcalls_->range());
  options.exchange = hostcalls_->range();
  options.serve = [this] { return hostcalls_->serve(); };
}

void LaunchServices::makeHeap() {
  if (!kernel_.hiddenPointer("hidden_heap_v1"))
    return;
  const uint64_t control = heap_.control();
  pass("hidden_heap_v1", control);
  if (!control)
    memory_.addHole(0, uint64_t(128) << 10,
                    "and the device's memory did not suffice for the heap of malloc in kernels "
                    "(hidden_heap_v1)");
}

void LaunchServices::nameMissing() {
  uint64_t base = kMissingBase;
  for (const Missing &one : kMissing) {
    pass(one.kind, base);
    if (kernel_.hiddenPointer(one.kind))
      memory_.addHole(base, kMissingSize, one.text);
    base += kMissingSize;
  }
}

} // namespace flyemu::hip
