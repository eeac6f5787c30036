#include "support/env_variables.h"

namespace flydsl::support {

const std::vector<EnvSection> &environment() {
  using namespace env;
  static const auto &sections = *new std::vector<EnvSection>{
      {"Target", {&kArch, &kGpuArch, &kHsaOverride}},
      {"Compiling",
       {&kCompileOnly, &kOptLevel, &kBackend, &kGroupScheduler, &kCompileTimeout,
        &kCompileThreads}},
      {"Runtime and cache",
       {&kRuntimeKind, &kEnableCache, &kCacheDir, &kCacheReadOnlyDirs, &kCacheGroup, &kCacheSize,
        &kRunOnly, &kRoctxLaunches}},
      {"The fleet's cache",
       {&kRemoteCache, &kRemoteCachePasswordFile, &kRemoteCacheKeyFile, &kRemoteCacheCaFile,
        &kRemoteCachePrefix, &kRemoteCacheTtl, &kRemoteCacheTimeout, &kRemoteCacheLease,
        &kRemoteCacheEntrySize}},
      {"Dumps, log, debugging", {&kDumpIr, &kDumpDir, &kLogLevel, &kDebugInfo, &kVerifier}},
      {"Timelines of kernels",
       {&kKtraceEnable, &kKtraceBufferBytes, &kKtraceBlocks, &kKtraceDumpDir}},
      {"Autotuning", {&kAutotune, &kAutotuneCacheDir, &kAutotuneConfigDir}},
      {"Kernel library", {&kKernelsCheckIndices, &kKernelsCheckMemory, &kKernelsTuned}},
      {"Emulator", {&kEmulatorLibrary, &kEmulatorArch,        &kEmulatorProduct,
                    &kEmulatorDevices, &kEmulatorHip,         &kEmulatorMemory,
                    &kEmulatorThreads, &kEmulatorSimd,        &kEmulatorCheck,
                    &kEmulatorLanding, &kEmulatorMatrix,      &kEmulatorMemoryModel,
                    &kEmulatorLastCache, &kEmulatorOrder,   &kEmulatorSlice,       &kEmulatorCounters,
                    &kEmulatorTrace,   &kEmulatorTraceBlocks, &kEmulatorInstructionLimit,
                    &kEmulatorTimeout, &kEmulatorLog,         &kEmulatorLaunchBlocking,
                    &kEmulatorClang}},
  };
  return sections;
}

} // namespace flydsl::support
