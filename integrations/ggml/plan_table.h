// The plans of the kernel library that were made in this process.
#pragma once

#include <flydsl/kernels/plan.h>

#include <deque>
#include <mutex>

namespace flydsl_ggml {
namespace fk = flydsl::kernels;

/// The plan for a problem and a configuration; the first call for them compiles it. Throws what Plan's
/// constructor throws.
template <fk::Problem P>
const fk::Plan<P> &planOf(const P &problem, const fk::ConfigOf<P> &config,
                          const flydsl::Target &target) {
  struct Row {
    flydsl::Target target;
    fk::Plan<P> plan;
  };
  static std::mutex mutex;
  static auto &rows = *new std::deque<Row>; // references stay valid
  const std::lock_guard lock(mutex);
  for (const Row &row : rows)
    if (row.plan.problem() == problem && row.plan.config() == config && row.target == target)
      return row.plan;
  return rows.emplace_back(target, fk::Plan<P>(problem, config, target)).plan;
}

} // namespace flydsl_ggml
