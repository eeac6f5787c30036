// What an atomic operation is called.
#pragma once

#include <flydsl/atom.h>

namespace flydsl::builder {

/// "add", "exchange": as fx::AtomicOp spells them, for messages.
const char *atomicUserName(AtomicOp op);
/// The suffix of AMD's buffer intrinsics for an element type; null where there is none.
const char *signedAtomicName(AtomicOp op);
const char *unsignedAtomicName(AtomicOp op);
const char *floatAtomicName(AtomicOp op);

} // namespace flydsl::builder
