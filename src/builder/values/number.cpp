// Host numbers and the types they take.
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "support/float_format.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <sstream>

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

/// A number in a format, rounded to nearest even once, as the conversion of an integer or a float is.
static double roundedIn(const llvm::fltSemantics &format, const HostNumber &n) {
  constexpr auto kNearest = llvm::APFloat::rmNearestTiesToEven;
  llvm::APFloat value(n.kind == HostNumber::Kind::floating ? n.floating : 0);
  bool lost = false;
  value.convert(format, kNearest, &lost);
  if (n.kind != HostNumber::Kind::floating)
    value.convertFromAPInt(llvm::APInt(64, static_cast<std::uint64_t>(n.integer)),
                           n.kind != HostNumber::Kind::unsignedInteger, kNearest);
  return value.convertToDouble();
}
/// What a number is as a float of a type. Floats of fewer than 16 bits come from f32, as in conversions.
static double floatOf(const HostNumber &n, DType type) {
  if (type == f64)
    return roundedIn(llvm::APFloat::IEEEdouble(), n);
  if (type == bf16)
    return roundedIn(llvm::APFloat::BFloat(), n);
  if (type == f16)
    return roundedIn(llvm::APFloat::IEEEhalf(), n);
  const double single = roundedIn(llvm::APFloat::IEEEsingle(), n);
  const FloatFormat *narrow = smallFloatFormat(type);
  return narrow ? double{narrow->toFloat(narrow->fromDouble(single, FloatOverflow::special))}
                : single;
}

/// Why a number is none of a floating-point type; empty if it is one, rounded.
static std::string whyNoFloat(const HostNumber &n, DType type) {
  const double exact = floatOf(n, f64), value = floatOf(n, type);
  if (std::isnan(exact))
    return std::isnan(value) ? "" : ", which has no NaN";
  if (std::isnan(value))
    return "; it would become NaN";
  if (std::isinf(value))
    return std::isinf(exact) ? "" : "; it would become infinite";
  const FloatFormat *format = smallFloatFormat(type);
  if (format && format->specials == FloatSpecials::powers && exact < 0)
    return ", whose numbers are powers of two";
  if (format && format->specials == FloatSpecials::none &&
      std::abs(exact) > format->toFloat(format->largest()))
    return (std::ostringstream() << ", whose largest is " << format->toFloat(format->largest()))
        .str();
  return {};
}

bool fits(const HostNumber &n, DType type) {
  if (type.is_float())
    return whyNoFloat(n, type).empty();
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

Handle roundedConstant(const HostNumber &n, DType type) {
  HostNumber kept = n;
  kept.kind = HostNumber::Kind::floating;
  kept.floating = floatOf(n, type);
  return hostHandle(kept, type);
}

Handle typedConstant(const HostNumber &n, DType type, Loc loc) {
  if (!fits(n, type))
    throw TraceError("the number " + numberText(n) + " does not fit " + std::string(type.name()) +
                         (type.is_float() ? whyNoFloat(n, type) : ""),
                     loc);
  return type.is_float() ? roundedConstant(n, type) : hostHandle(n, type);
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
