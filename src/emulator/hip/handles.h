// HIP handles are raw pointers; the table of live ones tells a good handle from a stale or wild
// one, so that a bad handle is an error and no crash.
#pragma once

#include "emulator/hip/status.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace flyemu::hip {

/// The live objects of one class, owned here, by their address.
template <typename Object> class HandleTable {
public:
  void *add(std::shared_ptr<Object> object) {
    std::lock_guard lock(mutex_);
    void *handle = object.get();
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  /// Null when the handle is not live.
  std::shared_ptr<Object> find(const void *handle) const {
    std::lock_guard lock(mutex_);
    auto it = objects_.find(const_cast<void *>(handle));
    return it == objects_.end() ? nullptr : it->second;
  }

  /// Throws hipErrorInvalidHandle when the handle is not live.
  std::shared_ptr<Object> get(const void *handle, const char *what) const {
    std::shared_ptr<Object> object = find(handle);
    if (!object)
      fail(hipErrorInvalidHandle, std::string("not a live ") + what + " handle");
    return object;
  }

  /// Takes the object out of the table; null when the handle is not live.
  std::shared_ptr<Object> take(const void *handle) {
    std::lock_guard lock(mutex_);
    auto it = objects_.find(const_cast<void *>(handle));
    if (it == objects_.end())
      return nullptr;
    std::shared_ptr<Object> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }

  std::vector<std::shared_ptr<Object>> all() const {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> result;
    for (const auto &entry : objects_)
      result.push_back(entry.second);
    return result;
  }

private:
  mutable std::mutex mutex_;
  std::unordered_map<void *, std::shared_ptr<Object>> objects_;
};

} // namespace flyemu::hip
