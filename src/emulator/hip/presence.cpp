#include "emulator/hip/presence.h"

#include <atomic>
#include <mutex>
#include <pthread.h>
#include <thread>

namespace flyemu::hip {
namespace {

using Clock = std::chrono::steady_clock;

/// A thread that waits for the end of a fork may hold a lock that another library's fork handler
/// needs. So it waits no longer than this.
constexpr std::chrono::seconds kHeldUp{2};

/// Threads that are inside, or that look whether they may enter; a fork waits for them.
std::atomic<unsigned> threadsInside{0};
/// Of these, the threads that did enter.
std::atomic<unsigned> threadsAtWork{0};
std::atomic<bool> forking{false}, restartDue{false}, lost{false};
std::atomic<void (*)()> restarter{nullptr};
thread_local unsigned depth = 0, pinned = 0;

void beforeFork() {
  forking.store(true);
  const auto end = Clock::now() + kForkPatience;
  const unsigned own = depth ? 1 : 0;
  while (threadsInside.load() > own && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void inParent() { forking.store(false); }

void inChild() {
  const unsigned own = depth ? 1 : 0;
  // A thread that only looked whether it may enter has changed nothing.
  if (threadsAtWork.load() > own)
    lost.store(true);
  threadsInside.store(own);
  threadsAtWork.store(own);
  forking.store(false);
  restartDue.store(true);
}

/// At the load of the library: a handler that came with the first entry could miss a fork that is
/// under way then.
[[gnu::constructor]] void watchForks() { pthread_atfork(beforeFork, inParent, inChild); }

void enter() {
  for (const auto end = Clock::now() + kHeldUp;;) {
    threadsInside.fetch_add(1);
    if (!forking.load() || Clock::now() >= end) {
      threadsAtWork.fetch_add(1);
      return;
    }
    threadsInside.fetch_sub(1);
    while (forking.load() && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void leave() {
  threadsAtWork.fetch_sub(1);
  threadsInside.fetch_sub(1);
}

} // namespace

Inside::Inside() {
  if (depth++ == 0) {
    enter();
    if (restartDue.load(std::memory_order_relaxed) && restartDue.exchange(false) && !lost.load())
      if (void (*restart)() = restarter.load())
        restart();
  }
}

Inside::~Inside() {
  if (--depth == 0)
    leave();
}

Outside::Outside() : depth_(pinned ? 0 : depth) {
  if (depth_) {
    depth = 0;
    leave();
  }
}

Outside::~Outside() {
  if (depth_) {
    enter();
    depth = depth_;
  }
}

StayInside::StayInside() { ++pinned; }
StayInside::~StayInside() { --pinned; }

bool lostByFork() { return lost.load(std::memory_order_relaxed); }

void restartAfterFork(void (*restart)()) { restarter.store(restart); }

} // namespace flyemu::hip
