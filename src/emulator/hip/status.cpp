#include "emulator/hip/status.h"

namespace flyemu::hip {
namespace {

struct StatusEntry {
  hipError_t status;
  const char *name;
  const char *text;
};

#define FLYEMU_STATUS(name, text) {name, #name, text}
constexpr StatusEntry kEntries[] = {
    FLYEMU_STATUS(hipSuccess, "no error"),
    FLYEMU_STATUS(hipErrorInvalidValue, "invalid argument"),
    FLYEMU_STATUS(hipErrorOutOfMemory, "out of memory"),
    FLYEMU_STATUS(hipErrorNotInitialized, "initialization error"),
    FLYEMU_STATUS(hipErrorDeinitialized, "driver shutting down"),
    FLYEMU_STATUS(hipErrorProfilerDisabled, "profiler disabled"),
    FLYEMU_STATUS(hipErrorProfilerNotInitialized, "profiler not initialized"),
    FLYEMU_STATUS(hipErrorProfilerAlreadyStarted, "profiler already started"),
    FLYEMU_STATUS(hipErrorProfilerAlreadyStopped, "profiler already stopped"),
    FLYEMU_STATUS(hipErrorInvalidConfiguration, "invalid launch configuration"),
    FLYEMU_STATUS(hipErrorInvalidPitchValue, "invalid pitch"),
    FLYEMU_STATUS(hipErrorInvalidSymbol, "invalid device symbol"),
    FLYEMU_STATUS(hipErrorInvalidDevicePointer, "invalid device pointer"),
    FLYEMU_STATUS(hipErrorInvalidMemcpyDirection, "invalid copy direction"),
    FLYEMU_STATUS(hipErrorInsufficientDriver, "driver too old for the runtime"),
    FLYEMU_STATUS(hipErrorMissingConfiguration, "missing launch configuration"),
    FLYEMU_STATUS(hipErrorPriorLaunchFailure, "an earlier launch failed"),
    FLYEMU_STATUS(hipErrorInvalidDeviceFunction, "invalid device function"),
    FLYEMU_STATUS(hipErrorNoDevice, "no device"),
    FLYEMU_STATUS(hipErrorInvalidDevice, "invalid device ordinal"),
    FLYEMU_STATUS(hipErrorInvalidImage, "invalid code object"),
    FLYEMU_STATUS(hipErrorInvalidContext, "invalid context"),
    FLYEMU_STATUS(hipErrorContextAlreadyCurrent, "context already current"),
    FLYEMU_STATUS(hipErrorMapFailed, "mapping failed"),
    FLYEMU_STATUS(hipErrorUnmapFailed, "unmapping failed"),
    FLYEMU_STATUS(hipErrorArrayIsMapped, "array is mapped"),
    FLYEMU_STATUS(hipErrorAlreadyMapped, "already mapped"),
    FLYEMU_STATUS(hipErrorNoBinaryForGpu, "no code object for this device"),
    FLYEMU_STATUS(hipErrorAlreadyAcquired, "already acquired"),
    FLYEMU_STATUS(hipErrorNotMapped, "not mapped"),
    FLYEMU_STATUS(hipErrorNotMappedAsArray, "not mapped as an array"),
    FLYEMU_STATUS(hipErrorNotMappedAsPointer, "not mapped as a pointer"),
    FLYEMU_STATUS(hipErrorECCNotCorrectable, "uncorrectable ECC error"),
    FLYEMU_STATUS(hipErrorUnsupportedLimit, "unsupported limit"),
    FLYEMU_STATUS(hipErrorContextAlreadyInUse, "context in use by another thread"),
    FLYEMU_STATUS(hipErrorPeerAccessUnsupported, "no peer access between these devices"),
    FLYEMU_STATUS(hipErrorInvalidKernelFile, "invalid kernel file"),
    FLYEMU_STATUS(hipErrorInvalidGraphicsContext, "invalid graphics context"),
    FLYEMU_STATUS(hipErrorInvalidSource, "invalid source"),
    FLYEMU_STATUS(hipErrorFileNotFound, "file not found"),
    FLYEMU_STATUS(hipErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    FLYEMU_STATUS(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    FLYEMU_STATUS(hipErrorOperatingSystem, "an operating system call failed"),
    FLYEMU_STATUS(hipErrorInvalidHandle, "invalid handle"),
    FLYEMU_STATUS(hipErrorIllegalState, "the resource is in the wrong state"),
    FLYEMU_STATUS(hipErrorNotFound, "named symbol not found"),
    FLYEMU_STATUS(hipErrorNotReady, "work is not finished"),
    FLYEMU_STATUS(hipErrorIllegalAddress, "a kernel touched an address that is not its own"),
    FLYEMU_STATUS(hipErrorLaunchOutOfResources, "the launch needs more than the device has"),
    FLYEMU_STATUS(hipErrorLaunchTimeOut, "the launch did not end in time"),
    FLYEMU_STATUS(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    FLYEMU_STATUS(hipErrorPeerAccessNotEnabled, "peer access is not enabled"),
    FLYEMU_STATUS(hipErrorSetOnActiveProcess, "cannot be set once the device is in use"),
    FLYEMU_STATUS(hipErrorContextIsDestroyed, "context is destroyed"),
    FLYEMU_STATUS(hipErrorAssert, "device-side assert"),
    FLYEMU_STATUS(hipErrorHostMemoryAlreadyRegistered, "host memory is already registered"),
    FLYEMU_STATUS(hipErrorHostMemoryNotRegistered, "host memory is not registered"),
    FLYEMU_STATUS(hipErrorLaunchFailure, "a kernel failed while it ran"),
    FLYEMU_STATUS(hipErrorCooperativeLaunchTooLarge, "cooperative launch too large"),
    FLYEMU_STATUS(hipErrorNotSupported, "not supported"),
    FLYEMU_STATUS(hipErrorStreamCaptureUnsupported, "not permitted while the stream captures"),
    FLYEMU_STATUS(hipErrorStreamCaptureInvalidated, "the capture was invalidated by an error"),
    FLYEMU_STATUS(hipErrorStreamCaptureMerge, "would merge two captures"),
    FLYEMU_STATUS(hipErrorStreamCaptureUnmatched, "the capture did not begin in this stream"),
    FLYEMU_STATUS(hipErrorStreamCaptureUnjoined, "a forked stream was not joined to its capture"),
    FLYEMU_STATUS(hipErrorStreamCaptureIsolation, "a dependency would cross the capture's edge"),
    FLYEMU_STATUS(hipErrorStreamCaptureImplicit, "the default stream would depend on a capture"),
    FLYEMU_STATUS(hipErrorCapturedEvent, "the event was last recorded in a capture"),
    FLYEMU_STATUS(hipErrorStreamCaptureWrongThread, "the capture belongs to another thread"),
    FLYEMU_STATUS(hipErrorGraphExecUpdateFailure, "the graph's topology differs"),
    FLYEMU_STATUS(hipErrorUnknown, "unknown error"),
    FLYEMU_STATUS(hipErrorRuntimeMemory, "runtime memory error"),
    FLYEMU_STATUS(hipErrorRuntimeOther, "runtime error"),
};
#undef FLYEMU_STATUS

thread_local hipError_t lastError = hipSuccess;
thread_local std::string lastText;

const StatusEntry *find(hipError_t status) {
  for (const StatusEntry &entry : kEntries)
    if (entry.status == status)
      return &entry;
  return nullptr;
}

} // namespace

const char *statusName(hipError_t status) {
  const StatusEntry *entry = find(status);
  return entry ? entry->name : "hipErrorUnknown";
}

const char *statusText(hipError_t status) {
  const StatusEntry *entry = find(status);
  return entry ? entry->text : "unknown error";
}

hipError_t takeLastError() {
  hipError_t status = lastError;
  lastError = hipSuccess;
  return status;
}

hipError_t peekLastError() { return lastError; }

hipError_t noteStatus(hipError_t status, const char *message) {
  if (status != hipSuccess && status != hipErrorNotReady) {
    lastError = status;
    lastText = message;
  }
  return status;
}

const char *lastErrorText() { return lastText.c_str(); }

hipError_t reportFailure(const char *function, hipError_t status, const char *message) {
  if (status != hipErrorNotReady && message && *message)
    log(ReportLevel::Error, std::string(function) + ": " + statusName(status) + ": " + message);
  return noteStatus(status, message ? message : "");
}

hipError_t statusOf(const loader::LoadError &error) {
  switch (error.kind()) {
  case loader::LoadFailure::Malformed:
  case loader::LoadFailure::Unsupported:
    return hipErrorInvalidImage;
  case loader::LoadFailure::OtherTarget:
    return hipErrorNoBinaryForGpu;
  case loader::LoadFailure::NotFound:
    return hipErrorNotFound;
  case loader::LoadFailure::OutOfMemory:
    return hipErrorOutOfMemory;
  }
  return hipErrorUnknown;
}

} // namespace flyemu::hip
