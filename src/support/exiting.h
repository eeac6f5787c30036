// Whether exit() was called.
#pragma once

#include <memory>
#include <utility>

namespace flydsl::support {

/// True from the moment when exit() comes to the first handler that calls noteExit(). Objects with
/// static storage that die after it must leave alone what threads of the program may still use.
bool exiting();
void noteExit();

/// Registers a handler that calls noteExit(): it runs before objects with static storage die that
/// exist now. Once is enough for a caller.
void noteExitBeforeStatics();

/// Makes an object that threads of the program may use while the process exits, although the handle
/// to it has died: what dies in exit() is left as it is.
template <class T, class... Arguments> std::shared_ptr<T> makeOutlivingExit(Arguments &&...arguments) {
  return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...), [](T *object) {
    if (!exiting())
      delete object;
  });
}

} // namespace flydsl::support
