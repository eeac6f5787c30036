#include "tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>

namespace house {
namespace {

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

} // namespace

Tree Tree::read(const std::filesystem::path &root) {
  constexpr std::array kTop{"src",   "include", "kernels", "samples",
                            "tests", "tools",   "bench",   "docs/examples",
                            "integrations"};
  constexpr std::array<std::string_view, 5> kSources{".h", ".cpp", ".td", ".c", ".inc"};
  Tree tree;
  for (const char *top : kTop)
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() ||
          std::find(kSources.begin(), kSources.end(), extension) == kSources.end())
        continue;
      std::ifstream in(entry.path());
      const std::string text(std::istreambuf_iterator<char>(in), {});
      tree.add(std::filesystem::relative(entry.path(), root).string(), text);
    }
  std::sort(tree.files.begin(), tree.files.end(),
            [](const File &a, const File &b) { return a.path < b.path; });
  return tree;
}

Tree &Tree::add(std::string path, std::string_view text) {
  files.push_back({std::move(path), linesOf(text)});
  return *this;
}

std::vector<Include> includesOf(const File &file) {
  std::vector<Include> found;
  for (const std::string &line : file.lines) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#')
      continue;
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0)
      continue;
    const std::size_t open = line.find_first_of("<\"", word + 7);
    const std::size_t close =
        open == std::string::npos ? open : line.find_first_of(">\"", open + 1);
    if (close != std::string::npos)
      found.push_back({line, line.substr(open + 1, close - open - 1)});
  }
  return found;
}

std::string codeOf(const std::string &line, Texts texts) {
  std::string code;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line.compare(at, 2, "//") == 0 || line.compare(at, 2, "/*") == 0)
      break;
    code += line[at];
    if (line[at] != '"' || (at > 0 && line[at - 1] == '\'')) // '"' begins no text
      continue;
    for (++at; at < line.size() && line[at] != '"'; ++at) {
      const bool isEscape = line[at] == '\\' && at + 1 < line.size();
      if (texts == Texts::kept)
        code.append(line, at, isEscape ? 2 : 1);
      at += isEscape;
    }
    code += '"';
  }
  return code;
}

std::vector<std::string> textsOf(const std::string &line) {
  std::vector<std::string> texts;
  const std::string code = codeOf(line, Texts::kept);
  for (std::size_t at = code.find('"'); at != std::string::npos; at = code.find('"', at + 1)) {
    std::size_t end = at + 1;
    while (end < code.size() && code[end] != '"')
      end += code[end] == '\\' ? 2 : 1;
    if (end >= code.size())
      break;
    texts.push_back(code.substr(at + 1, end - at - 1));
    at = end;
  }
  return texts;
}

std::vector<std::string> wordsOf(std::string_view code) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < code.size();) {
    if (!isWordPart(code[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < code.size() && isWordPart(code[end]))
      ++end;
    if (!std::isdigit(static_cast<unsigned char>(code[at])))
      words.emplace_back(code.substr(at, end - at));
    at = end;
  }
  return words;
}

} // namespace house
