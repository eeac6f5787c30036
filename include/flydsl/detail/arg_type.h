// The types of the arguments of one call, as tracing needs them. They are decoded from the call's
// signature words when a signature is new; the builder turns each type into a parameter of the
// traced kernel.
#pragma once

#include <flydsl/detail/symbol_text.h>
#include <flydsl/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// One leaf of a tensor argument's shape or stride.
struct LeafType {
  /// Static: the value. Dynamic: the known divisibility (>= 1).
  std::int64_t value = 1;
  /// Static: 0. Dynamic: 32 or 64, the width of the integer that is passed at launch.
  int width = 0;

  bool isStatic() const { return width == 0; }
  friend bool operator==(const LeafType &, const LeafType &) = default;
};

/// A value that is known while tracing and is not passed at launch (a TiledCopy, a Layout).
/// `object` is the builder's own and lives at least until the call returns. `digest` is a 128-bit
/// hash of the value's stable text, computed once when the value is made: equal digests mean equal
/// values.
struct StaticArg {
  const void *object = nullptr;
  std::uint64_t digest[2] = {0, 0};
};

/// The type of one argument. It contains only what changes the traced code.
struct ArgType {
  enum class Kind : std::uint8_t {
    tensor,      ///< pointer to global memory with a layout: becomes an !fly.memref parameter
    scalar,      ///< run-time number: becomes a parameter of the dtype's IR type
    pointer,     ///< address of elements of the dtype in global memory: becomes an i64 parameter
    staticValue, ///< becomes a parameter of a static Fly type, or none
    constant,    ///< fx::Constexpr: no parameter; its uses become constants in the IR
  };
  Kind kind = Kind::scalar;
  DType dtype;
  /// Tensor: one leaf per mode; shape and stride have the same length (flat, rank 1 to 8).
  std::vector<LeafType> shape, stride;
  /// Tensor: the alignment in bytes that the pointer is known to have, at least the element's size.
  std::uint32_t alignment = 1;
  /// Tensor: true if its elements span 4 GiB or more, which a buffer's offsets do not reach.
  bool large = false;
  /// Tensor: true if its dynamic extents are of 32 bits, and those do not hold the number of its
  /// elements.
  bool many = false;
  /// Static value: its identity.
  StaticArg staticArg;
  /// Constant: an integer, enum, bool or dtype as 64 bits, or a float as the bits of a double. A
  /// string is in `text`.
  std::uint64_t bits = 0;
  std::string text;
  /// Constant: `bits` say whether an argument that a call may leave out is there.
  bool isPresence = false;

  /// The type as text for messages: "memref<f32, (?,?):(?{i64},1)>", "i32", "static", "constant 3".
  FLYDSL_API std::string str() const;
  /// Whether a launch passes it, so that the kernel has a parameter for it.
  bool isPassed() const {
    return kind == Kind::tensor || kind == Kind::scalar || kind == Kind::pointer;
  }
};

/// The types that signature words state. The first word belongs to the launch. Static values have
/// no object.
FLYDSL_API std::vector<ArgType> typesOf(std::span<const std::uint64_t> words);
/// True if two types lead to the same code.
FLYDSL_API bool sameType(const ArgType &a, const ArgType &b);
/// The type as text with everything that distinguishes it in a signature; `str` leaves out a
/// tensor's alignment.
FLYDSL_API std::string signatureText(const ArgType &type);

/// One parameter as the traced body receives it. A class of the eDSL that may be a kernel's
/// parameter declares
///   static constexpr detail::ArgType::Kind param_kind   tensor, scalar or staticValue,
///   static constexpr DType param_dtype                  scalars: the element type,
///   detail::StaticArg static_arg() const                static values: the host value's identity,
///   static P from_param(const detail::ParamHandle &)    the traced value.
struct ParamHandle {
  /// The IR value (mlir::Value::getAsOpaquePointer()); null for constants.
  const void *value = nullptr;
  const ArgType *type = nullptr;
};

/// Gives the parameters to a kernel's body in order; a user's composite parameter takes several.
class ParamReader {
public:
  ParamReader(const ParamHandle *first, std::size_t count) : next_(first), end_(first + count) {}
  const ParamHandle &next() { return *next_++; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
  /// What the configurations among the parameters add to the kernel's symbol.
  SymbolText &symbol() { return symbol_; }
  /// What all constants among the parameters add to the variant of an exported kernel.
  SymbolText &variant() { return variant_; }

private:
  const ParamHandle *next_, *end_;
  SymbolText symbol_, variant_;
};

} // namespace detail
FLYDSL_NAMESPACE_END
