// What a handle of the eDSL refers to.
#pragma once

#include "builder/trace/atom_spec.h"
#include "layout/tile.h"

#include <flydsl/kernel/numeric.h>
#include <flydsl/layout/int_tuple.h>

#include "mlir/IR/Value.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

enum class Dimension : std::uint8_t { x, y, z };

/// Where a thread stands, which is computed at the top of the kernel when it is first used.
struct LazyIndex {
  enum class Kind : std::uint8_t { thread, block, block_size, grid_size, lane };
  Kind kind;
  Dimension dimension = Dimension::x; ///< of a lane, which has one number, always x

  /// As users ask for it: "thread_idx().x".
  std::string str() const;
};

/// The run-time number behind a dynamic leaf of a tuple made on this side: a scalar, or a part of a
/// traced tuple (its `part`-th dynamic leaf).
struct DynamicLeaf {
  Handle value;
  int part = -1;
};

/// What a value is before (or without) being traced.
using HostValue = std::variant<std::monostate, layout::IntTuple, layout::Layout,
                               layout::ComposedLayout, layout::Tile, layout::Swizzle, HostNumber,
                               AtomSpec, LazyIndex, layout::CoordSwizzle>;

/// A value of the host's.
struct HostContent {
  HostValue value;
  /// Of an IntTuple: one entry per dynamic leaf, left to right.
  std::vector<DynamicLeaf> leaves = {};
};

/// A value of a kernel that is, or was, traced.
struct TracedContent {
  mlir::Value value;
  std::uint64_t trace; ///< which trace it belongs to
  /// Of a Var's memory: it holds a vector, not a scalar.
  bool isVector = false;
  /// Of a kernel's tensor: it spans 4 GiB or more.
  bool isLarge = false;
  /// Of a kernel's parameter, which has no place of its own: the kernel, and which parameter it is.
  std::string parameter = {};
};

/// A value. Shared by handles; its content does not change once it is made.
class Node {
public:
  Node(std::variant<HostContent, TracedContent> content, DType type, Loc loc = {})
      : dtype(type), where(loc), content_(std::move(content)) {}

  /// Element type of scalars, vectors, pointers and tensors (the IR knows no sign).
  const DType dtype;
  /// Where the value was made.
  const Loc where;

  /// The content of a value of the host's, or of a traced one; null for the other.
  const HostContent *host() const { return std::get_if<HostContent>(&content_); }
  const TracedContent *traced() const { return std::get_if<TracedContent>(&content_); }

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  /// Digest of a static value's text, computed once.
  const StaticArg &digest(const std::string &text);

private:
  const std::variant<HostContent, TracedContent> content_;
  std::atomic<std::uint32_t> refs_{1};
  std::once_flag digested_;
  StaticArg static_;
};

/// A handle to a host value.
Handle hostHandle(HostValue value, DType dtype = {});
/// A handle to a tuple with run-time leaves.
Handle tupleHandle(layout::IntTuple tuple, std::vector<DynamicLeaf> leaves);
/// The host value of a kind, or null.
template <class T> const T *hostAs(const Handle &handle) {
  const HostContent *host = handle ? handle.node()->host() : nullptr;
  return host ? std::get_if<T>(&host->value) : nullptr;
}
inline bool isTraced(const Handle &handle) { return handle.node()->traced() != nullptr; }

} // namespace detail
FLYDSL_NAMESPACE_END
