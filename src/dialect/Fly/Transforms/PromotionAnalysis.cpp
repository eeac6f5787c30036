#include "dialect/Fly/Transforms/PromotionAnalysis.h"

#include "dialect/Fly/Transforms/PromotedContents.h"
#include "dialect/Fly/Transforms/RegisterMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/BitVector.h"

namespace mlir::fly::promotion {

namespace {
/// Memory of fewer bits is passed on whole.
constexpr int64_t kLeastCutBits = 512;
/// Parts have a multiple of so many bits: four registers of a lane.
constexpr int64_t kPartBits = 128;

/// Whether an access lies in the vector and has elements of its size.
bool fits(VectorType vector, Type accessed, int64_t offset) {
  auto shaped = dyn_cast<VectorType>(accessed);
  if (shaped && (shaped.getRank() != 1 || shaped.isScalable()))
    return false;
  Type elemTy = shaped ? shaped.getElementType() : accessed;
  return elemTy.isIntOrFloat() &&
         elemTy.getIntOrFloatBitWidth() == vector.getElementType().getIntOrFloatBitWidth() &&
         offset >= 0 && offset + elementCount(accessed) <= vector.getNumElements();
}

/// Whether all control flow from the root's block down to the access is scf's and has single
/// blocks.
bool isFollowed(Operation *root, Operation *access) {
  Region *home = root->getParentRegion();
  if (!home->hasOneBlock())
    return false;
  for (Region *region = access->getParentRegion(); region != home;
       region = region->getParentRegion())
    if (!region || !region->hasOneBlock() ||
        !isa<scf::ForOp, scf::IfOp, scf::WhileOp>(region->getParentOp()))
      return false;
  return true;
}
} // namespace

PromotionAnalysis::PromotionAnalysis(FunctionOpInterface func, bool requireStatic)
    : requireStatic_(requireStatic) {
  func->walk([&](MakePtrOp op) { addRoot(op); });
}

void PromotionAnalysis::addRoot(MakePtrOp op) {
  PointerType type = op.getType();
  auto attrs = op.getDictAttrs();
  auto size = attrs && type.isIn(AddressSpace::Register) ? attrs->getAs<IntegerAttr>("allocSize")
                                                         : IntegerAttr();
  Type elemTy = registerElementType(type.getElemTy());
  if (!size || size.getInt() <= 0 || size.getInt() > kMostRegisterElements ||
      !VectorType::isValidElementType(elemTy))
    return;
  auto vector = VectorType::get({size.getInt()}, elemTy);
  llvm::SmallVector<std::pair<Value, int64_t>> pointers{{op.getResult(), 0}};
  accesses_.clear();
  isWholeInside_ = false;
  for (size_t i = 0; i < pointers.size(); ++i)
    for (OpOperand &use : pointers[i].first.getUses())
      if (!followUse(op, vector, use, pointers[i].second, pointers))
        return;
  for (auto [pointer, offset] : pointers)
    slots_[pointer] = {op, offset};
  roots_.insert(op);
  types_[op] = vector;
  parts_[op] = partsFor(vector);
}

SmallVector<int64_t> PromotionAnalysis::partsFor(VectorType vector) const {
  const int64_t count = vector.getNumElements(), bits = vector.getElementTypeBitWidth();
  SmallVector<int64_t> parts = {0};
  // Parts that a loop puts together each time are no gain.
  if (count * bits < kLeastCutBits || isWholeInside_)
    return parts;
  // Whether an element goes together with the one before it, and whether anything but an access
  // of the whole concerns it.
  llvm::BitVector joined(static_cast<unsigned>(count)), touched(static_cast<unsigned>(count));
  for (auto [offset, size] : accesses_) {
    if (size == count)
      continue;
    touched.set(static_cast<unsigned>(offset), static_cast<unsigned>(offset + size));
    joined.set(static_cast<unsigned>(offset + 1), static_cast<unsigned>(offset + size));
  }
  auto isCut = [&](unsigned at) {
    return !joined[at] && (touched[at] || touched[at - 1]) &&
           (at - parts.back()) * bits % kPartBits == 0;
  };
  for (unsigned at = 1; at < count; ++at)
    if (isCut(at))
      parts.push_back(at);
  if ((count - parts.back()) * bits % kPartBits != 0 && parts.size() > 1)
    parts.pop_back();
  return parts;
}

bool PromotionAnalysis::followUse(MakePtrOp root, VectorType vector, OpOperand &use, int64_t offset,
                                  llvm::SmallVectorImpl<std::pair<Value, int64_t>> &pointers) {
  Operation *user = use.getOwner();
  if (auto add = dyn_cast<AddOffsetOp>(user)) {
    const flydsl::layout::IntTuple &by = cast<IntTupleType>(add.getOffset().getType()).getValue();
    if (!by.isLeaf())
      return false;
    if (!by.isStatic()) {
      reportDynamic(root, add);
      return false;
    }
    pointers.push_back({add.getResult(), offset + by.leaf().value()});
    return true;
  }
  // The conversion of atom calls leaves views that have no users.
  if (isa<MakeViewOp, RecastIterOp>(user))
    return user->use_empty();
  Type accessed;
  if (auto load = dyn_cast<PtrLoadOp>(user))
    accessed = load.getResult().getType();
  else if (auto store = dyn_cast<PtrStoreOp>(user); store && use.getOperandNumber() == 1)
    accessed = store.getValue().getType();
  if (!accessed || !fits(vector, accessed, offset) || !isFollowed(root, user))
    return false;
  accesses_.push_back({offset, elementCount(accessed)});
  isWholeInside_ |= elementCount(accessed) == vector.getNumElements() &&
                    user->getParentRegion() != root->getParentRegion();
  return true;
}

void PromotionAnalysis::reportDynamic(MakePtrOp root, AddOffsetOp add) {
  if (requireStatic_) {
    sawError_ = true;
    add.emitError("register memory is indexed by a value known only at run time; registers have "
                  "no addresses, use a "
                  "static index or shared memory")
            .attachNote(root.getLoc())
        << "the register memory is made here";
    return;
  }
  add.emitRemark(
      "register memory indexed by a value known only at run time stays in scratch memory");
}

} // namespace mlir::fly::promotion
