// Threads on which kernels are traced and compiled beside the program's own.
#pragma once

#include "jit/kernel_cache.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <string>
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

/// One kernel to compile: what to call it, and what compiles it (compileCached, as a rule after a
/// trace).
struct CompileTask {
  std::string name;
  std::function<CachedKernel()> compile;
};

/// How one kernel of several went.
struct CompileOutcome {
  std::string name;
  CachedKernel kernel;      ///< object is null if it failed
  std::exception_ptr error; ///< null if it did not
};

/// After each kernel: how many are done and how many of them failed, of how many.
struct CompileProgress {
  std::size_t done = 0, failed = 0, total = 0;
  const CompileOutcome *last = nullptr;
};

/// Compiles all tasks on `pool` and waits. The outcomes are in the order of the tasks; a failure
/// stops no other. `progress` is called on the caller's thread, once a kernel.
std::vector<CompileOutcome>
compileAll(std::vector<CompileTask> tasks, CompilePool &pool,
           const std::function<void(const CompileProgress &)> &progress = {});

/// A progress line for terminals: "compiling 12/40 (1 failed): name, disk, 0.4 ms".
std::string progressLine(const CompileProgress &progress);

} // namespace flydsl::jit
