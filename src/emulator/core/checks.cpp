#include "emulator/core/checks.h"

#include <algorithm>

namespace flyemu {

namespace {

struct NamedChecks {
  std::string_view name;
  unsigned checks;
};

constexpr unsigned kCheckAll = kCheckMemory | kCheckRace | kCheckInit |
                               kCheckSync | kCheckWait | kCheckStreams;

constexpr NamedChecks kNames[] = {
    {"memory", kCheckMemory}, {"race", kCheckRace}, {"race-same", kCheckRaceSame},
    {"init", kCheckInit},     {"sync", kCheckSync}, {"wait", kCheckWait},
    {"streams", kCheckStreams}, {"all", kCheckAll}, {"1", kCheckAll},
    {"none", kCheckNone},     {"0", kCheckNone},    {"", kCheckNone},
};

} // namespace

std::optional<unsigned> checksNamed(std::string_view list) {
  unsigned checks = kCheckNone;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view word = list.substr(at, comma - at);
    at = comma + 1;
    const auto *named = std::ranges::find(kNames, word, &NamedChecks::name);
    if (named == std::end(kNames))
      return std::nullopt;
    checks |= named->checks;
  }
  return checks;
}

} // namespace flyemu
