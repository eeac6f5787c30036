// What an atomic operation is called.
#pragma once

#include <flydsl/kernel/atom.h>

namespace flydsl::builder {

/// "add", "exchange": as fx::AtomicOp spells them, for messages.
const char *atomicUserName(AtomicOp op);

} // namespace flydsl::builder
