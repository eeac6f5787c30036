#include "support/env_check.h"
#include "support/env_variables.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace support = flydsl::support;
namespace env = support::env;

namespace {

/// A variable has a value for as long as this lives.
class Setting {
public:
  Setting(const support::EnvVariable &variable, const char *value) : name_(variable.name()) {
    setenv(name_.c_str(), value, 1);
  }
  ~Setting() { unsetenv(name_.c_str()); }

private:
  std::string name_;
};

std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char *kTableHead = "| variable | meaning |\n|---|---|\n";

std::string table(const support::EnvSection &section) {
  std::string text = kTableHead;
  for (const support::EnvVariable *variable : section.variables)
    text +=
        "| `" + std::string(variable->name()) + "` | " + std::string(variable->meaning()) + " |\n";
  return text;
}

/// docs/environment.md as the registry says it.
std::string page() {
  std::string text =
      "# Environment variables\n\n"
      "The names are FlyDSL's own where FlyDSL has the variable. Flags take 1 or 0, true or false, "
      "yes or no, on or off. A value that\n"
      "can't be read is an error that names the variable and what it takes, before anything is "
      "built "
      "or launched. Empty is the same as unset. A\n"
      "`FLYDSL_` variable that nothing reads is warned about once per process, with the closest "
      "name "
      "that there is. This page is printed from the\n"
      "registry in `src/support/env_variables.h`; a test compares the two.\n\n"
      "In parentheses: what holds when the variable is not set.\n";
  for (const support::EnvSection &section : support::environment())
    text += "\n## " + std::string(section.title) + "\n\n" + table(section);
  return text +
         "\nThe target is looked for in the order above, then asked of the device. When none "
         "of them knows, that is an error that\n"
         "lists the supported targets; there is no default.\n";
}

} // namespace

TEST_CASE("every variable has a meaning and appears once") {
  std::set<std::string_view> seen;
  for (const support::EnvSection &section : support::environment())
    for (const support::EnvVariable *variable : section.variables) {
      CHECK(seen.insert(variable->name()).second);
      CHECK_FALSE(variable->meaning().empty());
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
    Setting setting(env::kDumpIr, text);
    CHECK(env::kDumpIr.get() == value);
  }
  Setting setting(env::kDumpIr, "maybe\x1b[2J");
  CHECK_THROWS_WITH(
      env::kDumpIr.get(),
      "FLYDSL_DUMP_IR=maybe\\x1b[2J: expected 1 or 0 (or true/false, yes/no, on/off)");
  Setting empty(env::kVerifier, "");
  CHECK(env::kVerifier.get());
}

TEST_CASE("numbers, words and sizes say what they take") {
  {
    Setting setting(env::kCompileTimeout, "30");
    CHECK(env::kCompileTimeout.get() == 30);
  }
  CHECK(env::kCompileTimeout.get() == 600);
  CHECK_FALSE(env::kCompileThreads.asked());
  for (const char *wrong : {"-1", "1.5", "0x10", "99999999999999999999", "1000001", " 3", "3 "}) {
    CAPTURE(wrong);
    Setting setting(env::kCompileTimeout, wrong);
    CHECK_THROWS_WITH(env::kCompileTimeout.get(),
                      std::string("FLYDSL_COMPILE_TIMEOUT=") + wrong +
                          ": expected a whole number from 0 to 1000000");
  }
  {
    Setting setting(env::kLogLevel, "DEBUG");
    CHECK(env::kLogLevel.get() == env::LogLevel::debug);
  }
  {
    Setting setting(env::kLogLevel, "loud");
    CHECK_THROWS_WITH(
        env::kLogLevel.get(),
        "FLYDSL_DEBUG_LOG_LEVEL=loud: expected off, error, warn, info, debug, trace or warning");
  }
  {
    Setting setting(env::kCacheSize, "64k");
    CHECK(env::kCacheSize.get().bytes == 65536);
  }
  Setting setting(env::kCacheSize, "much");
  CHECK_THROWS_WITH(env::kCacheSize.get(), Catch::StartsWith("FLYDSL_RUNTIME_CACHE_SIZE=much: "));
}

TEST_CASE(
    "no variable with words, numbers or flags takes garbage, and the first one found is told") {
  std::set<std::string_view> texts;
  for (const support::EnvSection &section : support::environment())
    for (const support::EnvVariable *variable : section.variables) {
      CAPTURE(variable->name());
      Setting setting(*variable, "garbage");
      if (dynamic_cast<const support::Env<std::string> *>(variable)) {
        texts.insert(variable->name());
        CHECK_NOTHROW(variable->check());
        continue;
      }
      CHECK_THROWS_WITH(variable->check(),
                        Catch::StartsWith(std::string(variable->name()) + "=garbage: expected "));
      CHECK_THROWS_WITH(support::checkEnvironmentValues(),
                        Catch::StartsWith(std::string(variable->name()) + "=garbage: expected "));
    }
  CHECK(texts.count("FLYDSL_RUNTIME_CACHE_DIR") == 1);
  CHECK(texts.count("FLYDSL_EMULATOR_COUNTERS") == 0);
  CHECK_NOTHROW(support::checkEnvironmentValues());
}

TEST_CASE("the documentation is what the registry prints") {
  const std::filesystem::path file = std::filesystem::path(PROJECT_SOURCE) / "docs/environment.md";
  if (std::getenv("DOCS_UPDATE"))
    std::ofstream(file) << page();
  CHECK(contents(file) == page());
}

TEST_CASE("guides that show variables show a table of the registry") {
  const std::pair<const char *, std::string_view> guides[] = {
      {"emulator.md", "Emulator"}, {"fleet-cache.md", "The fleet's cache"}};
  for (const auto &[name, title] : guides) {
    const std::filesystem::path file = std::filesystem::path(PROJECT_SOURCE) / "docs" / name;
    for (const support::EnvSection &section : support::environment()) {
      if (section.title != title)
        continue;
      std::string text = contents(file);
      const std::size_t at = text.find(kTableHead);
      REQUIRE(at != std::string::npos);
      const std::size_t end = text.find("\n\n", at) + 1;
      CHECK(text.substr(at, end - at) == table(section));
      if (std::getenv("DOCS_UPDATE"))
        std::ofstream(file) << text.replace(at, end - at, table(section));
    }
  }
}

TEST_CASE("variables are read through the registry") {
  const std::filesystem::path root = PROJECT_SOURCE;
  std::set<std::string> known;
  for (const support::EnvSection &section : support::environment())
    for (const support::EnvVariable *variable : section.variables)
      known.insert(std::string(variable->name()));
  const std::regex pattern("\"(FLYDSL_[A-Z_]+|ARCH|COMPILE_ONLY|HSA_OVERRIDE_GFX_VERSION)\"");
  for (const auto &entry : std::filesystem::recursive_directory_iterator(root / "src")) {
    if (!entry.is_regular_file())
      continue;
    const std::string text = contents(entry.path());
    CAPTURE(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
      CHECK(known.count((*at)[1]));
    const bool emulator = entry.path().string().find("/emulator/") != std::string::npos;
    if (!emulator && entry.path().filename() != "env.cpp")
      CHECK(text.find("getenv(") == std::string::npos);
  }
}
