// Every environment variable that the library and its emulator read. docs/environment.md, the check
// for misspelled names and the check for wrong values use the registry at the end.
#pragma once

#include "support/env.h"

#include <string_view>
#include <vector>

namespace flydsl::support {
namespace env {

//===-- target ------------------------------------------------------------===//

inline constexpr Env<std::string> arch{
    "ARCH", "target to compile for, such as gfx942; otherwise the device's own"};
inline constexpr Env<std::string> gpuArch{"FLYDSL_GPU_ARCH", "the same, looked at after ARCH"};
inline constexpr Env<std::string> hsaOverride{"HSA_OVERRIDE_GFX_VERSION",
                                              "the same as ROCm's loader reads it, looked at last"};

//===-- compiling ---------------------------------------------------------===//

inline constexpr Env<bool> compileOnly{"COMPILE_ONLY", false,
                                       "1: launches compile and do not launch"};
inline constexpr Env<unsigned> optLevel{"FLYDSL_COMPILE_OPT_LEVEL", 2, 0, 3,
                                        "LLVM's optimisation level, 0 to 3 (2)"};
enum class Backend { rocm };
inline constexpr EnvWord<Backend> backends[] = {{"rocm", Backend::rocm}};
inline constexpr Env<Backend> backend{"FLYDSL_COMPILE_BACKEND", Backend::rocm, backends,
                                      "rocm, the one backend"};
inline constexpr Env<unsigned> compileTimeout{
    "FLYDSL_COMPILE_TIMEOUT", 600, 0, 1'000'000,
    "seconds after which a compile is given up; 0: never (600)"};
inline constexpr Env<unsigned> compileThreads{
    "FLYDSL_COMPILE_THREADS", 0, 1, 1024, "threads that compile in the background (one a core)"};

//===-- runtime and cache -------------------------------------------------===//

enum class RuntimeKind { any, hip, emulator };
inline constexpr EnvWord<RuntimeKind> runtimeKinds[] = {{"hip", RuntimeKind::hip},
                                                        {"emulator", RuntimeKind::emulator}};
inline constexpr Env<RuntimeKind> runtimeKind{
    "FLYDSL_RUNTIME_KIND", RuntimeKind::any, runtimeKinds,
    "hip or emulator; unset: HIP where it reports a device"};
inline constexpr Env<bool> enableCache{"FLYDSL_RUNTIME_ENABLE_CACHE", true, "0: no cache on disk"};
inline constexpr Env<std::string> cacheDir{"FLYDSL_RUNTIME_CACHE_DIR",
                                           "directory of the cache (~/.flydsl/cache)"};
inline constexpr Env<std::string> cacheReadOnlyDirs{
    "FLYDSL_RUNTIME_CACHE_READONLY_DIRS", "directories looked into first, separated by colons"};
inline constexpr Env<std::string> cacheGroup{
    "FLYDSL_RUNTIME_CACHE_GROUP",
    "a group, by name or number, whose members may own and write the cache; otherwise this user "
    "and root alone"};
inline constexpr Env<ByteSize> cacheSize{
    "FLYDSL_RUNTIME_CACHE_SIZE",
    {std::uint64_t(2) << 30},
    "limit of the cache in bytes; K, M, G and T may follow; 0: no limit (2G)"};
inline constexpr Env<bool> runOnly{"FLYDSL_RUNTIME_RUN_ONLY", false,
                                   "1: a kernel that no cache has is an error"};

//===-- dumps, log, debugging ---------------------------------------------===//

inline constexpr Env<bool> dumpIr{"FLYDSL_DUMP_IR", false, "1: write the IR of every stage"};
inline constexpr Env<std::string> dumpDir{"FLYDSL_DUMP_DIR", "where to write it (~/.flydsl/debug)"};
enum class LogLevel { off, error, warn, info, debug, trace };
inline constexpr EnvWord<LogLevel> logLevels[] = {
    {"off", LogLevel::off},     {"error", LogLevel::error}, {"warn", LogLevel::warn},
    {"info", LogLevel::info},   {"debug", LogLevel::debug}, {"trace", LogLevel::trace},
    {"warning", LogLevel::warn}};
inline constexpr Env<LogLevel> logLevel{"FLYDSL_DEBUG_LOG_LEVEL", LogLevel::warn, logLevels,
                                        "off, error, warn, info, debug or trace (warn)"};
inline constexpr Env<bool> debugInfo{
    "FLYDSL_DEBUG_ENABLE_DEBUG_INFO", false,
    "1: line tables in the code (where FLYDSL_EMULATOR_CHECK is set and the emulator runs the "
    "code)"};
inline constexpr Env<bool> verifier{
    "FLYDSL_DEBUG_ENABLE_VERIFIER", true,
    "0: do not verify the IR, before and after the passes and, where it is dumped, after each"};

//===-- timelines of kernels ----------------------------------------------===//

inline constexpr Env<bool> ktraceEnable{
    "FLYDSL_KTRACE_ENABLE", false,
    "1: kernels record their marks and ranges, and each launch writes a Chrome trace"};
inline constexpr Env<ByteSize> ktraceBufferBytes{
    "FLYDSL_KTRACE_BUFFER_BYTES",
    {std::uint64_t(64) << 20},
    "room for the events of a launch in bytes; K, M and G may follow (64M)"};
inline constexpr Env<std::string> ktraceBlocks{"FLYDSL_KTRACE_BLOCKS",
                                               "x,y,z: the one block of a grid that records (all)"};
inline constexpr Env<std::string> ktraceDumpDir{"FLYDSL_KTRACE_DUMP_DIR",
                                                "directory of the traces (the current one)"};

//===-- autotuning --------------------------------------------------------===//

inline constexpr Env<bool> autotune{"FLYDSL_AUTOTUNE", false,
                                    "1: search again whatever is known, and write an artifact"};
inline constexpr Env<std::string> autotuneCacheDir{"FLYDSL_AUTOTUNE_CACHE_DIR",
                                                   "where winners are kept (~/.flydsl/autotune)"};
inline constexpr Env<std::string> autotuneConfigDir{
    "FLYDSL_AUTOTUNE_CONFIG_DIR", "winners shipped with an application, looked at after the cache"};

//===-- emulator ----------------------------------------------------------===//

inline constexpr Env<std::string> emulatorLibrary{
    "FLYDSL_EMULATOR_LIBRARY", "the emulator's library, where it is not beside libflydsl"};
inline constexpr Env<std::string> emulatorArch{
    "FLYDSL_EMULATOR_ARCH", "target that the emulator's devices have: gfx90a, gfx942, "
                            "gfx950, gfx1100, gfx1200 or gfx1201 (gfx942)"};
inline constexpr Env<unsigned> emulatorDevices{"FLYDSL_EMULATOR_DEVICES", 1, 0, 64,
                                               "number of emulated devices, 0 to 64 (1)"};
inline constexpr Env<std::string> emulatorMemory{
    "FLYDSL_EMULATOR_MEMORY",
    "MiB of memory of an emulated device, or a number with M, G or T (half of the host's)"};
inline constexpr Env<unsigned> emulatorThreads{
    "FLYDSL_EMULATOR_THREADS", 0, 0, 1024,
    "threads that execute workgroups; 0: as many as the host has (0)"};
inline constexpr Env<std::string> emulatorSimd{"FLYDSL_EMULATOR_SIMD",
                                               "instruction set of the host to use: base, avx2 or "
                                               "avx512 (the best there is); what the host does "
                                               "not have is an error"};
inline constexpr Env<std::string> emulatorCheck{
    "FLYDSL_EMULATOR_CHECK",
    "a list of memory, race, init and sync, or all of these; race-same is a class of its own"};
inline constexpr Env<bool> emulatorCounters{"FLYDSL_EMULATOR_COUNTERS", false,
                                            "1: count instructions and transactions"};
inline constexpr Env<std::uint64_t> emulatorInstructionLimit{
    "FLYDSL_EMULATOR_INSTRUCTION_LIMIT", 0, 0, UINT64_MAX,
    "instructions of a wave after which a launch is stopped; 0: 2^36 (0)"};
inline constexpr Env<std::uint64_t> emulatorTimeout{
    "FLYDSL_EMULATOR_TIMEOUT", 3600, 0, std::uint64_t(1) << 30,
    "seconds of a launch after which it is stopped; 0: never (3600)"};
enum class EmulatorLog { off, error, notice, info, debug };
inline constexpr EnvWord<EmulatorLog> emulatorLogs[] = {{"off", EmulatorLog::off},
                                                        {"error", EmulatorLog::error},
                                                        {"notice", EmulatorLog::notice},
                                                        {"info", EmulatorLog::info},
                                                        {"debug", EmulatorLog::debug}};
inline constexpr Env<EmulatorLog> emulatorLog{
    "FLYDSL_EMULATOR_LOG", EmulatorLog::notice, emulatorLogs,
    "what the emulator tells on stderr: off, error, notice, info or debug (notice)"};

//===-- not FlyDSL's own --------------------------------------------------===//

/// The user's home directory; it is not in the registry.
inline constexpr Env<std::string> home{"HOME", "the user's directory"};

} // namespace env

/// A group of related variables.
struct EnvSection {
  std::string_view title;
  std::vector<const EnvVariable *> variables;
};
/// The registry, in the order of the documentation.
const std::vector<EnvSection> &environment();

} // namespace flydsl::support
