#include "support/env_check.h"

#include "support/env_variables.h"
#include "support/log.h"
#include "support/text.h"

#include <algorithm>

extern char **environ;

namespace flydsl::support {

/// The number of letters to insert, delete or replace to turn one text into the other.
static std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> closestEnvironmentName(std::string_view name) {
  std::optional<std::string_view> best;
  std::size_t least = name.size() / 3 + 1;
  for (const EnvSection &section : environment())
    for (const EnvVariable *known : section.variables)
      if (std::size_t d = distance(name, known->name()); d < least) {
        least = d;
        best = known->name();
      }
  return best;
}

static bool isKnown(std::string_view name) {
  for (const EnvSection &section : environment())
    for (const EnvVariable *known : section.variables)
      if (known->name() == name)
        return true;
  return false;
}

std::vector<std::string> unknownEnvironment() {
  std::vector<std::string> warnings;
  for (char **entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("FLYDSL_") || isKnown(name))
      continue;
    std::string warning = printable(name) + " is not read by anything";
    if (auto close = closestEnvironmentName(name))
      warning += "; did you mean " + std::string(*close) + "?";
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

void checkEnvironmentValues() {
  for (const EnvSection &section : environment())
    for (const EnvVariable *variable : section.variables)
      variable->check();
}

void checkEnvironment() {
  // Where it throws, the next caller checks again.
  static const bool checked = [] {
    checkEnvironmentValues();
    for (const std::string &warning : unknownEnvironment())
      log().warn("{}", warning);
    return true;
  }();
  (void)checked;
}

} // namespace flydsl::support
