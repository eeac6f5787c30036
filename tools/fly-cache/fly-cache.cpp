// fly-cache: lists the directory of compiled kernels, verifies it, prunes it, and carries entries
// to other machines.
#include "cache/archive.h"
#include "command_line.h"
#include "jit/code_object/code_object.h"
#include "jit/compile/compiler.h"
#include "jit/compile/disassemble.h"
#include "progress.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>

using namespace flydsl;

namespace {

std::string when(std::int64_t nanoseconds) {
  std::time_t seconds = nanoseconds / 1'000'000'000;
  char text[64];
  std::tm local{};
  localtime_r(&seconds, &local);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

/// Makes a text from an entry safe for a line of a terminal; a name may contain anything.
std::string shown(const std::string &text) { return support::printable(text); }

class Tool {
public:
  explicit Tool(cache::CacheConfig config) : config_(std::move(config)) {}

  int list() const {
    std::uint64_t bytes = 0;
    std::vector<cache::EntryFile> all = entries();
    for (const cache::EntryFile &entry : all) {
      std::string problem, kernels;
      if (auto object = read(entry, problem)) {
        for (const jit::KernelMetadata &kernel : object->kernels)
          kernels += " " + kernel.name;
        kernels = object->target + kernels;
      } else {
        kernels = "BAD: " + problem;
      }
      bytes += entry.bytes;
      std::printf("%s  %8llu  %s  %s\n", entry.key.hex().c_str(),
                  static_cast<unsigned long long>(entry.bytes), when(entry.lastUse).c_str(),
                  shown(kernels).c_str());
    }
    std::printf("%zu entries, %llu bytes in %s\n", all.size(),
                static_cast<unsigned long long>(bytes), shown(config_.directory).c_str());
    return 0;
  }

  int show(const std::string &key, bool isa) const {
    cache::EntryFile entry = find(key);
    std::string problem;
    auto object = read(entry, problem);
    if (!object)
      throw Error(entry.path + ": " + problem);
    std::printf("%s\n%s  compiled in %.1f ms: passes %.1f, translation %.1f, LLVM %.1f, code "
                "generation %.1f, link %.1f\n",
                shown(entry.path).c_str(), jit::summary(*object).c_str(), object->times.total(),
                object->times.passes, object->times.translate, object->times.optimize,
                object->times.codegen, object->times.link);
    if (isa)
      std::printf("%s", support::printable(jit::disassemble(*object), "\n\t").c_str());
    return 0;
  }

  int verify(bool remove) const {
    std::uint64_t good = 0, bad = 0;
    const std::vector<cache::EntryFile> all = entries();
    tools::ProgressLine line(tools::ProgressLine::Elsewhere::nothing);
    for (const cache::EntryFile &entry : all) {
      line.show("checking " + std::to_string(good + bad + 1) + "/" + std::to_string(all.size()));
      std::string problem;
      if (read(entry, problem)) {
        ++good;
        continue;
      }
      ++bad;
      line.clear();
      std::printf("%s: %s%s\n", shown(entry.path).c_str(), shown(problem).c_str(),
                  remove && std::remove(entry.path.c_str()) == 0 ? ", removed" : "");
    }
    line.clear();
    std::printf("%llu good, %llu bad\n", static_cast<unsigned long long>(good),
                static_cast<unsigned long long>(bad));
    return bad ? 1 : 0;
  }

  int prune(const std::string &size) const {
    std::uint64_t limit = size.empty() ? config_.sizeLimit : cache::parseSize(size);
    cache::Pruned pruned = cache::prune(config_.directory, limit);
    std::printf("removed %llu entries of %llu bytes; %llu bytes left\n",
                static_cast<unsigned long long>(pruned.entries),
                static_cast<unsigned long long>(pruned.bytes),
                static_cast<unsigned long long>(pruned.bytesLeft));
    return 0;
  }

  int exportTo(const std::string &file, const std::vector<std::string> &keys) const {
    std::vector<cache::EntryFile> chosen;
    if (keys.empty())
      chosen = entries();
    for (const std::string &key : keys)
      chosen.push_back(find(key));
    return report("exported", cache::exportEntries(chosen, file, config_.trust));
  }

  int importFrom(const std::string &file) const {
    return report("imported", cache::importEntries(file, config_.directory, config_.trust));
  }

private:
  std::vector<cache::EntryFile> entries() const {
    std::vector<cache::EntryFile> all = cache::listEntries(config_.directory);
    std::sort(all.begin(), all.end(),
              [](const auto &a, const auto &b) { return a.lastUse > b.lastUse; });
    return all;
  }
  cache::EntryFile find(const std::string &prefix) const {
    std::vector<cache::EntryFile> matching;
    for (cache::EntryFile &entry : entries())
      if (entry.key.hex().starts_with(prefix))
        matching.push_back(std::move(entry));
    if (matching.size() != 1)
      throw Error((matching.empty() ? "no entry begins with '" : "several entries begin with '") +
                  prefix + "'");
    return matching.front();
  }

  /// Reads and verifies an entry; if there is no result, `problem` gives the reason.
  std::optional<jit::CodeObject> read(const cache::EntryFile &entry, std::string &problem) const {
    cache::Decoded decoded = cache::readEntry(entry.path, entry.key, config_.trust);
    if (!decoded.blob) {
      problem = decoded.problem.empty() ? "it is gone" : decoded.problem;
      return std::nullopt;
    }
    try {
      jit::CodeObject object =
          jit::decodeMetadata(decoded.blob->metadata.data(), decoded.blob->metadata.size());
      object.bytes = std::move(decoded.blob->payload);
      return object;
    } catch (const Error &error) {
      problem = error.what();
      return std::nullopt;
    }
  }

  static int report(const char *verb, const cache::Transferred &result) {
    for (const std::string &skipped : result.skipped)
      std::printf("left out %s\n", shown(skipped).c_str());
    std::printf("%s %llu entries of %llu bytes\n", verb,
                static_cast<unsigned long long>(result.entries),
                static_cast<unsigned long long>(result.bytes));
    return result.skipped.empty() ? 0 : 1;
  }

  cache::CacheConfig config_;
};

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Looks after a cache of kernels.", "fly-cache");
  std::string directory, key, file, size;
  std::vector<std::string> keys;
  bool isa = false, remove = false;
  app.add_option("--dir", directory, "the cache; else FLYDSL_RUNTIME_CACHE_DIR or ~/.flydsl/cache");
  app.footer("KEY may be cut to any unique beginning.");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_subcommand("list", "the entries, last used first");
  CLI::App *show = app.add_subcommand("show", "one entry's kernels, registers, arguments");
  show->add_option("KEY", key)->required();
  show->add_flag("--isa", isa, "its instructions too");
  app.add_subcommand("verify", "checks every byte of every entry; exit status 1 if one is bad")
      ->add_flag("--delete", remove, "removes the bad ones");
  app.add_subcommand("prune", "drops what was used longest ago")
      ->add_option("SIZE", size, "what may stay, such as 500M; else the cache's limit");
  CLI::App *exports = app.add_subcommand("export", "writes entries into one archive");
  exports->add_option("FILE", file)->required();
  exports->add_option("KEY", keys, "the entries; else all");
  app.add_subcommand("import", "adds an archive's entries")->add_option("FILE", file)->required();
  return tools::runTool(app, argc, argv, [&] {
    cache::CacheConfig config = cache::CacheConfig::fromEnvironment();
    if (!directory.empty())
      config.directory = directory;
    if (config.directory.empty())
      throw Error("no cache directory: give --dir or set FLYDSL_RUNTIME_CACHE_DIR");
    const std::string command = app.get_subcommands().front()->get_name();
    if (!directory.empty() && command != "import" && !std::filesystem::is_directory(directory))
      throw Error("--dir " + directory + ": there is no such directory");
    const Tool tool(std::move(config));
    if (command == "list")
      return tool.list();
    if (command == "show")
      return tool.show(key, isa);
    if (command == "verify")
      return tool.verify(remove);
    if (command == "prune")
      return tool.prune(size);
    return command == "export" ? tool.exportTo(file, keys) : tool.importFrom(file);
  });
}
