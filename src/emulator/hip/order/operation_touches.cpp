#include "emulator/hip/order/operation_touches.h"

#include "emulator/hip/device/device.h"
#include "emulator/hip/module/module.h"
#include "emulator/observe/races/global_races.h"

namespace flyemu::hip {
namespace {
void tell(const Position &position, std::string what, TouchedBytes &&bytes,
          const DeviceMemory &space) {
  auto toucher = std::make_shared<Toucher>();
  toucher->position = position;
  toucher->what = std::move(what);
  Runtime::get().order()->touched(toucher, std::move(bytes), space);
}

bool isSeenByHost(const DeviceMemory &space, uint64_t address) {
  bool seen = false;
  const uint64_t page = address / TouchedBytes::kPage * TouchedBytes::kPage;
  space.eachIn(page, page + TouchedBytes::kPage, [&](const Allocation &a) {
    seen |= a.kind == MemoryKind::Host || a.kind == MemoryKind::Registered ||
            a.kind == MemoryKind::Managed;
  });
  return seen;
}

const char *sideName(const DeviceMemory &space, uint64_t address) {
  const std::optional<Allocation> allocation = space.find(address);
  if (!allocation)
    return "host memory";
  switch (allocation->kind) {
  case MemoryKind::Managed:
    return "managed memory";
  case MemoryKind::Host:
  case MemoryKind::Registered:
    return "pinned memory";
  default:
    return "device memory";
  }
}

/// Rows of `width` bytes.
void addRows(TouchedBytes &bytes, TouchKind kind, uint64_t address, uint64_t width, uint64_t height,
             uint64_t pitch, uint64_t depth, uint64_t slice) {
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y)
      bytes.add(address + z * slice + y * pitch, width, kind);
}
} // namespace

KernelTouches::KernelTouches(const Position &position, std::shared_ptr<Function> function,
                             const DeviceMemory &space)
    : position_(position), function_(std::move(function)), space_(space) {
  if (!position_.submission)
    return;
  // The host may be looking at what the kernel writes for it, and goes on as soon as it sees it.
  bytes.onPage = [this](uint64_t address, TouchKind kind) {
    const bool loose = releaseBy(*function_->device->figures().machine) == ReleaseBy::Access;
    if ((kind == TouchKind::AtomicWrite || (loose && kind == TouchKind::Write)) &&
        isSeenByHost(space_, address))
      Runtime::get().order()->hostReached(position_.submission);
  };
}

void KernelTouches::finish() {
  if (!position_.submission)
    return;
  StreamOrder &order = *Runtime::get().order();
  for (const auto &[number, page] : bytes.pages())
    if (page.touches(static_cast<unsigned>(TouchKind::AtomicRead)) &&
        isSeenByHost(space_, number * TouchedBytes::kPage)) {
      order.sawMemory(position_.submission);
      break;
    }
  auto toucher = std::make_shared<Toucher>();
  toucher->position = position_;
  toucher->what = "kernel '" + function_->kernel->metadata.name + "'";
  toucher->function = function_;
  toucher->looseStores = releaseBy(*function_->device->figures().machine) == ReleaseBy::Access;
  order.touched(toucher, std::move(bytes), space_);
}

void note(const CopyOperation &c, const Position &position, const DeviceMemory &space) {
  if (!position.submission)
    return;
  TouchedBytes bytes;
  const bool known = space.find(c.target).has_value();
  if (known)
    addRows(bytes, TouchKind::Write, c.target, c.width, c.height, c.targetPitch, c.depth,
            c.targetSlice);
  if (!c.staged && space.find(c.source))
    addRows(bytes, TouchKind::Read, c.source, c.width, c.height, c.sourcePitch, c.depth,
            c.sourceSlice);
  tell(position,
       std::string("a copy from ") + (c.staged ? "host memory" : sideName(space, c.source)) +
           " to " + sideName(space, c.target),
       std::move(bytes), space);
}

void note(const FillOperation &fill, const Position &position, const DeviceMemory &space) {
  if (!position.submission)
    return;
  TouchedBytes bytes;
  addRows(bytes, TouchKind::Write, fill.target, fill.width * fill.elementSize, fill.height,
          fill.pitch, 1, 0);
  tell(position, "a fill (hipMemset)", std::move(bytes), space);
}

void note(const ValueOperation &value, const Position &position, const DeviceMemory &space) {
  if (!position.submission)
    return;
  TouchedBytes bytes;
  bytes.add(value.address, value.bytes,
            value.write ? TouchKind::AtomicWrite : TouchKind::AtomicRead);
  tell(position, value.write ? "hipStreamWriteValue" : "hipStreamWaitValue", std::move(bytes),
       space);
}

void note(const FreeOperation &free, const Position &position, const DeviceMemory &space) {
  const std::optional<Allocation> allocation = space.find(free.address);
  if (!position.submission || !allocation)
    return;
  TouchedBytes bytes;
  bytes.add(allocation->base, allocation->size, TouchKind::Write);
  tell(position, "hipFreeAsync", std::move(bytes), space);
}

void noteAllocated(uint64_t base, uint64_t size, const Position &position,
                   const DeviceMemory &space) {
  TouchedBytes bytes;
  bytes.add(base, size, TouchKind::Write);
  tell(position, "hipMallocAsync", std::move(bytes), space);
}

} // namespace flyemu::hip
