// Host numbers and the types they take.
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "llvm/ADT/APFloat.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

mlir::Type Typed::like(DType type, mlir::MLIRContext *context) const {
  mlir::Type element = builder::elementType(type, context);
  if (auto v = mlir::dyn_cast<mlir::VectorType>(value.getType()))
    return mlir::VectorType::get(v.getShape(), element);
  return element;
}

mlir::VectorType vectorType(const Handle &handle, Loc loc) {
  return isTraced(handle) ? mlir::dyn_cast<mlir::VectorType>(detail::tracedType(handle, loc))
                          : mlir::VectorType();
}

bool isWeak(const Handle &handle) { return hostAs<HostNumber>(handle) && !handle.node()->dtype; }

DType ownType(const HostNumber &n) {
  switch (n.kind) {
  case HostNumber::Kind::boolean:
    return boolean;
  case HostNumber::Kind::floating:
    return f32;
  case HostNumber::Kind::unsignedInteger:
    return n.integer < 0 ? u64 : n.integer > INT32_MAX ? i64 : i32;
  case HostNumber::Kind::integer:
    break;
  }
  return n.integer == static_cast<std::int32_t>(n.integer) ? i32 : i64;
}

static std::string numberText(const HostNumber &n) {
  return n.kind == HostNumber::Kind::floating ? std::to_string(n.floating)
         : n.kind == HostNumber::Kind::unsignedInteger
             ? std::to_string(static_cast<std::uint64_t>(n.integer))
             : std::to_string(n.integer);
}

/// Whether a finite number would become infinite. Formats below 16 bits have rules of their own,
/// which conversions follow.
static bool overflows(const HostNumber &n, DType type) {
  const llvm::fltSemantics *format = type == f16    ? &llvm::APFloat::IEEEhalf()
                                     : type == bf16 ? &llvm::APFloat::BFloat()
                                     : type == f32  ? &llvm::APFloat::IEEEsingle()
                                                    : nullptr;
  if (!format)
    return false;
  const double value = n.kind == HostNumber::Kind::floating ? n.floating
                       : n.kind == HostNumber::Kind::unsignedInteger
                           ? static_cast<double>(static_cast<std::uint64_t>(n.integer))
                           : static_cast<double>(n.integer);
  llvm::APFloat number(value);
  if (!number.isFinite())
    return false;
  bool lost = false;
  number.convert(*format, llvm::APFloat::rmNearestTiesToEven, &lost);
  return !number.isFinite();
}

bool fits(const HostNumber &n, DType type) {
  if (type.is_float())
    return !overflows(n, type);
  if (n.kind == HostNumber::Kind::floating)
    return false;
  if (type == boolean)
    return n.integer == 0 || n.integer == 1;
  bool huge = n.kind == HostNumber::Kind::unsignedInteger && n.integer < 0;
  if (type.bits() == 64)
    return type.is_signed() ? !huge : huge || n.integer >= 0;
  if (huge)
    return false;
  std::int64_t lo = type.is_signed() ? -(std::int64_t(1) << (type.bits() - 1)) : 0;
  std::int64_t hi = (std::int64_t(1) << (type.bits() - (type.is_signed() ? 1 : 0))) - 1;
  return n.integer >= lo && n.integer <= hi;
}

Handle typedConstant(const HostNumber &n, DType type, Loc loc) {
  if (!fits(n, type))
    throw TraceError("the number " + numberText(n) + " does not fit " + std::string(type.name()) +
                         (type.is_float() ? "; it would become infinite" : ""),
                     loc);
  HostNumber kept = n;
  if (type.is_float() && n.kind != HostNumber::Kind::floating) {
    kept.kind = HostNumber::Kind::floating;
    kept.floating = n.kind == HostNumber::Kind::unsignedInteger
                        ? static_cast<double>(static_cast<std::uint64_t>(n.integer))
                        : static_cast<double>(n.integer);
  }
  return hostHandle(kept, type);
}

DType numericType(const Handle &handle, Loc loc) {
  DType type = handle.node()->dtype;
  if (!type)
    throw TraceError("expected a number or a vector, got " + detail::describe(handle), loc);
  return type;
}

void expectComputable(const char *what, DType type, Loc loc) {
  if (type.is_float() && type.bits() < 16)
    throw TraceError(std::string(what) + " of " + std::string(type.name()) +
                         ", which is for storage; .to(fx::f32) converts",
                     loc);
}

Handle constant(HostNumber value, DType type, Loc loc) {
  return type ? typedConstant(value, type, loc) : hostHandle(value);
}

DType dtypeOf(const Handle &handle, Loc loc) {
  if (auto *number = hostAs<HostNumber>(handle); number && !handle.node()->dtype)
    return ownType(*number);
  if (!handle.node()->dtype)
    throw TraceError(detail::describe(handle) + " has no element type", loc);
  return handle.node()->dtype;
}

Handle expectScalar(const Handle &handle, DType type, Loc loc) {
  if (isWeak(handle))
    return typedConstant(*hostAs<HostNumber>(handle), type, loc);
  DType given = handle.node()->dtype;
  if (given == type && !vectorType(handle, loc))
    return handle;
  if (isTraced(handle) && !given && type.is_integer())
    return expectScalar(scalarOfTuple(handle, loc), type, loc); // an element of an identity tensor
  const bool isScalar = given && !vectorType(handle, loc);
  throw TraceError("expected a scalar of " + std::string(type.name()) + ", got " +
                       (isScalar ? std::string(given.name()) +
                                       "; .to(fx::" + std::string(type.name()) + ") converts"
                                 : detail::describe(handle)),
                   loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
