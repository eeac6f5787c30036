// How long files are, and how many of them stand in a folder.
#include "rules.h"

#include <algorithm>
#include <map>

namespace house {
namespace {
constexpr std::size_t kMostLines = 900, kMostFiles = 40;

} // namespace

Findings fileSizes(const Tree &tree) {
  Findings found;
  for (const File &file : tree.files) {
    const auto count =
        std::count_if(file.lines.begin(), file.lines.end(), [](const std::string &line) {
          return line.find_first_not_of(" \t") != std::string::npos;
        });
    if (static_cast<std::size_t>(count) > kMostLines)
      found.push_back(file.path + " has " + std::to_string(count) + " lines; " +
                      std::to_string(kMostLines) + " are the most. Split it along its ideas");
  }
  return found;
}

Findings folderSizes(const Tree &tree) {
  std::map<std::string, std::size_t> counts;
  for (const File &file : tree.files)
    ++counts[file.folder()];
  Findings found;
  for (const auto &[folder, count] : counts)
    if (count > kMostFiles)
      found.push_back(folder + " has " + std::to_string(count) + " files; " +
                      std::to_string(kMostFiles) + " are the most. Make rooms inside");
  return found;
}

} // namespace house
