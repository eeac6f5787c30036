#include <flydsl/kernel/atomic.h>

#include "builder/memory/address.h"
#include "builder/memory/atomic_names.h"
#include "builder/memory/memory_order.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <optional>

namespace flydsl::builder {

const char *atomicUserName(AtomicOp op) {
  switch (op) {
  case AtomicOp::add:
    return "add";
  case AtomicOp::max:
    return "max";
  case AtomicOp::min:
    return "min";
  case AtomicOp::and_:
    return "and";
  case AtomicOp::or_:
    return "or";
  case AtomicOp::inc:
    return "inc";
  case AtomicOp::dec:
    return "dec";
  case AtomicOp::xor_:
    return "xor";
  case AtomicOp::exchange:
    return "exchange";
  }
  llvm_unreachable("an atomic operation");
}

} // namespace flydsl::builder

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
namespace fly = mlir::fly;
namespace llvmd = mlir::LLVM;

static std::optional<llvmd::AtomicBinOp> kindOf(AtomicOp op, DType type) {
  using Kind = llvmd::AtomicBinOp;
  const bool isFloat = type.is_float(), isSigned = type.is_signed();
  auto ofIntegers = [&](Kind kind) { return isFloat ? std::nullopt : std::optional(kind); };
  switch (op) {
  case AtomicOp::add:
    return isFloat ? Kind::fadd : Kind::add;
  case AtomicOp::max:
    return isFloat ? Kind::fmax : isSigned ? Kind::max : Kind::umax;
  case AtomicOp::min:
    return isFloat ? Kind::fmin : isSigned ? Kind::min : Kind::umin;
  case AtomicOp::exchange:
    return Kind::xchg;
  case AtomicOp::and_:
    return ofIntegers(Kind::_and);
  case AtomicOp::or_:
    return ofIntegers(Kind::_or);
  case AtomicOp::xor_:
    return ofIntegers(Kind::_xor);
  case AtomicOp::inc:
    return ofIntegers(Kind::uinc_wrap);
  case AtomicOp::dec:
    return ofIntegers(Kind::udec_wrap);
  }
  llvm_unreachable("an atomic operation");
}

static mlir::Value address(Tracer &t, const Pointer &pointer, const char *what, Loc loc) {
  const std::optional<fly::PointerType> type = builder::addressable(t, pointer.handle(), loc);
  if (!type || !type->getSwizzle().isTrivial())
    throw TraceError(std::string(what) +
                         " works on generic, global or shared memory without a swizzle, not on " +
                         pointer.str(),
                     loc);
  return builder::llvmPointer(t, pointer.handle(), *type, loc);
}

/// A number for an element of `type`: of that very type, or a host number that fits.
static mlir::Value element(Tracer &t, const Handle &value, DType type, const char *what, Loc loc) {
  if (!detail::isWeak(value) && detail::numericType(value, loc) != type)
    throw TraceError(std::string(what) + " of an element of " + std::string(type.name()) +
                         " is given " + std::string(detail::numericType(value, loc).name()) +
                         "; .to(fx::" + std::string(type.name()) + ") converts",
                     loc);
  return detail::operand(t, value, type, loc).value;
}

Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value, SyncScope scope) {
  return atomic(op, pointer, value, MemoryOrder::relaxed, scope);
}

Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value, MemoryOrder order,
               SyncScope scope) {
  Loc loc = value.loc;
  Tracer &t = Tracer::require("atomic", loc);
  const DType type = pointer.dtype(loc);
  const std::optional<llvmd::AtomicBinOp> kind = kindOf(op, type);
  if (!kind || type.bits() < 16 || !(type.is_float() || type.bits() >= 32))
    throw TraceError("there is no atomic " + std::string(builder::atomicUserName(op)) + " on " +
                         std::string(type.name()) +
                         ": integers of 32 and 64 bits have all operations, floats of 16, 32 and "
                         "64 bits add, exchange, min and max",
                     loc);
  mlir::Value operand = element(t, value.handle, type, "atomic", loc);
  mlir::Value old =
      t.create<llvmd::AtomicRMWOp>(loc, *kind, address(t, pointer, "atomic", loc), operand,
                                   builder::orderingOf(order), builder::scopeNamed(scope, loc));
  return Numeric(t.wrap(old, type, loc));
}

Vector atomic(AtomicOp op, const Pointer &pointer, const Vector &value, MemoryOrder order,
              SyncScope scope, Loc loc) {
  Tracer &t = Tracer::require("atomic", loc);
  const DType type = pointer.dtype(loc), given = detail::dtypeOf(value.handle(), loc);
  const std::int64_t size = detail::vectorSize(value.handle(), loc);
  if (op != AtomicOp::add || !(type == f16 || type == bf16) || size != 2)
    throw TraceError("there is no atomic " + std::string(builder::atomicUserName(op)) + " on " +
                         std::to_string(size) + " neighbours of " + std::string(type.name()) +
                         ": two of f16 or bf16 are added; other elements are combined one by one",
                     loc);
  if (given != type)
    throw TraceError("atomic of elements of " + std::string(type.name()) + " is given " +
                         std::string(given.name()) + "; .to(fx::" + std::string(type.name()) +
                         ") converts",
                     loc);
  if (pointer.alignment(loc) % 4)
    throw TraceError("an atomic on two neighbours of 16 bits needs a pointer that is aligned to 4 "
                     "bytes, and this one is known to be aligned to " +
                         std::to_string(pointer.alignment(loc)) +
                         "; recast it to 32 bits, add the offset, and recast it back",
                     loc);
  mlir::Value old = t.create<llvmd::AtomicRMWOp>(
      loc, llvmd::AtomicBinOp::fadd, address(t, pointer, "atomic", loc), t.use(value.handle(), loc),
      builder::orderingOf(order), builder::scopeNamed(scope, loc));
  return Vector(t.wrap(old, type, loc));
}

/// The order of a compare and swap that writes nothing: what `order` has of an acquire.
static MemoryOrder orderOfFailure(MemoryOrder order) {
  switch (order) {
  case MemoryOrder::relaxed:
  case MemoryOrder::release:
    return MemoryOrder::relaxed;
  case MemoryOrder::acquire:
  case MemoryOrder::acq_rel:
    return MemoryOrder::acquire;
  case MemoryOrder::seq_cst:
    return MemoryOrder::seq_cst;
  }
  llvm_unreachable("an order");
}

Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                   const Numeric::Arg &desired, SyncScope scope) {
  return atomic_cas(pointer, expected, desired, MemoryOrder::relaxed, scope);
}

Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                   const Numeric::Arg &desired, MemoryOrder order, SyncScope scope) {
  Loc loc = desired.loc;
  Tracer &t = Tracer::require("atomic_cas", loc);
  const DType type = pointer.dtype(loc);
  if (type.bits() != 32 && type.bits() != 64)
    throw TraceError(
        "atomic_cas works on elements of 32 and 64 bits, not on " + std::string(type.name()), loc);
  const DType bits = type.bits() == 32 ? i32 : i64;
  auto asBits = [&](const Handle &h) {
    mlir::Value v = element(t, h, type, "atomic_cas", loc);
    return t.use(detail::bitcast(t.wrap(v, type, loc), bits, loc), loc);
  };
  mlir::Value compared = asBits(expected.handle), written = asBits(desired.handle);
  mlir::Value both = t.create<llvmd::AtomicCmpXchgOp>(
      loc, address(t, pointer, "atomic_cas", loc), compared, written, builder::orderingOf(order),
      builder::orderingOf(orderOfFailure(order)), builder::scopeNamed(scope, loc));
  mlir::Value old = t.create<llvmd::ExtractValueOp>(loc, both, 0);
  return Numeric(detail::bitcast(t.wrap(old, bits, loc), type, loc));
}

/// The type of the element's bits, as an atomic access moves it.
static DType accessed(const Pointer &pointer, const char *what, Loc loc) {
  const DType type = pointer.dtype(loc);
  for (DType bits : {i8, i16, i32, i64})
    if (type.bits() == bits.bits() && type.memory_bits() == bits.bits())
      return bits;
  throw TraceError(std::string(what) + " works on elements of 8, 16, 32 and 64 bits, not on " +
                       std::string(type.name()),
                   loc);
}

Numeric atomic_load(const Pointer &pointer, MemoryOrder order, SyncScope scope, Loc loc) {
  Tracer &t = Tracer::require("atomic_load", loc);
  if (order == MemoryOrder::release || order == MemoryOrder::acq_rel)
    throw TraceError(
        "atomic_load has the order relaxed, acquire or seq_cst; a release is a store's", loc);
  const DType type = pointer.dtype(loc), bits = accessed(pointer, "atomic_load", loc);
  mlir::Value from = address(t, pointer, "atomic_load", loc);
  mlir::Value v = t.create<llvmd::LoadOp>(
      loc, builder::elementType(bits, t.context()), from, static_cast<unsigned>(bits.bytes()),
      /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
      /*isInvariantGroup=*/false, builder::orderingOf(order), builder::scopeNamed(scope, loc));
  return Numeric(detail::bitcast(t.wrap(v, bits, loc), type, loc));
}

void atomic_store(const Pointer &pointer, const Numeric::Arg &value, MemoryOrder order,
                  SyncScope scope) {
  Loc loc = value.loc;
  Tracer &t = Tracer::require("atomic_store", loc);
  if (order == MemoryOrder::acquire || order == MemoryOrder::acq_rel)
    throw TraceError("atomic_store has the order relaxed, release or seq_cst; an acquire is a "
                     "load's",
                     loc);
  const DType type = pointer.dtype(loc), bits = accessed(pointer, "atomic_store", loc);
  Handle number = t.wrap(element(t, value.handle, type, "atomic_store", loc), type, loc);
  mlir::Value written = t.use(detail::bitcast(number, bits, loc), loc);
  mlir::Value to = address(t, pointer, "atomic_store", loc);
  t.create<llvmd::StoreOp>(loc, written, to, static_cast<unsigned>(bits.bytes()),
                           /*isVolatile=*/false, /*isNonTemporal=*/false,
                           /*isInvariantGroup=*/false, builder::orderingOf(order),
                           builder::scopeNamed(scope, loc));
}

FLYDSL_NAMESPACE_END
