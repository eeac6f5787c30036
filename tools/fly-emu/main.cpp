// fly-emu: runs kernels of a code object on the emulator, lists them, and reports which
// instructions the emulator covers.
#include "command_line.h"
#include "run.h"

#include "emulator/core/checks.h"
#include "emulator/core/dispatch.h"
#include "emulator/fidelity/fidelity.h"
#include "emulator/ops/coverage.h"
#include "emulator/ops/refused.h"

#include <cstdio>
#include <stdexcept>

using namespace flyemu;
using namespace flyemu::tool;

namespace {

std::array<uint32_t, 3> parseExtent(const std::string &text, const char *what) {
  std::vector<std::string> parts = split(text, ',');
  if (parts.size() > 3)
    throw std::invalid_argument(std::string(what) + " has more than three dimensions");
  std::array<uint32_t, 3> result = {1, 1, 1};
  for (size_t i = 0; i < parts.size(); ++i) {
    uint64_t value = parseNumber(parts[i], what);
    if (!value || value > UINT32_MAX)
      throw std::invalid_argument(std::string(what) + " '" + text + "' is out of range");
    result[i] = static_cast<uint32_t>(value);
  }
  return result;
}

int printCoverage(const std::string &target) {
  if (!isTargetSupported(target))
    throw std::invalid_argument("the emulator does not run '" + target + "'");
  Coverage covered = coverage(target);
  size_t all = covered.implemented.size() + covered.missing.size();
  std::printf(
      "%s: %zu of %zu instructions (%.1f%%)\n", target.c_str(), covered.implemented.size(), all,
      all ? 100.0 * static_cast<double>(covered.implemented.size()) / static_cast<double>(all)
          : 0.0);
  if (!covered.missing.empty())
    std::printf("%zu missing:\n", covered.missing.size());
  const Machine &machine = *findMachine(target);
  for (const std::string &name : covered.missing)
    if (const char *why = refusalOf(name, machine))
      std::printf("  %s: %s\n", name.c_str(), why);
    else
      std::printf("  %s\n", name.c_str());
  if (!covered.excluded.empty())
    std::printf("not counted:\n");
  for (const Exclusion &e : covered.excluded)
    std::printf("  %s: %s\n", e.name.c_str(), e.reason.c_str());
  return 0;
}

int printFidelity() {
  std::fputs(fidelityReport(supportedTargets()).c_str(), stdout);
  return 0;
}

constexpr const char *kArguments =
    R"(SPEC of --arg is
  TYPE:NUMBER[,...]   i8 u8 i16 u16 i32 u32 i64 u64 f32 f64; several are a packed struct, such as
                      a tensor's shape and strides
  buf:SOURCE[=>SINK]  a buffer; its pointer is passed
SOURCE is  zero,BYTES  poison,BYTES  iota,TYPE,COUNT  random,TYPE,COUNT[,SEED]  file,PATH
SINK is    file,PATH  show,TYPE[,COUNT])";

/// The options of `run` that are words, as they stand on the command line.
struct RunWords {
  std::string grid, block, cluster, checks, landing, order;
};

void addRunOptions(CLI::App &runs, RunOptions &options, RunWords &words) {
  runs.footer(kArguments);
  runs.add_option("FILE", options.file)->required();
  runs.add_option("KERNEL", options.kernel)->required();
  runs.add_option("--grid", words.grid, "workgroups, X[,Y[,Z]] (1)");
  runs.add_option("--block", words.block, "work-items of a workgroup, X[,Y[,Z]] (64)");
  runs.add_option("--cluster", words.cluster, "workgroups of a cluster, X[,Y[,Z]], on gfx1250 (1)");
  runs.add_option("--lds", options.shape.dynamicLds, "bytes of dynamic LDS (0)");
  runs.add_option("--arg", options.arguments, "once for each argument, in order: SPEC")
      ->allow_extra_args(false);
  runs.add_option("--check", words.checks,
                  "a list of memory, race, init, sync, wait, all, race-same: what to look for "
                  "besides faults");
  runs.add_option("--landing", words.landing,
                  "when loads land: early, as they are issued, or late, at a wait instruction "
                  "(late where waits are checked)");
  runs.add_option("--order", words.order,
                  "of workgroups and waves (forwards): " + std::string(kOrderNames));
  runs.add_option("--slice", options.slice,
                  "instructions of a wave before the others get their turn (65536)")
      ->check(CLI::Range(1u, kDefaultSlice));
  runs.add_flag("--weak-memory", options.weakMemory,
                "global memory through caches that fences control");
  CLI::Option *fast = runs.add_flag_callback(
      "--fast-matrix", [&] { options.products = Products::Fast; },
      "matrix products within rounding of the exact ones");
  runs.add_flag_callback(
          "--no-matrix", [&] { options.products = Products::None; },
          "no matrix products, for counters and times that do not depend on them")
      ->excludes(fast);
  runs.add_option("--timeline", options.timeline,
                  "a file for what waves do when, by the cycle estimate: .svg is a picture, else "
                  "a trace that Chrome and Perfetto open");
  runs.add_option("--timeline-blocks", options.timelineBlocks,
                  "the workgroups, from the first on, that the timeline has (1)")
      ->check(CLI::Range(1u, 1000u));
  runs.add_option("--part", options.part,
                  "the product for which the counters' time is estimated, such as MI325X (the "
                  "target's default)");
  runs.add_flag("--warm-last-cache", options.warmLastCache,
                "the time is that of a launch that finds all it touches in the cache in front of "
                "memory, as after one before it");
  runs.add_flag("--counters", options.counters, "prints the launch's counters");
  runs.add_flag("--trace", options.trace, "prints each executed instruction");
  runs.add_option("--threads", options.threads, "host threads (as many as there are)")
      ->check(CLI::Range(0u, 1024u));
  runs.add_option("--limit", options.limit,
                  "wave instructions of one wave before it counts as endless");
  runs.add_option("--timeout", options.timeout,
                  "seconds after which the launch counts as endless (none)")
      ->check(CLI::Range(uint64_t(0), uint64_t(1) << 30));
}

/// Throws std::invalid_argument if a word says nothing.
void readWords(const RunWords &words, RunOptions &options) {
  if (!words.grid.empty())
    options.shape.grid = parseExtent(words.grid, "the grid");
  if (!words.block.empty())
    options.shape.block = parseExtent(words.block, "the block");
  if (!words.cluster.empty())
    options.shape.cluster = parseExtent(words.cluster, "the cluster");
  const auto named = checksNamed(words.checks);
  if (!named)
    throw std::invalid_argument("--check " + words.checks + " holds a word that names no check");
  // "all" is every check that one launch can have.
  if ((*named & kCheckStreams) && words.checks.find("streams") != std::string::npos)
    throw std::invalid_argument("--check streams compares operations of several streams, and run "
                                "makes one launch; it is for "
                                "programs: FLYDSL_EMULATOR_CHECK=streams");
  options.checks = *named;
  if (!words.landing.empty() && words.landing != "early" && words.landing != "late")
    throw std::invalid_argument("--landing " + words.landing + " is neither early nor late");
  if (!words.landing.empty())
    options.landLate = words.landing == "late";
  if (!words.order.empty()) {
    const auto found = orderNamed(words.order);
    if (!found)
      throw std::invalid_argument("--order " + words.order + " is none of " + kOrderNames);
    options.order = *found;
  }
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Runs kernels of a code object on the emulator.", "fly-emu");
  app.require_subcommand(1);
  app.footer(kArguments);

  RunOptions options;
  options.shape.block = {64, 1, 1};
  RunWords words;
  CLI::App *runs = app.add_subcommand("run", "runs a kernel of a code object or offload bundle");
  addRunOptions(*runs, options, words);
  CLI::App *lists = app.add_subcommand("list", "the kernels of a file, their resources, arguments");
  lists->add_option("FILE", options.file)->required();
  CLI::App *covers = app.add_subcommand("coverage", "instructions implemented, and those missing");
  for (CLI::App *command : {runs, lists, covers})
    command->add_option("--target", options.target, "the emulated processor (gfx942)");
  CLI::App *knows = app.add_subcommand("fidelity", "what is known of the instructions' results and "
                                                   "times, as tables in Markdown");
  app.add_subcommand("targets", "the processors that can be run");

  const auto work = [&] {
    if (runs->parsed()) {
      readWords(words, options);
      return run(options);
    }
    if (lists->parsed())
      return list(options.file, options.target);
    if (covers->parsed())
      return printCoverage(options.target);
    if (knows->parsed())
      return printFidelity();
    for (const std::string &target : supportedTargets())
      std::printf("%s\n", target.c_str());
    return 0;
  };
  return flydsl::tools::runTool(app, argc, argv, work, flydsl::tools::kUsageStatus);
}
