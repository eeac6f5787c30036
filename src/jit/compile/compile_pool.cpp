// The pool's threads, and what becomes of its tasks when the process forks.
#include "jit/compile/compile_pool.h"

#include "support/env_variables.h"
#include "support/fork.h"

#include <flydsl/error.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

namespace flydsl::jit {

/// The pools of the process. Before a fork each is locked; in the child each gives up what it had.
struct PoolsOverFork {
  std::mutex mutex;
  std::vector<CompilePool *> pools;

  static PoolsOverFork &get() {
    static PoolsOverFork *instance = [] {
      auto *made = new PoolsOverFork;
      support::atFork(support::ForkOrder::tables, {before, inParent, inChild});
      return made;
    }();
    return *instance;
  }

private:
  [[gnu::constructor]] static void makeAtLoad() { get(); } // for forks (support/fork.h)
  static void giveUp(const CompilePool::Item &task) {
    try {
      if (task.givenUp)
        task.givenUp();
    } catch (const std::future_error &) {
      // The task had given its result, and its thread was about to take the next one.
    }
  }
  static void before() {
    get().mutex.lock();
    for (CompilePool *pool : get().pools)
      pool->shared_->mutex.lock();
  }
  static void inParent() {
    for (CompilePool *pool : get().pools)
      pool->shared_->mutex.unlock();
    get().mutex.unlock();
  }
  static void inChild() {
    for (CompilePool *pool : get().pools) {
      CompilePool::Shared &old = *pool->shared_;
      pool->shared_ = new CompilePool::Shared;
      // The objects of the task may have been in use at the fork: the task is told, and is not
      // destroyed.
      for (const auto &task : old.queue)
        giveUp(*task);
      for (const auto &task : old.running)
        giveUp(*task);
      old.mutex.unlock();
    }
    get().mutex.unlock();
  }
};

CompilePool::CompilePool(unsigned threads) : shared_(new Shared), count_(std::max(threads, 1u)) {
  std::lock_guard lock(PoolsOverFork::get().mutex);
  PoolsOverFork::get().pools.push_back(this);
}

CompilePool::~CompilePool() {
  {
    std::lock_guard lock(PoolsOverFork::get().mutex);
    std::erase(PoolsOverFork::get().pools, this);
  }
  std::deque<std::shared_ptr<Item>> dropped;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    dropped.swap(shared_->queue);
  }
  shared_->wake.notify_all();
  for (std::thread &thread : shared_->threads)
    thread.join();
  delete shared_;
}

std::exception_ptr CompilePool::lostByFork() {
  return std::make_exception_ptr(
      RuntimeError("this was compiled in the background when the process was forked: it goes on in "
                   "the parent alone; compile it here again"));
}

static unsigned threadsFromEnvironment() {
  return support::env::kCompileThreads.asked().value_or(std::thread::hardware_concurrency());
}

CompilePool &CompilePool::process() {
  // Never destroyed: at the end of the process nothing waits for a compile. Not an object that the
  // function makes under a lock of the compiler's, because the process may fork meanwhile.
  static constinit std::atomic<CompilePool *> made{nullptr};
  if (CompilePool *pool = made.load(std::memory_order_acquire))
    return *pool;
  auto mine = std::make_unique<CompilePool>(threadsFromEnvironment());
  CompilePool *first = nullptr;
  if (!made.compare_exchange_strong(first, mine.get()))
    return *first;
  return *mine.release();
}

void CompilePool::enqueue(std::function<void()> run, std::function<void()> givenUp) {
  auto task = std::make_shared<Item>(Item{std::move(run), std::move(givenUp)});
  Shared &shared = *shared_;
  {
    std::lock_guard lock(shared.mutex);
    while (shared.threads.size() < count_)
      shared.threads.emplace_back([this] { loop(); });
    shared.queue.push_back(std::move(task));
  }
  shared.wake.notify_one();
}

void CompilePool::loop() {
  Shared &shared = *shared_;
  for (;;) {
    std::shared_ptr<Item> task;
    {
      std::unique_lock lock(shared.mutex);
      shared.wake.wait(lock, [&] { return shared.stopping || !shared.queue.empty(); });
      if (shared.stopping)
        return;
      task = std::move(shared.queue.front());
      shared.queue.pop_front();
      shared.running.push_back(task);
    }
    task->run();
    std::lock_guard lock(shared.mutex);
    std::erase(shared.running, task);
  }
}

void runAll(CompilePool &pool, std::size_t count, std::function<void(std::size_t)> work,
            const std::function<void(std::size_t)> &done, std::function<void(std::size_t)> lost) {
  // The tasks share it: one of them may still have to return when the caller has all that it waits
  // for.
  struct Shared {
    std::function<void(std::size_t)> work, lost;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::size_t> finished;
    std::vector<bool> done; ///< what has been in `finished`

    void finish(std::size_t i) {
      std::lock_guard lock(mutex);
      done[i] = true;
      finished.push_back(i);
      changed.notify_one();
    }
    /// To be called in a forked child, whose other threads are gone with what they held.
    void lose(std::size_t i) {
      new (&mutex) std::mutex;
      new (&changed) std::condition_variable;
      if (done[i])
        return;
      if (lost)
        lost(i);
      finish(i);
    }
  };
  auto shared = std::make_shared<Shared>();
  shared->work = std::move(work);
  shared->lost = std::move(lost);
  shared->done.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    pool.enqueue(
        [shared, i] {
          shared->work(i);
          shared->finish(i);
        },
        [shared, i] { shared->lose(i); });
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t index;
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return !shared->finished.empty(); });
      index = shared->finished.front();
      shared->finished.pop_front();
    }
    done(index);
  }
}

} // namespace flydsl::jit
