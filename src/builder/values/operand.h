// Numbers on their way into operations: what operators, conversions and functions share.
#pragma once

#include "builder/trace/tracer.h"

#include <flydsl/kernel/vector.h>

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using builder::Tracer;

/// A number or vector of numbers in the IR, with its element type.
struct Typed {
  mlir::Value value;
  DType dtype;

  bool isVector() const { return mlir::isa<mlir::VectorType>(value.getType()); }
  /// The IR type of as many elements of another element type.
  mlir::Type like(DType type, mlir::MLIRContext *context) const;
};

/// A host number whose type is still left to the operand it meets.
bool isWeak(const Handle &handle);
/// The type that a host number has alone.
DType ownType(const HostNumber &number);
bool fits(const HostNumber &number, DType type);
/// The number as one of a type; throws if it does not fit.
Handle typedConstant(const HostNumber &number, DType type, Loc loc);
/// The number as one of a floating-point type, converted as numbers of the run time are.
Handle roundedConstant(const HostNumber &number, DType type);
/// The element type; a TraceError where the handle is no number.
DType numericType(const Handle &handle, Loc loc);
/// The vector type of a traced value; null for others.
mlir::VectorType vectorType(const Handle &handle, Loc loc);

/// The number, converted.
Typed converted(Tracer &t, Typed from, DType to, Loc loc);
/// A handle as a number of `type`: host numbers take it, others are converted.
Typed operand(Tracer &t, const Handle &handle, DType type, Loc loc);
/// The handle as it is, a host number as the type that it has alone.
Typed operand(Tracer &t, const Handle &handle, Loc loc);
/// The element type that both operands are brought to.
DType operandType(const Handle &a, const Handle &b, Loc loc);
/// Of a scalar and a vector, the scalar becomes a vector. TraceError for vectors of different
/// sizes.
void matchShapes(Tracer &t, Typed &a, Typed &b, Loc loc);
inline Handle wrap(Tracer &t, const Typed &value, Loc loc) {
  return t.wrap(value.value, value.dtype, loc);
}
/// Refuses floats of less than 16 bits, which are for storage.
void expectComputable(const char *what, DType type, Loc loc);

} // namespace detail
FLYDSL_NAMESPACE_END
