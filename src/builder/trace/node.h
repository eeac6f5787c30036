// What a handle of the eDSL refers to.
#pragma once

#include "layout/tile.h"

#include <flydsl/int_tuple.h>
#include <flydsl/numeric.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// A value known from its IR type alone, given by the type's text: an instruction, an atom, a tiled
/// operation. (The text needs no context, so the value is good for every trace.)
struct StaticType {
  std::string text;
};

/// A value that is computed at the top of the kernel when it is first used.
struct LazyIndex {
  const char *op;        // "gpu.thread_id", ...
  const char *dimension; // "x", "y", "z"; null for none
};

/// The run-time number behind a dynamic leaf of a tuple made on this side: a scalar, or a part of a
/// traced tuple (its `part`-th dynamic leaf).
struct DynamicLeaf {
  Handle value;
  int part = -1;
};

/// What a value is before (or without) being traced.
using HostValue =
    std::variant<std::monostate, layout::IntTuple, layout::Layout, layout::ComposedLayout,
                 layout::Tile, layout::Swizzle, HostNumber, StaticType, LazyIndex,
                 layout::CoordSwizzle>;

/// A value. Shared by handles; its content does not change once it is made.
class Node {
public:
  HostValue host;
  /// Of a host IntTuple: one entry per dynamic leaf, left to right.
  std::vector<DynamicLeaf> leaves;
  /// Of a traced value: mlir::Value's opaque pointer, and the trace that it belongs to.
  const void *value = nullptr;
  std::uint64_t trace = 0;
  /// Element type of scalars, vectors, pointers and tensors (the IR knows no sign).
  DType dtype;
  /// Of a Var's memory: it holds a vector, not a scalar.
  bool isVector = false;
  /// Of a kernel's tensor: it spans 4 GiB or more.
  bool large = false;
  /// Where the value was made.
  Loc where;
  /// Of a kernel's parameter, which has no place of its own: which one it is, of which kernel.
  std::string origin;

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  /// Digest of a static value's text, computed once.
  const StaticArg &digest(const std::string &text);

private:
  std::atomic<std::uint32_t> refs_{1};
  std::once_flag digested_;
  StaticArg static_;
};

/// A handle to a host value.
Handle hostHandle(HostValue value, DType dtype = {});
/// The host value of a kind, or null.
template <class T> const T *hostAs(const Handle &handle) {
  return handle ? std::get_if<T>(&handle.node()->host) : nullptr;
}
inline bool isTraced(const Handle &handle) { return handle.node()->trace != 0; }

} // namespace detail
FLYDSL_NAMESPACE_END
