// Winners as files: one JSON document per name, key and device, in a directory.
#pragma once

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
  std::string library; ///< the library build; empty for artifacts, which outlive builds
};

/// The configuration, where the file is there, whole, and for this identity; what is wrong with one
/// that is not goes to the log. Only one of `configs` is accepted.
std::optional<Config> readWinner(const std::string &directory, const WinnerIdentity &identity,
                                 const std::vector<Config> &configs);

/// Writes it by rename. Empty on success, else why not.
std::string writeWinner(const std::string &directory, const WinnerIdentity &identity,
                        const Config &winner, double milliseconds);

} // namespace flydsl::jit
