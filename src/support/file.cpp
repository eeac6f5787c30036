#include "support/file.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace flydsl::support {

namespace {

std::string why(const std::string &what, int error) { return what + ": " + std::strerror(error); }
std::string why(const char *what) { return why(std::string(what), errno); }

const char *kindOf(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFDIR:
    return "a directory";
  case S_IFIFO:
    return "a pipe";
  case S_IFSOCK:
    return "a socket";
  case S_IFCHR:
  case S_IFBLK:
    return "a device";
  default:
    return "no regular file";
  }
}

std::string folderOf(const std::string &path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Flushes a file to disk. Devices and pipes have nothing to flush and report that, which is not an
/// error.
std::string flush(int fd) {
  if (::fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
    return why("fsync");
  return {};
}

std::string closeChecked(Descriptor &file) {
  return ::close(file.take()) == 0 ? std::string() : why("close");
}

/// The name at the end of a chain of symbolic links; nothing needs to exist there.
std::string followed(std::string path, std::string &problem) {
  for (int links = 0; links < 40; ++links) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length < 0)
      return path; // not a link, or nothing there
    std::string next(target, static_cast<std::size_t>(length));
    path = next.starts_with("/") ? next : folderOf(path) + "/" + next;
  }
  problem = why("open", ELOOP);
  return path;
}

std::string writeThrough(const std::string &path, std::span<const std::uint8_t> data,
                         bool durable) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file)
    return why("open");
  std::string problem = writeAll(file.get(), data);
  if (problem.empty() && durable)
    problem = flush(file.get());
  if (problem.empty())
    problem = closeChecked(file);
  return problem;
}

bool lockWhole(int fd) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/// Opens a new file beside `path` and holds a lock on it while it is open: a process that can lock
/// the file knows that its writer is gone. Returns none, with errno, if it can't make one.
Descriptor openTemporary(const std::string &path, mode_t mode, std::string &name) {
  static std::atomic<unsigned> counter{0};
  const unsigned salt = std::random_device{}(); // process ids repeat between machines
  for (int tries = 0; tries < 100; ++tries) {
    name = path + "." + std::to_string(::getpid()) + "." + std::to_string(salt) + "." +
           std::to_string(counter++) + std::string(kTemporarySuffix);
    Descriptor file(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file && (errno == EEXIST || errno == EINTR))
      continue;
    if (!file)
      return file;
    const bool locked = lockWhole(file.get());
    struct stat info;
    // A process that cleans up may have removed the name before the lock was taken.
    if ((locked || (errno != EAGAIN && errno != EACCES)) && ::fstat(file.get(), &info) == 0 &&
        info.st_nlink > 0)
      return file;
    ::unlink(name.c_str());
  }
  errno = EEXIST;
  return Descriptor();
}

/// Sets owner and mode of a file that was just made, whatever the umask was.
std::string setAccess(int fd, mode_t mode, const std::optional<unsigned> &group) {
  if (group && ::fchown(fd, static_cast<uid_t>(-1), *group) != 0)
    return why("giving it to group " + std::to_string(*group), errno);
  if (::fchmod(fd, mode) != 0)
    return why("chmod");
  return {};
}

std::string makeFolder(const std::string &folder, const WriteOptions &options) {
  const mode_t mode = !options.ours ? 0777 : options.group ? 02770 : 0700;
  if (::mkdir(folder.c_str(), mode) != 0)
    return errno == EEXIST ? std::string() : why("making the folder " + folder, errno);
  if (!options.ours)
    return {};
  Descriptor made(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!made) {
    // The umask may take even the owner's right to read.
    if (::chmod(folder.c_str(), mode) != 0)
      return why("chmod " + folder, errno);
    return {};
  }
  return setAccess(made.get(), mode, options.group);
}

std::string replaceFile(const std::string &path, std::span<const std::uint8_t> data, mode_t mode,
                        bool setMode, const WriteOptions &options) {
  std::string temporary;
  Descriptor file = openTemporary(path, setMode ? mode & 0700 : mode, temporary);
  if (!file)
    return why("making a file in " + folderOf(path), errno);
  std::string problem;
  if (setMode)
    problem = setAccess(file.get(), mode, options.ours ? options.group : std::nullopt);
  if (problem.empty())
    problem = writeAll(file.get(), data);
  if (problem.empty() && options.durable)
    problem = flush(file.get());
  if (problem.empty() && ::rename(temporary.c_str(), path.c_str()) != 0)
    problem = why("rename");
  if (!problem.empty()) {
    ::unlink(temporary.c_str());
    return problem;
  }
  if (options.durable) {
    // The rename becomes durable when the directory is flushed. If a directory can't be flushed, a
    // power failure may lose the file, but the file can't be wrong.
    Descriptor folder(::open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder)
      ::fsync(folder.get());
  }
  // The file has its name now, so the lock may go with the descriptor.
  return closeChecked(file);
}

} // namespace

//===-- reading -----------------------------------------------------------===//

InputFile::InputFile(const std::string &path, const Trust &trust) {
  struct stat info;
  // The file is examined before it is opened, because opening a device may have an effect. It is
  // examined again afterwards, because another file may have taken the name meanwhile.
  bool there = ::stat(path.c_str(), &info) == 0;
  if (there && S_ISREG(info.st_mode)) {
    do
      file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    while (!file_ && errno == EINTR);
    there = file_ && ::fstat(file_.get(), &info) == 0;
  }
  if (!there) {
    absent_ = errno == ENOENT || errno == ENOTDIR;
    problem_ = std::strerror(errno);
  } else if (!S_ISREG(info.st_mode)) {
    problem_ = std::string("it is ") + kindOf(info.st_mode) + ", not a regular file";
  } else {
    problem_ = distrust(info, trust);
    size_ = static_cast<std::uint64_t>(info.st_size);
  }
}

bool InputFile::read(std::uint64_t offset, std::span<std::uint8_t> into) {
  if (!problem_.empty())
    return false;
  while (!into.empty()) {
    const ssize_t n = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      problem_ = n < 0 ? std::strerror(errno) : "it ends early";
      return false;
    }
    offset += static_cast<std::uint64_t>(n);
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

FileContents readAll(const std::string &path, std::uint64_t most, const Trust &trust) {
  InputFile file(path, trust);
  FileContents contents;
  contents.absent = file.absent();
  contents.problem = file.problem();
  if (!contents.problem.empty())
    return contents;
  if (file.size() > most) {
    contents.problem = "it has " + std::to_string(file.size()) + " bytes; " + std::to_string(most) +
                       " is the most for such a file";
    return contents;
  }
  Bytes bytes(static_cast<std::size_t>(file.size()));
  if (file.read(0, bytes))
    contents.bytes = std::move(bytes);
  contents.problem = file.problem();
  return contents;
}

//===-- writing -----------------------------------------------------------===//

std::string makeFolders(const std::string &folder, const WriteOptions &options) {
  struct stat info;
  if (folder.empty() || (::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)))
    return {};
  const std::string above = folderOf(folder);
  if (above != folder && above.size() < folder.size())
    if (std::string problem = makeFolders(above, options); !problem.empty())
      return problem;
  if (std::string problem = makeFolder(folder, options); !problem.empty())
    return problem;
  if (::stat(folder.c_str(), &info) != 0)
    return why("making the folder " + folder, errno);
  return S_ISDIR(info.st_mode) ? std::string() : why(folder, ENOTDIR);
}

std::string writeFile(const std::string &path, std::span<const std::uint8_t> data,
                      const WriteOptions &options) {
  std::string target = path;
  if (options.existing == WriteOptions::Existing::writeThrough) {
    std::string problem;
    target = followed(path, problem);
    if (!problem.empty())
      return problem;
  }
  if (options.makeFolders)
    if (std::string problem = makeFolders(folderOf(target), options); !problem.empty())
      return problem;

  struct stat info;
  const bool there = ::lstat(target.c_str(), &info) == 0;
  if (there && !S_ISREG(info.st_mode) && options.existing == WriteOptions::Existing::writeThrough)
    return S_ISDIR(info.st_mode) ? why("open", EISDIR)
                                 : writeThrough(target, data, options.durable);
  if (options.ours)
    return replaceFile(target, data, options.group ? 0660 : 0600, true, options);
  const bool keepMode = there && S_ISREG(info.st_mode);
  return replaceFile(target, data, keepMode ? info.st_mode & 07777 : 0666, keepMode, options);
}

std::string writeFile(const std::string &path, std::string_view text, const WriteOptions &options) {
  return writeFile(
      path, std::span(reinterpret_cast<const std::uint8_t *>(text.data()), text.size()), options);
}

WriteOptions ownOptions(const Trust &trust) {
  WriteOptions options;
  options.existing = WriteOptions::Existing::replace;
  options.ours = true;
  options.group = trust.group;
  options.makeFolders = true;
  return options;
}

FolderLock::FolderLock(const std::string &path, unsigned seconds, std::string &problem) {
  const std::string folder = folderOf(path);
  folder_.reset(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (folder_ && ::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return; // this file system has no locks
    if (std::chrono::steady_clock::now() >= deadline) {
      problem = "another process has held the lock on " + folder + " for " +
                std::to_string(seconds) + " s";
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool removeAbandoned(const std::string &path) {
  constexpr std::int64_t hour = 3600;
  Descriptor file(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return false;
  // A file from the future was written before a clock was set back.
  const bool old = std::abs(std::int64_t(std::time(nullptr)) - info.st_mtim.tv_sec) > hour;
  return (lockWhole(file.get()) || old) && ::unlink(path.c_str()) == 0;
}

} // namespace flydsl::support
