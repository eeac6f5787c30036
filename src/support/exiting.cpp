#include "support/exiting.h"

#include <atomic>
#include <cstdlib>

namespace flydsl::support {

static std::atomic<bool> exits{false};

bool exiting() { return exits.load(std::memory_order_acquire); }
void noteExit() { exits.store(true, std::memory_order_release); }
void noteExitBeforeStatics() { std::atexit(noteExit); }

} // namespace flydsl::support
