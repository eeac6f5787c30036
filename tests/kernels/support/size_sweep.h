// Problems of a family at the sizes where anything about it changes, with every configuration that
// is listed for them, against the reference in double precision and under all checks of the
// emulator: what a kernel reads past an operand's memory faults, and what it writes around one is
// found.
#pragma once

#include "reference/reference.h"
#include "support/structure.h"

#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

namespace kernel_tests {

/// Which runs of all are made: each `every`-th by chance, from a seed on.
struct SweepShare {
  std::uint64_t every = 1, seed = 1;
  bool takes(std::uint64_t number) const {
    return every == 1 || fx::detail::randomBits(seed, number) % every == 0;
  }
};

/// Hidden sizes and inner sizes of Llama, Qwen, Gemma, DeepSeek, GLM, Kimi, gpt-oss and SmolLM.
inline constexpr std::int64_t kModelSizes[] = {
    576,  768,  896,  1024, 1152, 1536, 2048, 2304, 2560,  2816,  2880,  3072,  3584,  4096, 4608,
    5120, 5376, 6144, 6400, 7168, 8192, 9216, 9728, 11008, 12288, 13824, 14336, 16384, 18432};

/// The sizes from `least` to `most` at which what the library answers changes, and those before them:
/// what `choose` gives for a few numbers of rows, or whether the problem is supported. Sizes of each
/// alignment up to 16 are looked at on their own, because vectors are as wide as it allows; of each
/// change the first one counts.
template <class P>
std::vector<std::int64_t> limitsOf(const std::function<P(std::int64_t)> &problemOf,
                                   std::int64_t least, std::int64_t most,
                                   std::initializer_list<std::int64_t> rows = {1, 64, 4096}) {
  const fx::Target target = fx::Device::current().target();
  std::set<std::int64_t> found{least, most};
  std::set<std::string> seen;
  std::map<std::int64_t, std::string> before; // by the size's remainder of 16
  for (std::int64_t size = least; size <= most; ++size) {
    const P problem = problemOf(size);
    std::string answer;
    if (fk::supported(problem, target))
      for (const std::int64_t m : rows)
        answer += fx::to_config(fk::choose(problem, m, target)).str() + "; ";
    std::string &last = before[size % 16];
    if (const std::int64_t align = size & -size;
        size >= least + 16 && answer != last &&
        seen.insert(last + ">" + answer + std::to_string(std::min<std::int64_t>(align, 16))).second)
      found.insert({size - 16, size - 1, size, size + 1});
    last = answer;
  }
  found.erase(found.upper_bound(most), found.end());
  return {found.begin(), found.end()};
}
/// The same, and sizes of models and small ones.
template <class P>
std::vector<std::int64_t> rowSizes(const std::function<P(std::int64_t)> &problemOf,
                                   std::int64_t most) {
  std::set<std::int64_t> all{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 96, 255, 256, 257};
  for (const std::int64_t size : limitsOf<P>(problemOf, 1, most))
    all.insert(size);
  for (const std::int64_t size : kModelSizes)
    all.insert(size);
  all.erase(all.upper_bound(most), all.end());
  return {all.begin(), all.end()};
}

/// What a sweep did.
struct SweepCounts {
  std::size_t problems = 0, plans = 0, runs = 0, compared = 0;
};

/// Runs the plan of a problem once, and compares its outputs where there is a reference for them.
template <class P>
void runOnce(const fk::Plan<P> &plan, const P &problem, const fk::ConfigOf<P> &config,
             std::int64_t m, SweepCounts &counts) {
  INFO(fk::FamilyOf<P>::name << ": " << fx::to_config(problem).str() << " m=" << m << " "
                             << fx::to_config(config).str());
  SampledMemory memory(256);
  const auto args = fk::make_args(problem, config, m, memory.sampler());
  const fk::reference::Inputs inputs = memory.inputs();
  const fx::Stream stream;
  REQUIRE_NOTHROW([&] {
    plan(args, stream);
    stream.synchronize();
  }());
  CHECK(memory.writtenAround() == "");
  ++counts.runs;
  bool isCompared = false;
  for (const auto &[name, expected] : fk::reference::expected(problem, config, m, inputs)) {
    INFO(name);
    std::vector<double> got = memory.values(name);
    REQUIRE(got.size() == expected.values.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      if (std::isinf(expected.bound[i])) // the reference says nothing of it
        got[i] = expected.values[i];
    expectWithin(got, expected.values, expected.bound);
    isCompared = true;
  }
  counts.compared += isCompared;
}
/// The same with a plan of its own.
template <class P>
void runOnce(const P &problem, const fk::ConfigOf<P> &config, std::int64_t m, SweepCounts &counts) {
  runOnce(fk::Plan<P>(problem, config), problem, config, m, counts);
}

/// Runs a share of all problems and configurations, what `choose` gives four times as often as what is
/// listed. A plan takes longer to make than to run, so a configuration that is taken runs with all of its
/// numbers of rows.
template <class P>
void sweep(const std::vector<P> &problems,
           const std::function<std::vector<std::int64_t>(const P &, const fk::ConfigOf<P> &)> &rows,
           const SweepShare &share) {
  const fx::Target target = fx::Device::current().target();
  SweepCounts counts;
  std::uint64_t number = 0;
  std::vector<P> known;
  for (const P &problem : problems) {
    if (!fk::supported(problem, target))
      continue;
    known.push_back(problem);
    // Configurations by their text, and the numbers of rows of each.
    using Runs = std::map<std::string, std::pair<fk::ConfigOf<P>, std::set<std::int64_t>>>;
    const auto add = [](Runs &to, const fk::ConfigOf<P> &config, const auto &m) {
      const auto at = to.try_emplace(fx::to_config(config).str(), config, std::set<std::int64_t>());
      at.first->second.second.insert(m.begin(), m.end());
    };
    Runs chosen, taken;
    for (const std::int64_t m : rows(problem, fk::choose(problem, 16, target)))
      add(chosen, fk::choose(problem, m, target), std::array{m});
    // Numbers are drawn for all, so that a run is the same whatever else there is.
    for (const auto &[name, choice] : chosen)
      if (share.takes(number++))
        add(taken, choice.first, choice.second);
    for (const fk::ConfigOf<P> &config : fk::configs(problem, 16, target))
      if (share.takes(number++ * 5 + 1) && fx::detail::randomBits(share.seed + 1, number) % 4 == 0)
        add(taken, config, rows(problem, config));
    const std::size_t before = counts.runs;
    for (const auto &[name, one] : taken) {
      const fk::Plan<P> plan(problem, one.first);
      ++counts.plans;
      for (const std::int64_t m : one.second)
        runOnce(plan, problem, one.first, m, counts);
    }
    counts.problems += counts.runs > before;
  }
  // A share that is too small for any of them has one.
  if (!counts.runs && !known.empty()) {
    const P &problem = known[known.size() / 2];
    const std::int64_t m = rows(problem, fk::choose(problem, 16, target)).back();
    runOnce(problem, fk::choose(problem, m, target), m, counts);
  }
  std::printf("%s on %s: %zu runs of %zu plans of %zu problems, %zu compared with the reference\n",
              std::string(fk::FamilyOf<P>::name).c_str(), target.name().c_str(), counts.runs,
              counts.plans, counts.problems, counts.compared);
  CHECK((counts.runs > 0 || known.empty()));
}

} // namespace kernel_tests
