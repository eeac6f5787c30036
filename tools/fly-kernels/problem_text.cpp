#include "problem_text.h"

#include "command_line.h"
#include "support/text.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fly_kernels {
namespace {

std::int64_t number(const std::string &text, const std::string &what) {
  char *end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end)
    throw fx::Error(what + "=" + text + ": a number is expected");
  return value;
}

/// A value in the type that the field's default has.
fx::Config::Value valueOf(const fx::Config::Entry &field, const Enumerations &enumerations,
                          const std::string &text) {
  if (const auto found = enumerations.find(field.name); found != enumerations.end())
    return enumeratorNamed(field.name, found->second, text);
  return std::visit(
      [&]<class T>(const T &) -> fx::Config::Value {
        if constexpr (std::is_same_v<T, bool>) {
          if (text != "true" && text != "false")
            throw fx::Error(field.name + "=" + text + ": true or false is expected");
          return text == "true";
        } else if constexpr (std::is_same_v<T, double>) {
          char *end = nullptr;
          const double value = std::strtod(text.c_str(), &end);
          if (text.empty() || *end)
            throw fx::Error(field.name + "=" + text + ": a number is expected");
          return value;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return number(text, field.name);
        } else {
          return text;
        }
      },
      field.value);
}

std::vector<std::int64_t> rowsOf(const std::string &text) {
  std::vector<std::int64_t> rows;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    rows.push_back(number(part, "m"));
    if (rows.back() < 1)
      throw fx::Error("m=" + part + ": a call has a row at least");
  }
  if (rows.empty())
    throw fx::Error("m=: numbers of rows are expected, as in m=1,64");
  return rows;
}

} // namespace

const LibraryFamily &familyNamed(const Families &all, const std::string &name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto &family) { return family->name() == name; });
  if (found == all.end())
    throw fx::Error("there is no family " + name + "; there are " +
                    flydsl::support::joined(all, [](const auto &one) { return one->name(); }));
  return **found;
}

fx::Config changed(const fx::Config &config, const Enumerations &enumerations,
                   std::span<const std::string> words) {
  std::vector<fx::Config::Entry> entries = config.entries();
  for (const std::string &word : words) {
    const std::size_t equal = word.find('=');
    const std::string name = word.substr(0, equal);
    const auto field = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto &entry) { return entry.name == name; });
    if (equal == std::string::npos || field == entries.end())
      throw fx::Error(word + ": expected FIELD=VALUE, with a field of " +
                      shown(config, enumerations));
    field->value = valueOf(*field, enumerations, word.substr(equal + 1));
  }
  return fx::Config(std::move(entries));
}

Request requestOf(const Families &all, const std::vector<std::string> &words) {
  Request request{.family = &familyNamed(all, words.at(0)), .text = words[0]};
  request.problem = changed(request.family->defaults(), request.family->problemEnumerations(),
                            std::span(words).subspan(1));
  for (std::size_t i = 1; i < words.size(); ++i)
    request.text += " " + words[i];
  return request;
}

void forEachRequest(const std::string &path, const Families &all,
                    const std::function<void(const Request &)> &visit) {
  std::ifstream file(path);
  if (!file)
    throw fx::Error("can't read " + path);
  std::string line;
  for (int at = 1; std::getline(file, line); ++at) {
    std::istringstream parts(line.substr(0, line.find('#')));
    std::vector<std::string> words;
    std::vector<std::int64_t> rows;
    try {
      for (std::string word; parts >> word;)
        if (word.starts_with("m="))
          rows = rowsOf(word.substr(2));
        else
          words.push_back(word);
      if (words.empty()) {
        if (!rows.empty())
          throw fx::Error("rows of no problem: a line begins with a family");
        continue;
      }
      Request request = requestOf(all, words);
      request.rows = std::move(rows);
      visit(request);
    } catch (const fx::Error &error) {
      throw fx::Error(path + ":" + std::to_string(at) + ": " + flydsl::tools::messageOf(error));
    }
  }
}

} // namespace fly_kernels
