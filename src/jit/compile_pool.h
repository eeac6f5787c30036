// Threads on which kernels are traced and compiled beside the program's own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace flydsl::jit {

/// A fixed number of threads that take tasks in order.
class CompilePool {
public:
  explicit CompilePool(unsigned threads);
  /// Finishes the tasks that run; those still waiting are dropped, and their futures report a
  /// broken promise.
  ~CompilePool();
  CompilePool(const CompilePool &) = delete;
  CompilePool &operator=(const CompilePool &) = delete;

  /// The process's pool, started when first asked for. FLYDSL_COMPILE_THREADS sets its size; else
  /// one thread a core. Throws flydsl::Error for a value that is no number from 1 to 1024.
  static CompilePool &process();

  /// Runs `task` on a thread of the pool. Never blocks. A task must not wait for another task of
  /// the same pool.
  template <class Task> auto submit(Task task) -> std::future<decltype(task())> {
    auto packaged = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    auto future = packaged->get_future();
    enqueue([packaged] { (*packaged)(); });
    return future;
  }

  unsigned threads() const { return static_cast<unsigned>(threads_.size()); }

private:
  void enqueue(std::function<void()> task);
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Runs work(0) to work(count - 1) on `pool`, several at a time, and waits. `work` must not throw.
/// After each, as they get ready, `done` is called with its number on the caller's thread; what
/// `work` did is visible there.
void runAll(CompilePool &pool, std::size_t count, std::function<void(std::size_t)> work,
            const std::function<void(std::size_t)> &done);

} // namespace flydsl::jit
