// HIP statuses: raised inside as exceptions, turned into return values at the API's edge.
#pragma once

#include "emulator/hip/presence.h"
#include "emulator/hip/report/log.h"
#include "emulator/loader/load_error.h"

#include <hip/hip_runtime_api.h>
#include <new>
#include <stdexcept>
#include <string>

namespace flyemu::hip {

/// A HIP call that failed: the status that it returns, and a sentence for the log (may be empty).
class StatusError : public std::runtime_error {
public:
  StatusError(hipError_t status, const std::string &message)
      : std::runtime_error(message), status_(status) {}
  hipError_t status() const { return status_; }

private:
  hipError_t status_;
};

/// A failure whose message was logged when its cause was found.
class LoggedError : public StatusError {
public:
  using StatusError::StatusError;
};

/// The fault of a device that an earlier operation lost.
class DeviceLost : public LoggedError {
public:
  using LoggedError::LoggedError;
};

[[noreturn]] inline void fail(hipError_t status, const std::string &message) {
  throw StatusError(status, message);
}

/// Fails with hipErrorInvalidValue when \p ok is false.
inline void require(bool ok, const char *message) {
  if (!ok)
    fail(hipErrorInvalidValue, message);
}

/// "hipErrorInvalidValue", or nullptr for a number that is no status.
const char *statusName(hipError_t status);
/// "invalid argument".
const char *statusText(hipError_t status);

/// The thread's last error: kept over successful calls until hipGetLastError takes it.
hipError_t takeLastError();
hipError_t peekLastError();
/// Stores \p status and its message as the thread's last error, unless it is success or "not
/// ready", and returns it.
hipError_t noteStatus(hipError_t status, const char *message = "");
/// The message that noteStatus was given with the thread's last error.
const char *lastErrorText();

/// Logs a failed call and stores its status.
hipError_t reportFailure(const char *function, hipError_t status, const char *message);

hipError_t statusOf(const loader::LoadError &error);

/// Runs the body of an API function. The body returns nothing or a status; whatever it throws
/// becomes a status. No exception leaves.
template <typename Body> hipError_t api(const char *function, Body &&body) noexcept {
  try {
    Inside inside;
    if (lostByFork())
      fail(hipErrorNotInitialized,
           "the process was forked while the emulator ran an operation that "
           "did not end within 10 s: no device can be used in it");
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return hipSuccess;
    } else {
      return noteStatus(body());
    }
  } catch (const LoggedError &error) {
    return noteStatus(error.status(), error.what());
  } catch (const StatusError &error) {
    return reportFailure(function, error.status(), error.what());
  } catch (const loader::LoadError &error) {
    return reportFailure(function, statusOf(error), error.what());
  } catch (const std::bad_alloc &) {
    return reportFailure(function, hipErrorOutOfMemory, "the host is out of memory");
  } catch (const std::invalid_argument &error) {
    return reportFailure(function, hipErrorInvalidValue, error.what());
  } catch (const std::exception &error) {
    return reportFailure(function, hipErrorUnknown, error.what());
  } catch (...) {
    return reportFailure(function, hipErrorUnknown, "unknown exception");
  }
}

} // namespace flyemu::hip
