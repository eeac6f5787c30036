#include "jit/launch/shared_work.h"

namespace flydsl::jit {

static constinit std::mutex lockOfAll;

std::mutex &sharingWork() { return lockOfAll; }

} // namespace flydsl::jit
