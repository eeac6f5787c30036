// A lock between processes, made of a file. The kernel drops it when its owner dies, over NFS too,
// so that a dead owner never blocks others.
#pragma once

#include "support/descriptor.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace flydsl::cache {

class FileLock {
public:
  enum class State {
    held,     ///< this process has the lock and is alone
    gaveUp,   ///< `stop` returned true, or the time was over
    unusable, ///< locks don't work here (unwritable directory, no lock service): go ahead without
  };

  FileLock() = default;
  ~FileLock() { release(); }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

  /// Waits at most `timeout` for the lock on `path`. Between attempts it asks `stop`, which returns
  /// true to end the wait. Only this user has access to the file, and `group` if it is given.
  State acquire(const std::string &path, std::chrono::milliseconds timeout,
                const std::function<bool()> &stop = {}, std::optional<unsigned> group = {});
  /// Removes the file and releases the lock.
  void release();
  bool held() const { return bool(file_); }

private:
  support::Descriptor file_;
  std::string path_;
};

} // namespace flydsl::cache
