#include "emulator/hip/device/device_heap.h"

#include <cstring>

namespace flyemu::hip {
namespace {

// ROCm's device libraries (ockl, dm.cl): the control block, all zero at first, fits 128 KiB, which
// is what the runtime gives it. The slabs that small blocks are cut from have 2 MiB and are aligned
// to their size; what begins a page is taken for a large block.
constexpr uint64_t kControlBytes = uint64_t(128) << 10;
constexpr uint64_t kSlabBytes = uint64_t(2) << 20;
constexpr uint64_t kPageBytes = 4096;

} // namespace

uint64_t DeviceHeap::control() {
  std::lock_guard lock(mutex_);
  if (!control_) {
    control_ = space_.allocate(MemoryKind::KernelHeap, device_, kControlBytes, 0);
    if (control_)
      std::memset(reinterpret_cast<void *>(control_), 0, kControlBytes);
  }
  return control_;
}

uint64_t DeviceHeap::allocate(uint64_t size) {
  return space_.allocate(MemoryKind::KernelHeap, device_, size, 0,
                         size == kSlabBytes ? kSlabBytes : kPageBytes);
}

bool DeviceHeap::release(uint64_t address) {
  {
    std::lock_guard lock(mutex_);
    if (address == control_)
      return false;
  }
  return space_.release(address, {MemoryKind::KernelHeap});
}

} // namespace flyemu::hip
