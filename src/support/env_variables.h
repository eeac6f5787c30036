// Every environment variable that the library and its emulator read. docs/environment.md, the check
// for misspelled names and the check for wrong values use the registry at the end.
#pragma once

#include "support/env.h"

#include <string_view>
#include <vector>

namespace flydsl::support {
namespace env {

//===-- target ------------------------------------------------------------===//

inline constexpr Env<std::string> kArch{
    "ARCH", "target to compile for, such as gfx942; otherwise the device's own"};
inline constexpr Env<std::string> kGpuArch{"FLYDSL_GPU_ARCH", "the same, looked at after ARCH"};
inline constexpr Env<std::string> kHsaOverride{
    "HSA_OVERRIDE_GFX_VERSION", "the same as ROCm's loader reads it, looked at last"};

//===-- compiling ---------------------------------------------------------===//

inline constexpr Env<bool> kCompileOnly{"COMPILE_ONLY", false,
                                        "1: launches compile and do not launch"};
inline constexpr Env<unsigned> kOptLevel{"FLYDSL_COMPILE_OPT_LEVEL", 2, 0, 3,
                                         "LLVM's optimisation level, 0 to 3 (2)"};
enum class Backend { rocm };
inline constexpr EnvWord<Backend> kBackends[] = {{"rocm", Backend::rocm}};
inline constexpr Env<Backend> kBackend{"FLYDSL_COMPILE_BACKEND", Backend::rocm, kBackends,
                                       "rocm, the one backend"};
enum class GroupScheduler { quick, llvm };
inline constexpr EnvWord<GroupScheduler> kGroupSchedulers[] = {{"quick", GroupScheduler::quick},
                                                               {"llvm", GroupScheduler::llvm}};
inline constexpr Env<GroupScheduler> kGroupScheduler{
    "FLYDSL_COMPILE_GROUP_SCHEDULER", GroupScheduler::quick, kGroupSchedulers,
    "who orders the instructions of scheduling groups: quick, or llvm, LLVM's own slower step, "
    "which makes the same code (quick)"};
inline constexpr Env<unsigned> kCompileTimeout{
    "FLYDSL_COMPILE_TIMEOUT", 600, 0, 1'000'000,
    "seconds after which a compile is given up; 0: never (600)"};
inline constexpr Env<unsigned> kCompileThreads{
    "FLYDSL_COMPILE_THREADS", 0, 1, 1024, "threads that compile in the background (one a core)"};

//===-- runtime and cache -------------------------------------------------===//

enum class RuntimeKind { any, hip, emulator };
inline constexpr EnvWord<RuntimeKind> kRuntimeKinds[] = {{"hip", RuntimeKind::hip},
                                                         {"emulator", RuntimeKind::emulator}};
inline constexpr Env<RuntimeKind> kRuntimeKind{
    "FLYDSL_RUNTIME_KIND", RuntimeKind::any, kRuntimeKinds,
    "hip or emulator; unset: HIP where it reports a device"};
inline constexpr Env<bool> kEnableCache{"FLYDSL_RUNTIME_ENABLE_CACHE", true, "0: no cache on disk"};
inline constexpr Env<std::string> kCacheDir{"FLYDSL_RUNTIME_CACHE_DIR",
                                            "directory of the cache (~/.flydsl/cache)"};
inline constexpr Env<std::string> kCacheReadOnlyDirs{
    "FLYDSL_RUNTIME_CACHE_READONLY_DIRS", "directories looked into first, separated by colons"};
inline constexpr Env<std::string> kCacheGroup{
    "FLYDSL_RUNTIME_CACHE_GROUP",
    "a group, by name or number, whose members may own and write the cache; otherwise this user "
    "and root alone"};
inline constexpr Env<ByteSize> kCacheSize{
    "FLYDSL_RUNTIME_CACHE_SIZE",
    {std::uint64_t(2) << 30},
    "limit of the cache in bytes; K, M, G and T may follow; 0: no limit (2G)"};
inline constexpr Env<bool> kRunOnly{"FLYDSL_RUNTIME_RUN_ONLY", false,
                                    "1: a kernel that no cache has is an error"};
inline constexpr Env<std::string> kRemoteCache{
    "FLYDSL_RUNTIME_REMOTE_CACHE",
    "the fleet's cache: redis://[USER@]HOST[:PORT][/DATABASE], rediss://... with TLS, or "
    "redis+unix:///PATH/TO/SOCKET"};
inline constexpr Env<std::string> kRemoteCachePasswordFile{
    "FLYDSL_RUNTIME_REMOTE_CACHE_PASSWORD_FILE", "a file with its password"};
inline constexpr Env<std::string> kRemoteCacheKeyFile{
    "FLYDSL_RUNTIME_REMOTE_CACHE_KEY_FILE",
    "a file with a key: entries are signed with it, and others are not taken"};
inline constexpr Env<std::string> kRemoteCacheCaFile{
    "FLYDSL_RUNTIME_REMOTE_CACHE_CA_FILE",
    "the certificates to trust with rediss://, as PEM (the system's)"};
inline constexpr Env<std::string> kRemoteCachePrefix{"FLYDSL_RUNTIME_REMOTE_CACHE_PREFIX",
                                                     "how its names begin (flydsl)"};
inline constexpr Env<std::uint64_t> kRemoteCacheTtl{
    "FLYDSL_RUNTIME_REMOTE_CACHE_TTL", 30 * 24 * 3600, 0, std::uint64_t(1) << 32,
    "seconds after which an entry is dropped; 0: never (2592000)"};
inline constexpr Env<unsigned> kRemoteCacheTimeout{
    "FLYDSL_RUNTIME_REMOTE_CACHE_TIMEOUT", 500, 1, 60'000,
    "milliseconds that a look-up takes at most, and a store (500)"};
inline constexpr Env<unsigned> kRemoteCacheLease{
    "FLYDSL_RUNTIME_REMOTE_CACHE_LEASE", 30, 1, 3600,
    "seconds that a machine waits at most for another that compiles the same kernel (30)"};
inline constexpr Env<ByteSize> kRemoteCacheEntrySize{
    "FLYDSL_RUNTIME_REMOTE_CACHE_ENTRY_SIZE",
    {std::uint64_t(16) << 20},
    "limit of an entry in bytes; K, M and G may follow (16M)"};
inline constexpr Env<bool> kRoctxLaunches{
    "FLYDSL_RUNTIME_ROCTX_LAUNCHES", false,
    "1: each launch is a range in a profiler's timeline, where roctx is installed"};

//===-- dumps, log, debugging ---------------------------------------------===//

inline constexpr Env<bool> kDumpIr{"FLYDSL_DUMP_IR", false, "1: write the IR of every stage"};
inline constexpr Env<std::string> kDumpDir{"FLYDSL_DUMP_DIR",
                                           "where to write it (~/.flydsl/debug)"};
enum class LogLevel { off, error, warn, info, debug, trace };
inline constexpr EnvWord<LogLevel> kLogLevels[] = {
    {"off", LogLevel::off},     {"error", LogLevel::error}, {"warn", LogLevel::warn},
    {"info", LogLevel::info},   {"debug", LogLevel::debug}, {"trace", LogLevel::trace},
    {"warning", LogLevel::warn}};
inline constexpr Env<LogLevel> kLogLevel{"FLYDSL_DEBUG_LOG_LEVEL", LogLevel::warn, kLogLevels,
                                         "off, error, warn, info, debug or trace (warn)"};
inline constexpr Env<bool> kDebugInfo{
    "FLYDSL_DEBUG_ENABLE_DEBUG_INFO", false,
    "1: line tables in the code (where FLYDSL_EMULATOR_CHECK is set and the emulator runs the "
    "code)"};
inline constexpr Env<bool> kVerifier{
    "FLYDSL_DEBUG_ENABLE_VERIFIER", true,
    "0: do not verify the IR, before and after the passes and, where it is dumped, after each"};

//===-- timelines of kernels ----------------------------------------------===//

inline constexpr Env<bool> kKtraceEnable{
    "FLYDSL_KTRACE_ENABLE", false,
    "1: kernels record their marks and ranges, and each launch writes a Chrome trace"};
inline constexpr Env<ByteSize> kKtraceBufferBytes{
    "FLYDSL_KTRACE_BUFFER_BYTES",
    {std::uint64_t(64) << 20},
    "room for the events of a launch in bytes; K, M and G may follow (64M)"};
inline constexpr Env<std::string> kKtraceBlocks{
    "FLYDSL_KTRACE_BLOCKS", "x,y,z: the one block of a grid that records (all)"};
inline constexpr Env<std::string> kKtraceDumpDir{"FLYDSL_KTRACE_DUMP_DIR",
                                                 "directory of the traces (the current one)"};

//===-- autotuning --------------------------------------------------------===//

inline constexpr Env<bool> kAutotune{"FLYDSL_AUTOTUNE", false,
                                     "1: search again whatever is known, and write an artifact"};
inline constexpr Env<std::string> kAutotuneCacheDir{"FLYDSL_AUTOTUNE_CACHE_DIR",
                                                    "where winners are kept (~/.flydsl/autotune)"};
inline constexpr Env<std::string> kAutotuneConfigDir{
    "FLYDSL_AUTOTUNE_CONFIG_DIR", "winners shipped with an application, looked at after the cache"};

//===-- kernel library ----------------------------------------------------===//

inline constexpr Env<bool> kKernelsCheckIndices{
    "FLYDSL_KERNELS_CHECK_INDICES", false,
    "1: plans of the kernel library look at the indices and lengths of each call first"};
inline constexpr Env<bool> kKernelsCheckMemory{
    "FLYDSL_KERNELS_CHECK_MEMORY", false,
    "1: plans of the kernel library ask the driver how large the memory of each operand is"};
inline constexpr Env<std::string> kKernelsTuned{
    "FLYDSL_KERNELS_TUNED",
    "a file of tuned configurations, which the kernel library chooses before those of its tables"};

//===-- emulator ----------------------------------------------------------===//

inline constexpr Env<std::string> kEmulatorLibrary{
    "FLYDSL_EMULATOR_LIBRARY", "the emulator's library, where it is not next to libflydsl"};
inline constexpr Env<std::string> kEmulatorArch{
    "FLYDSL_EMULATOR_ARCH", "target that the emulator's devices have: gfx90a, gfx942, "
                            "gfx950, gfx1100, gfx1200, gfx1201 or gfx1250 (gfx942)"};
inline constexpr Env<std::string> kEmulatorProduct{
    "FLYDSL_EMULATOR_PRODUCT",
    "the product that the emulator's devices stand for, such as MI325X: its compute units, dies, "
    "clocks and memory, by which times are estimated (MI300X, or the first of another target)"};
inline constexpr Env<unsigned> kEmulatorDevices{"FLYDSL_EMULATOR_DEVICES", 1, 0, 64,
                                                "number of emulated devices, 0 to 64 (1)"};
inline constexpr Env<unsigned> kEmulatorHip{
    "FLYDSL_EMULATOR_HIP", 5, 5, 7,
    "the version of HIP that the emulator answers as, 5 to 7: that of the program's headers (5)"};
inline constexpr Env<std::string> kEmulatorMemory{
    "FLYDSL_EMULATOR_MEMORY",
    "MiB of memory of an emulated device, or a number with M, G or T (half of the host's)"};
inline constexpr Env<unsigned> kEmulatorThreads{
    "FLYDSL_EMULATOR_THREADS", 0, 0, 1024,
    "threads that execute workgroups; 0: as many as the host has (0)"};
inline constexpr Env<std::string> kEmulatorSimd{"FLYDSL_EMULATOR_SIMD",
                                                "instruction set of the host to use: base, avx2 or "
                                                "avx512 (the best there is); what the host does "
                                                "not have is an error"};
inline constexpr Env<std::string> kEmulatorCheck{
    "FLYDSL_EMULATOR_CHECK",
    "a list of memory, race, init, sync, wait and streams, or all of these; race-same is a class "
    "of its own"};
enum class EmulatorLanding { early, late };
inline constexpr EnvWord<EmulatorLanding> kEmulatorLandings[] = {{"early", EmulatorLanding::early},
                                                                 {"late", EmulatorLanding::late}};
inline constexpr Env<EmulatorLanding> kEmulatorLanding{
    "FLYDSL_EMULATOR_LANDING", EmulatorLanding::early, kEmulatorLandings,
    "when loads land: early, when they are issued, or late, at a wait instruction (late where "
    "FLYDSL_EMULATOR_CHECK has wait, else early)"};
enum class EmulatorMemoryModel { coherent, weak };
inline constexpr EnvWord<EmulatorMemoryModel> kEmulatorMemoryModels[] = {
    {"coherent", EmulatorMemoryModel::coherent}, {"weak", EmulatorMemoryModel::weak}};
inline constexpr Env<EmulatorMemoryModel> kEmulatorMemoryModel{
    "FLYDSL_EMULATOR_MEMORY_MODEL", EmulatorMemoryModel::coherent, kEmulatorMemoryModels,
    "global memory: coherent, or weak, with caches that keep what they have read and written until "
    "fences say otherwise (coherent)"};
enum class EmulatorMatrix { exact, fast, none };
inline constexpr EnvWord<EmulatorMatrix> kEmulatorMatrices[] = {{"exact", EmulatorMatrix::exact},
                                                                {"fast", EmulatorMatrix::fast},
                                                                {"none", EmulatorMatrix::none}};
inline constexpr Env<EmulatorMatrix> kEmulatorMatrix{
    "FLYDSL_EMULATOR_MATRIX", EmulatorMatrix::exact, kEmulatorMatrices,
    "matrix products: exact, as the hardware sums them, fast, within rounding of that, or none: "
    "left "
    "out, for estimates of time alone (exact)"};
enum class EmulatorLastCache { cold, warm };
inline constexpr EnvWord<EmulatorLastCache> kEmulatorLastCaches[] = {
    {"cold", EmulatorLastCache::cold}, {"warm", EmulatorLastCache::warm}};
inline constexpr Env<EmulatorLastCache> kEmulatorLastCache{
    "FLYDSL_EMULATOR_LAST_CACHE", EmulatorLastCache::cold, kEmulatorLastCaches,
    "for estimates of time, the cache in front of memory (MALL): cold, or warm, with all that a "
    "launch touches, if it has the room (cold)"};
inline constexpr Env<std::string> kEmulatorOrder{
    "FLYDSL_EMULATOR_ORDER", "the order of workgroups and waves: forwards, backwards, rotated, "
                             "shuffled or shuffled:SEED (forwards)"};
inline constexpr Env<std::uint32_t> kEmulatorSlice{
    "FLYDSL_EMULATOR_SLICE", 65536, 1, 65536,
    "instructions of a wave before the others of its workgroup get their turn, 1 to 65536 "
    "(65536)"};
inline constexpr Env<bool> kEmulatorCounters{"FLYDSL_EMULATOR_COUNTERS", false,
                                             "1: count instructions and transactions"};
inline constexpr Env<std::string> kEmulatorTrace{
    "FLYDSL_EMULATOR_TRACE", "a file for the timelines of launches, as Chrome and Perfetto open "
                             "them; FILE.svg: the last one as a picture"};
inline constexpr Env<std::uint64_t> kEmulatorTraceBlocks{
    "FLYDSL_EMULATOR_TRACE_BLOCKS", 1, 1, 1000,
    "workgroups of each launch, from the first on, that FLYDSL_EMULATOR_TRACE has (1)"};
inline constexpr Env<std::uint64_t> kEmulatorInstructionLimit{
    "FLYDSL_EMULATOR_INSTRUCTION_LIMIT", 0, 0, UINT64_MAX,
    "instructions of a wave after which a launch is stopped; 0: 2^36 (0)"};
inline constexpr Env<std::uint64_t> kEmulatorTimeout{
    "FLYDSL_EMULATOR_TIMEOUT", 3600, 0, std::uint64_t(1) << 30,
    "seconds of a launch after which it is stopped; 0: never (3600)"};
enum class EmulatorLog { off, error, notice, info, debug };
inline constexpr EnvWord<EmulatorLog> kEmulatorLogs[] = {{"off", EmulatorLog::off},
                                                         {"error", EmulatorLog::error},
                                                         {"notice", EmulatorLog::notice},
                                                         {"info", EmulatorLog::info},
                                                         {"debug", EmulatorLog::debug}};
inline constexpr Env<EmulatorLog> kEmulatorLog{
    "FLYDSL_EMULATOR_LOG", EmulatorLog::notice, kEmulatorLogs,
    "what the emulator tells on stderr: off, error, notice, info or debug (notice)"};

inline constexpr Env<bool> kEmulatorLaunchBlocking{
    "HIP_LAUNCH_BLOCKING", false,
    "1: a call that launches a kernel on the emulator returns when the kernel has ended, as HIP's "
    "does"};
inline constexpr Env<std::string> kEmulatorClang{
    "FLYDSL_EMULATOR_CLANG",
    "the Clang by which the emulator's hipRTC compiles (clang-22 or newer, by PATH)"};

//===-- not FlyDSL's own --------------------------------------------------===//

/// The user's home directory; it is not in the registry.
inline constexpr Env<std::string> kHome{"HOME", "the user's directory"};

} // namespace env

/// A group of related variables.
struct EnvSection {
  std::string_view title;
  std::vector<const EnvVariable *> variables;
};
/// The registry, in the order of the documentation.
const std::vector<EnvSection> &environment();

} // namespace flydsl::support
