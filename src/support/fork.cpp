#include "support/fork.h"

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <thread>
#include <vector>

namespace flydsl::support {

namespace {

struct Item {
  ForkHandlers handlers;
  std::mutex *mutex = nullptr;
};
using Items = std::vector<Item>;

/// What this file knows. It is there before any code of the process runs and is never destroyed,
/// because a process may fork while it starts and while it exits.
union State {
  struct {
    std::mutex mutex; ///< of `items`
    Items items[4];
    /// Held during a fork: only one thread forks at a time.
    std::mutex forking;
    std::atomic<bool> underWay{false};
    /// The items that this fork has held, in order.
    Items held[4];
  } value;

  constexpr State() : value() {}
  ~State() {}
};
constinit State state;

Items &itemsOf(ForkOrder order) { return state.value.items[static_cast<int>(order)]; }
Items &heldOf(ForkOrder order) { return state.value.held[static_cast<int>(order)]; }

/// Calls the handlers and locks the mutexes of the items that the fork does not hold yet. Returns
/// whether there were any. The mutex of the items is free meanwhile, because a thread that holds
/// one of theirs may add an item.
bool holdNew(ForkOrder order) {
  Items &held = heldOf(order);
  Items added;
  {
    std::lock_guard lock(state.value.mutex);
    const Items &all = itemsOf(order);
    added.assign(all.begin() + static_cast<std::ptrdiff_t>(held.size()), all.end());
  }
  for (const Item &item : added) {
    if (item.mutex)
      item.mutex->lock();
    if (item.handlers.before)
      item.handlers.before();
    held.push_back(item);
  }
  return !added.empty();
}

/// Lets go what the fork holds of an order, in the reverse of the order in which it took it.
void release(ForkOrder order, void (*ForkHandlers::*handler)()) {
  Items &held = heldOf(order);
  for (auto item = held.rbegin(); item != held.rend(); ++item) {
    if (item->handlers.*handler)
      (item->handlers.*handler)();
    if (item->mutex)
      item->mutex->unlock();
  }
  held.clear();
}

bool isComplete(ForkOrder order) { return heldOf(order).size() == itemsOf(order).size(); }

void before() {
  state.value.forking.lock();
  state.value.underWay.store(true);
  holdNew(ForkOrder::compiler);
  holdNew(ForkOrder::work);
  for (;;) {
    while (holdNew(ForkOrder::tables)) {
    }
    holdNew(ForkOrder::log);
    state.value.mutex.lock();
    if (isComplete(ForkOrder::tables) && isComplete(ForkOrder::log))
      return;
    // A table's mutex is never taken under the log's.
    state.value.mutex.unlock();
    release(ForkOrder::log, &ForkHandlers::inParent);
  }
}

void after(void (*ForkHandlers::*handler)()) {
  release(ForkOrder::log, handler);
  release(ForkOrder::tables, handler);
  state.value.mutex.unlock();
  release(ForkOrder::work, handler);
  release(ForkOrder::compiler, handler);
  state.value.underWay.store(false);
  state.value.forking.unlock();
}

/// Handlers are there from the load of the library on. If they came with its first use, a fork
/// could begin before them and end after them.
[[gnu::constructor]] void watchForks() {
  pthread_atfork(
      before, [] { after(&ForkHandlers::inParent); }, [] { after(&ForkHandlers::inChild); });
}

void add(ForkOrder order, const Item &item) {
  std::lock_guard lock(state.value.mutex);
  itemsOf(order).push_back(item);
}

} // namespace

void atFork(ForkOrder order, const ForkHandlers &handlers) { add(order, {handlers, nullptr}); }

void holdAtFork(std::mutex &mutex, ForkOrder order) { add(order, {{}, &mutex}); }

void waitForFork() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (state.value.underWay.load() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

} // namespace flydsl::support
