// The cache in memory: each key is made once, however many threads ask for it at the same time.
#pragma once

#include "cache/key.h"

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace flydsl::cache {

template <class T> class MemoryTable {
public:
  using Value = std::shared_ptr<const T>;

  /// The value of `key`; null if there is none or if it is still being made.
  Value find(const Key &key) const {
    std::shared_future<Value> future;
    {
      std::lock_guard lock(mutex_);
      auto found = table_.find(key);
      if (found == table_.end())
        return nullptr;
      future = found->second;
    }
    if (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return nullptr;
    try {
      return future.get();
    } catch (...) {
      return nullptr; // making it has just failed; the thread that asked for it gets the error
    }
  }

  /// The value of `key`. The first thread that asks makes it with `make`; the others wait. If
  /// `make` throws, all threads that wait get the exception, and nothing is kept. `made` is true if
  /// this call made the value.
  template <class Make> Value findOrMake(const Key &key, Make &&make, bool &made) {
    std::promise<Value> promise;
    std::shared_future<Value> future;
    {
      std::lock_guard lock(mutex_);
      auto [slot, inserted] = table_.try_emplace(key);
      if (inserted)
        slot->second = promise.get_future().share();
      made = inserted;
      future = slot->second;
    }
    if (!made)
      return future.get();
    try {
      promise.set_value(make());
    } catch (...) {
      erase(key);
      promise.set_exception(std::current_exception());
    }
    return future.get();
  }

  void erase(const Key &key) {
    std::lock_guard lock(mutex_);
    table_.erase(key);
  }
  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return table_.size();
  }
  void clear() {
    std::lock_guard lock(mutex_);
    table_.clear();
  }

private:
  mutable std::mutex mutex_;
  std::unordered_map<Key, std::shared_future<Value>> table_;
};

} // namespace flydsl::cache
