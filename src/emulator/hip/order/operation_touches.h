// What each kind of operation touches, told to StreamOrder. All of it does nothing where streams are
// not checked, which is where the position has no submission.
#pragma once

#include "emulator/hip/order/stream_order.h"
#include "emulator/hip/stream/operation.h"

namespace flyemu::hip {

class DeviceMemory;

/// Collects what a launch touches.
class KernelTouches {
public:
  KernelTouches(const Position &position, std::shared_ptr<Function> function,
                const DeviceMemory &space);
  /// Called when the launch has ended well.
  void finish();

  TouchedBytes bytes; ///< for Options::touched

private:
  const Position &position_;
  std::shared_ptr<Function> function_;
  const DeviceMemory &space_;
};

void note(const CopyOperation &copy, const Position &position, const DeviceMemory &space);
void note(const FillOperation &fill, const Position &position, const DeviceMemory &space);
void note(const ValueOperation &value, const Position &position, const DeviceMemory &space);
/// Called before the memory is freed.
void note(const FreeOperation &free, const Position &position, const DeviceMemory &space);

/// Called with memory that was allocated at a place of a stream.
void noteAllocated(uint64_t base, uint64_t size, const Position &position,
                   const DeviceMemory &space);

} // namespace flyemu::hip
