// The heap behind malloc and free of kernels, as the device libraries divide it: a control block of
// the device, and slabs and large blocks that they ask the host for.
#pragma once

#include "emulator/hip/device/memory.h"

#include <mutex>

namespace flyemu::hip {

class DeviceHeap {
public:
  DeviceHeap(DeviceMemory &space, int device) : space_(space), device_(device) {}

  /// The address of the control block, made and zeroed by the first call; 0 when the device's
  /// memory does not suffice.
  uint64_t control();
  /// \p size bytes; 0 when the device's memory does not suffice.
  uint64_t allocate(uint64_t size);
  /// Returns false if \p address was not returned by allocate().
  bool release(uint64_t address);

private:
  DeviceMemory &space_;
  int device_;
  std::mutex mutex_;
  uint64_t control_ = 0;
};

} // namespace flyemu::hip
