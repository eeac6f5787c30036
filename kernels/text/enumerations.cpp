#include "text/enumerations.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::text {

std::string namesOf(const Enumerators &all) {
  std::string names;
  for (const auto &[value, name] : all)
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

std::int64_t enumeratorNamed(const std::string &field, const Enumerators &all,
                             const std::string &text) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto &one) {
    return one.second == text || std::to_string(one.first) == text;
  });
  if (found == all.end())
    throw Error(field + "=" + text + ": expected one of " + namesOf(all));
  return found->first;
}

std::string shown(const Config &config, const Enumerations &enumerations) {
  std::vector<Config::Entry> entries = config.entries();
  for (Config::Entry &entry : entries) {
    const auto found = enumerations.find(entry.name);
    if (found == enumerations.end())
      continue;
    const std::int64_t number = config.integer(entry.name);
    for (const auto &[value, name] : found->second)
      if (value == number)
        entry.value = name;
  }
  return Config(std::move(entries)).str();
}

} // namespace kernels::text
FLYDSL_NAMESPACE_END
