// The plans of a problem for all numbers of rows that a program will have.
//
//   const fk::PlanSet<fk::GemmProblem> products(problem, 8192); // at start: compiles
//   products.at(rows)(args, stream);                           // in a request: never
#pragma once

#include <flydsl/kernels/tuning/tuned.h>

#include <algorithm>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// From `rows` on, up to the next point, this configuration is chosen.
template <Problem P> struct ChoicePoint {
  std::int64_t rows;
  ConfigOf<P> config;
};

/// The points at which `choose` changes its mind, from 1 row to `most`. Each number of rows up to 1,024
/// is asked for, and of larger ones every sixty-fourth part, and those at which tuned configurations
/// begin to serve and end: a change between two of them is found at the second. Throws Error with the
/// reason if the problem is not supported, or if `most` is less than 1.
template <Problem P>
std::vector<ChoicePoint<P>> choice_points(const P &problem, std::int64_t most,
                                          const Target &target = Device::current().target()) {
  if (most < 1)
    throw Error(std::string(FamilyOf<P>::name) + ": choices for up to " + std::to_string(most) +
                " rows are asked for; 1 is the least");
  std::vector<std::int64_t> asked = impl::tunedRows(FamilyOf<P>::name, most);
  for (std::int64_t rows = 1; rows <= most; rows += rows < 1024 ? 1 : rows / 64)
    asked.push_back(rows);
  std::sort(asked.begin(), asked.end());
  std::vector<ChoicePoint<P>> points;
  for (const std::int64_t rows : asked) {
    const ConfigOf<P> config = choose(problem, rows, target);
    if (points.empty() || !(points.back().config == config))
      points.push_back({rows, config});
  }
  return points;
}

/// Plans for each number of rows from 0 to the most that are asked for: a plan is compiled, or loaded, for
/// each configuration that choice_points names, and `at` looks one up. It is immutable and may
/// be used by several threads at a time; copies share the code.
template <Problem P> class PlanSet {
public:
  /// Compiles the plans, or takes them from the cache. Throws what choice_points and Plan's constructor
  /// throw.
  PlanSet(const P &problem, std::int64_t most, const PlanOptions &options = {},
          const Target &target = Device::current().target(),
          std::source_location where = std::source_location::current())
      : PlanSet(problem, most, target, [&](const ConfigOf<P> &config) {
          return Plan<P>(problem, config, options, target, where);
        }) {}
  /// Takes the plans from a file, to which ExportList::add wrote the rows of each of choice_points, or
  /// kernels::export_aot each configuration. Throws RuntimeError if one is not in the file.
  static PlanSet load(const AotModule &module, const P &problem, std::int64_t most,
                      const PlanOptions &options = {},
                      const Target &target = Device::current().target(),
                      std::source_location where = std::source_location::current()) {
    return PlanSet(problem, most, target, [&](const ConfigOf<P> &config) {
      return Plan<P>::load(module, problem, config, options, where);
    });
  }

  /// The plan for so many rows. Throws Error for more rows than the set was made for, or less than 0.
  const Plan<P> &at(std::int64_t rows) const {
    if (rows < 0 || rows > most_)
      refuse(rows);
    const auto after = std::upper_bound(starts_.begin() + 1, starts_.end(), rows);
    return plans_[places_[static_cast<std::size_t>(after - starts_.begin() - 1)]];
  }
  /// The bytes of workspace that are enough for each call of the set.
  std::size_t workspace_bytes() const { return workspace_; }
  /// The most rows of a call.
  std::int64_t most() const { return most_; }
  /// The plans, each of another configuration.
  const std::vector<Plan<P>> &plans() const { return plans_; }

private:
  template <class Make>
  PlanSet(const P &problem, std::int64_t most, const Target &target, const Make &make)
      : most_(most) {
    const std::vector<ChoicePoint<P>> points = choice_points(problem, most, target);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const ConfigOf<P> &config = points[i].config;
      const auto same = std::find_if(plans_.begin(), plans_.end(),
                                     [&](const Plan<P> &plan) { return plan.config() == config; });
      places_.push_back(static_cast<std::size_t>(same - plans_.begin()));
      if (same == plans_.end())
        plans_.push_back(make(config));
      starts_.push_back(points[i].rows);
      const std::int64_t last = i + 1 < points.size() ? points[i + 1].rows - 1 : most;
      workspace_ = std::max(workspace_, kernels::workspace_bytes(problem, config, last));
    }
  }
  [[noreturn]] void refuse(std::int64_t rows) const {
    throw Error(std::string(FamilyOf<P>::name) + ": a call has " + std::to_string(rows) +
                " rows; the set of plans was made for 0 to " + std::to_string(most_));
  }

  std::int64_t most_;
  std::vector<Plan<P>> plans_;
  std::vector<std::int64_t> starts_; ///< the first rows of each interval
  std::vector<std::size_t> places_;  ///< its plan
  std::size_t workspace_ = 0;
};

} // namespace kernels
FLYDSL_NAMESPACE_END
