// Tells whether the process is inside of exit().
#pragma once

#include <memory>
#include <utility>

namespace flydsl::support {

/// True once exit() has reached the first handler that calls noteExit(). The destructor of a static
/// object that runs later must not destroy what threads of the program may still use.
bool exiting();
void noteExit();

/// Registers a handler that calls noteExit(). The handler runs before the destructors of the static
/// objects that exist now. One call is enough for a caller.
void noteExitBeforeStatics();

/// Makes an object that threads of the program may use during exit(), even after its handle was
/// destroyed: a handle that is destroyed during exit() leaves the object alive.
template <class T, class... Arguments>
std::shared_ptr<T> makeOutlivingExit(Arguments &&...arguments) {
  return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...), [](T *object) {
    if (!exiting())
      delete object;
  });
}

} // namespace flydsl::support
