// hipRTC: programs in HIP C++ that are compiled while a program runs.
#include "emulator/hip/device/device.h"
#include "emulator/hip/device/hip_version.h"
#include "emulator/hip/rtc/rtc_error.h"
#include "emulator/hip/rtc/rtc_program.h"

#include <cstring>

using namespace flyemu::hip;

namespace {

HandleTable<RtcProgram> &programs() {
  static auto &table = *new HandleTable<RtcProgram>; // programs may be used until the very end
  return table;
}

std::shared_ptr<RtcProgram> programOf(hiprtcProgram handle) {
  rtcRequire(handle, "the program is null");
  std::shared_ptr<RtcProgram> program = programs().find(handle);
  if (!program)
    throw RtcError(HIPRTC_ERROR_INVALID_PROGRAM, "not a live program");
  return program;
}

} // namespace

extern "C" {

const char *hiprtcGetErrorString(hiprtcResult result) {
  const char *name = rtcResultName(result);
  return name ? name : "Invalid HIPRTC error code";
}

hiprtcResult hiprtcVersion(int *major, int *minor) {
  return rtcApi("hiprtcVersion", [&] {
    rtcRequire(major && minor, "no place for the result");
    *major = hipVersion() / 10'000'000;
    *minor = hipVersion() / 100'000 % 100;
  });
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram *handle, const char *source, const char *name,
                                 int count, const char **headers, const char **includeNames) {
  return rtcApi("hiprtcCreateProgram", [&] {
    rtcRequire(handle, "no place for the result");
    *handle = nullptr;
    rtcRequire(source, "the source is null");
    rtcRequire(count >= 0, "the number of headers is negative");
    rtcRequire(count == 0 || (headers && includeNames), "the headers or their names are null");
    std::vector<RtcProgram::Header> list;
    for (int i = 0; i < count; ++i) {
      rtcRequire(headers[i] && includeNames[i], "a header or its name is null");
      list.push_back({includeNames[i], headers[i]});
    }
    auto program = std::make_shared<RtcProgram>(source, name && *name ? name : "default_program",
                                                std::move(list));
    *handle = static_cast<hiprtcProgram>(programs().add(std::move(program)));
  });
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram *handle) {
  return rtcApi("hiprtcDestroyProgram", [&] {
    rtcRequire(handle && *handle, "the program is null");
    if (!programs().take(*handle))
      throw RtcError(HIPRTC_ERROR_INVALID_PROGRAM, "not a live program");
    *handle = nullptr;
  });
}

hiprtcResult hiprtcAddNameExpression(hiprtcProgram handle, const char *expression) {
  return rtcApi("hiprtcAddNameExpression", [&] {
    std::shared_ptr<RtcProgram> program = programOf(handle);
    rtcRequire(expression, "the expression is null");
    program->addName(expression);
  });
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram handle, int count, const char **options) {
  return rtcApi("hiprtcCompileProgram", [&] {
    std::shared_ptr<RtcProgram> program = programOf(handle);
    rtcRequire(count >= 0, "the number of options is negative");
    rtcRequire(count == 0 || options, "the options are null");
    std::vector<std::string> list;
    for (int i = 0; i < count; ++i) {
      rtcRequire(options[i], "an option is null");
      list.emplace_back(options[i]);
    }
    program->compile(list, Runtime::get().currentDevice().target().processor);
  });
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram handle, size_t *size) {
  return rtcApi("hiprtcGetProgramLogSize", [&] {
    std::shared_ptr<RtcProgram> program = programOf(handle);
    rtcRequire(size, "no place for the result");
    *size = program->log().size() + 1; // and the final 0
  });
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram handle, char *log) {
  return rtcApi("hiprtcGetProgramLog", [&] {
    std::shared_ptr<RtcProgram> program = programOf(handle);
    rtcRequire(log, "no place for the result");
    const std::string text = program->log();
    std::memcpy(log, text.c_str(), text.size() + 1);
  });
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram handle, size_t *size) {
  return rtcApi("hiprtcGetCodeSize", [&] {
    std::shared_ptr<RtcProgram> program = programOf(handle);
    rtcRequire(size, "no place for the result");
    *size = program->code().size();
  });
}

hiprtcResult hiprtcGetCode(hiprtcProgram handle, char *code) {
  return rtcApi("hiprtcGetCode", [&] {
    std::shared_ptr<RtcProgram> program = programOf(handle);
    rtcRequire(code, "no place for the result");
    const std::string bytes = program->code();
    std::memcpy(code, bytes.data(), bytes.size());
  });
}

hiprtcResult hiprtcGetLoweredName(hiprtcProgram handle, const char *expression,
                                  const char **lowered) {
  return rtcApi("hiprtcGetLoweredName", [&] {
    std::shared_ptr<RtcProgram> program = programOf(handle);
    rtcRequire(expression && lowered, "the expression or the place for the result is null");
    *lowered = nullptr;
    *lowered = program->loweredName(expression);
  });
}

// Of HIP 5.3 and newer: bitcode, and linking it. They are here so that a program never reaches past the
// emulator into another library.
#define FLYEMU_NO_BITCODE(name)                                                                    \
  int name() {                                                                                     \
    return reportRtcFailure(#name, HIPRTC_ERROR_INTERNAL_ERROR,                                    \
                            "hipRTC on the emulator makes code objects, and neither makes nor "    \
                            "links bitcode");                                                      \
  }
FLYEMU_NO_BITCODE(hiprtcGetBitcode)
FLYEMU_NO_BITCODE(hiprtcGetBitcodeSize)
FLYEMU_NO_BITCODE(hiprtcLinkCreate)
FLYEMU_NO_BITCODE(hiprtcLinkAddFile)
FLYEMU_NO_BITCODE(hiprtcLinkAddData)
FLYEMU_NO_BITCODE(hiprtcLinkComplete)
FLYEMU_NO_BITCODE(hiprtcLinkDestroy)
#undef FLYEMU_NO_BITCODE

} // extern "C"
