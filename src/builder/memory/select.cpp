// Which of two memories a thread works on.
#include <flydsl/kernel/select.h>

#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace fly = mlir::fly;

Handle selectMemory(const Handle &condition, const Handle &a, const Handle &b, Loc loc) {
  builder::Tracer &t = builder::Tracer::require("select", loc);
  const mlir::Type type = tracedType(a, loc), other = tracedType(b, loc);
  auto pointer = mlir::dyn_cast<fly::PointerType>(type);
  if (auto tensor = mlir::dyn_cast<fly::MemRefType>(type))
    pointer = tensor.getPointerType();
  if (!pointer)
    throw TraceError("select takes numbers, vectors, or tensors and pointers of memory, not " +
                         describe(a),
                     loc);
  if (pointer.isIn(fly::AddressSpace::Register))
    throw TraceError("select of " + describe(a) +
                         ": registers have no address to choose by; select takes their values, "
                         "which load() gives",
                     loc);
  if (type != other)
    throw TraceError("select takes two memories of one type, not " + builder::typeText(type) +
                         " and " + builder::typeText(other) +
                         "; slices of one shape, of views that promise one alignment, have it",
                     loc);
  return t.wrap(t.create<mlir::arith::SelectOp>(loc, type, t.use(condition, loc), t.use(a, loc),
                                                t.use(b, loc)),
                a.node()->dtype, loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
