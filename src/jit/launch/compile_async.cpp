#include "jit/compile_pool.h"

#include <flydsl/compile_async.h>

#include <condition_variable>
#include <deque>
#include <mutex>

FLYDSL_NAMESPACE_BEGIN

void detail::submit(std::function<void()> task) {
  jit::CompilePool::process().submit(std::move(task));
}

std::vector<CompileOutcome>
compile_all(std::vector<CompileRequest> requests,
            const std::function<void(const CompileOutcome &, std::size_t, std::size_t)> &progress) {
  // Shared with the tasks: one may still be in its last lines when the caller has seen its outcome.
  struct Shared {
    std::vector<CompileRequest> requests;
    std::vector<CompileOutcome> outcomes;
    std::mutex mutex;
    std::condition_variable ready;
    std::deque<std::size_t> finished;
  };
  auto shared = std::make_shared<Shared>();
  shared->requests = std::move(requests);
  const std::size_t total = shared->requests.size();
  shared->outcomes.resize(total);
  for (std::size_t i = 0; i < total; ++i)
    detail::submit([shared, i] {
      CompileOutcome outcome;
      outcome.name = shared->requests[i].name;
      try {
        outcome.executable = shared->requests[i].compile();
      } catch (...) {
        outcome.error = std::current_exception();
      }
      std::lock_guard<std::mutex> lock(shared->mutex);
      shared->outcomes[i] = std::move(outcome);
      shared->finished.push_back(i);
      shared->ready.notify_one();
    });
  for (std::size_t done = 1; done <= total; ++done) {
    std::size_t which;
    {
      std::unique_lock<std::mutex> lock(shared->mutex);
      shared->ready.wait(lock, [&] { return !shared->finished.empty(); });
      which = shared->finished.front();
      shared->finished.pop_front();
    }
    if (progress)
      progress(shared->outcomes[which], done, total);
  }
  return std::move(shared->outcomes);
}

FLYDSL_NAMESPACE_END
