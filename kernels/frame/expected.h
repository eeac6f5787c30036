// What a family states of an operand: one row, by which the frame checks the operand of each call.
#pragma once

#include <flydsl/host/host_tensor.h>

#include <concepts>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The extents of an operand, with the names of its modes as messages and documents have them:
/// {"m, n", m, problem.n}.
struct Shape {
  static constexpr int kMostModes = 5;
  template <std::integral... Extent>
    requires(sizeof...(Extent) >= 1 && sizeof...(Extent) <= kMostModes)
  constexpr Shape(const char *modes, Extent... extent)
      : modes(modes), rank(sizeof...(Extent)), extents{static_cast<std::int64_t>(extent)...} {}

  const char *modes; ///< separated by ", "
  int rank;
  std::int64_t extents[kMostModes];
};

/// What a kernel does with an operand.
enum class Use : std::uint8_t {
  read,    ///< elements may share their places: strides of 0 repeat what they step over
  ordered, ///< read, and its elements have places of their own: a kernel finds an end by a stride
  written, ///< its elements have places of their own
};

/// How far a kernel's 32-bit offsets may go: `counts[i]` steps along mode i, those of all modes
/// together, span less than `bytes` bytes. No bytes: the kernel's offsets have 64 bits.
struct Reach {
  std::int64_t counts[Shape::kMostModes] = {};
  std::int64_t bytes = 0;
  const char *what = ""; ///< what these steps are, for the message: "a tile"
};

/// What is expected of an operand.
struct Expected {
  const char *name; ///< of the field in Args
  DType dtype;
  Shape shape;
  /// So many leading modes have strides of the caller's; those after them are packed, as in a
  /// contiguous tensor.
  int free = 0;
  Use use = Use::read;
  /// The start and all free strides are multiples of so many elements, a power of two.
  std::int64_t align = 1;
  /// Why they are, for the message.
  const char *reason = "the problem's row_align promises it, and a smaller one does not";
  /// A matrix whose columns are packed: the last mode is free, not the one before it.
  bool byColumns = false;
  Reach reach = {};
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
