// Reading and writing files in whose place there is something else.
#include "processes.h"
#include "scratch.h"

#include "support/text.h"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

using namespace flydsl;
using namespace flydsl::cache::test;
using support::readAll;
using support::writeFile;
using support::WriteOptions;

namespace fs = std::filesystem;

namespace {

std::string textOf(const std::string &path) {
  const cache::Bytes bytes = contentsOf(path);
  return {bytes.begin(), bytes.end()};
}

mode_t modeOf(const std::string &path) {
  struct stat info;
  REQUIRE(lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

WriteOptions withFolders() {
  WriteOptions options;
  options.makeFolders = true;
  return options;
}

WriteOptions quickly() {
  WriteOptions options;
  options.durable = false;
  return options;
}

std::size_t filesIn(const std::string &folder) {
  std::size_t files = 0;
  for ([[maybe_unused]] const auto &entry : fs::directory_iterator(folder))
    ++files;
  return files;
}

} // namespace

TEST_CASE("What is no regular file is not read, and nothing waits for it") {
  Scratch scratch;
  TimeLimit limit(20);
  const std::string pipe = scratch.path + "/pipe", link = scratch.path + "/link";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE(symlink(pipe.c_str(), link.c_str()) == 0);
  CHECK_THAT(readAll(pipe, 100).problem, Catch::Contains("a pipe"));
  CHECK_THAT(readAll(link, 100).problem, Catch::Contains("a pipe"));
  CHECK_THAT(readAll("/dev/zero", 100).problem, Catch::Contains("a device"));
  CHECK_THAT(readAll(scratch.path, 100).problem, Catch::Contains("a directory"));
  CHECK(readAll(scratch.path + "/none", 100).absent);
  CHECK_FALSE(readAll(pipe, 100).absent);
}

TEST_CASE("A file over the limit is refused before memory is asked for") {
  Scratch scratch;
  const std::string sparse = scratch.path + "/sparse";
  REQUIRE(writeFile(sparse, "x") == "");
  REQUIRE(truncate(sparse.c_str(), off_t(1) << 40) == 0);
  CHECK_THAT(readAll(sparse, 1 << 20).problem,
             Catch::Contains("1099511627776") && Catch::Contains("1048576"));
}

TEST_CASE("A regular file is replaced whole and keeps its mode; a link's target is, not the link") {
  Scratch scratch;
  const std::string file = scratch.path + "/file", link = scratch.path + "/link",
                    other = scratch.path + "/folder/other";
  REQUIRE(writeFile(file, "old") == "");
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  REQUIRE(symlink("file", link.c_str()) == 0);
  CHECK(writeFile(link, "new") == "");
  CHECK(fs::is_symlink(link));
  CHECK(textOf(file) == "new");
  CHECK(modeOf(file) == 0640);

  // A link to what is not there yet makes it there.
  const std::string dangling = scratch.path + "/dangling";
  REQUIRE(symlink("folder/other", dangling.c_str()) == 0);
  CHECK_THAT(writeFile(dangling, "x"), Catch::Contains("No such file"));
  CHECK(writeFile(dangling, "x", withFolders()) == "");
  CHECK(fs::is_symlink(dangling));
  CHECK(textOf(other) == "x");

  const std::string loop = scratch.path + "/loop";
  REQUIRE(symlink("loop", loop.c_str()) == 0);
  CHECK_THAT(writeFile(loop, "x"), Catch::Contains("links"));
  CHECK_THAT(writeFile(scratch.path, "x"), Catch::Contains("directory"));
  CHECK(filesIn(scratch.path) == 5);
}

TEST_CASE("Devices and pipes are written through, and their errors are told") {
  TimeLimit limit(30);
  CHECK(writeFile("/dev/null", "x") == "");
  CHECK(fs::is_character_file("/dev/null"));
  if (fs::exists("/dev/full")) {
    CHECK_THAT(writeFile("/dev/full", "x"), Catch::Contains("No space left"));
    CHECK(fs::is_character_file("/dev/full"));
  }

  Scratch scratch;
  const std::string pipe = scratch.path + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] {
    const int fd = ::open(pipe.c_str(), O_RDONLY);
    char part[100];
    for (ssize_t n; (n = ::read(fd, part, sizeof part)) > 0;)
      received.append(part, static_cast<std::size_t>(n));
    ::close(fd);
  });
  CHECK(writeFile(pipe, "through the pipe") == "");
  reader.join();
  CHECK(received == "through the pipe");
  CHECK(fs::is_fifo(pipe));

  // A reader that leaves is an error, and not the end of this process by SIGPIPE.
  std::thread leaver([&] { ::close(::open(pipe.c_str(), O_RDONLY)); });
  const std::string much(8 << 20, 'x');
  CHECK_THAT(writeFile(pipe, much), Catch::Contains("Broken pipe"));
  leaver.join();

  // A name of our own is replaced: nobody can make us wait.
  WriteOptions own;
  own.existing = WriteOptions::Existing::replace;
  CHECK(writeFile(pipe, "mine", own) == "");
  CHECK(textOf(pipe) == "mine");
}

TEST_CASE("What is ours is for this user alone, whatever the umask") {
  Scratch scratch;
  WriteOptions own;
  own.ours = own.makeFolders = true;
  int number = 0;
  for (mode_t mask : {0000, 0022, 0777}) {
    const std::string folder = scratch.path + "/" + std::to_string(number++) + "/inner";
    const mode_t before = umask(mask);
    const std::string problem = writeFile(folder + "/file", "x", own);
    umask(before);
    CHECK(problem == "");
    CHECK(modeOf(folder) == 0700);
    CHECK(modeOf(fs::path(folder).parent_path()) == 0700);
    CHECK(modeOf(folder + "/file") == 0600);
  }
}

TEST_CASE("The reason that is told is the first one: a folder that can't be made") {
  if (geteuid() != 0)
    return;
  Scratch scratch;
  REQUIRE(chmod(scratch.path.c_str(), 0555) == 0);
  CHECK(asUser(12345, [&] {
          const std::string made = writeFile(scratch.path + "/a/b/file", "x", withFolders());
          const std::string file = writeFile(scratch.path + "/file", "x");
          return made.find("Permission denied") == made.npos ||
                 made.find(scratch.path + "/a") == made.npos ||
                 file.find("Permission denied") == file.npos;
        }) == 0);
}

TEST_CASE("Two writers of one file: what is there is one of the two, whole") {
  Scratch scratch;
  const std::string file = scratch.path + "/file";
  const std::string texts[] = {std::string(300'000, 'a'), std::string(200'000, 'b')};
  std::vector<pid_t> writers;
  for (const std::string &text : texts)
    writers.push_back(start([&] {
      for (int i = 0; i < 40; ++i)
        if (!writeFile(file, text, quickly()).empty())
          return 1;
      return 0;
    }));
  int seen = 0;
  while (seen < 200) {
    if (!fs::exists(file))
      continue;
    const std::string now = textOf(file);
    if (now != texts[0] && now != texts[1])
      FAIL("a file of " << now.size() << " bytes");
    ++seen;
  }
  for (pid_t writer : writers)
    CHECK(wait(writer) == 0);
  CHECK(filesIn(scratch.path) == 1);
}

TEST_CASE("A writer that stands still keeps its file; a dead one's file goes") {
  Scratch scratch;
  TimeLimit limit(60);
  const std::string text(64 << 20, 'x');
  const pid_t writer = start([&]() -> int {
    for (;;)
      (void)writeFile(scratch.path + "/file", text, quickly());
  });
  REQUIRE(stopInWrite(writer, scratch.path));
  const std::string temporary = begunFiles(scratch.path).front();
  CHECK_FALSE(support::removeAbandoned(temporary));
  CHECK(fs::exists(temporary));
  kill(writer, SIGKILL);
  CHECK(wait(writer) == 1000 + SIGKILL);
  CHECK(support::removeAbandoned(temporary));
  CHECK_FALSE(fs::exists(temporary));
}

TEST_CASE("Text of unknown origin can't move a cursor, forge a line or end a comment") {
  using support::printable;
  CHECK(printable("vector_add<float>") == "vector_add<float>");
  CHECK(printable("größe µ 矩阵") == "größe µ 矩阵");
  CHECK(printable("a\x1b[2Jb\r\nc\x7f") == "a\\x1b[2Jb\\x0d\\x0ac\\x7f");
  CHECK(printable("a\nb", "\n") == "a\nb");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\x9b31m"); // the one-character form of ESC [
  CHECK(printable("\xff\xc3(\xe2\x82") == "\\xff\\xc3(\\xe2\\x82");
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a\\u202eb"); // right-to-left override
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(support::inComment("*/ int x; /*") == "* / int x; / *");
  CHECK(support::inComment("**//") == "** //");
  CHECK(support::inComment("a\n#error") == "a\\x0a#error");
}

TEST_CASE("Names of files differ where texts do") {
  using support::fileName;
  CHECK(fileName("vector_add-1.2") == "vector_add-1.2");
  CHECK(fileName("a/b") != fileName("a b"));
  CHECK(fileName("a/b") != fileName("a_b"));
  CHECK(fileName("") != fileName("_"));
  CHECK(fileName("..") != fileName("_."));
  CHECK(fileName("../../etc").find('/') == std::string::npos);
  CHECK_FALSE(fileName(".hidden").starts_with("."));
  const std::string longName(300, 'x');
  CHECK(fileName(longName) != fileName(longName + "y"));
  CHECK(fileName(longName).size() < 200);
}
