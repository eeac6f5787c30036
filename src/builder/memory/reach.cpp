#include "builder/memory/reach.h"

#include "dialect/Fly/IR/FlyOps.h"
#include "layout/coord.h"

namespace flydsl::builder {

namespace fly = mlir::fly;

namespace {

/// Where a pointer stands in memory of a known size; in bits, because its elements may be others
/// than those that were allocated.
struct Place {
  std::int64_t offset, size;
  bool isShared;
};

/// The bits that an element takes in memory, where a truth value has a byte.
std::int64_t memoryBits(mlir::Type element) {
  return element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
}

/// The bits from the start of a tensor to its elements at `coord`;
/// nothing if only the launch knows.
std::optional<std::int64_t> offsetAt(fly::MemRefType tensor, const layout::IntTuple &coord) {
  const auto *plain = std::get_if<layout::Layout>(&tensor.getLayout());
  if (!plain)
    return std::nullopt;
  const layout::IntTuple offset = layout::crd2idx(coord, *plain);
  if (!offset.isLeaf() || !offset.leaf().isStatic())
    return std::nullopt;
  return offset.leaf().value() * memoryBits(tensor.getElemTy());
}

/// The bits by which an operation moves the memory that is its first operand; nothing if it is none
/// of these, or if only the launch knows.
std::optional<std::int64_t> movedBy(mlir::Operation &op) {
  // These see the same memory in another way, from the same start.
  if (mlir::isa<fly::GetIterOp, fly::RecastIterOp, fly::MakeViewOp, fly::GroupOp, fly::SelectOp,
                fly::LogicalDivideOp, fly::ZippedDivideOp, fly::TiledDivideOp, fly::FlatDivideOp>(
          op))
    return 0;
  auto coordOf = [](mlir::Value coord) -> const layout::IntTuple & {
    return mlir::cast<fly::IntTupleType>(coord.getType()).getValue();
  };
  if (auto moved = mlir::dyn_cast<fly::AddOffsetOp>(op)) {
    auto pointer = mlir::dyn_cast<fly::PointerType>(moved.getPtr().getType());
    const layout::IntTuple &by = coordOf(moved.getOffset());
    if (pointer && by.isLeaf() && by.leaf().isStatic())
      return by.leaf().value() * memoryBits(pointer.getElemTy());
  }
  if (auto part = mlir::dyn_cast<fly::SliceOp>(op))
    if (auto tensor = mlir::dyn_cast<fly::MemRefType>(part.getSrc().getType()))
      return offsetAt(tensor, coordOf(part.getCoord()));
  return std::nullopt;
}

/// The bits that an operation allocates; nothing if it does not, or if they are not known yet.
std::optional<Place> allocatedBy(mlir::Operation &op) {
  if (mlir::isa<fly::MemRefAllocaOp, fly::MakeFragmentLikeOp, fly::MmaMakeFragmentOp>(op)) {
    auto fragment = mlir::dyn_cast<fly::MemRefType>(op.getResult(0).getType());
    if (!fragment)
      return std::nullopt;
    const layout::Int elements = layout::cosize(layout::outermost(fragment.getLayout()));
    if (elements.isStatic())
      return Place{0, elements.value() * memoryBits(fragment.getElemTy()), false};
  }
  if (auto made = mlir::dyn_cast<fly::MakePtrOp>(op))
    if (auto attributes = made.getDictAttrs())
      // An overlay's bytes are 0 until its phases are known.
      if (auto bytes = attributes->getAs<mlir::IntegerAttr>("allocBytes"); bytes && bytes.getInt())
        return Place{0, bytes.getInt() * 8, true};
  return std::nullopt;
}

std::optional<Place> placeOf(mlir::Value memory) {
  std::int64_t offset = 0;
  while (mlir::Operation *op = memory.getDefiningOp()) {
    if (std::optional<Place> place = allocatedBy(*op)) {
      place->offset = offset;
      return place;
    }
    const std::optional<std::int64_t> by = movedBy(*op);
    if (!by)
      return std::nullopt;
    offset += *by;
    memory = op->getOperand(0);
  }
  return std::nullopt;
}

const char *memoryOf(const Place &place) { return place.isShared ? "shared memory" : "registers"; }
const char *ownerOf(const Place &place) {
  return place.isShared ? "the allocation" : "the fragment";
}

/// The place is before its memory, whose elements have so many bits.
[[noreturn]] void refuseBefore(const Place &place, std::int64_t bits, const std::string &what,
                               Loc loc) {
  throw TraceError(what + " begins " + std::to_string(-place.offset / bits) + " elements before " +
                       ownerOf(place) + " in " + memoryOf(place),
                   loc);
}

} // namespace

void expectReach(const Tracer *running, const detail::Handle &pointer, std::int64_t count,
                 const std::string &what, Loc loc) {
  if (!detail::isTraced(pointer))
    return;
  auto type = mlir::dyn_cast<fly::PointerType>(tracedType(running, pointer, loc));
  const std::optional<Place> place =
      type ? placeOf(pointer.node()->traced()->value) : std::optional<Place>();
  if (!place)
    return;
  const std::int64_t bits = memoryBits(type.getElemTy());
  if (place->offset >= 0 && place->offset + count * bits <= place->size)
    return;
  if (place->offset < 0)
    refuseBefore(*place, bits, what, loc);
  const std::int64_t first = place->offset / bits;
  throw TraceError(what + (first ? ", from element " + std::to_string(first) + " on," : "") +
                       " reaches " + std::to_string(first + count) + " elements of " +
                       memoryOf(*place) + ", " + ownerOf(*place) + " has " +
                       std::to_string(place->size / bits),
                   loc);
}

std::int64_t lowestPlace(const layout::Layout &layout) {
  const std::vector<layout::Int> extents = layout.shape().leaves(),
                                 strides = layout.stride().leaves();
  std::int64_t lowest = 0;
  for (std::size_t i = 0; i < extents.size() && i < strides.size(); ++i)
    if (extents[i].isStatic() && strides[i].isStatic() && !strides[i].hasBasis() &&
        extents[i].value() > 1 && strides[i].value() < 0)
      lowest += (extents[i].value() - 1) * strides[i].value();
  return lowest;
}

void expectReachBelow(const Tracer *running, const detail::Handle &pointer,
                      const detail::Handle &layout, Loc loc) {
  detail::HostValue view = hostView(running, layout, loc);
  const auto *plain = std::get_if<layout::Layout>(&view);
  if (!plain || !detail::isTraced(pointer))
    return;
  const std::int64_t lowest = lowestPlace(*plain);
  auto type = mlir::dyn_cast<fly::PointerType>(tracedType(running, pointer, loc));
  if (lowest == 0 || !type)
    return;
  std::optional<Place> place = placeOf(pointer.node()->traced()->value);
  if (!place)
    return;
  place->offset += lowest * memoryBits(type.getElemTy());
  if (place->offset < 0)
    refuseBefore(*place, memoryBits(type.getElemTy()), "the layout " + describe(running, layout),
                 loc);
}

} // namespace flydsl::builder
