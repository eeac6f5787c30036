// The public functions over the pool of compile threads.
#include "jit/compile/compile_pool.h"

#include <flydsl/host/compile_async.h>

#include <cstdio>

FLYDSL_NAMESPACE_BEGIN

void detail::submit(std::function<void()> task) {
  jit::CompilePool::process().enqueue(std::move(task));
}

std::vector<CompileOutcome>
compile_all(std::vector<CompileRequest> requests,
            const std::function<void(const CompileOutcome &, std::size_t, std::size_t)> &progress) {
  // Owned by the work, which may be in its last lines when the caller has all outcomes.
  struct Shared {
    std::vector<CompileRequest> requests;
    std::vector<CompileOutcome> outcomes;
  };
  auto shared = std::make_shared<Shared>();
  shared->requests = std::move(requests);
  const std::size_t total = shared->requests.size();
  shared->outcomes.resize(total);
  auto compile = [shared](std::size_t i) {
    CompileOutcome &outcome = shared->outcomes[i];
    outcome.name = shared->requests[i].name;
    try {
      outcome.executable = shared->requests[i].compile();
    } catch (...) {
      outcome.error = std::current_exception();
    }
  };
  std::size_t done = 0;
  jit::runAll(jit::CompilePool::process(), total, compile, [&](std::size_t i) {
    ++done;
    if (progress)
      progress(shared->outcomes[i], done, total);
  });
  return std::move(shared->outcomes);
}

std::string progress_line(const CompileOutcome &outcome, std::size_t done, std::size_t total) {
  char detail[64] = "failed";
  if (outcome.executable)
    std::snprintf(detail, sizeof detail, "%s, %.1f ms", outcome.executable->cache_tier_name(),
                  outcome.executable->trace_milliseconds() +
                      outcome.executable->compile_milliseconds());
  return "compiling " + std::to_string(done) + "/" + std::to_string(total) + ": " + outcome.name +
         ", " + detail;
}

FLYDSL_NAMESPACE_END
