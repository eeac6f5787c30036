// fly-cache: lists the directory of compiled kernels, verifies it, prunes it, and carries entries
// to other machines.
#include "cache/archive.h"
#include "jit/code_object/code_object.h"
#include "jit/compile/compiler.h"
#include "jit/compile/disassemble.h"
#include "progress.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>

using namespace flydsl;

namespace {

const char *usage =
    "usage: fly-cache [--dir DIRECTORY] COMMAND\n"
    "  list                  the entries, last used first\n"
    "  show KEY [--isa]      one entry's kernels, registers, arguments; with --isa its "
    "instructions\n"
    "  verify [--delete]     checks every byte of every entry; exit status 1 if one is bad\n"
    "  prune [SIZE]          drops what was used longest ago until SIZE (as in 500M) is left;\n"
    "                        without SIZE: the limit, FLYDSL_RUNTIME_CACHE_SIZE or 2G\n"
    "  export FILE [KEY...]  writes entries (all, or those) into one archive\n"
    "  import FILE           adds an archive's entries\n"
    "KEY may be cut to any unique beginning. DIRECTORY is FLYDSL_RUNTIME_CACHE_DIR or "
    "~/.flydsl/cache\n"
    "unless given.\n";

struct UsageError : Error {
  using Error::Error;
};

std::string when(std::int64_t nanoseconds) {
  std::time_t seconds = nanoseconds / 1'000'000'000;
  char text[64];
  std::tm local{};
  localtime_r(&seconds, &local);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

/// Makes a text from an entry safe for a terminal; a name may contain anything.
std::string shown(const std::string &text) { return support::printable(text); }

class Tool {
public:
  Tool(cache::Config config, std::vector<std::string> arguments)
      : config_(std::move(config)), arguments_(std::move(arguments)) {}

  int run() {
    static const std::map<std::string, int (Tool::*)()> commands = {
        {"list", &Tool::list},   {"show", &Tool::show},        {"verify", &Tool::verify},
        {"prune", &Tool::prune}, {"export", &Tool::exportAll}, {"import", &Tool::import}};
    std::string name = next("a command");
    auto command = commands.find(name);
    if (command == commands.end())
      throw UsageError("unknown command '" + name + "'");
    return (this->*command->second)();
  }

private:
  std::string next(const char *what) {
    if (arguments_.empty())
      throw UsageError(std::string("expected ") + what);
    std::string argument = arguments_.front();
    arguments_.erase(arguments_.begin());
    return argument;
  }
  bool flag(const char *name) {
    auto found = std::find(arguments_.begin(), arguments_.end(), name);
    if (found == arguments_.end())
      return false;
    arguments_.erase(found);
    return true;
  }
  void done() const {
    if (!arguments_.empty())
      throw UsageError("unexpected '" + arguments_.front() + "'");
  }
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

  int list() {
    done();
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

  int show() {
    bool isa = flag("--isa");
    cache::EntryFile entry = find(next("a key"));
    done();
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

  int verify() {
    bool remove = flag("--delete");
    done();
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

  int prune() {
    std::uint64_t limit = arguments_.empty() ? config_.sizeLimit : cache::parseSize(next("a size"));
    done();
    cache::Pruned pruned = cache::prune(config_.directory, limit);
    std::printf("removed %llu entries of %llu bytes; %llu bytes left\n",
                static_cast<unsigned long long>(pruned.entries),
                static_cast<unsigned long long>(pruned.bytes),
                static_cast<unsigned long long>(pruned.bytesLeft));
    return 0;
  }

  static int report(const char *verb, const cache::Transferred &result) {
    for (const std::string &skipped : result.skipped)
      std::printf("left out %s\n", shown(skipped).c_str());
    std::printf("%s %llu entries of %llu bytes\n", verb,
                static_cast<unsigned long long>(result.entries),
                static_cast<unsigned long long>(result.bytes));
    return result.skipped.empty() ? 0 : 1;
  }

  int exportAll() {
    std::string file = next("an archive to write");
    std::vector<cache::EntryFile> chosen;
    if (arguments_.empty())
      chosen = entries();
    while (!arguments_.empty())
      chosen.push_back(find(next("a key")));
    return report("exported", cache::exportEntries(chosen, file, config_.trust));
  }

  int import() {
    std::string file = next("an archive to read");
    done();
    return report("imported", cache::importEntries(file, config_.directory, config_.trust));
  }

  cache::Config config_;
  std::vector<std::string> arguments_;
};

} // namespace

int main(int argc, char **argv) {
  try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    cache::Config config = cache::Config::fromEnvironment();
    if (arguments.size() >= 2 && arguments[0] == "--dir") {
      config.directory = arguments[1];
      arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
      std::fputs(usage, arguments.empty() ? stderr : stdout);
      return arguments.empty() ? 2 : 0;
    }
    if (config.directory.empty())
      throw Error("no cache directory: give --dir or set FLYDSL_RUNTIME_CACHE_DIR");
    return Tool(std::move(config), std::move(arguments)).run();
  } catch (const UsageError &error) {
    std::fprintf(stderr, "fly-cache: %s\n%s", shown(error.what()).c_str(), usage);
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fly-cache: %s\n", support::printable(error.what(), "\n\t").c_str());
    return 1;
  }
}
