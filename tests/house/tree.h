// The source tree as the rules of the house see it: files with their lines. A rule's own test makes
// a small tree by hand, in which something is planted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace house {

struct File {
  std::string path; ///< from the top of the tree: "src/jit/launch/launch.cpp"
  std::vector<std::string> lines;

  std::string folder() const { return std::filesystem::path(path).parent_path().string(); }
  std::string name() const { return std::filesystem::path(path).filename().string(); }
  bool isIn(std::string_view folder) const {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  }
};

/// An #include: its line, and what stands between the quotes or brackets.
struct Include {
  std::string line, target;
};
std::vector<Include> includesOf(const File &file);

/// A line of code without its comment; the texts in it are kept, or emptied.
enum class Texts { kept, emptied };
std::string codeOf(const std::string &line, Texts texts);
/// The texts of a line of code: what stands between quotes, as it is written.
std::vector<std::string> textsOf(const std::string &line);
/// The names and keywords of a piece of code.
std::vector<std::string> wordsOf(std::string_view code);

struct Tree {
  std::vector<File> files;

  /// C++, TableGen and headers of a source tree.
  static Tree read(const std::filesystem::path &root);
  /// A file made of text, for a rule's own test.
  Tree &add(std::string path, std::string_view text);
};

/// What a rule has found: a line for each breach.
using Findings = std::vector<std::string>;

} // namespace house
