#include "support/env.h"
#include "support/env_names.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace support = flydsl::support;

TEST_CASE("every known variable has a meaning and appears once") {
  std::set<std::string_view> seen;
  for (const auto &[name, meaning] : support::knownEnvironment()) {
    CHECK(seen.insert(name).second);
    CHECK_FALSE(meaning.empty());
  }
  CHECK(seen.count("FLYDSL_RUNTIME_KIND") == 1);
}

TEST_CASE("a misspelled name is told with the closest known one") {
  setenv("FLYDSL_DUMP_IRR", "1", 1);
  setenv("FLYDSL_SOMETHING_THAT_NOBODY_MEANT", "1", 1);
  auto warnings = support::unknownEnvironment();
  unsetenv("FLYDSL_DUMP_IRR");
  unsetenv("FLYDSL_SOMETHING_THAT_NOBODY_MEANT");
  std::set<std::string> all(warnings.begin(), warnings.end());
  CHECK(all.count("FLYDSL_DUMP_IRR is not read by anything; did you mean FLYDSL_DUMP_IR?") == 1);
  CHECK(all.count("FLYDSL_SOMETHING_THAT_NOBODY_MEANT is not read by anything") == 1);
  CHECK(support::closestEnvironmentName("FLYDSL_RUNTIME_CACHEDIR") == "FLYDSL_RUNTIME_CACHE_DIR");
}

TEST_CASE("flags take the usual words and nothing else") {
  for (auto [text, value] : {std::pair{"1", true}, {"ON", true}, {"0", false}, {"No", false}}) {
    setenv("FLYDSL_DUMP_IR", text, 1);
    CHECK(support::envFlag("FLYDSL_DUMP_IR", !value) == value);
  }
  setenv("FLYDSL_DUMP_IR", "maybe", 1);
  CHECK_THROWS_WITH(support::envFlag("FLYDSL_DUMP_IR", false),
                    Catch::Contains("FLYDSL_DUMP_IR=maybe"));
  setenv("FLYDSL_DUMP_IR", "", 1);
  CHECK(support::envFlag("FLYDSL_DUMP_IR", true));
  unsetenv("FLYDSL_DUMP_IR");
}

namespace {
std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The names in quotation marks (sources) or in code marks (documentation) that look like variables
/// of ours.
void collect(const std::string &text, const std::regex &pattern, std::set<std::string> &into) {
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    into.insert((*at)[1]);
}
} // namespace

TEST_CASE("sources, list and documentation name the same variables") {
  const std::filesystem::path root = PROJECT_SOURCE;
  std::set<std::string> known, documented, read;
  for (const auto &[name, meaning] : support::knownEnvironment())
    known.insert(std::string(name));
  const std::string names = "(FLYDSL_[A-Z_]+|ARCH|COMPILE_ONLY|HSA_OVERRIDE_GFX_VERSION)";
  collect(contents(root / "docs/environment.md"), std::regex("\\| `" + names + "` \\|"),
          documented);
  for (const auto &entry : std::filesystem::recursive_directory_iterator(root / "src"))
    if (entry.is_regular_file() && entry.path().filename() != "env_names.cpp")
      collect(contents(entry.path()), std::regex("\"" + names + "\""), read);
  CHECK(documented == known);
  CHECK(read == known);
}
