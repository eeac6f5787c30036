// gfx1250's tensor data mover.
//
// One instruction moves a whole tile between global memory and LDS, as a descriptor in scalar
// registers says. The descriptor lists dimensions innermost first; layouts and the atom's state
// list them outermost first. Where several waves share a tile, each moves a slab of it that lies in
// one piece in LDS.

#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"
#include "dialect/Conversion/FlyToROCDL/LoweringModels.h"
#include "dialect/Conversion/FlyToROCDL/TensorDescriptor.h"

#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "layout/checked.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fly {

using namespace mlir::fly_rocdl;

namespace fl = flydsl::layout;

namespace {

constexpr int64_t kMaxRank = CopyOpGFX1250TDMType::kMaxRank;
// Places in the atom's state.
constexpr int64_t kMask = 0, kExtents = 1, kStrides = kExtents + kMaxRank,
                  kByteOffset = kStrides + kMaxRank - 1;

/// Whether the field is seen never to have been set.
bool isDefault(Value atom, int64_t field, int64_t value) {
  APInt known;
  while (auto insert = atom.getDefiningOp<LLVM::InsertValueOp>()) {
    if (insert.getPosition() == ArrayRef<int64_t>{field})
      return matchPattern(insert.getValue(), m_ConstantInt(&known)) &&
             known.getSExtValue() == value;
    atom = insert.getContainer();
  }
  return false;
}

/// The tile in global memory, outermost dimension first.
struct Tile {
  SmallVector<int64_t> shape;
  SmallVector<fl::Int> strides;
  SmallVector<int64_t> waves; ///< along each dimension
  int64_t elementBits = 0;

  Tile(CopyOpGFX1250TDMType copy, MemRefType memref) {
    const auto *layout = std::get_if<fl::Layout>(&memref.getLayout());
    if (!layout || !layout->shape().isStatic() || layout->rank() != copy.getRank())
      fl::fail("gfx1250 TDM: expected a tile of rank ", copy.getRank(),
               " and static shape in global memory, found ", fl::str(memref.getLayout()));
    for (int i = 0; i < layout->rank(); ++i) {
      fl::Layout mode = layout->at(i);
      if (!mode.isLeaf())
        fl::fail("gfx1250 TDM: expected a number in each dimension of the tile, found ",
                 layout->str());
      shape.push_back(mode.shape().leaf().value());
      if (shape.back() < 1 || shape.back() > UINT16_MAX)
        fl::fail("gfx1250 TDM: expected a tile of 1 to 65535 elements along each dimension, found ",
                 layout->str());
      strides.push_back(mode.stride().leaf());
    }
    if (!strides.back().isDynamic() && !strides.back().isStatic(1) && shape.back() != 1)
      fl::fail("gfx1250 TDM: expected stride 1 in the last dimension of the tile, found ",
               layout->str());
    elementBits = memref.getElemTy().getIntOrFloatBitWidth();
    if (!llvm::is_contained({8, 16, 32, 64}, elementBits))
      fl::fail("gfx1250 TDM: moves elements of 8, 16, 32 or 64 bits, not of ", elementBits);
    spread(copy.getNumWarps());
  }

  int64_t slab(size_t i) const { return shape[i] / waves[i]; }

private:
  /// Outer dimensions first, so that what a wave gets lies in one piece.
  void spread(int64_t count) {
    waves.assign(shape.size(), 1);
    int64_t left = count;
    for (size_t i = 0; i < shape.size(); ++i)
      for (; left > 1 && waves[i] * 2 <= shape[i]; left /= 2)
        waves[i] *= 2;
    bool even = left == 1;
    for (size_t i = 0; i < shape.size(); ++i)
      even &= shape[i] % waves[i] == 0;
    if (!even)
      fl::fail("gfx1250 TDM: ", count, " waves can't share a tile of this shape in equal parts");
  }
};

/// Refuses padding that would not be the same for the part of each wave.
void checkPadding(CopyOpGFX1250TDMType copy, const Tile &tile) {
  int64_t slab = 1;
  for (size_t i = 0; i < tile.shape.size(); ++i)
    slab *= tile.slab(i);
  const int64_t elements = copy.getPadInterval();
  if (elements != 0 && copy.getNumWarps() > 1 && slab % elements != 0)
    fl::fail("gfx1250 TDM: expected each wave's part of the tile, ", slab,
             " elements, to be whole intervals of padding, of ", elements);
}

struct TensorMover : CopyOpLoweringInterface::ExternalModel<TensorMover, CopyOpGFX1250TDMType> {
  FailureOr<Value> emitCall(Type type, OpBuilder &builder, Location loc, Type, Type, Type srcTy,
                            Type dstTy, Value atom, Value src, Value dst) const {
    auto copy = cast<CopyOpGFX1250TDMType>(type);
    auto from = dyn_cast_or_null<MemRefType>(srcTy), to = dyn_cast_or_null<MemRefType>(dstTy);
    if (!from || !to)
      return failure();
    bool isLoad = from.isIn(AddressSpace::Global) && to.isIn(AddressSpace::Shared);
    bool isStore = from.isIn(AddressSpace::Shared) && to.isIn(AddressSpace::Global);
    if (!isLoad && !isStore)
      return failure();
    // The instruction computes the addresses of a tile by itself, without a swizzle.
    if (!from.getSwizzle().isTrivial() || !to.getSwizzle().isTrivial())
      return failure();
    DescriptorArith arith(builder, loc);
    Tile tile(copy, isLoad ? from : to);
    checkPadding(copy, tile);
    int64_t rank = copy.getRank();

    SmallVector<Value> strides; // elements, i64
    for (int64_t i = 0; i + 1 < rank; ++i)
      strides.push_back(strideOf(arith, atom, tile, i));
    strides.push_back(arith.i64(1));

    Value global = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), isLoad ? src : dst);
    global = arith.add(global, arith.stateField(atom, kByteOffset));
    Value lds = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), isLoad ? dst : src);
    SmallVector<Value> starts(rank, arith.i32(0)); // of this wave's slab
    if (copy.getNumWarps() > 1)
      moveToSlab(arith, copy, tile, strides, starts, global, lds);

    SmallVector<Value> rest; // of the tensor from the slab on
    for (int64_t i = 0; i < rank; ++i) {
      Value extent = arith.stateField(atom, kExtents + i);
      extent = arith.binary<arith::SubIOp>(extent, starts[i]);
      rest.push_back(arith.binary<arith::MaxSIOp>(extent, arith.i32(0)));
    }

    TensorDescriptor descriptor;
    descriptor.global = global;
    descriptor.lds = lds;
    descriptor.extents = rest;
    descriptor.strides = strides;
    for (int64_t i = 0; i < rank; ++i)
      descriptor.box.push_back(tile.slab(i));
    descriptor.elementBits = tile.elementBits;
    descriptor.workgroupMask = arith.stateField(atom, kMask);
    descriptor.signalsBarrier = copy.getAtomicBarrier();
    descriptor.earlyTimeout = arith.i32(copy.getEarlyTimeout());
    descriptor.padInterval = copy.getPadInterval();
    descriptor.padAmount = copy.getPadAmount();
    emitTensorMove(arith, descriptor, isLoad, copy.getCacheModifier());
    return dst;
  }

private:
  /// What the state says, or where nothing was set the tile's own stride.
  static Value strideOf(DescriptorArith &arith, Value atom, const Tile &tile, int64_t i) {
    constexpr int64_t unset = CopyOpGFX1250TDMType::kStrideNotSet;
    Value set = arith.stateField(atom, kStrides + i);
    if (tile.strides[i].isDynamic()) {
      if (isDefault(atom, kStrides + i, unset))
        fl::fail("gfx1250 TDM: expected 'stride_", i,
                 "' to be set, as the tile's own stride is known at run time only");
      return set;
    }
    Value isUnset = arith::CmpIOp::create(arith.builder, arith.loc, arith::CmpIPredicate::eq, set,
                                          arith.i64(unset));
    return arith::SelectOp::create(arith.builder, arith.loc, isUnset,
                                   arith.i64(tile.strides[i].value()), set);
  }

  /// Addresses and starts of this wave's slab; the first dimension's slabs follow each other
  /// fastest.
  static void moveToSlab(DescriptorArith &arith, CopyOpGFX1250TDMType copy, const Tile &tile,
                         ArrayRef<Value> strides, MutableArrayRef<Value> starts, Value &global,
                         Value &lds) {
    OpBuilder &builder = arith.builder;
    Value rest =
        LLVM::CallIntrinsicOp::create(builder, arith.loc, builder.getI32Type(),
                                      builder.getStringAttr("llvm.amdgcn.wave.id"), ValueRange())
            ->getResult(0);
    Value globalElements, ldsElements;
    int64_t packed = 1;
    for (int64_t extent : tile.shape)
      packed *= extent;
    auto sum = [&](Value &total, Value more) { total = total ? arith.add(total, more) : more; };
    for (size_t i = 0; i < tile.shape.size(); ++i) {
      packed /= tile.shape[i];
      Value count = arith.i32(tile.waves[i]);
      Value place = arith.binary<arith::RemUIOp>(rest, count);
      rest = arith.binary<arith::DivUIOp>(rest, count);
      starts[i] = arith.mul(place, arith.i32(tile.slab(i)));
      sum(globalElements, arith.mul(arith.zext(starts[i]), strides[i]));
      sum(ldsElements, arith.mul(starts[i], arith.i32(packed)));
    }
    if (int64_t interval = copy.getPadInterval()) {
      Value passed = arith.binary<arith::ShRUIOp>(ldsElements, arith.i32(llvm::Log2_64(interval)));
      ldsElements = arith.add(ldsElements, arith.mul(passed, arith.i32(copy.getPadAmount())));
    }
    int64_t bytes = tile.elementBits / 8;
    global = arith.add(global, arith.mul(globalElements, arith.i64(bytes)));
    lds = arith.add(lds, arith.mul(ldsElements, arith.i32(bytes)));
  }
};

} // namespace

void attachTensorMoverModel(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FlyROCDLDialect *) {
    CopyOpGFX1250TDMType::attachInterface<TensorMover>(*context);
  });
}

} // namespace mlir::fly
