#include "problem_text.h"

#include "command_line.h"
#include "support/text.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace fly_kernels {
namespace {

std::vector<std::int64_t> rowsOf(const std::string &text) {
  std::vector<std::int64_t> rows;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    rows.push_back(fk::text::numberOf("m", part));
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
