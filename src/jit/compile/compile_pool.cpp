// The pool's threads.
#include "jit/compile/compile_pool.h"

#include "support/env_variables.h"
#include "support/process_use.h"

#include <flydsl/error.h>

#include <algorithm>

namespace flydsl::jit {

CompilePool::CompilePool(unsigned threads) : count_(std::max(threads, 1u)) {}

CompilePool::~CompilePool() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

static unsigned threadsFromEnvironment() {
  return support::env::kCompileThreads.asked().value_or(std::thread::hardware_concurrency());
}

CompilePool &CompilePool::process() {
  support::enterLibrary();
  // Never destroyed: at the end of the process nothing waits for a compile.
  static CompilePool *const made = new CompilePool(threadsFromEnvironment());
  return *made;
}

void CompilePool::enqueue(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    while (threads_.size() < count_)
      threads_.emplace_back([this] { loop(); });
    queue_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void CompilePool::loop() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_)
        return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
  }
}

void runAll(CompilePool &pool, std::size_t count, std::function<void(std::size_t)> work,
            const std::function<void(std::size_t)> &done) {
  // The tasks share it: one of them may still have to return when the caller has all that it waits
  // for.
  struct Shared {
    std::function<void(std::size_t)> work;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::size_t> finished;
  };
  auto shared = std::make_shared<Shared>();
  shared->work = std::move(work);
  for (std::size_t i = 0; i < count; ++i)
    pool.enqueue([shared, i] {
      shared->work(i);
      std::lock_guard lock(shared->mutex);
      shared->finished.push_back(i);
      shared->changed.notify_one();
    });
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t index;
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return !shared->finished.empty(); });
      index = shared->finished.front();
      shared->finished.pop_front();
    }
    done(index);
    support::enterLibrary(); // `done` is the program's own code and may have forked
  }
}

} // namespace flydsl::jit
