// Pointers as LLVM's, for operations of the LLVM dialect.
#pragma once

#include "builder/trace/tracer.h"

#include "dialect/Fly/IR/FlyTypes.h"

#include <optional>

namespace flydsl::builder {

/// A pointer to memory that LLVM addresses: generic, global or shared. Nullopt for other values,
/// for registers, and for a target's own memory.
std::optional<mlir::fly::PointerType> addressable(const Tracer &t, const Handle &pointer, Loc loc);

/// The pointer as LLVM's. `type` is what `addressable` gave.
mlir::Value llvmPointer(Tracer &t, const Handle &pointer, mlir::fly::PointerType type, Loc loc);

} // namespace flydsl::builder
