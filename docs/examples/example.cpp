#include "example.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace example {

void expectOutput(const std::string &name, std::string text) {
  // Compilers are given other paths to the same file: what leads to docs/examples is dropped.
  for (std::size_t at = 0; (at = text.find("docs/examples/", at)) != std::string::npos; ++at) {
    const std::size_t begin = text.find_last_of(" \n'(", at) + 1;
    text.erase(begin, at - begin);
    at = begin;
  }
  if (text.empty() || text.back() != '\n')
    text += '\n';

  const std::filesystem::path path = std::filesystem::path(FLYDSL_EXAMPLES_DIR) / "output" / name;
  if (std::getenv("DOCS_UPDATE")) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == expected);
}

std::string scratchPath(const std::string &name) {
  return std::filesystem::temp_directory_path() /
         ("flydsl-" + std::to_string(getpid()) + "-" + name);
}

} // namespace example
