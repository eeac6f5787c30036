// fly-emu: runs kernels of a code object on the emulator, lists them, and reports which
// instructions the emulator covers.
#include "run.h"

#include "emulator/core/dispatch.h"
#include "emulator/ops/coverage.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>

using namespace flyemu;
using namespace flyemu::tool;

namespace {

constexpr const char *Usage =
    R"(usage:
  fly-emu run FILE KERNEL [options]      run a kernel of a code object or offload bundle
    --target T            the emulated processor (gfx942)
    --grid X[,Y[,Z]]      workgroups (1)
    --block X[,Y[,Z]]     work-items of a workgroup (64)
    --lds BYTES           dynamic LDS (0)
    --arg SPEC            once for each argument, in order:
                          TYPE:NUMBER[,...]      i8 u8 i16 u16 i32 u32 i64 u64 f32 f64; several are a
                                                 packed struct, such as a tensor's shape and strides
                          buf:SOURCE[=>SINK]     a buffer; its pointer is passed
        SOURCE            zero,BYTES  poison,BYTES  iota,TYPE,COUNT  random,TYPE,COUNT[,SEED]  file,PATH
        SINK              file,PATH  show,TYPE[,COUNT]
    --check LIST          memory, race, init, sync, all, race-same: what to look for
                          beside faults
    --counters            print the launch's counters
    --trace               print each executed instruction
    --threads N           host threads (as many as there are)
    --limit N             wave instructions of one wave before it counts as endless
    --timeout SECONDS     time after which the launch counts as endless (none)
  fly-emu list FILE [--target T]         the kernels of a file, their resources and arguments
  fly-emu coverage --target T            instructions implemented, and those missing
  fly-emu targets                        the processors that can be run
)";

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

uint64_t parseAtMost(const std::string &text, const char *what, uint64_t most) {
  const uint64_t value = parseNumber(text, what);
  if (value > most)
    throw std::invalid_argument("'" + text + "' is more than " + std::to_string(most) + ", " +
                                what + "'s most");
  return value;
}

unsigned parseChecks(const std::string &text) {
  unsigned checks = kCheckNone;
  for (const std::string &word : split(text, ',')) {
    if (word == "memory")
      checks |= kCheckMemory;
    else if (word == "race")
      checks |= kCheckRace;
    else if (word == "race-same")
      checks |= kCheckRaceSame;
    else if (word == "init")
      checks |= kCheckInit;
    else if (word == "sync")
      checks |= kCheckSync;
    else if (word == "all")
      checks |= kCheckMemory | kCheckRace | kCheckInit | kCheckSync;
    else
      throw std::invalid_argument("unknown check '" + word + "'");
  }
  return checks;
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
    std::printf("missing:\n");
  for (const std::string &name : covered.missing)
    std::printf("  %s\n", name.c_str());
  if (!covered.excluded.empty())
    std::printf("not counted:\n");
  for (const Exclusion &e : covered.excluded)
    std::printf("  %s: %s\n", e.name.c_str(), e.reason.c_str());
  return 0;
}

/// The words after the command: options and other words.
class Words {
public:
  Words(int argc, char **argv) : words_(argv + 2, argv + argc) {}

  int dispatch(const std::string &command) {
    RunOptions options;
    options.shape.block = {64, 1, 1};
    std::vector<std::string> rest;
    for (size_t i = 0; i < words_.size(); ++i) {
      const std::string &word = words_[i];
      if (word == "--counters")
        options.counters = true;
      else if (word == "--trace")
        options.trace = true;
      else if (word.compare(0, 2, "--") == 0)
        takeOption(options, word, value(++i, word));
      else
        rest.push_back(word);
    }
    if (command == "targets" && rest.empty()) {
      for (const std::string &target : supportedTargets())
        std::printf("%s\n", target.c_str());
      return 0;
    }
    if (command == "coverage" && rest.empty())
      return printCoverage(options.target);
    if (command == "list" && rest.size() == 1)
      return list(rest[0], options.target);
    if (command == "run" && rest.size() == 2) {
      options.file = rest[0];
      options.kernel = rest[1];
      return run(options);
    }
    std::fputs(Usage, stderr);
    return 2;
  }

private:
  const std::string &value(size_t i, const std::string &option) const {
    if (i >= words_.size())
      throw std::invalid_argument(option + " needs a value");
    return words_[i];
  }

  static void takeOption(RunOptions &options, const std::string &name, const std::string &value) {
    if (name == "--target")
      options.target = value;
    else if (name == "--grid")
      options.shape.grid = parseExtent(value, "the grid");
    else if (name == "--block")
      options.shape.block = parseExtent(value, "the block");
    else if (name == "--lds")
      options.shape.dynamicLds = static_cast<uint32_t>(parseAtMost(value, "a size", UINT32_MAX));
    else if (name == "--arg")
      options.arguments.push_back(value);
    else if (name == "--check")
      options.checks = parseChecks(value);
    else if (name == "--threads")
      options.threads = static_cast<unsigned>(parseAtMost(value, "a number of threads", 1024));
    else if (name == "--limit")
      options.limit = parseNumber(value, "a limit");
    else if (name == "--timeout")
      options.timeout = parseAtMost(value, "a time", uint64_t(1) << 30);
    else
      throw std::invalid_argument("unknown option '" + name + "'");
  }

  std::vector<std::string> words_;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || std::strcmp(argv[1], "--help") == 0) {
    std::fputs(Usage, argc < 2 ? stderr : stdout);
    return argc < 2 ? 2 : 0;
  }
  try {
    return Words(argc, argv).dispatch(argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fly-emu: %s\n", error.what());
    return 2;
  }
}
