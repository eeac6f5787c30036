// Whether what was made on a device is still there.
#pragma once

#include <flydsl/export.h>

#include <atomic>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// How often devices of this process were reset, all together.
FLYDSL_API extern std::atomic<unsigned> allResets;

/// The device that something was made on, and whether it was reset since.
class FLYDSL_API MadeOn {
public:
  explicit MadeOn(int device);
  int device() const { return device_; }
  /// True while what was made is there. What was made at the same count of all resets is; at another
  /// one, the count of its own device decides.
  bool isThere() const {
    return seen_ == allResets.load(std::memory_order_relaxed) || wasNotReset();
  }

private:
  bool wasNotReset() const;
  int device_;
  unsigned seen_;   ///< allResets at first
  unsigned resets_; ///< of the device, then
};

} // namespace detail
FLYDSL_NAMESPACE_END
