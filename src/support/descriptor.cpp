#include "support/descriptor.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <unistd.h>

namespace flydsl::support {

namespace {

std::string why(const char *what) { return std::string(what) + ": " + std::strerror(errno); }

/// Blocks the signals by which a write into a pipe without a reader, or past the limit on a file's
/// size, would end the process, so that such a write is an error instead. Both signals are sent to
/// the thread that writes.
class WithoutWriteSignals {
public:
  WithoutWriteSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGPIPE);
    sigaddset(&signals_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    for (int signal : {SIGPIPE, SIGXFSZ})
      if (sigismember(&pending, signal))
        sigdelset(&signals_, signal); // somebody else blocked this signal already
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~WithoutWriteSignals() {
    const timespec none{};
    while (sigtimedwait(&signals_, nullptr, &none) > 0 || errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutWriteSignals(const WithoutWriteSignals &) = delete;
  WithoutWriteSignals &operator=(const WithoutWriteSignals &) = delete;

private:
  sigset_t signals_, before_;
};

} // namespace

std::string writeAll(int fd, std::span<const std::uint8_t> bytes) {
  WithoutWriteSignals quiet;
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return why("write");
    if (n == 0)
      return "write: nothing was taken";
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

void Descriptor::reset(int fd) {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = fd;
}

Descriptor memoryFile(const char *name, std::span<const std::uint8_t> bytes, std::string &problem) {
  Descriptor file(memfd_create(name, MFD_CLOEXEC));
  if (!file)
    problem = why("memfd_create");
  else if (std::string failed = writeAll(file.get(), bytes); !failed.empty())
    problem = std::move(failed);
  else if (lseek(file.get(), 0, SEEK_SET) != 0)
    problem = why("lseek");
  else
    return file;
  return Descriptor();
}

} // namespace flydsl::support
