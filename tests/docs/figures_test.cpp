// The figures of bench/: the tables that its pages name are there, whole, and each is named once.
#include "markdown.h"

#include <nlohmann/json.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {
const fs::path root = FLYDSL_SOURCE_DIR;

/// What is wrong with a table, or nothing. docs/site/figures.py draws it.
std::string mistakeOf(const nlohmann::json &table) {
  const auto isText = [](const nlohmann::json &x) { return x.is_string(); };
  const auto isRow = [&](const nlohmann::json &x) {
    return x.is_array() && std::all_of(x.begin(), x.end(), isText);
  };
  if (!table.is_object() || !table.contains("title") || !isText(table["title"]))
    return "no title";
  if (!table.contains("columns") || !isRow(table["columns"]) || table["columns"].empty())
    return "no columns";
  if (!table.contains("rows") || !table["rows"].is_array() || table["rows"].empty())
    return "no rows";
  for (const auto &row : table["rows"])
    if (!isRow(row) || row.size() != table["columns"].size())
      return "a row of another length: " + row.dump();
  if (table.contains("chart")) {
    const auto &columns = table["columns"];
    if (std::find(columns.begin(), columns.end(), table["chart"]) == columns.end())
      return "a chart of no column";
  }
  return "";
}
} // namespace

TEST_CASE("the figures of the benches are whole tables, and a page names each once") {
  std::map<fs::path, int> named;
  for (const char *page : {"bench/README.md", "bench/kernels/README.md"}) {
    static const std::regex line(R"(^\[Figures: [^\]]+\]\(([^)]+)\)$)");
    std::string before;
    for (const std::string &text : docs::readLines(root / page)) {
      std::smatch found;
      INFO(page << ": " << text);
      if (text.starts_with("|---") && before != "| what | why |") // words alone
        FAIL_CHECK("a table of figures in the page: `scripts/figures table` makes a file of it");
      before = text;
      if (std::regex_match(text, found, line))
        ++named[fs::weakly_canonical((root / page).parent_path() / found[1].str())];
      else
        CHECK(text.find("[Figures:") == std::string::npos); // a line of its own
    }
  }
  CHECK(named.size() > 40);
  for (const auto &entry : fs::recursive_directory_iterator(root / "bench/data")) {
    if (entry.path().extension() != ".json")
      continue;
    INFO(entry.path());
    CHECK(named[fs::weakly_canonical(entry.path())] == 1);
    named.erase(fs::weakly_canonical(entry.path()));
    CHECK(mistakeOf(nlohmann::json::parse(std::ifstream(entry.path()))) == "");
  }
  for (const auto &[path, count] : named)
    FAIL_CHECK(path << " is named, and is not there");
}

TEST_CASE("tables of figures that are not whole are found") {
  const auto mistake = [](const char *text) { return mistakeOf(nlohmann::json::parse(text)); };
  CHECK(mistake(R"({"title": "t", "columns": ["a", "b"], "rows": [["1", "2"]]})") == "");
  CHECK(mistake(R"({"columns": ["a"], "rows": [["1"]]})") == "no title");
  CHECK(mistake(R"({"title": "t", "rows": [["1"]]})") == "no columns");
  CHECK(mistake(R"({"title": "t", "columns": ["a"], "rows": []})") == "no rows");
  CHECK(mistake(R"({"title": "t", "columns": ["a", "b"], "rows": [["1"]]})")
            .starts_with("a row of another length"));
  CHECK(mistake(R"({"title": "t", "columns": ["a"], "rows": [[1]]})")
            .starts_with("a row of another length"));
  CHECK(mistake(R"({"title": "t", "columns": ["a"], "rows": [["1"]], "chart": "b"})") ==
        "a chart of no column");
}
