// Whether exit() was called.
#pragma once

namespace flydsl::support {

/// True from the moment when exit() comes to the first handler that calls noteExit(). Objects with
/// static storage that die after it must leave alone what threads of the program may still use.
bool exiting();
void noteExit();

/// Registers a handler that calls noteExit(): it runs before objects with static storage die that
/// exist now. Once is enough for a caller.
void noteExitBeforeStatics();

} // namespace flydsl::support
