// The guides are true: their C++ is that of the examples, which are compiled and run; the output
// that they show is what the examples printed; their commands run; their links lead somewhere.
#include "markdown.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace fs = std::filesystem;
using namespace docs;

namespace {

const fs::path root = FLYDSL_SOURCE_DIR, examples = root / "docs/examples";

std::vector<Page> pages() {
  std::vector<Page> all;
  all.push_back(readPage(root / "README.md"));
  for (const auto &entry : fs::directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md")
      all.push_back(readPage(entry.path()));
  for (const auto &entry : fs::directory_iterator(root / "docs/kernels"))
    all.push_back(readPage(entry.path()));
  all.push_back(readPage(root / "kernels/README.md"));
  std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.path < b.path; });
  return all;
}

std::string place(const Page &page, std::size_t line) {
  return fs::relative(page.path, root).string() + ":" + std::to_string(line);
}

/// The program that a block names: one of docs/examples, or `samples/name.cpp`.
fs::path sourceOf(const std::string &name) {
  return name.find('/') == std::string::npos ? examples / name : root / name;
}

/// What a block of C++ or of output stands for: `guide.cpp#region`, or a file of outputs.
std::vector<std::string> original(const Block &block) {
  if (block.language == "text")
    return readLines(examples / "output" / block.rest);
  const std::size_t hash = block.rest.find('#');
  if (hash == std::string::npos)
    return {};
  return region(readLines(sourceOf(block.rest.substr(0, hash))), block.rest.substr(hash + 1));
}

/// A picture by its text: what fly-layout draws of an expression, or, of "timeline of PROGRAM ...",
/// what the emulator draws of the program's last launch.
std::vector<std::string> draw(const std::string &text) {
  const fs::path file = fs::path(FLYDSL_SCRATCH_DIR) / "picture.svg";
  fs::create_directories(file.parent_path());
  const std::string build = FLYDSL_BUILD_DIR, timeline = "timeline of ";
  const std::string command =
      text.starts_with(timeline)
          ? "FLYDSL_RUNTIME_KIND=emulator FLYDSL_EMULATOR_ARCH=gfx942 FLYDSL_EMULATOR_TRACE='" +
                file.string() + "' " + build + "/" + text.substr(timeline.size()) + " > /dev/null"
          : build + "/bin/fly-layout --svg '" + text + "' > '" + file.string() + "'";
  return std::system(command.c_str()) == 0 ? readLines(file) : std::vector<std::string>{};
}

bool embeds(const Block &block) {
  return block.language == "cpp" || (block.language == "text" && !block.rest.empty());
}

} // namespace

TEST_CASE("each block of a guide is of a kind that is checked", "[docs]") {
  // layout: by the tests of the layouts. python: FlyDSL's side of a comparison. cmake: what the
  // test of the installed package does. text without a file: a drawing or a scheme.
  const std::set<std::string> kinds = {"cpp", "text", "sh", "console", "layout", "python", "cmake"};
  std::size_t embedded = 0;
  for (const Page &page : pages()) {
    for (const Block &block : page.blocks) {
      INFO(place(page, block.line));
      CHECK(kinds.count(block.language));
      if (block.language == "sh")
        CHECK((block.rest.empty() || block.rest == "not-run"));
      embedded += embeds(block);
    }
    for (std::size_t line : page.indented) {
      INFO(place(page, line));
      CHECK_FALSE("indented code: use a fence, which is checked");
    }
  }
  CHECK(embedded > 3);
}

TEST_CASE("C++ and outputs of the guides are those of the examples", "[docs]") {
  std::map<std::string, std::set<std::string>> shown;
  for (const Page &page : pages())
    for (const Block &block : page.blocks) {
      if (!embeds(block))
        continue;
      INFO(place(page, block.line) << " shows " << block.rest);
      const std::vector<std::string> lines = original(block);
      CHECK(!lines.empty());
      CHECK(block.lines == lines);
      const std::size_t hash = block.rest.find('#');
      if (hash == std::string::npos)
        shown["output"].insert(block.rest);
      else
        shown[block.rest.substr(0, hash)].insert(block.rest.substr(hash + 1));
    }
  for (const auto &entry : fs::directory_iterator(examples / "output")) {
    INFO(entry.path().filename() << " is in no guide");
    CHECK(shown["output"].count(entry.path().filename().string()));
  }
  const auto expectShown = [&](const fs::path &folder, const std::string &prefix) {
    for (const auto &entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".cpp")
        for (const std::string &name : regionNames(readLines(entry.path()))) {
          INFO(entry.path().filename() << "#" << name << " is in no guide");
          CHECK(shown[prefix + entry.path().filename().string()].count(name));
        }
  };
  expectShown(examples, "");
  expectShown(root / "samples", "samples/");
}

TEST_CASE("lines of CMake are those of the package's test", "[docs]") {
  const auto known = readLines(root / "tests/package/consumer/CMakeLists.txt");
  for (const Page &page : pages())
    for (const Block &block : page.blocks)
      if (block.language == "cmake")
        for (const std::string &line : block.lines) {
          INFO(place(page, block.line) << ": " << line);
          CHECK(std::count(known.begin(), known.end(), line));
        }
}

TEST_CASE("links of the guides lead to files and headings", "[docs]") {
  std::size_t checked = 0;
  for (const Page &page : pages())
    for (const Link &link : page.links) {
      if (link.target.rfind("http", 0) == 0)
        continue;
      INFO(place(page, link.line) << " links to " << link.target);
      const std::size_t hash = link.target.find('#');
      const std::string file = link.target.substr(0, hash);
      const fs::path path = file.empty() ? page.path : page.path.parent_path() / file;
      CHECK(fs::exists(path));
      if (hash != std::string::npos && fs::exists(path)) {
        const auto anchors = readPage(path).anchors;
        CHECK(std::count(anchors.begin(), anchors.end(), link.target.substr(hash + 1)));
      }
      ++checked;
    }
  CHECK(checked > 10);
}

TEST_CASE("the index of the guides has all of them", "[docs]") {
  const Page index = readPage(root / "docs/README.md");
  for (const auto &entry : fs::directory_iterator(root / "docs")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".md" || name == "README.md")
      continue;
    INFO(name);
    CHECK(std::any_of(index.links.begin(), index.links.end(),
                      [&](const Link &link) { return link.target == name; }));
  }
}

TEST_CASE("a picture is what is drawn of its text", "[.commands]") {
  std::size_t drawn = 0;
  for (const Page &page : pages())
    for (const Link &link : page.links) {
      if (!link.picture)
        continue;
      INFO(place(page, link.line));
      const fs::path picture = page.path.parent_path() / link.target;
      CHECK(readLines(picture) == draw(link.text));
      ++drawn;
    }
  CHECK(drawn > 2);
}

TEST_CASE("commands of the guides run", "[.commands]") {
  std::size_t commands = 0;
  for (const Page &page : pages()) {
    commands += static_cast<std::size_t>(
        std::count_if(page.blocks.begin(), page.blocks.end(), [](const Block &b) {
          return b.language == "console" || (b.language == "sh" && b.rest.empty());
        }));
    const fs::path scratch = fs::path(FLYDSL_SCRATCH_DIR) / page.path.stem();
    for (const std::string &failure : runCommands(page, root, FLYDSL_BUILD_DIR, scratch))
      FAIL_CHECK(failure);
  }
  CHECK(commands > 3);
}

// Not a test: brings the guides to what the examples say. docs_test "[.update]" needs all programs
// that they call, and leaves a page alone where one is missing.
TEST_CASE("the guides take over what changed in the examples", "[.update]") {
  for (const Page &page : pages()) {
    const fs::path scratch = fs::path(FLYDSL_SCRATCH_DIR) / page.path.stem();
    runCommands(page, root, FLYDSL_BUILD_DIR, scratch);
    for (const Link &link : page.links)
      if (link.picture) {
        const std::vector<std::string> picture = draw(link.text);
        INFO(link.text << " draws nothing");
        REQUIRE_FALSE(picture.empty());
        std::ofstream out(page.path.parent_path() / link.target);
        for (const std::string &line : picture)
          out << line << "\n";
      }
    std::ostringstream out;
    auto block = page.blocks.begin();
    for (std::size_t i = 0; i < page.lines.size(); ++i) {
      out << page.lines[i] << "\n";
      if (block == page.blocks.end() || i + 1 != block->line)
        continue;
      const auto lines = embeds(*block)                 ? original(*block)
                         : block->language == "console" ? consoleAgain(*block, scratch)
                                                        : block->lines;
      for (const std::string &line : lines.empty() ? block->lines : lines) {
        INFO(place(page, block->line) << ": " << line);
        REQUIRE_FALSE(line.starts_with("./commands.sh: line ")); // bash itself: no such program
        out << line << "\n";
      }
      i += block->lines.size();
      ++block;
    }
    std::ofstream(page.path) << out.str();
  }
}
