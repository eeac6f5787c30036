// What hipRTC compiles with: a Clang of the system, run as a child process, HIP's headers and ROCm's
// device library. All of it is looked for when a program is compiled.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flyemu::hip {

/// The path of the Clang: FLYDSL_EMULATOR_CLANG, else the first of clang-22 and newer in PATH, else
/// ROCm's. Throws RtcError that says what was looked for.
std::string findClang();

/// The folder that has hip/hip_runtime.h: of HIP_PATH, ROCM_PATH, /opt/rocm, or the system's. Throws
/// RtcError if there is none.
std::filesystem::path findHipHeaders();

/// The folder of ROCm's device library as bitcode; empty if there is none.
std::filesystem::path findDeviceLibrary();

/// What a child process left.
struct ChildResult {
  bool succeeded;     ///< it exited with 0
  std::string output; ///< what it wrote to stdout and stderr
};

/// Runs a program, without a shell and without LD_PRELOAD, and waits for its end; \p outputFile takes
/// its output in between. Throws RtcError if it cannot be started.
ChildResult runChild(const std::vector<std::string> &arguments,
                     const std::filesystem::path &outputFile);

} // namespace flyemu::hip
