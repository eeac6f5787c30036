// Atoms and tiled operations: values that their IR type determines.
#pragma once

#include "builder/trace/tracer.h"

#include <flydsl/atom.h>

namespace flydsl::builder {

/// A value of the type with this text. A text that is no type, or that its verifier refuses, is a
/// TraceError. `values` is the element type that an atom was made for, if any.
Handle staticOf(const std::string &text, Loc loc, DType values = {});
/// A value of this static type.
Handle staticOf(mlir::Type type, Loc loc);
/// The IR type of an atom or tiled operation, in the running trace's context, or in the host's.
mlir::Type atomType(const Handle &handle, Loc loc);
/// A TraceError where the trace's target is known and has no such instruction; it says what the
/// target has. The type is that of an instruction, an atom, or a tiled operation.
void expectOnTarget(mlir::Type type, Loc loc);
/// The text of a static atom's type; empty for one with state of the kernel.
std::string staticText(const Handle &handle);
/// "add", "max", ...: the operation of an atom on elements of a type. TraceError where atoms have
/// none.
const char *atomicName(AtomicOp op, DType type, Loc loc);
/// An element type's text in the IR.
std::string elementText(DType type);

} // namespace flydsl::builder
