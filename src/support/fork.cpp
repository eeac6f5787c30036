#include "support/fork.h"

#include <pthread.h>
#include <vector>

namespace flydsl::support {

namespace {

struct Registry {
  struct Item {
    ForkHandlers handlers;
    std::mutex *mutex = nullptr;
  };
  std::mutex mutex;
  std::vector<Item> items[3];

  std::vector<Item> &of(ForkOrder order) { return items[static_cast<int>(order)]; }
};

/// The registered handlers. They are never destroyed, because a process may fork while it exits.
Registry &registry() {
  static auto *instance = new Registry;
  return *instance;
}

/// The handlers of `work` that this fork has called. Only one thread forks at a time, because
/// `forking` is held.
std::mutex &forking() {
  static auto *instance = new std::mutex;
  return *instance;
}
std::vector<Registry::Item> &told() {
  static auto *instance = new std::vector<Registry::Item>;
  return *instance;
}

void before() {
  forking().lock();
  Registry &all = registry();
  {
    std::lock_guard lock(all.mutex);
    told() = all.of(ForkOrder::work);
  }
  for (const Registry::Item &item : told())
    if (item.handlers.before)
      item.handlers.before();
  all.mutex.lock();
  for (ForkOrder order : {ForkOrder::tables, ForkOrder::log})
    for (const Registry::Item &item : all.of(order)) {
      if (item.mutex)
        item.mutex->lock();
      if (item.handlers.before)
        item.handlers.before();
    }
}

void after(void (*ForkHandlers::*handler)()) {
  Registry &all = registry();
  for (ForkOrder order : {ForkOrder::log, ForkOrder::tables}) {
    const auto &items = all.of(order);
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      if (item->handlers.*handler)
        (item->handlers.*handler)();
      if (item->mutex)
        item->mutex->unlock();
    }
  }
  all.mutex.unlock();
  for (auto item = told().rbegin(); item != told().rend(); ++item)
    if (item->handlers.*handler)
      (item->handlers.*handler)();
  forking().unlock();
}

void add(ForkOrder order, const Registry::Item &item) {
  static const bool once = [] {
    registry();
    forking();
    told();
    pthread_atfork(before, [] { after(&ForkHandlers::inParent); },
                   [] { after(&ForkHandlers::inChild); });
    return true;
  }();
  (void)once;
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  all.of(order).push_back(item);
}

} // namespace

void atFork(ForkOrder order, const ForkHandlers &handlers) { add(order, {handlers, nullptr}); }

void holdAtFork(std::mutex &mutex, ForkOrder order) { add(order, {{}, &mutex}); }

} // namespace flydsl::support
