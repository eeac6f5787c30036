#include "cache/file_lock.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace flydsl::cache {

namespace {

/// True if `path` still names the file that `fd` has open: its last owner may have removed it
/// meanwhile.
bool stillThere(int fd, const std::string &path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

} // namespace

FileLock::State FileLock::acquire(const std::string &path, std::chrono::milliseconds timeout,
                                  const std::function<bool()> &stop) {
  release();
  auto deadline = std::chrono::steady_clock::now() + timeout;
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EINTR)
      continue;
    if (fd < 0)
      return State::unusable;
    // An open-file-description lock: other threads of this process are kept out as well.
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
      if (stillThere(fd, path)) {
        fd_ = fd;
        path_ = path;
        return State::held;
      }
      ::close(fd);
      continue;
    }
    int error = errno;
    ::close(fd);
    if (error != EAGAIN && error != EACCES && error != EINTR)
      return State::unusable;
    if ((stop && stop()) || std::chrono::steady_clock::now() >= deadline)
      return State::gaveUp;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
}

void FileLock::release() {
  if (fd_ < 0)
    return;
  ::unlink(path_.c_str()); // before the lock goes, so that whoever gets it next sees that the file
                           // is gone
  ::close(fd_);
  fd_ = -1;
}

} // namespace flydsl::cache
