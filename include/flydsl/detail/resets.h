// Tracks whether an object that was made on a device still exists, or was destroyed by a reset of
// the device.
#pragma once

#include <flydsl/export.h>

#include <atomic>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// The number of resets of all devices of this process together.
FLYDSL_API extern std::atomic<unsigned> allResets;

/// The device that an object was made on, and whether the device was reset since.
class FLYDSL_API MadeOn {
public:
  explicit MadeOn(int device);
  int device() const { return device_; }
  /// True while the object exists. It does if no device was reset since it was made; otherwise the
  /// number of resets of its own device decides.
  bool isThere() const {
    return seen_ == allResets.load(std::memory_order_relaxed) || wasNotReset();
  }

private:
  bool wasNotReset() const;
  int device_;
  unsigned seen_;   ///< allResets when the object was made
  unsigned resets_; ///< the resets of its device at that time
};

} // namespace detail
FLYDSL_NAMESPACE_END
