// The shape at the end of each line of a kernel that makes a tensor.
//
// What the rule does not see: a comment that begins with "(" counts as a shape, whatever it says; and one shape
// is enough for a statement, so that a second tensor of the same line or statement may have none. `scripts/shapes`
// compares the numbers of modes with those of traces.
#include "rules.h"

#include <regex>

namespace house {
namespace {

/// Calls that make tensors: divides, partitions, fragments, tiles, views.
const std::regex
    kMakers("\\b(\\w+_divide|partition_\\w+|make_fragment_\\w+|make_rmem_tensor|retile(_\\w+)?|"
            "local_tile|make_view|view)\\(");
/// Slices: `_` stands for a mode that stays.
const std::regex kSlices("(^|[^\\w])_($|[^\\w])");
/// What has `_` and is no slice: the modes of a tile, which may be calls without calls inside, up to the end of the
/// tile or of the line; a pack of everything.
const std::regex kNoSlices("Mode\\(_\\)|make_tile\\(([^()]|\\([^()]*\\))*(\\)|$)|return _;");

bool makesTensor(const std::string &code) {
  return std::regex_search(code, kMakers) ||
         std::regex_search(std::regex_replace(code, kNoSlices, ""), kSlices);
}
/// Whether a statement or the head of a block ends with this line.
bool endsStatement(const std::string &code) {
  const std::size_t last = code.find_last_not_of(" \t");
  return last != std::string::npos && (code[last] == ';' || code[last] == '{' || code[last] == '}');
}
bool saysShape(const std::string &line, const std::string &code) {
  const std::size_t first = line.find_first_not_of("/ \t", code.size());
  return first != std::string::npos && line[first] == '(';
}

} // namespace

Findings shapeComments(const Tree &tree) {
  Findings found;
  for (const File &file : tree.files) {
    if (!file.isIn("kernels") && !file.isIn("include/flydsl/kernels"))
      continue;
    for (std::size_t at = 0; at < file.lines.size(); ++at) {
      const std::string first = codeOf(file.lines[at], Texts::emptied);
      if (!makesTensor(first))
        continue;
      bool said = false, ended = false;
      for (std::size_t line = at; line < file.lines.size() && !said && !ended; ++line) {
        const std::string code = codeOf(file.lines[line], Texts::kept);
        said = saysShape(file.lines[line], code);
        ended = endsStatement(code);
      }
      if (!said)
        found.push_back(file.path + ":" + std::to_string(at + 1) +
                        " makes a tensor, and its line does not end in the shape: " + first);
    }
  }
  return found;
}

} // namespace house
