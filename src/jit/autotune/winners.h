// Winners as files: one JSON document per name, key and device, in a directory; and the same in the
// fleet's cache.
#pragma once

#include "cache/remote/remote_tier.h"
#include "support/trust.h"

#include <flydsl/host/autotune.h>

#include <functional>
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

//===-- the fleet's -------------------------------------------------------===//

/// The winner in the fleet's cache, if there is one.
std::optional<Config> loadSharedWinner(cache::RemoteTier &fleet, const WinnerIdentity &identity,
                                       const std::vector<Config> &configs);

/// The winner in the fleet's cache, also if another machine is searching for it just now. If there
/// is none, `search` is called and its winner is stored for the others; the result is then empty.
std::optional<Config> searchOnce(cache::RemoteTier &fleet, const WinnerIdentity &identity,
                                 const std::vector<Config> &configs,
                                 const std::function<AutotuneResult()> &search);

/// Stores what was searched for whatever is there.
void storeSharedWinner(cache::RemoteTier &fleet, const WinnerIdentity &identity,
                       const AutotuneResult &found);

} // namespace flydsl::jit
