// What the arguments of one call mean to the trace. Made from a call's signature words when a
// signature is seen for the first time; the builder turns each into a parameter of the traced
// kernel.
#pragma once

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
  /// The value where static, the known divisibility (>= 1) where dynamic.
  std::int64_t value = 1;
  /// 0: static. 32 or 64: dynamic, passed at launch as an integer of that width.
  int width = 0;

  bool isStatic() const { return width == 0; }
  friend bool operator==(const LeafType &, const LeafType &) = default;
};

/// A value that is known while tracing and vanishes from the kernel's arguments (a TiledCopy, a
/// Layout). `object` is the builder's own, and lives at least until the call returns; `digest` is
/// 128 bits over its stable text, computed once where the value is made: equal digests mean equal
/// values.
struct StaticArg {
  const void *object = nullptr;
  std::uint64_t digest[2] = {0, 0};
};

/// The type of one argument. What does not change the traced code is not in it.
struct ArgType {
  enum class Kind : std::uint8_t {
    tensor,      ///< pointer to global memory with a layout: becomes an !fly.memref parameter
    scalar,      ///< run-time number: becomes a parameter of the dtype's IR type
    staticValue, ///< becomes a parameter of a static Fly type, or none
    constant,    ///< fx::Constexpr: no parameter; baked into the IR by whoever uses it
  };
  Kind kind = Kind::scalar;
  DType dtype;
  /// Tensor: one leaf per mode, shape and stride of equal length (flat, rank 1 to 8).
  std::vector<LeafType> shape, stride;
  /// Tensor: alignment in bytes that the pointer is known to have; at least the element's size.
  std::uint32_t alignment = 1;
  /// Tensor: its elements span 4 GiB or more, which a buffer's offsets don't reach.
  bool large = false;
  /// Static value.
  StaticArg staticArg;
  /// Constant: an integer, enum, bool or dtype as 64 bits, a float as the bits of a double; or
  /// `text`.
  std::uint64_t bits = 0;
  std::string text;

  /// "memref<f32, (?,?):(?{i64},1)>", "i32", "static", "constant 3": for messages.
  FLYDSL_API std::string str() const;
};

/// The types that signature words say; the first word is the launch's. Static values have no
/// object.
FLYDSL_API std::vector<ArgType> typesOf(std::span<const std::uint64_t> words);
/// Whether two types are the same code.
FLYDSL_API bool sameType(const ArgType &a, const ArgType &b);
/// A type with all that tells it from others in a signature, where `str` leaves out a tensor's
/// alignment.
FLYDSL_API std::string signatureText(const ArgType &type);

/// One parameter as the traced body gets it. A class of the eDSL that may be a kernel's parameter
/// declares
///   static constexpr detail::ArgType::Kind param_kind   tensor, scalar or staticValue,
///   static constexpr DType param_dtype                  scalars: the element type,
///   detail::StaticArg static_arg() const                static values: the host value's identity,
///   static P from_param(const detail::ParamHandle &)    the traced value.
struct ParamHandle {
  /// The IR value (mlir::Value::getAsOpaquePointer()); null for constants.
  const void *value = nullptr;
  const ArgType *type = nullptr;
};

/// Hands a kernel body its parameters in order; a user's composite parameter takes several.
class ParamReader {
public:
  ParamReader(const ParamHandle *first, std::size_t count) : next_(first), end_(first + count) {}
  const ParamHandle &next() { return *next_++; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }

private:
  const ParamHandle *next_, *end_;
};

} // namespace detail
FLYDSL_NAMESPACE_END
