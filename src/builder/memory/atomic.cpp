#include <flydsl/atomic.h>

#include "builder/memory/atomic_names.h"
#include "builder/values/operand.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <optional>

namespace flydsl::builder {

const char *signedAtomicName(AtomicOp op) {
  static constexpr const char *names[] = {"add", "smax", "smin", "and", "or",
                                          "inc", "dec",  "xor",  "swap"};
  return names[static_cast<int>(op)];
}
const char *atomicUserName(AtomicOp op) {
  static constexpr const char *names[] = {"add", "max", "min", "and",     "or",
                                          "inc", "dec", "xor", "exchange"};
  return names[static_cast<int>(op)];
}
const char *unsignedAtomicName(AtomicOp op) {
  return op == AtomicOp::max ? "umax" : op == AtomicOp::min ? "umin" : signedAtomicName(op);
}
const char *floatAtomicName(AtomicOp op) {
  return op == AtomicOp::add   ? "fadd"
         : op == AtomicOp::max ? "fmax"
         : op == AtomicOp::min ? "fmin"
                               : nullptr;
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
  switch (op) {
  case AtomicOp::add:
    return isFloat ? Kind::fadd : Kind::add;
  case AtomicOp::max:
    return isFloat ? Kind::fmax : isSigned ? Kind::max : Kind::umax;
  case AtomicOp::min:
    return isFloat ? Kind::fmin : isSigned ? Kind::min : Kind::umin;
  case AtomicOp::exchange:
    return Kind::xchg;
  default:
    break;
  }
  if (isFloat)
    return std::nullopt;
  switch (op) {
  case AtomicOp::and_:
    return Kind::_and;
  case AtomicOp::or_:
    return Kind::_or;
  case AtomicOp::xor_:
    return Kind::_xor;
  case AtomicOp::inc:
    return Kind::uinc_wrap;
  default:
    return Kind::udec_wrap;
  }
}

static mlir::Value address(Tracer &t, const Pointer &pointer, const char *what, Loc loc) {
  auto type = mlir::dyn_cast<fly::PointerType>(builder::tracedType(pointer.handle(), loc));
  auto space = type ? mlir::dyn_cast<fly::AddressSpaceAttr>(type.getAddressSpace())
                    : fly::AddressSpaceAttr();
  if (!space || space.getValue() == fly::AddressSpace::Register || !type.getSwizzle().isTrivial())
    throw TraceError(std::string(what) +
                         " works on generic, global or shared memory without a swizzle, not on " +
                         pointer.str(),
                     loc);
  const int number = space.getValue() == fly::AddressSpace::Global   ? 1
                     : space.getValue() == fly::AddressSpace::Shared ? 3
                                                                     : 0;
  return t.emit("fly.to_llvm_ptr", t.use(pointer.handle(), loc), loc,
                {t.named("llvm_address_space", t.builder().getI32IntegerAttr(number))});
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

/// The scope by LLVM's name, whose empty one is the system (AMDGPUUsage, "Memory Scopes").
static mlir::StringAttr scopeNamed(Tracer &t, const char *scope, Loc loc) {
  static constexpr const char *known[] = {"agent",         "workgroup",        "wavefront",
                                          "singlethread",  "agent-one-as",     "workgroup-one-as",
                                          "wavefront-one-as", "singlethread-one-as", "one-as"};
  const llvm::StringRef name = scope;
  if (name.empty() || name == "system")
    return {};
  if (name == "system-one-as")
    return t.string("one-as");
  if (!llvm::is_contained(known, name))
    throw TraceError("there is no memory scope " + name.str() +
                         "; there are wavefront, workgroup, agent and system",
                     loc);
  return t.string(name);
}

Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value, const char *scope) {
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
  mlir::OpBuilder &b = t.builder();
  mlir::Value operand = element(t, value.handle, type, "atomic", loc);
  auto i64Attr = [&](auto v) { return b.getI64IntegerAttr(static_cast<std::int64_t>(v)); };
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes{
      t.named("bin_op", i64Attr(*kind)),
      t.named("ordering", i64Attr(llvmd::AtomicOrdering::monotonic))};
  if (mlir::StringAttr name = scopeNamed(t, scope, loc))
    attributes.push_back(t.named("syncscope", name));
  return Numeric(t.wrap(t.emit("llvm.atomicrmw", {address(t, pointer, "atomic", loc), operand}, loc,
                               attributes, operand.getType()),
                        type, loc));
}

Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                   const Numeric::Arg &desired, const char *scope) {
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
  mlir::OpBuilder &b = t.builder();
  auto order = b.getI64IntegerAttr(static_cast<std::int64_t>(llvmd::AtomicOrdering::monotonic));
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes{t.named("success_ordering", order),
                                                        t.named("failure_ordering", order)};
  if (mlir::StringAttr name = scopeNamed(t, scope, loc))
    attributes.push_back(t.named("syncscope", name));
  mlir::Value both = t.emit(
      "llvm.cmpxchg", {address(t, pointer, "atomic_cas", loc), compared, written}, loc, attributes,
      llvmd::LLVMStructType::getLiteral(t.context(), {compared.getType(), b.getI1Type()}));
  mlir::Value old = t.emit("llvm.extractvalue", both, loc,
                           {t.named("position", b.getDenseI64ArrayAttr({0}))}, compared.getType());
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

static llvm::SmallVector<mlir::NamedAttribute, 3>
accessAttributes(Tracer &t, MemoryOrder order, const char *scope, DType bits, Loc loc) {
  using Order = llvmd::AtomicOrdering;
  static constexpr Order orders[] = {Order::monotonic, Order::acquire, Order::release,
                                     Order::seq_cst};
  mlir::OpBuilder &b = t.builder();
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes{
      t.named("ordering", b.getI64IntegerAttr(
                              static_cast<std::int64_t>(orders[static_cast<int>(order)]))),
      t.named("alignment", b.getI64IntegerAttr(bits.bytes()))};
  if (mlir::StringAttr name = scopeNamed(t, scope, loc))
    attributes.push_back(t.named("syncscope", name));
  return attributes;
}

Numeric atomic_load(const Pointer &pointer, MemoryOrder order, const char *scope, Loc loc) {
  Tracer &t = Tracer::require("atomic_load", loc);
  if (order == MemoryOrder::release)
    throw TraceError("atomic_load has the order relaxed, acquire or seq_cst; a release is a store's",
                     loc);
  const DType type = pointer.dtype(loc), bits = accessed(pointer, "atomic_load", loc);
  mlir::Value v =
      t.emit("llvm.load", address(t, pointer, "atomic_load", loc), loc,
             accessAttributes(t, order, scope, bits, loc), builder::elementType(bits, t.context()));
  return Numeric(detail::bitcast(t.wrap(v, bits, loc), type, loc));
}

void atomic_store(const Pointer &pointer, const Numeric::Arg &value, MemoryOrder order,
                  const char *scope) {
  Loc loc = value.loc;
  Tracer &t = Tracer::require("atomic_store", loc);
  if (order == MemoryOrder::acquire)
    throw TraceError("atomic_store has the order relaxed, release or seq_cst; an acquire is a "
                     "load's",
                     loc);
  const DType type = pointer.dtype(loc), bits = accessed(pointer, "atomic_store", loc);
  Handle number = t.wrap(element(t, value.handle, type, "atomic_store", loc), type, loc);
  t.create("llvm.store",
           {t.use(detail::bitcast(number, bits, loc), loc),
            address(t, pointer, "atomic_store", loc)},
           loc, accessAttributes(t, order, scope, bits, loc), mlir::TypeRange());
}

FLYDSL_NAMESPACE_END
