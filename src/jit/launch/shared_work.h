// Work that several threads need at the same time and that one of them does: a trace with its
// compile, or the load of a module.
#pragma once

#include <cstdint>
#include <future>
#include <initializer_list>
#include <map>
#include <mutex>
#include <thread>

namespace flydsl::jit {

/// The lock of all tables of shared work. It is held for moments.
std::mutex &sharingWork();

/// What is being made, by key. `Value` is something like a pointer: a default one says "nothing".
template <class Key, class Value> class SharedWork {
public:
  /// The value of `find`, if that has one; else of a thread that makes one of the keys `accepted`
  /// just now, if there is one; else of `make`, which then makes the first of these keys for all
  /// threads that come meanwhile. `make` must put its value where `find` sees it; `find` is called
  /// under the lock. If `make` throws, the threads that wait get the exception, and the next call
  /// makes the value again. A thread that asks for what it is making itself makes it once more.
  template <class Find, class Make>
  Value findOrMake(std::initializer_list<Key> accepted, Find &&find, Make &&make) {
    std::promise<Value> promise;
    std::shared_future<Value> of;
    bool shared = false; // other threads may wait for this call
    {
      std::lock_guard lock(sharingWork());
      if (Value found = find())
        return found;
      bool mine = false;
      for (const Key &key : accepted)
        if (auto other = underWay_.find(key); other != underWay_.end()) {
          mine |= other->second.maker == std::this_thread::get_id();
          if (!mine)
            of = other->second.result;
        }
      if (!mine && !of.valid()) {
        shared = true;
        underWay_.insert_or_assign(
            *accepted.begin(), UnderWay{promise.get_future().share(), std::this_thread::get_id()});
      }
    }
    if (of.valid())
      return of.get();
    if (!shared)
      return make();
    try {
      Value value = make();
      end(*accepted.begin());
      promise.set_value(value);
      return value;
    } catch (...) {
      end(*accepted.begin());
      promise.set_exception(std::current_exception());
      throw;
    }
  }

private:
  struct UnderWay {
    std::shared_future<Value> result;
    std::thread::id maker;
  };
  void end(const Key &key) {
    std::lock_guard lock(sharingWork());
    if (auto mine = underWay_.find(key);
        mine != underWay_.end() && mine->second.maker == std::this_thread::get_id())
      underWay_.erase(mine);
  }
  std::map<Key, UnderWay> underWay_;
};

} // namespace flydsl::jit
