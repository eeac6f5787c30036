// Files: whole reads that nothing in a file's place can block or blow up, and writes that are whole
// or not there at all. The cache, winners of autotuning, kernels compiled ahead of time, archives
// and dumps are read and written by these functions and by no others.
#pragma once

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

/// A regular file, open to be read. Whatever else has its name (a pipe, a device, a directory) is
/// refused without waiting for it.
class InputFile {
public:
  InputFile(const std::string &path, const Trust &trust);
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  bool absent() const { return absent_; }                 ///< there is no such file
  const std::string &problem() const { return problem_; } ///< why it can't be read, else empty
  std::uint64_t size() const { return size_; }
  /// Bytes `offset` to `offset + into.size()`; false, with a problem, where the file does not have
  /// them.
  bool read(std::uint64_t offset, std::span<std::uint8_t> into);

private:
  int fd_ = -1;
  bool absent_ = false;
  std::string problem_;
  std::uint64_t size_ = 0;
};

struct FileContents {
  std::optional<Bytes> bytes;
  bool absent = false; ///< there is no such file
  std::string problem; ///< why there are no bytes; empty where there are
};

/// The whole file, where it has at most `most` bytes.
FileContents readAll(const std::string &path, std::uint64_t most,
                     const Trust &trust = Trust::named());

//===-- writing -----------------------------------------------------------===//

struct WriteOptions {
  /// What happens to a pipe, a device or a symbolic link that has the name. A name that the user
  /// gave is written through; a file of our own, in a directory of our own, replaces it.
  enum class Existing { writeThrough, replace } existing = Existing::writeThrough;
  bool ours = false;             ///< for this user alone, whatever the umask: 0600, folders 0700
  std::optional<unsigned> group; ///< with `ours`: for this group too (0660, folders 02770)
  bool makeFolders = false;      ///< folders of the path that are not there are made
  bool durable = true;           ///< flushed, with its directory: it outlives a power failure
};

/// A regular file appears whole, by rename, with the mode that it had before. Empty on success,
/// else why not; then the old file is there as it was.
std::string writeFile(const std::string &path, std::span<const std::uint8_t> data,
                      const WriteOptions &options = {});
std::string writeFile(const std::string &path, std::string_view text,
                      const WriteOptions &options = {});

/// For what FlyDSL keeps by itself: this user's, and the group's of `trust`.
WriteOptions ownOptions(const Trust &trust);

/// Makes the folder and those above it that are not there, with `options`' mode. Empty on success.
std::string makeFolders(const std::string &folder, const WriteOptions &options = {});

/// Keeps other processes' FolderLock on the same folder waiting: for a file that is read, changed
/// and written again. Nothing is left behind; where folders can't be locked it does nothing.
class FolderLock {
public:
  /// The folder of `path`. Waits `seconds` at most; then `problem` says so.
  FolderLock(const std::string &path, unsigned seconds, std::string &problem);
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

private:
  int fd_;
};

/// What the name of a file that is being written ends in.
inline constexpr std::string_view temporarySuffix = ".tmp";
/// Removes the temporary file at `path` if its writer is gone: its lock is free, or it is older
/// than an hour. False where it stays.
bool removeAbandoned(const std::string &path);

} // namespace flydsl::support
