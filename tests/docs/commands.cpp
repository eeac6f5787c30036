#include "markdown.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <sys/wait.h>

namespace fs = std::filesystem;

namespace docs {
namespace {

struct Ran {
  int status = -1;
  std::vector<std::string> output; ///< of both streams
};

/// Runs a script with bash in `directory`, with a home of its own below it.
Ran run(const std::string &script, const fs::path &directory) {
  const fs::path file = directory / "commands.sh";
  std::ofstream(file) << "set -euo pipefail\nexport HOME=\"$PWD/home\"\n" << script;
  const std::string command =
      "cd '" + directory.string() + "' && bash ./commands.sh 2>&1 < /dev/null";
  Ran ran;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    throw std::runtime_error("can't start bash");
  std::string all;
  char buffer[4096];
  while (std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe))
    all.append(buffer, got);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    ran.output.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return ran;
}

using Lines = std::vector<std::string>;

/// Whether the output is what the page shows; `...` stands for any lines, none included.
bool matches(const Lines &shown, std::size_t i, const Lines &output, std::size_t j) {
  if (i == shown.size())
    return j == output.size();
  if (shown[i] == "...") {
    for (std::size_t k = j; k <= output.size(); ++k)
      if (matches(shown, i + 1, output, k))
        return true;
    return false;
  }
  return j < output.size() && shown[i] == output[j] && matches(shown, i + 1, output, j + 1);
}

std::string joined(const Lines &lines) {
  std::string all;
  for (const std::string &line : lines)
    all += "  " + line + "\n";
  return all;
}

void runConsole(const Block &block, const fs::path &scratch, const std::string &place,
                Lines &failures) {
  for (std::size_t i = 0; i < block.lines.size();) {
    if (block.lines[i].rfind("$ ", 0) != 0) {
      failures.push_back(place + ": the block begins with an output");
      return;
    }
    std::string command = block.lines[i].substr(2);
    for (; command.ends_with('\\') && i + 1 < block.lines.size(); ++i)
      command = command + "\n" + block.lines[i + 1];
    Lines shown;
    for (++i; i < block.lines.size() && block.lines[i].rfind("$ ", 0) != 0; ++i)
      shown.push_back(block.lines[i]);
    const Ran ran = run(command + "\n", scratch);
    if (!matches(shown, 0, ran.output, 0))
      failures.push_back(place + ": `" + command + "` prints\n" + joined(ran.output) +
                         "where the page has\n" + joined(shown));
  }
}

} // namespace

std::vector<std::string> runCommands(const Page &page, const fs::path &source,
                                     const fs::path &build, const fs::path &scratch) {
  fs::remove_all(scratch);
  fs::create_directories(scratch / "home");
  for (const auto &entry : fs::directory_iterator(source))
    if (!entry.path().filename().string().starts_with("build"))
      fs::create_symlink(entry.path(), scratch / entry.path().filename());
  fs::create_symlink(build, scratch / "build");

  Lines failures;
  for (const Block &block : page.blocks) {
    const std::string place = page.path.filename().string() + ":" + std::to_string(block.line);
    if (block.language == "sh" && block.rest != "not-run") {
      const Ran ran = run(block.text(), scratch);
      if (ran.status != 0)
        failures.push_back(place + ": status " + std::to_string(ran.status) + "\n" +
                           joined(ran.output));
    } else if (block.language == "console") {
      runConsole(block, scratch, place, failures);
    }
  }
  return failures;
}

} // namespace docs
