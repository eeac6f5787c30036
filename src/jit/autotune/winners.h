// Winners as files: one JSON document per name, key and device, in a directory.
#pragma once

#include "support/trust.h"

#include <flydsl/autotune.h>

#include <optional>
#include <string>

namespace flydsl::jit {

/// What a winner is a winner for.
struct WinnerIdentity {
  std::string name;
  Config key;
  std::string deviceName;
  std::string arch;
  int computeUnits = 0;
  std::string library; ///< buildIdentity(); empty for artifacts, which outlive builds
};

/// A directory of winners, and who may own and write it.
struct WinnerDirectory {
  std::string path;
  support::Trust trust; ///< anybody: it ships with an application, and is written as any file is
};

/// The configuration, if there is a whole file for this identity; otherwise the log says what is
/// wrong with the file. Only one of `configs` is accepted.
std::optional<Config> readWinner(const WinnerDirectory &directory, const WinnerIdentity &identity,
                                 const std::vector<Config> &configs);

/// Writes it whole. Empty on success, else why not.
std::string writeWinner(const WinnerDirectory &directory, const WinnerIdentity &identity,
                        const Config &winner, double milliseconds);

} // namespace flydsl::jit
