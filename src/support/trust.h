// Decides which files are trusted. Cache entries are machine code that runs with this user's
// rights.
#pragma once

#include <optional>
#include <string>

struct stat;

namespace flydsl::support {

/// The owners whose files are trusted. This user and root always are. A file that another user owns
/// or may write is not trusted, unless it belongs to `group`.
struct Trust {
  bool anybody = false;          ///< the owner does not matter: the user named the file
  std::optional<unsigned> group; ///< the id of a group whose members may own and write it too

  /// The trust for files that FlyDSL keeps by itself: it includes the group of
  /// FLYDSL_RUNTIME_CACHE_GROUP. Throws flydsl::Error if this machine has no such group.
  static Trust ofCaches();
  /// The trust for a file that the user names.
  static Trust named() { return {.anybody = true, .group = {}}; }
};

/// The reason why a file or directory with this owner and mode is not trusted, with the remedy ("it
/// belongs to user ..."); empty if it is trusted.
std::string distrust(const struct stat &info, const Trust &trust);
/// The same for the file or directory at `path`, with which the text begins; empty if nothing is
/// there.
std::string distrust(const std::string &path, const Trust &trust);

} // namespace flydsl::support
