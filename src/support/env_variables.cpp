#include "support/env_variables.h"

namespace flydsl::support {

const std::vector<EnvSection> &environment() {
  using namespace env;
  static const auto &sections = *new std::vector<EnvSection>{
      {"Target", {&arch, &gpuArch, &hsaOverride}},
      {"Compiling", {&compileOnly, &optLevel, &backend, &compileTimeout, &compileThreads}},
      {"Runtime and cache",
       {&runtimeKind, &enableCache, &cacheDir, &cacheReadOnlyDirs, &cacheGroup, &cacheSize,
        &runOnly}},
      {"Dumps, log, debugging", {&dumpIr, &dumpDir, &logLevel, &debugInfo, &verifier}},
      {"Timelines of kernels", {&ktraceEnable, &ktraceBufferBytes, &ktraceBlocks, &ktraceDumpDir}},
      {"Autotuning", {&autotune, &autotuneCacheDir, &autotuneConfigDir}},
      {"Emulator",
       {&emulatorLibrary, &emulatorArch, &emulatorDevices, &emulatorMemory, &emulatorThreads,
        &emulatorSimd, &emulatorCheck, &emulatorCounters, &emulatorInstructionLimit,
        &emulatorTimeout, &emulatorLog}},
  };
  return sections;
}

} // namespace flydsl::support
