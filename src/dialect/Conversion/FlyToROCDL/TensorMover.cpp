// gfx1250's tensor data mover.
//
// One instruction moves a whole tile between global memory and LDS, as a descriptor in scalar
// registers says. The descriptor lists dimensions innermost first; layouts and the atom's state
// list them outermost first. Where several waves share a tile, each moves a slab of it that lies in
// one piece in LDS.

#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"
#include "dialect/Conversion/FlyToROCDL/LoweringModels.h"

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

/// Arithmetic at one place, on integers of one width; constants are folded.
class Arith {
public:
  Arith(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value number(int64_t value, Type type) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value i32(int64_t value) { return number(value, builder.getI32Type()); }
  Value i64(int64_t value) { return number(value, builder.getI64Type()); }
  template <class Op> Value binary(Value a, Value b) { return builder.createOrFold<Op>(loc, a, b); }
  Value add(Value a, Value b) { return binary<arith::AddIOp>(a, b); }
  Value mul(Value a, Value b) { return binary<arith::MulIOp>(a, b); }
  Value stateField(Value atom, int64_t field) { return fly::stateField(builder, loc, atom, field); }
  Value zext(Value a) { return builder.createOrFold<arith::ExtUIOp>(loc, builder.getI64Type(), a); }

  OpBuilder &builder;
  Location loc;
};

/// 32-bit words filled field by field.
class Words {
public:
  Words(Arith &arith, unsigned count) : arith_(arith), constants_(count), values_(count) {}

  /// The low `width` bits of `value`, an i32 or i64, at bit `bit`.
  void put(unsigned bit, unsigned width, Value value) {
    APInt known;
    if (matchPattern(value, m_ConstantInt(&known)))
      return put(bit, width, known.getZExtValue());
    unsigned bits = value.getType().getIntOrFloatBitWidth();
    for (unsigned from = 0; from < std::min(width, bits);) {
      unsigned at = (bit + from) % 32, count = std::min(width - from, 32 - at);
      place((bit + from) / 32, at, count, piece(value, from));
      from += count;
    }
  }
  void put(unsigned bit, unsigned width, uint64_t value) {
    for (unsigned from = 0; from < width;) {
      unsigned at = (bit + from) % 32, count = std::min(width - from, 32 - at);
      constants_[(bit + from) / 32] |=
          static_cast<uint32_t>(((value >> from) & ((1ull << count) - 1)) << at);
      from += count;
    }
  }
  Value vector() {
    SmallVector<Value> words;
    for (auto [constant, value] : llvm::zip_equal(constants_, values_)) {
      Value word = arith_.i32(static_cast<int32_t>(constant));
      words.push_back(value && constant ? arith_.binary<arith::OrIOp>(word, value)
                      : value           ? value
                                        : word);
    }
    auto type = VectorType::get({static_cast<int64_t>(words.size())}, arith_.builder.getI32Type());
    return vector::FromElementsOp::create(arith_.builder, arith_.loc, type, words);
  }

private:
  /// Bits of `value` from `from` on, as an i32.
  Value piece(Value value, unsigned from) {
    if (from)
      value = arith_.binary<arith::ShRUIOp>(value, arith_.number(from, value.getType()));
    if (value.getType().isInteger(64))
      value = arith_.builder.createOrFold<arith::TruncIOp>(arith_.loc, arith_.builder.getI32Type(),
                                                           value);
    return value;
  }
  void place(unsigned word, unsigned at, unsigned count, Value bits) {
    if (at + count < 32)
      bits = arith_.binary<arith::AndIOp>(bits, arith_.i32((int64_t(1) << count) - 1));
    if (at)
      bits = arith_.binary<arith::ShLIOp>(bits, arith_.i32(at));
    values_[word] = values_[word] ? arith_.binary<arith::OrIOp>(values_[word], bits) : bits;
  }

  Arith &arith_;
  SmallVector<uint32_t> constants_;
  SmallVector<Value> values_;
};

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

/// Padding of LDS in the descriptor's code: 2^(interval + 1) words, then amount + 1 words left
/// free.
struct Padding {
  uint64_t enable = 0, interval = 0, amount = 0;

  Padding(CopyOpGFX1250TDMType copy, const Tile &tile) {
    int64_t elements = copy.getPadInterval(), added = copy.getPadAmount();
    if (elements == 0)
      return;
    int64_t intervalBits = fl::checkedMul(elements, tile.elementBits),
            addedBits = fl::checkedMul(added, tile.elementBits);
    // The type's verifier has seen to it that the interval is a power of two.
    if (intervalBits % 64 != 0 || intervalBits > 32 * 256 || addedBits % 32 != 0 ||
        addedBits > 32 * 128)
      fl::fail("gfx1250 TDM: padding (interval=", elements, ", amount=", added, " elements at ",
               tile.elementBits,
               "-bit) is not encodable: the interval is 2 to 256 words of 32 bits, the amount 1 to "
               "128 words");
    enable = 1;
    interval = llvm::Log2_64(intervalBits / 32) - 1;
    amount = addedBits / 32 - 1;
    int64_t slab = 1;
    for (size_t i = 0; i < tile.shape.size(); ++i)
      slab *= tile.slab(i);
    if (copy.getNumWarps() > 1 && slab % elements != 0)
      fl::fail("gfx1250 TDM: expected each wave's part of the tile, ", slab,
               " elements, to be whole intervals of padding, of ", elements);
  }
};

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
    Arith arith(builder, loc);
    Tile tile(copy, isLoad ? from : to);
    Padding padding(copy, tile);
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

    Words group0(arith, 4), group1(arith, 8), group2(arith, 4), group3(arith, 4);
    group0.put(0, 2, 1); // the descriptor is in use
    group0.put(32, 32, lds);
    group0.put(64, 57, global);
    group0.put(126, 2, 2); // its type: an image
    group1.put(0, 16, arith.stateField(atom, kMask));
    group1.put(16, 2, llvm::Log2_64(tile.elementBits / 8));
    group1.put(18, 1, copy.getAtomicBarrier());
    group1.put(20, 1, padding.enable);
    group1.put(21, 1, copy.getEarlyTimeout());
    group1.put(22, 3, padding.interval);
    group1.put(25, 7, padding.amount);
    struct Field {
      Words &group;
      unsigned bit;
    };
    const Field extents[] = {{group1, 48}, {group1, 80}, {group2, 0}, {group2, 32}, {group3, 48}};
    const Field slabs[] = {
        {group1, 112}, {group1, 128}, {group1, 144}, {group2, 112}, {group3, 80}};
    const Field pitches[] = {{group1, 160}, {group1, 208}, {group2, 64}, {group3, 0}};
    for (int64_t j = 0; j < rank; ++j) {
      int64_t i = rank - 1 - j;
      extents[j].group.put(extents[j].bit, 32, rest[i]);
      slabs[j].group.put(slabs[j].bit, 16, static_cast<uint64_t>(tile.slab(i)));
      if (i > 0)
        pitches[j].group.put(pitches[j].bit, 48, strides[i - 1]);
    }
    SmallVector<Value> groups{group0.vector(), group1.vector()};
    if (rank > 2)
      groups.append({group2.vector(), group3.vector()});
    StringRef name = isLoad ? "rocdl.tensor.load.to.lds" : "rocdl.tensor.store.from.lds";
    OperationState state(
        loc, rank > 2 ? name.str() : (name + ".d2").str(), groups, TypeRange(),
        builder.getNamedAttr("cachePolicy", builder.getI32IntegerAttr(copy.getCacheModifier())));
    builder.create(state);
    return dst;
  }

private:
  /// What the state says, or where nothing was set the tile's own stride.
  static Value strideOf(Arith &arith, Value atom, const Tile &tile, int64_t i) {
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
  static void moveToSlab(Arith &arith, CopyOpGFX1250TDMType copy, const Tile &tile,
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
