// What a module means, as a hash.
#pragma once

#include "cache/key.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace flydsl::jit {

/// The hash of the device part of a module, without locations and
/// without the paths of linked bitcode.
///
/// Operations without effects that stand between the same two operations with effects
/// count by what they are and not by their order, and so do reads of memory. C++ leaves
/// the order open in which arguments of a call are evaluated, and compilers differ in it,
/// so a kernel that is traced by a program of another compiler may have them in another
/// order: `x(i) + y(i)` reads x first or y first.
cache::Key moduleDigest(mlir::ModuleOp module);

} // namespace flydsl::jit
