// Files: whole reads that no pipe, device or huge file can block or exhaust, and writes that appear
// whole or not at all. Cache entries, autotuning winners, kernels compiled ahead of time, archives
// and dumps are read and written only by these functions.
#pragma once

#include "support/descriptor.h"
#include "support/trust.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::support {

using Bytes = std::vector<std::uint8_t>;

//===-- reading -----------------------------------------------------------===//

/// A regular file, opened for reading. Anything else with its name (a pipe, a device, a directory)
/// is refused without waiting for it.
class InputFile {
public:
  InputFile(const std::string &path, const Trust &trust);

  bool absent() const { return absent_; }                 ///< there is no such file
  const std::string &problem() const { return problem_; } ///< why it can't be read; empty if it can
  std::uint64_t size() const { return size_; }
  /// Reads bytes `offset` to `offset + into.size()`. If the file does not have them, it sets
  /// `problem` and returns false.
  bool read(std::uint64_t offset, std::span<std::uint8_t> into);

private:
  Descriptor file_;
  bool absent_ = false;
  std::string problem_;
  std::uint64_t size_ = 0;
};

struct FileContents {
  std::optional<Bytes> bytes;
  bool absent = false; ///< there is no such file
  std::string problem; ///< why there are no bytes; empty if there are
};

/// Reads the whole file if it has at most `most` bytes.
FileContents readAll(const std::string &path, std::uint64_t most,
                     const Trust &trust = Trust::named());

//===-- writing -----------------------------------------------------------===//

struct WriteOptions {
  /// The treatment of a pipe, a device or a symbolic link with that name. A name that the user gave
  /// is written through; a file of our own, in a directory of our own, replaces it.
  enum class Existing { writeThrough, replace } existing = Existing::writeThrough;
  bool ours = false;             ///< only this user has access (0600, folders 0700)
  std::optional<unsigned> group; ///< with `ours`: this group has access too (0660, folders 02770)
  bool makeFolders = false;      ///< makes the missing folders of the path
  bool durable = true;           ///< flushes file and directory against power failures
};

/// Writes a file. A regular file appears whole, by rename, with the mode of the file that it
/// replaces. Returns an empty text on success and the reason on failure; the old file is then
/// unchanged.
std::string writeFile(const std::string &path, std::span<const std::uint8_t> data,
                      const WriteOptions &options = {});
std::string writeFile(const std::string &path, std::string_view text,
                      const WriteOptions &options = {});

/// The options for files that FlyDSL keeps by itself: this user has access, and the group of
/// `trust`.
WriteOptions ownOptions(const Trust &trust);

/// Makes the folder and its missing parents, with the mode of `options`. Returns an empty text on
/// success and the reason on failure.
std::string makeFolders(const std::string &folder, const WriteOptions &options = {});

/// A lock on a folder between processes, for reading, changing and rewriting a file in it. It
/// leaves no file behind. If folders can't be locked, it does nothing.
class FolderLock {
public:
  /// Locks the folder of `path`. Waits at most `seconds`; after that `problem` says so.
  FolderLock(const std::string &path, unsigned seconds, std::string &problem);

private:
  Descriptor folder_;
};

/// The suffix of a file that is being written.
inline constexpr std::string_view kTemporarySuffix = ".tmp";
/// Removes the temporary file at `path` if its writer is gone: its lock is free, or it is older
/// than an hour. Returns false if the file stays.
bool removeAbandoned(const std::string &path);

} // namespace flydsl::support
