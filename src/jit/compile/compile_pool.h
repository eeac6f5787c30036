// Threads on which kernels are traced and compiled beside the program's own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace flydsl::jit {

/// A fixed number of threads that take tasks in order.
class CompilePool {
public:
  explicit CompilePool(unsigned threads);
  /// Waits for the tasks that run. Tasks that have not begun are dropped, and their futures report
  /// a broken promise.
  ~CompilePool();
  CompilePool(const CompilePool &) = delete;
  CompilePool &operator=(const CompilePool &) = delete;

  /// The process's pool, started when first asked for. FLYDSL_COMPILE_THREADS sets its size; else
  /// one thread a core. Throws flydsl::Error for a value that is no number from 1 to 1024, and in a
  /// child that may not use the library.
  static CompilePool &process();

  /// Runs `task` on a thread of the pool. Never blocks. A task must not wait for another task of
  /// the same pool.
  void enqueue(std::function<void()> task);
  /// The same with a future.
  template <class Task> auto submit(Task task) -> std::future<decltype(task())> {
    auto promised = std::make_shared<Promised<Task, decltype(task())>>(std::move(task));
    auto future = promised->result.get_future();
    enqueue([promised] { promised->keep(); });
    return future;
  }

  unsigned threads() const { return count_; }

private:
  template <class Work, class Result> struct Promised {
    explicit Promised(Work work) : work(std::move(work)) {}
    Work work;
    std::promise<Result> result;
    void keep() {
      try {
        if constexpr (std::is_void_v<Result>) {
          work();
          result.set_value();
        } else {
          result.set_value(work());
        }
      } catch (...) {
        result.set_exception(std::current_exception());
      }
    }
  };
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
  const unsigned count_;
};

/// Runs work(0) to work(count - 1) on `pool`, several at a time, and waits. `work` must not throw.
/// After each, as they get ready, `done` is called with its number on the caller's thread; what
/// `work` did is visible there. Where `done` forks, the call throws in the child, which has none of
/// the pool's threads.
void runAll(CompilePool &pool, std::size_t count, std::function<void(std::size_t)> work,
            const std::function<void(std::size_t)> &done);

} // namespace flydsl::jit
