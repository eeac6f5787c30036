#include "jit/compile_pool.h"

#include "support/env_variables.h"

namespace flydsl::jit {

CompilePool::CompilePool(unsigned threads) {
  for (unsigned i = 0; i < std::max(threads, 1u); ++i)
    threads_.emplace_back([this] { loop(); });
}

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
  return support::env::compileThreads.asked().value_or(std::thread::hardware_concurrency());
}

CompilePool &CompilePool::process() {
  // Never destroyed: at the end of the process nothing waits for a compile.
  static auto *instance = new CompilePool(threadsFromEnvironment());
  return *instance;
}

void CompilePool::enqueue(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
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
  // Shared with the tasks: one may still be in its last lines when the caller has all it waits for.
  struct Shared {
    std::function<void(std::size_t)> work;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::size_t> finished;
  };
  auto shared = std::make_shared<Shared>();
  shared->work = std::move(work);
  for (std::size_t i = 0; i < count; ++i)
    pool.submit([shared, i] {
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
  }
}

} // namespace flydsl::jit
