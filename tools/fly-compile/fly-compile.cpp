// fly-compile: compiles modules of Fly IR for one or more targets, on all cores and through the
// cache. It fills the cache of a machine, or a directory that a fleet ships, before the first
// program needs a kernel.
#include "progress.h"
#include "support/file.h"
#include "support/text.h"

#include <flydsl/compile_async.h>
#include <flydsl/compile_ir.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>

using namespace flydsl;

namespace {

const char *usage =
    "usage: fly-compile [OPTIONS] FILE...\n"
    "FILE holds a module of Fly IR, as text or bytecode: what FLYDSL_DUMP_IR=1 writes as "
    "00_origin.mlir.\n"
    "  --arch TARGET[,TARGET...]  as the devices report them (gfx942:sramecc+:xnack-, gfx1201);\n"
    "                             else ARCH, or the machine's device\n"
    "  --dir DIRECTORY            the cache to fill; else FLYDSL_RUNTIME_CACHE_DIR or "
    "~/.flydsl/cache\n"
    "  -o DIRECTORY               writes the code objects there too, as NAME.TARGET.hsaco\n"
    "  --waves-per-eu N, --max-registers N, --fast-math, --attribute NAME=VALUE,\n"
    "  --llvm-option NAME=VALUE   the kernel's hints, which the IR does not hold; the last two\n"
    "                             may come more than once\n"
    "  --trusted                  reads bytecode in this process; else each file of it is read by\n"
    "                             fly-opt, which a damaged one may crash\n"
    "  --quiet                    no progress\n"
    "FLYDSL_COMPILE_THREADS modules compile at a time, else one a core. A module that fails is\n"
    "reported and stops no other; the exit status is then 1.\n";

struct UsageError : Error {
  using Error::Error;
};

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> targets;
  std::string output;
  KernelHints hints;
  bool quiet = false, trusted = false;
};

unsigned number(const std::string &option, const std::string &text) {
  unsigned value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0)
    throw UsageError(option + " takes a positive number, not '" + text + "'");
  return value;
}

std::pair<std::string, std::string> named(const std::string &option, const std::string &text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos)
    throw UsageError(option + " takes NAME=VALUE, not '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

Options parse(int argc, char **argv) {
  Options options;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string &name = arguments[i];
    auto value = [&]() -> const std::string & {
      if (++i == arguments.size())
        throw UsageError(name + " takes a value");
      return arguments[i];
    };
    if (name == "--arch")
      options.targets = split(value());
    else if (name == "--dir")
      setenv("FLYDSL_RUNTIME_CACHE_DIR", value().c_str(), 1);
    else if (name == "-o")
      options.output = value();
    else if (name == "--waves-per-eu")
      options.hints.waves_per_eu = number(name, value());
    else if (name == "--max-registers")
      options.hints.max_registers = number(name, value());
    else if (name == "--fast-math")
      options.hints.fast_math = true;
    else if (name == "--attribute")
      options.hints.attributes.push_back(named(name, value()));
    else if (name == "--llvm-option")
      options.hints.llvm_options.push_back(named(name, value()));
    else if (name == "--trusted")
      options.trusted = true;
    else if (name == "--quiet")
      options.quiet = true;
    else if (name.starts_with("-"))
      throw UsageError("unknown option " + name);
    else
      options.files.push_back(name);
  }
  if (options.files.empty())
    throw UsageError("no file given");
  if (options.targets.empty())
    options.targets.push_back({}); // ARCH, or the device of the machine
  return options;
}

/// The name of a file without its extension. A dump is 00_origin.mlir in a directory with its
/// kernel's name; that directory's name is used then.
std::string nameOf(const std::string &file) {
  const std::filesystem::path path = std::filesystem::absolute(file).lexically_normal();
  return path.stem() == "00_origin" ? path.parent_path().filename().string() : path.stem().string();
}

/// A limit on a module's size; no dumped module is as large.
constexpr std::uint64_t maxModuleBytes = std::uint64_t(1) << 30;

/// Makes names and messages safe for a terminal, because they may come from a file.
std::string shown(std::string_view text) { return support::printable(text, "\n\t"); }

/// One module for one target.
struct Job {
  std::string file, target;

  /// The job's name in progress and errors.
  std::string title() const { return target.empty() ? file : file + " for " + target; }

  Executable compile(const Options &options) const {
    support::FileContents contents = support::readAll(file, maxModuleBytes);
    if (!contents.bytes)
      throw RuntimeError(file + ": it can't be read: " + contents.problem);
    const std::string module(contents.bytes->begin(), contents.bytes->end());
    Executable executable =
        compile_ir(module, {.arch = target, .name = file, .hints = options.hints, .trusted = options.trusted});
    if (!options.output.empty())
      write(executable, options.output);
    return executable;
  }

private:
  void write(const Executable &executable, const std::string &directory) const {
    const std::string path =
        (std::filesystem::path(directory) / (nameOf(file) + "." + executable.target() + ".hsaco"))
            .string();
    const auto code = executable.hsaco();
    if (std::string problem = support::writeFile(path, {code.data(), code.size()});
        !problem.empty())
      throw RuntimeError("can't write " + path + ": " + problem);
  }
};

std::vector<Job> jobsOf(const Options &options) {
  std::vector<Job> jobs;
  std::map<std::string, std::string> names;
  for (const std::string &file : options.files) {
    auto [other, fresh] = names.emplace(nameOf(file), file);
    if (!fresh && !options.output.empty())
      throw UsageError(file + " and " + other->second + " would both be written as " +
                       other->first);
    for (const std::string &target : options.targets)
      jobs.push_back({file, target});
  }
  return jobs;
}

std::string what(const std::exception_ptr &error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception &e) {
    return e.what();
  }
}

int run(const Options &options) {
  if (!options.output.empty())
    std::filesystem::create_directories(options.output);
  const std::vector<Job> jobs = jobsOf(options);
  std::vector<CompileRequest> requests;
  for (const Job &job : jobs)
    requests.push_back({job.title(), [&job, &options] { return job.compile(options); }});

  tools::ProgressLine line(tools::ProgressLine::Elsewhere::lines);
  const auto outcomes =
      compile_all(std::move(requests), [&](const CompileOutcome &outcome, auto done, auto total) {
        if (outcome.error) {
          line.clear();
          std::fprintf(stderr, "fly-compile: %s: %s\n", support::printable(outcome.name).c_str(),
                       shown(what(outcome.error)).c_str());
        }
        if (!options.quiet)
          line.show(support::printable(progress_line(outcome, done, total)));
      });
  line.clear();

  std::map<CacheTier, std::size_t> tiers;
  std::size_t failed = 0;
  for (const CompileOutcome &outcome : outcomes) {
    if (!outcome.executable) {
      ++failed;
      continue;
    }
    const Executable &made = *outcome.executable;
    ++tiers[made.cache_tier()];
    std::printf("%s  %s  %s  %zu bytes, %u registers, %zu bytes of LDS%s\n", made.ir_hash().c_str(),
                made.target().c_str(), support::printable(made.name()).c_str(), made.hsaco().size(),
                made.registers(), made.shared_bytes(), made.spills() ? ", spills" : "");
  }
  std::printf("%zu compiled, %zu were there, %zu failed\n", tiers[CacheTier::compiled],
              tiers[CacheTier::disk] + tiers[CacheTier::memory], failed);
  return failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    if (argc == 2 && (std::string(argv[1]) == "--help" || std::string(argv[1]) == "-h")) {
      std::fputs(usage, stdout);
      return 0;
    }
    return run(parse(argc, argv));
  } catch (const UsageError &error) {
    std::fprintf(stderr, "fly-compile: %s\n%s", shown(error.what()).c_str(), usage);
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fly-compile: %s\n", shown(error.what()).c_str());
    return 1;
  }
}
