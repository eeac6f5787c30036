#include "jit/compile_pool.h"

#include "support/env.h"

#include <flydsl/error.h>

#include <charconv>
#include <cstdio>

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
  std::optional<std::string> value = support::env("FLYDSL_COMPILE_THREADS");
  if (!value)
    return std::thread::hardware_concurrency();
  unsigned number = 0;
  const char *end = value->data() + value->size();
  auto [at, error] = std::from_chars(value->data(), end, number);
  if (error != std::errc() || at != end || number < 1 || number > 1024)
    throw Error("FLYDSL_COMPILE_THREADS=" + *value + ": expected a number from 1 to 1024");
  return number;
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

std::vector<CompileOutcome>
compileAll(std::vector<CompileTask> tasks, CompilePool &pool,
           const std::function<void(const CompileProgress &)> &progress) {
  /// What the tasks share; each holds it until its last access.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::size_t> finished;
    std::vector<CompileOutcome> outcomes;
  };
  auto shared = std::make_shared<Shared>();
  shared->outcomes.resize(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    pool.submit([shared, i, task = std::move(tasks[i])] {
      CompileOutcome outcome;
      outcome.name = task.name;
      try {
        outcome.kernel = task.compile();
      } catch (...) {
        outcome.error = std::current_exception();
      }
      std::lock_guard lock(shared->mutex);
      shared->outcomes[i] = std::move(outcome);
      shared->finished.push_back(i);
      shared->changed.notify_one();
    });

  CompileProgress state;
  state.total = tasks.size();
  while (state.done < state.total) {
    std::size_t index;
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return !shared->finished.empty(); });
      index = shared->finished.front();
      shared->finished.pop_front();
    }
    state.last = &shared->outcomes[index]; // written once, before its index was handed over
    ++state.done;
    state.failed += state.last->error != nullptr;
    if (progress)
      progress(state);
  }
  std::lock_guard lock(shared->mutex);
  return std::move(shared->outcomes);
}

std::string progressLine(const CompileProgress &progress) {
  std::string line =
      "compiling " + std::to_string(progress.done) + "/" + std::to_string(progress.total);
  if (progress.failed)
    line += " (" + std::to_string(progress.failed) + " failed)";
  if (progress.last) {
    char detail[64] = "failed";
    if (!progress.last->error)
      std::snprintf(detail, sizeof detail, "%s, %.1f ms", tierName(progress.last->kernel.tier),
                    progress.last->kernel.fetchMs);
    line += ": " + progress.last->name + ", " + detail;
  }
  return line;
}

} // namespace flydsl::jit
