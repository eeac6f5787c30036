// fly-new: makes a project of a kernel, a program that runs it, and its test on the emulator.
//
//   fly-new softcap                 ./softcap, ready for cmake
//   fly-new softcap --in projects   projects/softcap
#include "command_line.h"
#include "project_files.h"
#include "support/file.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace {

/// CMake's targets and a directory are called by it, so it is a plain word.
std::string problemWith(const std::string &name) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto isPlain = [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || !isLetter(name[0]) || !std::all_of(name.begin(), name.end(), isPlain))
    return "a project's name begins with a letter and has letters, digits, '_' and '-', not '" +
           name + "'";
  for (const char *taken : {"all", "clean", "help", "install", "test", "package", "edit_cache",
                            "rebuild_cache", "axpy", "flydsl"})
    if (name == taken)
      return "CMake, or the new project, has a target '" + name + "' already; choose another name";
  return {};
}

std::string replaced(std::string text, const std::string &name) {
  const std::string mark = "@NAME@";
  for (std::size_t at = 0; (at = text.find(mark, at)) != text.npos; at += name.size())
    text.replace(at, mark.size(), name);
  return text;
}

void makeProject(const std::string &name, const std::filesystem::path &parent) {
  if (const std::string problem = problemWith(name); !problem.empty())
    throw std::runtime_error(problem);
  const std::filesystem::path directory = parent / name;
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  // What exists is never written to.
  if (!std::filesystem::create_directory(directory, error))
    throw std::runtime_error(directory.string() +
                             (error ? ": " + error.message() : " exists already"));
  flydsl::support::WriteOptions options;
  options.durable = false;
  for (const flydsl::tools::ProjectFile &file : flydsl::tools::kProjectFiles) {
    const std::string path = (directory / file.path).string();
    if (const std::string problem =
            flydsl::support::writeFile(path, replaced(file.text, name), options);
        !problem.empty())
      throw std::runtime_error(path + ": " + problem);
  }
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Makes a project of a kernel, a program and a test.", "fly-new");
  std::string name, parent = ".";
  app.add_option("NAME", name, "the project's name, and its directory's")->required();
  app.add_option("--in", parent, "the directory to make it in (.)");
  return flydsl::tools::runTool(app, argc, argv, [&] {
    makeProject(name, parent);
    const std::string where = (std::filesystem::path(parent) / name).lexically_normal().string();
    std::printf(
        "%s is there. Next:\n  cd %s\n  cmake -S . -B build -G Ninja && cmake --build build "
        "&& ctest --test-dir build\n",
        where.c_str(), where.c_str());
    return 0;
  });
}
