#include "cache/file_lock.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace flydsl::cache {

namespace {

using support::Descriptor;

/// True if `path` still names the file that `fd` has open. The last owner of the lock may have
/// removed the file after it was opened.
bool stillThere(int fd, const std::string &path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Opens or makes the lock file. Returns none, with errno, if it can't. Anything but a regular file
/// is not a lock.
Descriptor openLock(const std::string &path, std::optional<unsigned> group) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                         group ? 0660 : 0600));
  struct stat info;
  if (!file || fstat(file.get(), &info) != 0)
    return file;
  if (!S_ISREG(info.st_mode)) {
    file.reset();
    errno = EINVAL;
    return file;
  }
  // Sets the mode, whatever the umask and the folder made of it.
  const mode_t mode = group ? 0660 : 0600;
  if (info.st_uid == geteuid() &&
      (!group || info.st_gid == *group ||
       fchown(file.get(), static_cast<uid_t>(-1), *group) == 0) &&
      (info.st_mode & 07777) != mode)
    (void)fchmod(file.get(), mode);
  return file;
}

} // namespace

FileLock::State FileLock::acquire(const std::string &path, std::chrono::milliseconds timeout,
                                  const std::function<bool()> &stop,
                                  std::optional<unsigned> group) {
  release();
  auto deadline = std::chrono::steady_clock::now() + timeout;
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    Descriptor file = openLock(path, group);
    if (!file && errno != EINTR)
      return State::unusable;
    if (file) {
      // This is an open-file-description lock, so it keeps out other threads of this process as
      // well.
      struct flock lock{};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      const bool taken = fcntl(file.get(), F_OFD_SETLK, &lock) == 0;
      const int error = errno;
      if (taken && stillThere(file.get(), path)) {
        file_ = std::move(file);
        path_ = path;
        return State::held;
      }
      file.reset();
      if (!taken && error != EAGAIN && error != EACCES && error != EINTR)
        return State::unusable;
    }
    // Whatever the reason, there is an end to it: a file that was removed meanwhile is made anew, but
    // on a file system that never says which file is there (NFS: ESTALE) none ever is the same.
    if ((stop && stop()) || std::chrono::steady_clock::now() >= deadline)
      return State::gaveUp;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
}

void FileLock::release() {
  if (!file_)
    return;
  // The file is removed before the lock is released, so that the next owner sees that it is gone.
  ::unlink(path_.c_str());
  file_.reset();
}

} // namespace flydsl::cache
