// The one error type of the loader: what is wrong with a code object, in words for the log, and of
// which kind it is, for the HIP status.
#pragma once

#include <stdexcept>
#include <string>

namespace flyemu::loader {

enum class LoadFailure {
  Malformed,   ///< The bytes are no code object, or a broken one.
  OtherTarget, ///< A sound code object for another processor or other features.
  Unsupported, ///< Sound, but of a form this loader does not know (old ABI, compressed bundle).
  NotFound,    ///< The kernel or symbol asked for is not in it.
  OutOfMemory,
};

class LoadError : public std::runtime_error {
public:
  LoadError(LoadFailure kind, const std::string &message)
      : std::runtime_error(message), kind_(kind) {}
  LoadFailure kind() const { return kind_; }

private:
  LoadFailure kind_;
};

} // namespace flyemu::loader
