#include "emulator/hip/rtc/rtc_options.h"

#include "emulator/hip/rtc/rtc_error.h"

#include <string_view>

namespace flyemu::hip {

namespace {

[[noreturn]] void refuse(const std::string &message) {
  throw RtcError(HIPRTC_ERROR_INVALID_OPTION, message);
}

/// Options that choose the target; the value follows an equals sign.
constexpr std::string_view kTargetOptions[] = {"--offload-arch=", "--gpu-architecture="};

/// Options that change constants of ROCm's device library, as Clang's driver for HIP has it
/// (clang/lib/Driver/ToolChains/AMDGPU.cpp, getCommonDeviceLibNames).
constexpr struct Control {
  std::string_view option;
  bool RtcOptions::*constant;
  bool value;
} kControls[] = {
    {"-ffast-math", &RtcOptions::finiteOnly, true},
    {"-ffast-math", &RtcOptions::unsafeMath, true},
    {"-fno-fast-math", &RtcOptions::finiteOnly, false},
    {"-fno-fast-math", &RtcOptions::unsafeMath, false},
    {"-ffinite-math-only", &RtcOptions::finiteOnly, true},
    {"-fno-finite-math-only", &RtcOptions::finiteOnly, false},
    {"-funsafe-math-optimizations", &RtcOptions::unsafeMath, true},
    {"-fno-unsafe-math-optimizations", &RtcOptions::unsafeMath, false},
    {"-fgpu-flush-denormals-to-zero", &RtcOptions::flushDenormals, true},
    {"-fno-gpu-flush-denormals-to-zero", &RtcOptions::flushDenormals, false},
    {"-fhip-fp32-correctly-rounded-divide-sqrt", &RtcOptions::exactSqrt, true},
    {"-fno-hip-fp32-correctly-rounded-divide-sqrt", &RtcOptions::exactSqrt, false},
    {"-mwavefrontsize64", &RtcOptions::wave64, true},
    {"-mno-wavefrontsize64", &RtcOptions::wave64, false},
};

/// Options that make something else than a code object.
constexpr std::string_view kOtherOutputs[] = {
    "-fgpu-rdc", "-c", "-S", "-E", "-emit-llvm", "-fsyntax-only", "--cuda-host-only"};

std::string supported() {
  std::string result;
  for (const std::string &target : supportedTargets())
    result += (result.empty() ? "" : ", ") + target;
  return result;
}

} // namespace

RtcOptions RtcOptions::parse(const std::vector<std::string> &options,
                             const std::string &deviceTarget) {
  RtcOptions result;
  // The target first: it has the wave's size that the others may change.
  for (const std::string &option : options)
    for (std::string_view name : kTargetOptions)
      if (option.starts_with(name)) {
        const std::string target = option.substr(name.size());
        if (target.empty())
          refuse(option + " names no target");
        if (!result.target.empty() && result.target != target)
          refuse("the options name two targets, " + result.target + " and " + target +
                 "; a program of hipRTC has one");
        result.target = target;
      }
  if (result.target.empty())
    result.target = deviceTarget;
  result.machine = findMachine(result.target);
  if (!result.machine)
    refuse("'" + result.target + "' is no target that the emulator runs; it runs " + supported());
  result.wave64 = result.machine->processor->waveSize == 64;

  for (const std::string &option : options) {
    bool isTarget = false;
    for (std::string_view name : kTargetOptions)
      isTarget |= option.starts_with(name);
    if (isTarget)
      continue;
    for (std::string_view name : kOtherOutputs)
      if (option == name)
        refuse(option +
               " does not make a code object, and hipRTC on the emulator makes nothing else");
    if (option.starts_with("-o"))
      refuse(option + " names a file of output; hiprtcGetCode has the code");
    for (const Control &control : kControls)
      if (option == control.option)
        result.*control.constant = control.value;
    constexpr std::string_view version = "-mcode-object-version=";
    if (option.starts_with(version)) {
      const std::string number = option.substr(version.size());
      if (number != "4" && number != "5")
        refuse(option + ": hipRTC on the emulator makes code objects of version 4 or 5");
      result.codeObjectVersion = number == "4" ? 4 : 5;
    }
    result.rest.push_back(option);
  }
  return result;
}

} // namespace flyemu::hip
