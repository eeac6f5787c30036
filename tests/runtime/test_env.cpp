#include "support/env.h"
#include "support/env_names.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <cstdlib>
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
