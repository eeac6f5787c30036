// Where dumps go, and how their files are named and written.
#include "jit/compile/options/dump.h"

#include "support/env_variables.h"
#include "support/file.h"
#include "support/log.h"
#include "support/text.h"

#include <cctype>
#include <cstdio>

namespace flydsl::jit {

std::string dumpDirFromEnvironment() {
  return support::env::kDumpIr.get() ? dumpDir() : std::string();
}

std::string dumpDir() {
  if (auto dir = support::env::kDumpDir.get())
    return *dir;
  return support::env::kHome.get().value_or(".") + "/.flydsl/debug";
}

/// A file in the way of a dump is replaced, so that a pipe there is not waited for and a link is
/// not written through.
static support::WriteOptions dumpOptions() {
  support::WriteOptions options;
  options.existing = support::WriteOptions::Existing::replace;
  options.durable = false;
  return options;
}

std::string writeDump(const std::string &path, std::string_view text) {
  std::string problem = support::writeFile(path, text, dumpOptions());
  if (!problem.empty())
    support::log().warn("{} could not be written: {}", path, problem);
  return problem;
}

Dump::Dump(const std::string &root, std::string_view kernel) {
  if (root.empty())
    return;
  std::string folder = root + "/" + support::fileName(kernel);
  if (std::string problem = support::makeFolders(folder); !problem.empty()) {
    support::log().warn("no IR dumps: {}", problem);
    return;
  }
  folder_ = std::move(folder);
}

std::string Dump::write(std::string_view stage, std::string_view extension, std::string_view text) {
  if (!enabled())
    return {};
  char number[16];
  std::snprintf(number, sizeof number, "%02u_", next_++);
  std::string path =
      folder_ + "/" + number + support::fileName(stage) + "." + std::string(extension);
  return writeDump(path, text).empty() ? path : std::string();
}

std::string stageName(std::string_view passes) {
  std::string name;
  int braces = 0;
  constexpr std::string_view nest = "gpu.module(";
  bool nested = passes.starts_with(nest);
  if (nested)
    passes.remove_prefix(nest.size());
  for (char c : passes) {
    if (c == '{')
      ++braces;
    else if (c == '}')
      --braces;
    else if (braces == 0 && c != ')')
      name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name.substr(0, 100);
}

} // namespace flydsl::jit
