#include "cache/config.h"

#include "support/env.h"

#include <flydsl/error.h>

#include <cctype>
#include <charconv>

namespace flydsl::cache {

std::uint64_t parseSize(std::string_view text) {
  auto refuse = [&]() -> Error {
    return Error("'" + std::string(text) +
                 "' is no size: expected a number of bytes, or one with K, M, G or T");
  };
  std::uint64_t number = 0;
  const char *end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc())
    throw refuse();
  std::string unit;
  for (; at != end; ++at)
    unit += static_cast<char>(std::toupper(static_cast<unsigned char>(*at)));
  constexpr std::string_view units = "KMGT";
  int shift = 0;
  if (!unit.empty() && units.find(unit[0]) != units.npos) {
    shift = 10 * (static_cast<int>(units.find(unit[0])) + 1);
    unit.erase(0, 1);
    if (unit == "IB")
      unit.clear();
  }
  if (!(unit.empty() || unit == "B") || (shift && number >> (64 - shift)))
    throw refuse();
  return number << shift;
}

Config Config::fromEnvironment() {
  Config config;
  config.disk = support::envFlag("FLYDSL_RUNTIME_ENABLE_CACHE", true);
  config.runOnly = support::envFlag("FLYDSL_RUNTIME_RUN_ONLY", false);
  if (auto directory = support::env("FLYDSL_RUNTIME_CACHE_DIR")) {
    config.directory = *directory;
  } else if (auto home = support::env("HOME")) {
    config.directory = *home + "/.flydsl/cache";
  } else {
    config.disk = false; // nowhere to put it
  }
  if (auto list = support::env("FLYDSL_RUNTIME_CACHE_READONLY_DIRS")) {
    std::size_t at = 0;
    while (at <= list->size()) {
      std::size_t end = std::min(list->find(':', at), list->size());
      if (end > at)
        config.readOnlyDirs.push_back(list->substr(at, end - at));
      at = end + 1;
    }
  }
  config.trust = support::Trust::ofCaches();
  if (auto size = support::env("FLYDSL_RUNTIME_CACHE_SIZE")) {
    try {
      config.sizeLimit = parseSize(*size);
    } catch (const Error &error) {
      throw Error(std::string("FLYDSL_RUNTIME_CACHE_SIZE: ") + error.what());
    }
  }
  return config;
}

} // namespace flydsl::cache
