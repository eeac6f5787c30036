// The cache in memory: each key is made once, however many threads ask for it at the same time. What
// is kept has a limit, so that a process that makes new keys for days does not grow.
#pragma once

#include "cache/key.h"

#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace flydsl::cache {

template <class T> class MemoryTable {
public:
  using Value = std::shared_ptr<const T>;
  using Weigh = std::size_t (*)(const T &);

  /// Where all values weigh more than `limit`, those that were made first go, but for the last one.
  /// Who has one of them keeps it.
  MemoryTable(std::size_t limit, Weigh weigh) : limit_(limit), weigh_(weigh) {}

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
      Value value = make();
      keep(key, *value);
      promise.set_value(value);
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
    kept_.clear();
    weight_ = 0;
  }

private:
  void keep(const Key &key, const T &value) {
    const std::size_t weight = weigh_(value);
    std::vector<std::shared_future<Value>> gone; // values are destroyed without the lock
    std::lock_guard lock(mutex_);
    if (!table_.contains(key)) // another thread cleared the table
      return;
    kept_.push_back({key, weight});
    weight_ += weight;
    while (weight_ > limit_ && kept_.size() > 1) {
      // It is not there where the table was cleared while the value was made.
      if (auto first = table_.find(kept_.front().key); first != table_.end()) {
        gone.push_back(std::move(first->second));
        table_.erase(first);
      }
      weight_ -= kept_.front().weight;
      kept_.pop_front();
    }
  }

  struct Kept {
    Key key;
    std::size_t weight;
  };
  const std::size_t limit_;
  const Weigh weigh_;
  std::deque<Kept> kept_; ///< what is made, first to last; all are in the table
  std::size_t weight_ = 0;
  mutable std::mutex mutex_;
  std::unordered_map<Key, std::shared_future<Value>> table_;
};

} // namespace flydsl::cache
