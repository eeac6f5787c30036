// Whose files are believed: entries of a cache are machine code that runs with this user's rights.
#pragma once

#include <optional>
#include <string>

struct stat;

namespace flydsl::support {

/// Whose files are believed. This user and root always are; what another user owns or may write is
/// not, unless the file belongs to `group`.
struct Trust {
  bool anybody = false;          ///< the owner does not matter: the user named the file
  std::optional<unsigned> group; ///< the id of a group whose members may own and write it too

  /// For what FlyDSL keeps by itself: the group of FLYDSL_RUNTIME_CACHE_GROUP. Throws flydsl::Error
  /// where this machine has no such group.
  static Trust ofCaches();
  /// For a file that the user names.
  static Trust named() { return {.anybody = true, .group = {}}; }
};

/// Why a file or directory with this owner and mode is not believed, with the remedy ("it belongs
/// to user ..."); empty where it is.
std::string distrust(const struct stat &info, const Trust &trust);
/// The same for what `path` names, which the text begins with; empty where nothing is there.
std::string distrust(const std::string &path, const Trust &trust);

} // namespace flydsl::support
