#include <flydsl/shared.h>

#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/IR/BuiltinAttributes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
namespace fly = mlir::fly;

namespace detail {

static thread_local SharedArena *filling = nullptr;

static fly::PointerType sharedPointer(Tracer &t, DType type, std::int64_t alignment) {
  return fly::PointerType::get(builder::elementType(type, t.context()),
                               fly::AddressSpaceAttr::get(t.context(), fly::AddressSpace::Shared),
                               alignment);
}

static Handle recast(Tracer &t, mlir::Value bytes, DType type, std::int64_t alignment, Loc loc) {
  fly::PointerType to = sharedPointer(t, type, alignment);
  if (bytes.getType() == to)
    return t.wrap(bytes, type, loc);
  return t.wrap(t.create<fly::RecastIterOp>(loc, to, bytes), type, loc);
}

Handle sharedStatic(std::int64_t bytes, std::int64_t alignment, DType type, Loc loc) {
  Tracer &t = Tracer::require("shared memory", loc);
  mlir::OpBuilder &b = t.builder();
  mlir::DictionaryAttr attributes =
      b.getDictionaryAttr({b.getNamedAttr("allocAlign", b.getI64IntegerAttr(alignment)),
                           b.getNamedAttr("allocBytes", b.getI64IntegerAttr(bytes))});
  mlir::Value v = t.create<fly::MakePtrOp>(loc, sharedPointer(t, u8, alignment), mlir::ValueRange(),
                                           attributes);
  t.shared.addStatic(bytes, alignment);
  return recast(t, v, type, alignment, loc);
}

Handle sharedDynamic(std::int64_t offset, std::int64_t alignment, DType type, Loc loc) {
  Tracer &t = Tracer::require("shared memory", loc);
  t.shared.reachDynamic(offset + type.bytes()); // an element at least; who knows more says so
  Handle base = t.wrap(t.emit<fly::GetDynSharedOp>(loc, {}), u8, loc);
  Handle by = staticLeaf(offset);
  Handle at = offset ? algebra(AlgebraOp::add_offset, {&base, &by}, loc) : base;
  return recast(t, t.use(at, loc), type, alignment, loc);
}

Handle SharedArena::next(std::int64_t bytes, std::int64_t alignment, DType type, Loc loc) {
  if (bytes < 1 || alignment < 1 || (alignment & (alignment - 1)))
    throw TraceError("shared memory of " + std::to_string(bytes) + " bytes, aligned to " +
                         std::to_string(alignment),
                     loc);
  // No target comes near it, and no sum below wraps.
  constexpr std::int64_t most = std::int64_t(1) << 32;
  if (bytes > most || alignment > most || used_ > most)
    throw TraceError("shared memory of " + std::to_string(bytes) + " bytes, aligned to " +
                         std::to_string(alignment) + ", behind " + std::to_string(used_) +
                         " others: no workgroup has more than 2^32",
                     loc);
  std::int64_t offset = (used_ + alignment - 1) / alignment * alignment;
  Handle pointer = static_ ? sharedStatic(bytes, alignment, type, loc)
                           : sharedDynamic(offset, alignment, type, loc);
  if (!static_)
    Tracer::require("shared memory", loc).shared.reachDynamic(offset + bytes);
  used_ = offset + bytes;
  return pointer;
}

void expectWithin(const Handle &layout, std::int64_t count, Loc loc) {
  HostValue view = detail::hostView(layout, loc);
  if (!std::holds_alternative<layout::Layout>(view) &&
      !std::holds_alternative<layout::ComposedLayout>(view))
    return;
  HostValue reach = detail::hostView(algebra(AlgebraOp::cosize, {&layout}, loc), loc);
  auto *most = std::get_if<layout::IntTuple>(&reach);
  if (most && most->isLeaf() && most->leaf().isStatic() && most->leaf().value() > count)
    throw TraceError("the layout " + detail::describe(layout) + " reaches " +
                         std::to_string(most->leaf().value()) +
                         " elements of shared memory, the array has " + std::to_string(count),
                     loc);
}

void SharedArena::enter(Loc loc) {
  loc_ = loc;
  outer_ = filling;
  filling = this;
}

void SharedArena::leave() { filling = outer_; }

Handle SharedArena::place(std::int64_t bytes, std::int64_t alignment, DType type) {
  if (!filling)
    throw TraceError("an fx::Array is made by SharedAllocator::allocate");
  return filling->next(bytes, alignment, type, filling->loc_);
}

} // namespace detail

Pointer get_dyn_shared(DType type, Loc loc) {
  return Pointer(detail::sharedDynamic(0, type.bytes(), type, loc));
}

FLYDSL_NAMESPACE_END
