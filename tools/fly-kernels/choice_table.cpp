#include "choice_table.h"

#include <flydsl/error.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace fly_kernels {

flydsl::Config valuesOf(const flydsl::Config &config, std::span<const std::string> fields) {
  std::vector<flydsl::Config::Entry> entries;
  for (const std::string &field : fields) {
    const auto at = std::find_if(config.entries().begin(), config.entries().end(),
                                 [&](const auto &entry) { return entry.name == field; });
    if (at == config.entries().end()) {
      std::string names;
      for (const auto &entry : config.entries())
        names += (names.empty() ? "" : ", ") + entry.name;
      throw flydsl::Error("a table of the field " + field + ": the configurations have " + names);
    }
    entries.push_back(*at);
  }
  return flydsl::Config(std::move(entries));
}

const TimedConfig &TimedProblem::quickest() const {
  return *std::min_element(all.begin(), all.end(), [](const auto &a, const auto &b) {
    return a.microseconds < b.microseconds;
  });
}

std::vector<ChoiceRow> leastTable(std::span<const TimedProblem> problems,
                                  std::span<const std::string> fields, double share) {
  // Which problems a row would serve. The key is the row as text, so that the order is that of no run.
  std::map<std::string, ChoiceRow> rows;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const double most = problems[i].quickest().microseconds * (1 + share);
    for (const TimedConfig &timed : problems[i].all) {
      flydsl::Config values = valuesOf(timed.config, fields);
      if (timed.microseconds > most)
        continue;
      ChoiceRow &row = rows.try_emplace(values.str()).first->second;
      row.values = std::move(values);
      if (row.problems.empty() || row.problems.back() != i)
        row.problems.push_back(i);
    }
  }
  std::vector<ChoiceRow> table;
  std::vector<bool> isServed(problems.size());
  const auto left = [&](const ChoiceRow &row) {
    return std::count_if(row.problems.begin(), row.problems.end(),
                         [&](std::size_t i) { return !isServed[i]; });
  };
  for (;;) {
    const auto most = std::max_element(rows.begin(), rows.end(), [&](const auto &a, const auto &b) {
      return left(a.second) < left(b.second);
    });
    if (most == rows.end() || left(most->second) == 0)
      return table;
    ChoiceRow row = most->second;
    std::erase_if(row.problems, [&](std::size_t i) { return isServed[i]; });
    for (std::size_t i : row.problems)
      isServed[i] = true;
    table.push_back(std::move(row));
  }
}

std::string initialiserOf(const std::string &fields) {
  std::istringstream words(fields);
  std::string text;
  for (std::string word; words >> word;)
    text += (text.empty() ? "{" : ", ") + word.substr(word.find('=') + 1);
  return text + "},";
}

} // namespace fly_kernels
