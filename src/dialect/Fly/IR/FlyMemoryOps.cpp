// Pointers, views of memory, loads and stores.
#include "dialect/Fly/IR/FlyOps.h"

#include "layout/checked.h"
#include "layout/coord.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyMemoryOps.cpp.inc"

namespace layout = flydsl::layout;
using layout::IntTuple;

namespace mlir::fly {

void FlyDialect::registerMemoryOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyMemoryOps.cpp.inc"
      >();
}

using Results = SmallVectorImpl<AlgebraValue>;
using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

LogicalResult GetDynSharedOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                               ValueRange, DictionaryAttr, OpaqueProperties,
                                               RegionRange, SmallVectorImpl<Type> &types) {
  // Dynamic shared memory lies behind the static part, which is padded to this, as FlyDSL's is.
  constexpr int64_t kAlignment = 1024;
  types.push_back(PointerType::get(IntegerType::get(context, 8),
                                   AddressSpaceAttr::get(context, AddressSpace::Shared),
                                   kAlignment));
  return success();
}

LogicalResult PtrToIntOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                           ValueRange operands, DictionaryAttr, OpaqueProperties,
                                           RegionRange, SmallVectorImpl<Type> &types) {
  auto pointer = dyn_cast<PointerType>(operands[0].getType());
  if (!pointer || !(pointer.isIn(AddressSpace::Shared) || pointer.isIn(AddressSpace::Global)))
    return emitOptionalError(
        location, "'fly.ptrtoint' op expected a pointer to shared or global memory, found ",
        operands[0].getType());
  types.push_back(IntegerType::get(context, pointer.getSpace().getAddressBits()));
  return success();
}

LogicalResult ToLLVMPtrOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            ValueRange, DictionaryAttr, OpaqueProperties properties,
                                            RegionRange, SmallVectorImpl<Type> &types) {
  IntegerAttr space = properties ? properties.as<Properties *>()->llvm_address_space : nullptr;
  if (!space || space.getInt() < 0)
    return emitOptionalError(location,
                             "'fly.to_llvm_ptr' op expected an address space of at least 0");
  types.push_back(LLVM::LLVMPointerType::get(context, static_cast<unsigned>(space.getInt())));
  return success();
}

void AddOffsetOp::compute(const AlgebraArgs &args, Results &results) {
  const IntTuple &offset = args.get<IntTuple>(1);
  if (auto *base = std::get_if<IntTuple>(&args.operands[0]))
    results.push_back(layout::add(*base, offset));
  else
    results.push_back(movedBy(args.get<PointerValue>(0), offset));
}

void ApplySwizzleOp::compute(const AlgebraArgs &args, Results &results) {
  PointerValue pointer = args.get<PointerValue>(0);
  const auto &swizzle = args.get<layout::Swizzle>(1);
  PointerType type = pointer.type;
  // If two indices differ by a multiple of the swizzle's base, so do the swizzled ones.
  int64_t known = type.getValueDivisibility();
  if (!swizzle.isTrivial())
    known = layout::gcdOf(known, int64_t(1) << swizzle.base);
  type = type.withValueDivisibility(known);
  pointer.type = PointerType::get(type.getContext(), type.getElemTy(), type.getAddressSpace(),
                                  type.getAlignment(), swizzle);
  results.push_back(pointer);
}

void DecompositionOp::compute(const AlgebraArgs &args, Results &results) {
  if (std::holds_alternative<layout::Layout>(args.layout(0)))
    results.push_back(args.operands[0]);
  else if (auto *memref = std::get_if<MemRefValue>(&args.operands[0]))
    results.push_back(decomposed(*memref));
  else
    results.push_back(decomposed(args.get<CoordTensorValue>(0)));
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

LogicalResult MemRefAllocaOp::verify() {
  layout::AnyLayout expected = getLayout().getType().getValue();
  if (!(getType().getLayout() == expected))
    return emitOpError("expected a result with the layout ")
           << layout::str(expected) << ", found " << getType();
  return success();
}

/// Adds the effect of a read. Coordinates are computed, so a tensor of them is not memory.
static void readsTensor(OpOperand &operand, Effects &effects) {
  if (isa<MemRefType, PointerType>(operand.get().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
}
void PtrLoadOp::getEffects(Effects &effects) { readsTensor(getPtrMutable(), effects); }
void MemRefLoadOp::getEffects(Effects &effects) { readsTensor(getMemrefMutable(), effects); }
void MemRefLoadVecOp::getEffects(Effects &effects) { readsTensor(getMemrefMutable(), effects); }

LogicalResult MemRefLoadOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                             ValueRange operands, DictionaryAttr,
                                             OpaqueProperties properties, RegionRange,
                                             SmallVectorImpl<Type> &types) {
  if (auto memref = dyn_cast<MemRefType>(operands[0].getType())) {
    types.push_back(memref.getElemTy());
    return success();
  }
  auto compute = [](const AlgebraArgs &args, Results &results) {
    const auto &tensor = args.get<CoordTensorValue>(0);
    IntTuple offset = layout::crd2idx(args.get<IntTuple>(1), tensor.layout);
    results.push_back(layout::add(tensor.base, offset));
  };
  return detail::inferByAlgebra(compute, getOperationName(), context, location, operands,
                                properties, types);
}

LogicalResult MemRefLoadVecOp::inferReturnTypes(MLIRContext *context,
                                                std::optional<Location> location,
                                                ValueRange operands, DictionaryAttr,
                                                OpaqueProperties, RegionRange,
                                                SmallVectorImpl<Type> &types) {
  int64_t size = 0;
  int width = 32;
  std::optional<std::string> error = detail::errorOf([&] {
    std::optional<layout::AnyLayout> any = getLayoutOf(operands[0].getType());
    auto *plain = any ? std::get_if<layout::Layout>(&*any) : nullptr;
    if (!plain)
      layout::fail("expected a tensor with a plain layout");
    layout::Int count = layout::size(*plain);
    if (!count.isStatic())
      layout::fail("expected a static number of elements, found ", plain->shape());
    size = count.value();
    if (size < 1)
      layout::fail("expected at least one element, found ", plain->shape());
    if (auto tensor = dyn_cast<CoordTensorType>(operands[0].getType())) {
      IntTuple some = layout::crd2idx(layout::Int::dynamic(), *plain);
      IntTuple value = layout::add(tensor.getBase(), some);
      if (!value.isLeaf() || value.leaf().hasBasis())
        layout::fail("expected a tensor of numbers, found coordinates ", value);
      width = value.leaf().width();
    }
  });
  if (error)
    return emitOptionalError(location, "'fly.memref.load_vec' op ", *error, " in ",
                             operands[0].getType());
  Type element = IntegerType::get(context, width);
  if (auto memref = dyn_cast<MemRefType>(operands[0].getType()))
    element = memref.getElemTy();
  types.push_back(VectorType::get({size}, element));
  return success();
}

} // namespace mlir::fly
