// A device of ggml: a device of the library.
#pragma once

#include <flydsl/flydsl.h>

#include <ggml-backend-impl.h>
#include <ggml-impl.h>

#include <atomic>
#include <string>

namespace flydsl_ggml {
namespace fx = flydsl;

/// A device of the registry. It lives as long as the process, as ggml's devices do.
struct DeviceState {
  explicit DeviceState(fx::Device device);

  fx::Device device;
  std::string name, description, hostName;
  fx::Target target;
  /// Failures of calls that have no way to tell ggml, such as copies of tensors. What such a call leaves is
  /// not to be used: backends that were there when it failed compute nothing from then on.
  std::atomic<unsigned> failures = 0;
  ggml_backend_buffer_type buffers, hostBuffers; ///< its kinds of memory
  ggml_backend_device handle;
};

inline DeviceState &stateOf(ggml_backend_dev_t device) {
  return *static_cast<DeviceState *>(device->context);
}

/// Calls `work` and returns what it returns; where it throws, the error is logged and `failed` is
/// returned. No exception may cross into ggml, which is C.
template <class Result, class Work>
Result guarded(const char *what, Result failed, const Work &work) noexcept {
  try {
    return work();
  } catch (const std::exception &error) {
    GGML_LOG_ERROR("flydsl: %s: %s\n", what, error.what());
  } catch (...) {
    GGML_LOG_ERROR("flydsl: %s: unknown error\n", what);
  }
  return failed;
}
/// The same where ggml's interface has no way to say that it failed: the failure is counted, and whether it
/// went well is returned.
template <class Work>
bool counted(DeviceState &state, const char *what, const Work &work) noexcept {
  const bool done = guarded(what, false, [&] {
    work();
    return true;
  });
  if (!done)
    ++state.failures;
  return done;
}

/// Whether a buffer is device memory of this backend, of any device.
bool isDeviceBuffer(ggml_backend_buffer_t buffer);
/// The reason why the numbers in a buffer of device memory are not what was copied there; null if they are.
const char *lostContents(ggml_backend_buffer_t buffer);

/// What the kinds of memory do.
ggml_backend_buffer_type_i bufferTypeInterface();
ggml_backend_buffer_type_i hostBufferTypeInterface();
/// A backend on the device: a stream, and what computes graphs on it.
ggml_backend_t makeBackend(DeviceState &state);

} // namespace flydsl_ggml
