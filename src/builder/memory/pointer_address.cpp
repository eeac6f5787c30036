// Pointers to numbers and back.
#include <flydsl/kernel/tensor.h>

#include "builder/memory/address.h"
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "llvm/Support/MathExtras.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using builder::Tracer;
namespace fly = mlir::fly;

Handle pointerAddress(const Handle &pointer, Loc loc) {
  Tracer &t = Tracer::require("Pointer::address", loc);
  const std::optional<fly::PointerType> type = builder::addressable(t, pointer, loc);
  if (!type || type->isIn(fly::AddressSpace::Generic) || !type->getSwizzle().isTrivial())
    throw TraceError("address() works on global or shared memory without a swizzle, not on " +
                         describe(pointer),
                     loc);
  mlir::Value number = t.emit<fly::PtrToIntOp>(loc, t.use(pointer, loc));
  return t.wrap(number, type->isIn(fly::AddressSpace::Shared) ? i32 : i64, loc);
}

Handle pointerFromAddress(const Handle &address, DType type, AddressSpace space, int alignment,
                          Loc loc) {
  Tracer &t = Tracer::require("Pointer::from_address", loc);
  if (space != AddressSpace::global && space != AddressSpace::shared)
    throw TraceError("Pointer::from_address makes pointers to global or shared memory", loc);
  const DType given = numericType(address, loc);
  const int bits = space == AddressSpace::shared ? 32 : 64;
  if (!given.is_integer() || given.bits() != bits)
    throw TraceError(std::string("Pointer::from_address of ") +
                         (space == AddressSpace::shared ? "shared" : "global") +
                         " memory takes an integer of " + std::to_string(bits) + " bits, not " +
                         std::string(given.name()) + "; .to(fx::" + (bits == 32 ? "i32" : "i64") +
                         ") converts",
                     loc);
  if (!type || type.memory_bits() % 8)
    throw TraceError("Pointer::from_address takes an element type of whole bytes, not " +
                         std::string(type.name()),
                     loc);
  const int bytes = type.memory_bits() / 8;
  if (alignment == 0)
    alignment = bytes;
  if (!llvm::isPowerOf2_32(static_cast<unsigned>(std::max(alignment, 0))) || alignment < bytes)
    throw TraceError("Pointer::from_address: an alignment is a power of two of at least the "
                     "element's " +
                         std::to_string(bytes) + " bytes, not " + std::to_string(alignment),
                     loc);
  auto pointer = fly::PointerType::get(
      builder::elementType(type, t.context()),
      fly::AddressSpaceAttr::get(t.context(), space == AddressSpace::shared
                                                  ? fly::AddressSpace::Shared
                                                  : fly::AddressSpace::Global),
      alignment);
  return t.wrap(t.create<fly::IntToPtrOp>(loc, pointer, t.use(address, loc)), type, loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
