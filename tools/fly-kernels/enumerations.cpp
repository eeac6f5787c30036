#include "enumerations.h"

#include "support/text.h"

#include <algorithm>

namespace fly_kernels {

using Named = std::pair<std::int64_t, std::string>;

std::string namesOf(const Enumerators &all) { return flydsl::support::joined(all, &Named::second); }

std::int64_t enumeratorNamed(const std::string &field, const Enumerators &all,
                             const std::string &text) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named &one) {
    return one.second == text || std::to_string(one.first) == text;
  });
  if (found == all.end())
    throw flydsl::Error(field + "=" + text + ": expected one of " + namesOf(all));
  return found->first;
}

std::string shown(const flydsl::Config &config, const Enumerations &enumerations) {
  std::vector<flydsl::Config::Entry> entries = config.entries();
  for (flydsl::Config::Entry &entry : entries) {
    const auto found = enumerations.find(entry.name);
    if (found == enumerations.end())
      continue;
    const std::int64_t number = config.integer(entry.name);
    for (const auto &[value, name] : found->second)
      if (value == number)
        entry.value = name;
  }
  return flydsl::Config(std::move(entries)).str();
}

} // namespace fly_kernels
