// fly-compile: compiles modules of Fly IR for one or more targets, on all cores and through the
// cache. It fills the cache of a machine, or a directory that a fleet ships, before the first
// program needs a kernel.
#include "command_line.h"
#include "progress.h"
#include "support/file.h"
#include "support/text.h"

#include <flydsl/host/compile_async.h>
#include <flydsl/host/compile_ir.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

using namespace flydsl;

namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> targets;
  std::string cache, output;
  KernelHints hints;
  bool quiet = false, trusted = false;
};

std::pair<std::string, std::string> named(const std::string &text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos)
    throw CLI::ValidationError("NAME=VALUE is expected, not '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The name of a file without its extension. A dump is 00_origin.mlir in a directory with its
/// kernel's name; that directory's name is used then.
std::string nameOf(const std::string &file) {
  const std::filesystem::path path = std::filesystem::absolute(file).lexically_normal();
  return path.stem() == "00_origin" ? path.parent_path().filename().string() : path.stem().string();
}

/// A limit on a module's size; no dumped module is as large.
constexpr std::uint64_t kMaxModuleBytes = std::uint64_t(1) << 30;

/// One module for one target.
struct Job {
  std::string file, target;

  /// The job's name in progress and errors.
  std::string title() const { return target.empty() ? file : file + " for " + target; }

  Executable compile(const Options &options) const {
    support::FileContents contents = support::readAll(file, kMaxModuleBytes);
    if (!contents.bytes)
      throw RuntimeError(file + ": it can't be read: " + contents.problem);
    const std::string module(contents.bytes->begin(), contents.bytes->end());
    Executable executable = compile_ir(
        module, {.arch = target, .name = file, .hints = options.hints, .trusted = options.trusted});
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
      throw RuntimeError(file + " and " + other->second + " would both be written as " +
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

/// Whether a cache's directory has a folder of entries.
bool holdsEntries(const std::string &directory) {
  std::error_code error;
  const std::filesystem::directory_iterator inside(directory, error);
  return !error && inside != std::filesystem::directory_iterator();
}

int run(Options options) {
  if (options.targets.empty())
    options.targets.push_back({}); // ARCH, or the device of the machine
  const bool fillsDirectory = !options.cache.empty();
  if (fillsDirectory) {
    if (std::filesystem::exists(options.cache) && !std::filesystem::is_directory(options.cache))
      throw RuntimeError("--dir " + options.cache + ": it is no directory");
    setenv("FLYDSL_RUNTIME_CACHE_DIR", options.cache.c_str(), 1);
  }
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
                       tools::shown(what(outcome.error)).c_str());
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
              tiers[CacheTier::disk] + tiers[CacheTier::memory] + tiers[CacheTier::remote], failed);
  // The library warns of a cache that can't be written and goes on; here the cache is the purpose.
  if (fillsDirectory && tiers[CacheTier::compiled] && !holdsEntries(options.cache))
    throw RuntimeError("--dir " + options.cache + ": nothing could be kept there");
  return failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Compiles modules of Fly IR into the cache of kernels.", "fly-compile");
  app.add_option("FILE", options.files,
                 "modules as text or bytecode: what FLYDSL_DUMP_IR=1 writes as 00_origin.mlir")
      ->required();
  app.add_option("--arch", options.targets,
                 "targets as the devices report them (gfx942:sramecc+:xnack-, gfx1201); else ARCH, "
                 "or the machine's device")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--dir", options.cache,
                 "the cache to fill; else FLYDSL_RUNTIME_CACHE_DIR or ~/.flydsl/cache");
  app.add_option("-o", options.output,
                 "a directory that the code objects are written to as well, as NAME.TARGET.hsaco");
  app.add_option("--waves-per-eu", options.hints.waves_per_eu,
                 "a hint of the kernel, which the IR does not hold")
      ->check(CLI::Range(1u, 0xffffu));
  app.add_option("--max-registers", options.hints.max_registers,
                 "a hint of the kernel, which the IR does not hold")
      ->check(CLI::Range(1u, 0xffffu));
  const auto pairs = [&](const char *name, std::vector<std::pair<std::string, std::string>> &into) {
    app.add_option_function<std::vector<std::string>>(
           name,
           [&into](const std::vector<std::string> &all) {
             for (const std::string &text : all)
               into.push_back(named(text));
           },
           "NAME=VALUE, a hint of the kernel, which the IR does not hold; may come more than once")
        ->allow_extra_args(false);
  };
  pairs("--attribute", options.hints.attributes);
  pairs("--llvm-option", options.hints.llvm_options);
  app.add_flag("--fast-math", options.hints.fast_math,
               "a hint of the kernel, which the IR does not hold");
  app.add_flag("--trusted", options.trusted,
               "reads bytecode in this process; else each file of it is read by fly-opt, which a "
               "damaged one may crash");
  app.add_flag("--quiet", options.quiet, "no progress");
  app.footer(
      "FLYDSL_COMPILE_THREADS modules compile at a time, else one a core. A module that fails "
      "is\nreported and stops no other; the exit status is then 1.");
  return tools::runTool(app, argc, argv, [&] { return run(std::move(options)); });
}
