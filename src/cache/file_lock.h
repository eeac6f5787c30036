// A lock between processes, by file. The kernel drops it when its owner dies, over NFS too, so a
// dead owner never blocks.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace flydsl::cache {

class FileLock {
public:
  enum class State {
    held,     ///< this process may go ahead, alone
    gaveUp,   ///< `stop` said so, or the time was over
    unusable, ///< locks don't work here (unwritable directory, no lock service): go ahead without
  };

  FileLock() = default;
  ~FileLock() { release(); }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

  /// Waits for the lock on `path`, `timeout` at most; between tries `stop` is asked whether to go
  /// on waiting.
  /// The file is this user's own, and `group`'s where one is given.
  State acquire(const std::string &path, std::chrono::milliseconds timeout,
                const std::function<bool()> &stop = {}, std::optional<unsigned> group = {});
  /// Removes the file and lets go.
  void release();
  bool held() const { return fd_ >= 0; }

private:
  int fd_ = -1;
  std::string path_;
};

} // namespace flydsl::cache
