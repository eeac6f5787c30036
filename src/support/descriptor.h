// File descriptors that close themselves, and files that are in memory alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace flydsl::support {

/// Closes the file descriptor that it has when it goes out of scope.
class Descriptor {
public:
  /// Takes what open() and its like return; a negative number stands for none.
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor &&other) noexcept : fd_(other.take()) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    if (this != &other)
      reset(other.take());
    return *this;
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Gives it to the caller, who closes it.
  int take() { return std::exchange(fd_, -1); }
  /// Closes it and takes another one, or none.
  void reset(int fd = -1);
  /// A path of this process under which the file can be opened.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_;
};

/// Writes all the bytes, where the descriptor stands. Returns why it can't, or an empty text. A
/// pipe without a reader and the limit on a file's size are such reasons, and send no signal.
std::string writeAll(int fd, std::span<const std::uint8_t> bytes);

/// A file without a name on any disk, which holds the bytes and stands at its beginning. `name` is
/// what /proc shows. None, with `problem` set, where it can't be made.
Descriptor memoryFile(const char *name, std::span<const std::uint8_t> bytes, std::string &problem);

} // namespace flydsl::support
