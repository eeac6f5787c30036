// The few parts of Markdown that the tests of the guides need: fenced blocks, headings, links.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace docs {

/// A fenced block. ```cpp guide.cpp#name has the language "cpp" and the rest "guide.cpp#name".
struct Block {
  std::string language, rest;
  std::vector<std::string> lines;
  std::size_t line = 0; ///< of the opening fence, from 1

  std::string text() const;
};

/// `[text](target)`, or with `!` before it a picture.
struct Link {
  std::string text, target;
  bool picture = false;
  std::size_t line = 0;
};

struct Page {
  std::filesystem::path path;
  std::vector<std::string> lines;
  std::vector<Block> blocks;
  std::vector<Link> links;
  std::vector<std::string> anchors; ///< of its headings, as the web forges spell them
  /// Lines of code that stand in no fence: indented by four where no list is.
  std::vector<std::size_t> indented;
};

Page readPage(const std::filesystem::path &path);

/// The lines of a file, without line ends.
std::vector<std::string> readLines(const std::filesystem::path &path);
/// What stands between `// region: name` and `// endregion`, moved to the left edge. Empty where
/// there is no such region.
std::vector<std::string> region(const std::vector<std::string> &source, const std::string &name);
/// The names of all regions of a source.
std::vector<std::string> regionNames(const std::vector<std::string> &source);

/// Why the commands of a page's blocks `sh` and `console` are not what it says; empty where they
/// are. They run one after the other in `scratch`, where the sources' top-level entries and `build`
/// are linked. Every command of an `sh` block succeeds; a `console` block has commands after `$ `,
/// each with its whole output below it, in which a line `...` stands for any lines and `...` in a
/// line for any text. `sh not-run` is left out.
std::vector<std::string> runCommands(const Page &page, const std::filesystem::path &source,
                                     const std::filesystem::path &build,
                                     const std::filesystem::path &scratch);

/// A `console` block as it would be with what its commands print now, run as above in a `scratch`
/// of an earlier call.
std::vector<std::string> consoleAgain(const Block &block, const std::filesystem::path &scratch);

} // namespace docs
