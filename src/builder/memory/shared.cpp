#include <flydsl/kernel/shared.h>

#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/IR/BuiltinAttributes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
namespace fly = mlir::fly;

namespace detail {

static thread_local SharedArena *filling = nullptr;
/// The allocators whose overlays are being made, the innermost last.
static thread_local llvm::SmallVector<const SharedArena *, 2> overlaid;

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

/// How a variable's size and alignment stand in the IR.
static mlir::DictionaryAttr sizeAttributes(mlir::Builder b, std::int64_t bytes,
                                           std::int64_t alignment) {
  return b.getDictionaryAttr({b.getNamedAttr("allocAlign", b.getI64IntegerAttr(alignment)),
                              b.getNamedAttr("allocBytes", b.getI64IntegerAttr(bytes))});
}

/// A pointer to a variable of its own.
static mlir::Value makeVariable(Tracer &t, std::int64_t bytes, std::int64_t alignment, Loc loc) {
  return t.create<fly::MakePtrOp>(loc, sharedPointer(t, u8, alignment), mlir::ValueRange(),
                                  sizeAttributes(t.builder(), bytes, alignment));
}

/// The place `offset` bytes behind `base`.
static Handle placeBehind(Tracer &t, const Handle &base, std::int64_t offset,
                          std::int64_t alignment, DType type, Loc loc) {
  Handle by = staticLeaf(offset);
  Handle at = offset ? algebra(AlgebraOp::add_offset, {&base, &by}, loc) : base;
  return recast(t, t.use(at, loc), type, alignment, loc);
}

Handle sharedDynamic(std::int64_t offset, std::int64_t alignment, DType type, Loc loc) {
  Tracer &t = Tracer::require("shared memory", loc);
  t.shared.reachDynamic(offset + type.bytes(), loc); // an element at least
  const Handle base = t.wrap(t.emit<fly::GetDynSharedOp>(loc, {}), u8, loc);
  return placeBehind(t, base, offset, alignment, type, loc);
}

static std::int64_t alignedTo(std::int64_t alignment, std::int64_t offset) {
  return (offset + alignment - 1) / alignment * alignment;
}

static void expectPlace(std::int64_t bytes, std::int64_t alignment, Loc loc) {
  if (bytes < 1 || alignment < 1 || (alignment & (alignment - 1)))
    throw TraceError("shared memory of " + std::to_string(bytes) + " bytes, aligned to " +
                         std::to_string(alignment),
                     loc);
}

Handle SharedArena::next(std::int64_t bytes, std::int64_t alignment, DType type, Loc loc) {
  expectPlace(bytes, alignment, loc);
  if (llvm::is_contained(overlaid, this))
    throw TraceError(
        "a phase of an overlay allocates from the overlay's owner; it allocates from the "
        "allocator that it is called with",
        loc);
  // No target comes near it, and no sum below wraps.
  constexpr std::int64_t most = std::int64_t(1) << 32;
  if (bytes > most || alignment > most || used_ > most)
    throw TraceError("shared memory of " + std::to_string(bytes) + " bytes, aligned to " +
                         std::to_string(alignment) + ", after " + std::to_string(used_) +
                         " others: no workgroup has more than 2^32",
                     loc);
  Tracer &t = Tracer::require("shared memory", loc);
  const std::int64_t offset = alignedTo(alignment, origin_ + used_);
  used_ = offset + bytes - origin_;
  alignment_ = std::max(alignment_, alignment);
  if (static_ && !base_) {
    t.shared.addStatic(bytes, alignment, loc);
    return recast(t, makeVariable(t, bytes, alignment, loc), type, alignment, loc);
  }
  if (!static_) {
    t.shared.reachDynamic(offset + bytes, loc);
    return sharedDynamic(offset, alignment, type, loc);
  }
  t.shared.growStatic(account_, offset + bytes, alignment, loc);
  return placeBehind(t, base_, offset, alignment, type, loc);
}

// The variable is made before its size is known; the last phase says it.
void SharedArena::beginOverlay(SharedArena &owner, std::int64_t alignment, Loc loc) {
  Tracer &t = Tracer::require("shared memory", loc);
  expectPlace(/*bytes=*/1, alignment, loc);
  static_ = owner.static_;
  base_ = owner.base_;
  account_ = owner.account_;
  origin_ = alignedTo(alignment, owner.origin_ + owner.used_);
  most_ = used_ = 0;
  alignment_ = alignment;
  if (static_ && !base_) {
    base_ = t.wrap(makeVariable(t, 0, alignment, loc), u8, loc);
    account_ = t.shared.addStatic(1, alignment, loc);
    origin_ = 0;
  }
  overlaid.push_back(&owner);
}

void SharedArena::beginPhase() {
  most_ = std::max(most_, used_);
  used_ = 0;
}

void SharedArena::endOverlay(SharedArena &owner) noexcept {
  overlaid.pop_back();
  beginPhase();
  if (base_ && !owner.base_) {
    auto variable = base_.node()->traced()->value.getDefiningOp<fly::MakePtrOp>();
    variable.setDictAttrsAttr(sizeAttributes(mlir::Builder(variable.getContext()),
                                             std::max<std::int64_t>(most_, 1), alignment_));
    owner.used_ = alignedTo(alignment_, owner.used_) + most_;
    return;
  }
  owner.used_ = origin_ + most_ - owner.origin_;
  owner.alignment_ = std::max(owner.alignment_, alignment_);
}

/// The number of elements that a layout reaches, if it is static.
static std::optional<std::int64_t> staticReach(const Handle &layout, Loc loc) {
  HostValue reach = detail::hostView(algebra(AlgebraOp::cosize, {&layout}, loc), loc);
  auto *most = std::get_if<layout::IntTuple>(&reach);
  if (most && most->isLeaf() && most->leaf().isStatic())
    return most->leaf().value();
  return std::nullopt;
}

void expectWithin(const Handle &layout, std::int64_t count, Loc loc) {
  HostValue view = detail::hostView(layout, loc);
  if (!std::holds_alternative<layout::Layout>(view) &&
      !std::holds_alternative<layout::ComposedLayout>(view))
    return;
  const std::optional<std::int64_t> reach = staticReach(layout, loc);
  if (reach && *reach > count)
    throw TraceError("the layout " + detail::describe(layout) + " reaches " +
                         std::to_string(*reach) + " elements of shared memory, the array has " +
                         std::to_string(count),
                     loc);
}

/// Whether a layout gives numbers of elements: no coordinates, and no numbers before the first.
static bool givesPlaces(const Handle &layout, Loc loc) {
  HostValue stride = detail::hostView(algebra(AlgebraOp::get_stride, {&layout}, loc), loc);
  auto *strides = std::get_if<layout::IntTuple>(&stride);
  return !strides || llvm::all_of(strides->leaves(), [](const layout::Int &d) {
    return !d.hasBasis() && !(d.isStatic() && d.value() < 0);
  });
}

std::int64_t reachOf(const Handle &layout, Loc loc) {
  const auto *composed = hostAs<layout::ComposedLayout>(layout);
  if (!composed && !givesPlaces(layout, loc))
    throw TraceError("the layout " + detail::describe(layout) +
                         " of a tensor of shared memory has strides that are negative or along "
                         "coordinates; they are numbers of elements from the first one on",
                     loc);
  if (const std::optional<std::int64_t> reach = staticReach(layout, loc))
    return *reach;
  throw TraceError("a tensor of shared memory has a static layout, not " +
                       detail::describe(layout) +
                       "; where only the launch knows the size, fx::get_dyn_shared is the memory "
                       "and fx::make_view takes any layout",
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
