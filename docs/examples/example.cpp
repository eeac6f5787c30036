#include "example.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace example {

void expectOutput(const std::string &name, std::string text) {
  const std::string directory = FLYDSL_EXAMPLES_DIR, tail = "docs/examples";
  const std::string sources = directory.substr(0, directory.size() - tail.size());
  for (std::size_t at; (at = text.find(sources)) != std::string::npos;)
    text.erase(at, sources.size());
  if (text.empty() || text.back() != '\n')
    text += '\n';

  const std::filesystem::path path = std::filesystem::path(directory) / "output" / name;
  if (std::getenv("DOCS_UPDATE")) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == expected);
}

} // namespace example
