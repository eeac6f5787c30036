// The page of each family of kernels says what other libraries call its words: a glossary, whose own
// words are those of the family's headers.
#include "markdown.h"

#include <catch2/catch.hpp>

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using docs::readLines;

namespace {

const fs::path kRoot = FLYDSL_SOURCE_DIR;
const std::string kHeading = "## Glossary";

/// The identifiers of a text.
std::set<std::string> wordsOf(const std::string &text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ")
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else {
      if (!word.empty() && !std::isdigit(static_cast<unsigned char>(word.front())))
        words.insert(word);
      word.clear();
    }
  return words;
}

/// What stands between backquotes.
std::vector<std::string> codeOf(const std::string &cell) {
  std::vector<std::string> code;
  for (std::size_t at = cell.find('`'); at != std::string::npos;) {
    const std::size_t end = cell.find('`', at + 1);
    if (end == std::string::npos)
      break;
    code.push_back(cell.substr(at + 1, end - at - 1));
    at = cell.find('`', end + 1);
  }
  return code;
}

/// The cells of a row of a table.
std::vector<std::string> cellsOf(const std::string &line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i)
    if (line[i] == '|') {
      const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
      cell.clear();
    } else {
      cell += line[i];
    }
  return cells;
}

/// The words of a public header and of the library's headers that it includes.
void addHeader(const std::string &name, std::set<std::string> &seen, std::set<std::string> &words) {
  if (!seen.insert(name).second)
    return;
  const std::string include = "#include <flydsl/kernels/";
  for (const std::string &line : readLines(kRoot / "include" / name)) {
    words.merge(wordsOf(line));
    if (line.starts_with(include))
      addHeader("flydsl/kernels/" + line.substr(include.size(), line.find('>') - include.size()),
                seen, words);
  }
}

/// The pages of all families, as the list of the library has them, with the words of their headers.
std::map<std::string, std::set<std::string>> familyPages() {
  std::map<std::string, std::set<std::string>> pages;
  for (const std::string &line : readLines(kRoot / "kernels/README.md")) {
    const std::string folder = "](../docs/kernels/";
    const std::size_t link = line.find(folder);
    if (!line.starts_with("| ") || link == std::string::npos)
      continue;
    const std::size_t start = link + folder.size();
    std::set<std::string> seen, &words = pages[line.substr(start, line.find(".md", start) - start)];
    for (const std::string &code : codeOf(line))
      if (code.ends_with(".h"))
        addHeader(code, seen, words);
  }
  return pages;
}

/// What a page's glossary lacks, a line for each finding.
std::vector<std::string> findings(const std::vector<std::string> &page,
                                  const std::set<std::string> &words) {
  std::vector<std::string> found;
  std::size_t at = 0;
  while (at < page.size() && page[at] != kHeading)
    ++at;
  if (at == page.size())
    return {"there is no heading \"" + kHeading + "\""};
  while (at < page.size() && !page[at].starts_with("|"))
    ++at;
  if (at == page.size())
    return {"there is no table after \"" + kHeading + "\""};
  const std::vector<std::string> head = cellsOf(page[at]);
  if (head.size() < 2 || head.front() != "here")
    found.push_back("its first column is \"here\", and others follow");
  std::size_t rows = 0;
  for (at += 2; at < page.size() && page[at].starts_with("|"); ++at, ++rows) {
    const std::vector<std::string> cells = cellsOf(page[at]);
    if (cells.size() != head.size()) {
      found.push_back(page[at] + ": has another number of cells than the head");
      continue;
    }
    bool isEmpty = true;
    for (std::size_t i = 1; i < cells.size(); ++i)
      isEmpty = isEmpty && cells[i].empty();
    if (isEmpty)
      found.push_back(page[at] + ": no other library has a word");
    for (const std::string &code : codeOf(cells.front()))
      for (const std::string &word : wordsOf(code))
        if (!words.count(word))
          found.push_back(word + " is in none of the family's headers");
  }
  if (rows < 3)
    found.push_back("it has " + std::to_string(rows) + " rows");
  return found;
}

} // namespace

TEST_CASE("each family's page has a glossary of its words", "[docs]") {
  const auto pages = familyPages();
  CHECK(pages.size() > 15);
  for (const auto &[page, words] : pages)
    for (const std::string &finding :
         findings(readLines(kRoot / "docs/kernels" / (page + ".md")), words))
      FAIL_CHECK("docs/kernels/" + page + ".md: " + finding);
}

TEST_CASE("a glossary that lacks something is told", "[docs]") {
  const std::set<std::string> words = {"x", "scale"};
  const std::vector<std::string> right = {
      kHeading,        "", "| here | vLLM |", "|---|---|", "| `x` | input |", "| `scale` | s |",
      "| none | `t` |"};
  CHECK(findings(right, words).empty());
  CHECK(findings({"# A family"}, words).size() == 1);
  CHECK(findings({kHeading, "words"}, words).size() == 1);
  const auto expectFound = [&](std::size_t line, const std::string &text, const std::string &says) {
    std::vector<std::string> page = right;
    page[line] = text;
    const auto found = findings(page, words);
    REQUIRE(found.size() == 1);
    CHECK_THAT(found.front(), Catch::Contains(says));
  };
  expectFound(4, "| `y` | input |", "y is in none of the family's headers");
  expectFound(4, "| `x` | |", "no other library has a word");
  expectFound(4, "| `x` | input | output |", "another number of cells");
  expectFound(2, "| ours | vLLM |", "first column");
  expectFound(6, "", "it has 2 rows");
}
