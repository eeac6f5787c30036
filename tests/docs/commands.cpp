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

/// Whether a line is what the page shows, in which `...` stands for any text.
bool lineMatches(const std::string &shown, const std::string &line) {
  std::size_t at = 0, from = 0;
  for (std::size_t dots; (dots = shown.find("...", from)) != std::string::npos; from = dots + 3) {
    const std::string part = shown.substr(from, dots - from);
    const std::size_t found =
        from == 0 ? (line.starts_with(part) ? 0 : std::string::npos) : line.find(part, at);
    if (found == std::string::npos)
      return false;
    at = found + part.size();
  }
  const std::string last = shown.substr(from);
  return from == 0 ? line == last : line.size() >= at + last.size() && line.ends_with(last);
}

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
  return j < output.size() && lineMatches(shown[i], output[j]) &&
         matches(shown, i + 1, output, j + 1);
}

std::string joined(const Lines &lines) {
  std::string all;
  for (const std::string &line : lines)
    all += "  " + line + "\n";
  return all;
}

/// A command of a `console` block with what the page shows below it.
struct Command {
  std::string text;
  Lines shown;
};

std::vector<Command> commandsOf(const Block &block) {
  std::vector<Command> commands;
  for (const std::string &line : block.lines) {
    if (line.rfind("$ ", 0) == 0)
      commands.push_back({line.substr(2), {}});
    else if (commands.empty())
      throw std::runtime_error("a console block begins with an output");
    else if (commands.back().shown.empty() && commands.back().text.ends_with('\\'))
      commands.back().text += "\n" + line;
    else
      commands.back().shown.push_back(line);
  }
  return commands;
}

} // namespace

std::vector<std::string> consoleAgain(const Block &block, const fs::path &scratch) {
  Lines lines;
  for (const Command &command : commandsOf(block)) {
    Ran ran = run(command.text + "\n", scratch);
    std::string text = "$ " + command.text;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    const Lines &now = matches(command.shown, 0, ran.output, 0) ? command.shown : ran.output;
    lines.insert(lines.end(), now.begin(), now.end());
  }
  return lines;
}

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
      for (const Command &command : commandsOf(block)) {
        const Ran ran = run(command.text + "\n", scratch);
        if (!matches(command.shown, 0, ran.output, 0))
          failures.push_back(place + ": `" + command.text + "` prints\n" + joined(ran.output) +
                             "where the page has\n" + joined(command.shown));
      }
    }
  }
  return failures;
}

} // namespace docs
