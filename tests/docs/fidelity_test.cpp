// The page of what is known of the emulator's results and times has the tables that fly-emu makes.
#include "markdown.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace fs = std::filesystem;

namespace {

const fs::path page = fs::path(FLYDSL_SOURCE_DIR) / "docs/emulator-fidelity.md";
constexpr const char *kBegin = "<!-- fly-emu fidelity -->",
                     *kEnd = "<!-- end of fly-emu fidelity -->";

using Lines = std::vector<std::string>;

/// The page up to its tables, the tables, and what follows.
struct Parts {
  Lines before, tables, after;
};
Parts parts() {
  const Lines all = docs::readLines(page);
  const auto begin = std::find(all.begin(), all.end(), kBegin);
  const auto end = std::find(begin, all.end(), kEnd);
  REQUIRE(begin != all.end());
  REQUIRE(end != all.end());
  return {{all.begin(), begin + 1}, {begin + 1, end}, {end, all.end()}};
}

Lines printed() {
  Lines lines;
  std::FILE *pipe = popen(FLYDSL_BUILD_DIR "/bin/fly-emu fidelity", "r");
  REQUIRE(pipe);
  char *line = nullptr;
  std::size_t room = 0;
  for (ssize_t length; (length = getline(&line, &room, pipe)) > 0;)
    lines.emplace_back(line,
                       static_cast<std::size_t>(line[length - 1] == '\n' ? length - 1 : length));
  std::free(line);
  REQUIRE(pclose(pipe) == 0);
  REQUIRE(lines.size() > 30);
  return lines;
}

} // namespace

TEST_CASE(
    "the page of fidelity has the tables of the code; docs_test \"[.update]\" makes them anew") {
  const Lines shown = parts().tables, made = printed();
  for (std::size_t i = 0; i < std::max(shown.size(), made.size()); ++i) {
    INFO(page << ", row " << i);
    REQUIRE(i < shown.size());
    REQUIRE(i < made.size());
    CHECK(shown[i] == made[i]);
  }
}

TEST_CASE("the page of fidelity takes over the tables of the code", "[.update]") {
  const Parts now = parts();
  const Lines made = printed();
  std::ofstream out(page);
  for (const Lines *lines : {&now.before, &made, &now.after})
    for (const std::string &line : *lines)
      out << line << "\n";
}
