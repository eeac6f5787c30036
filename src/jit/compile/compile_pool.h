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

/// A fixed number of threads that take tasks in order. In a forked child it has none of them: what
/// was waiting or ran is given up there, and the threads start again with the next task.
class CompilePool {
public:
  explicit CompilePool(unsigned threads);
  /// Waits for the tasks that run. Tasks that have not begun are dropped, and their futures report
  /// a broken promise.
  ~CompilePool();
  CompilePool(const CompilePool &) = delete;
  CompilePool &operator=(const CompilePool &) = delete;

  /// The process's pool, started when first asked for. FLYDSL_COMPILE_THREADS sets its size; else
  /// one thread a core. Throws flydsl::Error for a value that is no number from 1 to 1024.
  static CompilePool &process();

  /// Runs `task` on a thread of the pool. Never blocks. A task must not wait for another task of
  /// the same pool. `givenUp` is called instead where the task can't run or come to its end: in a
  /// forked child, by the thread that forked.
  void enqueue(std::function<void()> task, std::function<void()> givenUp = {});
  /// The same with a future; of a task that is given up it holds a RuntimeError.
  template <class Task> auto submit(Task task) -> std::future<decltype(task())> {
    auto promised = std::make_shared<Promised<Task, decltype(task())>>(std::move(task));
    auto future = promised->result.get_future();
    enqueue([promised] { promised->keep(); }, [promised] { promised->giveUp(); });
    return future;
  }

  unsigned threads() const { return count_; }
  /// What a task that was given up reports.
  static std::exception_ptr lostByFork();

private:
  struct Item {
    std::function<void()> run, givenUp;
  };
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
    void giveUp() { result.set_exception(lostByFork()); }
  };
  void loop();

  /// What belongs to the threads. A forked child leaves its parent's as it is and makes its own.
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::shared_ptr<Item>> queue;
    std::vector<std::shared_ptr<Item>> running;
    bool stopping = false;
    std::vector<std::thread> threads;
  };
  Shared *shared_;
  const unsigned count_;
  friend struct PoolsOverFork;
};

/// Runs work(0) to work(count - 1) on `pool`, several at a time, and waits. `work` must not throw.
/// After each, as they get ready, `done` is called with its number on the caller's thread; what
/// `work` did is visible there. Where `done` forks, the child calls `lost` for what its parent
/// alone goes on with, then `done`.
void runAll(CompilePool &pool, std::size_t count, std::function<void(std::size_t)> work,
            const std::function<void(std::size_t)> &done,
            std::function<void(std::size_t)> lost = {});

} // namespace flydsl::jit
