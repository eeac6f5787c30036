// What each vendor has one of: the instructions of tracing, the backend of compiles.
#pragma once

#include <flydsl/target.h>

#include <mutex>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// Objects with a function `vendor()`, one of each vendor at most. They live as long as the table.
/// Any thread may ask and add.
template <class T> class ByVendor {
public:
  /// A table that has the library's own.
  explicit ByVendor(const T &own) : own_(&own), all_{&own} {}

  /// The library's own.
  const T &own() const { return *own_; }
  /// The one of a vendor, or null.
  const T *find(Vendor vendor) const {
    std::lock_guard lock(mutex_);
    return findLocked(vendor);
  }
  /// All of them in the order in which they were added.
  std::vector<const T *> all() const {
    // Under the lock no memory is asked for: a compile is left where there is none (runAbandoning).
    std::vector<const T *> copy;
    for (std::size_t count = 1;; copy.reserve(count)) {
      std::lock_guard lock(mutex_);
      count = all_.size();
      if (copy.capacity() >= count) {
        copy.assign(all_.begin(), all_.end());
        return copy;
      }
    }
  }
  /// False if its vendor has one.
  [[nodiscard]] bool add(const T &one) {
    std::lock_guard lock(mutex_);
    if (findLocked(one.vendor()))
      return false;
    all_.push_back(&one);
    return true;
  }

private:
  const T *findLocked(Vendor vendor) const {
    for (const T *one : all_)
      if (one->vendor() == vendor)
        return one;
    return nullptr;
  }
  const T *const own_;
  mutable std::mutex mutex_;
  std::vector<const T *> all_;
};

} // namespace detail
FLYDSL_NAMESPACE_END
