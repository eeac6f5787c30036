// The configurations that a table of choices needs: what each of a list of problems is given, what
// would be the quickest for it, and the fewest rows that have a good one for every problem.
#pragma once

#include <flydsl/host/autotune.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fly_kernels {

/// A configuration of a problem, and its time in microseconds.
struct TimedConfig {
  flydsl::Config config;
  double microseconds = 0;
};

/// A problem with a number of rows, what is chosen for it, and all that were timed.
struct TimedProblem {
  std::string problem;
  TimedConfig chosen;
  std::vector<TimedConfig> all; ///< not empty

  const TimedConfig &quickest() const;
  /// The chosen configuration's time over the least one.
  double lost() const { return chosen.microseconds / quickest().microseconds; }
};

/// A row of a table: the values of some fields, and the problems that it serves.
struct ChoiceRow {
  flydsl::Config values;
  std::vector<std::size_t> problems; ///< their places in the list
};

/// The named fields of a configuration alone. Throws an Error for a field that it does not have, with
/// those that it has.
flydsl::Config valuesOf(const flydsl::Config &config, std::span<const std::string> fields);

/// Rows of the named fields, the ones that serve most first: every problem has a configuration with the
/// values of one of them that takes at most (1 + share) times its least time. The other fields of such a
/// configuration are those that were quickest with the row's values. As few rows as taking the one that
/// serves most of what is left, each time, gives. Throws as valuesOf() does.
std::vector<ChoiceRow> leastTable(std::span<const TimedProblem> problems,
                                  std::span<const std::string> fields, double share);

/// A row as a table in C++ has it: "{128, 64, ring}," of "tile_m=128 tile_n=64 loop=ring".
std::string initialiserOf(const std::string &fields);

} // namespace fly_kernels
