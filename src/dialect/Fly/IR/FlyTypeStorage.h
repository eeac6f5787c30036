// How MLIR's type storage holds values of the layout algebra: their hashes, and the form in which
// they are kept. Types say nothing about how a dynamic number is computed, and they outlive the
// function whose symbols an expression names. So expressions are dropped before a value becomes a
// parameter of a type.
#pragma once

#include "layout/layout.h"
#include "layout/tile.h"

#include "llvm/ADT/Hashing.h"

namespace flydsl::layout {

inline llvm::hash_code hash_value(const IntTuple &v) { return v.hash(); }
inline llvm::hash_code hash_value(const Layout &v) { return v.hash(); }
inline llvm::hash_code hash_value(const ComposedLayout &v) { return v.hash(); }
inline llvm::hash_code hash_value(const AnyLayout &v) { return hashOf(v); }
inline llvm::hash_code hash_value(const Tile &v) { return v.hash(); }
inline llvm::hash_code hash_value(const Swizzle &v) { return v.hash(); }
inline llvm::hash_code hash_value(const CoordSwizzle &v) { return v.hash(); }

} // namespace flydsl::layout

namespace mlir::fly::detail {

/// The value without the expressions of its dynamic numbers.
flydsl::layout::IntTuple anonymous(const flydsl::layout::IntTuple &v);
flydsl::layout::Layout anonymous(const flydsl::layout::Layout &v);
flydsl::layout::ComposedLayout anonymous(const flydsl::layout::ComposedLayout &v);
flydsl::layout::AnyLayout anonymous(const flydsl::layout::AnyLayout &v);
flydsl::layout::Tile anonymous(const flydsl::layout::Tile &v);
inline flydsl::layout::Swizzle anonymous(const flydsl::layout::Swizzle &v) { return v; }
inline flydsl::layout::CoordSwizzle anonymous(const flydsl::layout::CoordSwizzle &v) { return v; }

} // namespace mlir::fly::detail
