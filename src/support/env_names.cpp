#include "support/env_names.h"

#include "support/log.h"

#include <algorithm>
#include <mutex>

extern char **environ;

namespace flydsl::support {

static constexpr EnvName names[] = {
    {"ARCH", "target to compile for, such as gfx942; otherwise the device's own"},
    {"FLYDSL_GPU_ARCH", "the same, looked at after ARCH"},
    {"HSA_OVERRIDE_GFX_VERSION", "the same as ROCm's loader reads it, looked at last"},
    {"COMPILE_ONLY", "1: launches compile and do not launch"},
    {"FLYDSL_COMPILE_OPT_LEVEL", "LLVM's optimisation level, 0 to 3 (2)"},
    {"FLYDSL_COMPILE_BACKEND", "rocm, the one backend"},
    {"FLYDSL_COMPILE_TIMEOUT", "seconds after which a compile is given up; 0: never (600)"},
    {"FLYDSL_COMPILE_THREADS", "threads that compile in the background (one a core)"},
    {"FLYDSL_RUNTIME_KIND", "hip or emulator; unset: HIP where it reports a device"},
    {"FLYDSL_RUNTIME_ENABLE_CACHE", "0: no cache on disk"},
    {"FLYDSL_RUNTIME_CACHE_DIR", "directory of the cache (~/.flydsl/cache)"},
    {"FLYDSL_RUNTIME_CACHE_READONLY_DIRS", "directories looked into first, separated by colons"},
    {"FLYDSL_RUNTIME_CACHE_GROUP",
     "a group, by name or number, whose members may own and write the cache; otherwise this user "
     "and root alone"},
    {"FLYDSL_RUNTIME_CACHE_SIZE", "limit of the cache in bytes; K, M, G and T may follow (2G)"},
    {"FLYDSL_RUNTIME_RUN_ONLY", "1: a kernel that no cache has is an error"},
    {"FLYDSL_DUMP_IR", "1: write the IR of every stage"},
    {"FLYDSL_DUMP_DIR", "where to write it"},
    {"FLYDSL_DEBUG_LOG_LEVEL", "off, error, warn, info, debug or trace (warn)"},
    {"FLYDSL_DEBUG_ENABLE_DEBUG_INFO",
     "1: line tables in the code (where FLYDSL_EMULATOR_CHECK is set and the "
     "emulator runs the code)"},
    {"FLYDSL_DEBUG_ENABLE_VERIFIER",
     "0: do not verify the IR, before and after the passes and, where it is dumped, after each"},
    {"FLYDSL_AUTOTUNE", "1: search again whatever is known, and write an artifact"},
    {"FLYDSL_AUTOTUNE_CACHE_DIR", "where winners are kept (~/.flydsl/autotune)"},
    {"FLYDSL_AUTOTUNE_CONFIG_DIR",
     "winners shipped with an application, looked at after the cache"},
    {"FLYDSL_EMULATOR_LIBRARY", "the emulator's library, where it is not beside libflydsl"},
    {"FLYDSL_EMULATOR_ARCH", "target that the emulator's devices have (gfx942)"},
    {"FLYDSL_EMULATOR_DEVICES", "number of emulated devices (1)"},
    {"FLYDSL_EMULATOR_MEMORY", "bytes of memory of an emulated device"},
    {"FLYDSL_EMULATOR_THREADS", "threads that execute workgroups"},
    {"FLYDSL_EMULATOR_SIMD", "instruction set of the host to use"},
    {"FLYDSL_EMULATOR_CHECK", "memory, race, init, sync or all"},
    {"FLYDSL_EMULATOR_COUNTERS", "1: count instructions and transactions"},
    {"FLYDSL_EMULATOR_INSTRUCTION_LIMIT", "instructions of a wave after which a launch is stopped"},
    {"FLYDSL_EMULATOR_LOG", "what the emulator tells on stderr"},
};

std::span<const EnvName> knownEnvironment() { return names; }

/// Letters to insert, delete or replace to make one text of the other.
static std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> closestEnvironmentName(std::string_view name) {
  std::optional<std::string_view> best;
  std::size_t least = name.size() / 3 + 1;
  for (const EnvName &known : names)
    if (std::size_t d = distance(name, known.name); d < least) {
      least = d;
      best = known.name;
    }
  return best;
}

std::vector<std::string> unknownEnvironment() {
  std::vector<std::string> warnings;
  for (char **entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("FLYDSL_") ||
        std::any_of(std::begin(names), std::end(names),
                    [&](const EnvName &n) { return n.name == name; }))
      continue;
    std::string warning = std::string(name) + " is not read by anything";
    if (auto close = closestEnvironmentName(name))
      warning += "; did you mean " + std::string(*close) + "?";
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

void warnOfUnknownEnvironment() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string &warning : unknownEnvironment())
      log().warn("{}", warning);
  });
}

} // namespace flydsl::support
