#include "markdown.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>

namespace docs {

std::string Block::text() const {
  std::string all;
  for (const std::string &line : lines)
    all += line + "\n";
  return all;
}

std::vector<std::string> readLines(const std::filesystem::path &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("can't read " + path.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

namespace {

/// Letters and digits in lower case, spaces as hyphens, all else dropped.
std::string anchorOf(const std::string &heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '_' || c == '-')
      anchor += static_cast<char>(std::tolower(u));
    else if (c == ' ')
      anchor += '-';
  }
  return anchor;
}

void findLinks(const std::string &text, std::size_t line, std::vector<Link> &links) {
  bool inCode = false;
  std::size_t opened = std::string::npos; // the "[" of the link that may come
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '`')
      inCode = !inCode;
    if (inCode)
      continue;
    if (text[at] == '[' && depth++ == 0)
      opened = at;
    if (text[at] != ']' || depth == 0 || --depth > 0 || text.compare(at, 2, "](") != 0)
      continue;
    const std::size_t end = text.find(')', at);
    if (end == std::string::npos)
      return;
    links.push_back({text.substr(opened + 1, at - opened - 1), text.substr(at + 2, end - at - 2),
                     opened > 0 && text[opened - 1] == '!', line});
    at = end;
  }
}

std::string trimmed(const std::string &text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos)
    return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

} // namespace

Page readPage(const std::filesystem::path &path) {
  Page page;
  page.path = path;
  page.lines = readLines(path);
  bool inBlock = false, blankBefore = true, inList = false;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string &line = page.lines[i];
    if (line.rfind("```", 0) == 0) {
      if (!inBlock) {
        const std::string info = trimmed(line.substr(3));
        const std::size_t space = info.find(' ');
        Block block;
        block.language = info.substr(0, space);
        block.rest = space == std::string::npos ? "" : trimmed(info.substr(space));
        block.line = i + 1;
        page.blocks.push_back(block);
      }
      inBlock = !inBlock;
    } else if (inBlock) {
      page.blocks.back().lines.push_back(line);
      continue;
    } else if (line.rfind('#', 0) == 0) {
      page.anchors.push_back(anchorOf(trimmed(line.substr(line.find_first_not_of('#')))));
    } else {
      if (line.rfind("    ", 0) == 0 && blankBefore && !inList)
        page.indented.push_back(i + 1);
      findLinks(line, i + 1, page.links);
    }
    const std::string start = trimmed(line);
    if (start.rfind("- ", 0) == 0 || start.rfind("1. ", 0) == 0)
      inList = true;
    else if (!start.empty() && line[0] != ' ')
      inList = false;
    blankBefore = start.empty();
  }
  if (inBlock)
    throw std::runtime_error(path.string() + ": a fence is not closed");
  return page;
}

namespace {
constexpr const char *opening = "// region: ", *closing = "// endregion";

bool isMarker(const std::string &line, const std::string &marker) {
  return trimmed(line).rfind(marker, 0) == 0;
}
} // namespace

std::vector<std::string> region(const std::vector<std::string> &source, const std::string &name) {
  std::vector<std::string> lines;
  bool in = false;
  for (const std::string &line : source) {
    if (isMarker(line, opening))
      in = in || trimmed(line) == opening + name;
    else if (isMarker(line, closing)) {
      if (in)
        break;
    } else if (in)
      lines.push_back(line);
  }
  std::size_t indent = std::string::npos;
  for (const std::string &line : lines)
    if (!trimmed(line).empty())
      indent = std::min(indent, line.find_first_not_of(' '));
  for (std::string &line : lines)
    line.erase(0, std::min(indent, line.size()));
  return lines;
}

std::vector<std::string> regionNames(const std::vector<std::string> &source) {
  std::vector<std::string> names;
  for (const std::string &line : source)
    if (isMarker(line, opening))
      names.push_back(trimmed(line).substr(std::string(opening).size()));
  return names;
}

} // namespace docs
