#include "support/descriptor.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace flydsl::support;

namespace {

bool isOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

std::string contentsOf(int fd) {
  std::string text(100, '\0');
  const ssize_t n = read(fd, text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

} // namespace

TEST_CASE("A descriptor is closed once, by the last that has it") {
  int number = -1;
  {
    Descriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(first);
    number = first.get();
    Descriptor second = std::move(first);
    CHECK_FALSE(first);
    CHECK(second.get() == number);
    first = std::move(second);
    CHECK(first.get() == number);
    CHECK(isOpen(number));
  }
  CHECK_FALSE(isOpen(number));
  Descriptor given(open("/dev/null", O_RDONLY | O_CLOEXEC));
  number = given.take();
  given.reset();
  CHECK(isOpen(number));
  close(number);
  CHECK_FALSE(Descriptor());
}

TEST_CASE("A file in memory holds the bytes and stands at its beginning") {
  const std::vector<std::uint8_t> bytes{'f', 'l', 'y', 0, '!'};
  std::string problem;
  const Descriptor file = memoryFile("test", bytes, problem);
  REQUIRE(file);
  CHECK(problem.empty());
  CHECK(contentsOf(file.get()) == std::string("fly\0!", 5));
  const Descriptor again(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(contentsOf(again.get()).size() == 5);
  CHECK((fcntl(file.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(contentsOf(memoryFile("empty", {}, problem).get()).empty());
  CHECK(problem.empty());
}

TEST_CASE("A file that can't be written is a reason, and no signal") {
  std::string problem;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{16, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Descriptor file = memoryFile("large", std::vector<std::uint8_t>(1000), problem);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(file);
  CHECK(problem.starts_with("write: "));
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  Descriptor readEnd(ends[0]);
  const Descriptor writeEnd(ends[1]);
  readEnd.reset();
  CHECK(writeAll(writeEnd.get(), std::vector<std::uint8_t>(1)).starts_with("write: "));
}
