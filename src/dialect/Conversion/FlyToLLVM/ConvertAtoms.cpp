// Atoms, their state and their calls.
//
// The instructions of a call, on registers as vectors and without a predicate, come from the atom's
// type (CopyOpLoweringInterface, MmaOpLoweringInterface) or, for universal atoms, from
// UniversalAtoms.h. This file does the rest, once for all atoms: it loads and stores fragments in
// register memory, and puts an scf.if around a call that has a predicate.

#include "dialect/Conversion/FlyToLLVM/ConversionPatterns.h"
#include "dialect/Conversion/FlyToLLVM/LoweringInterfaces.h"
#include "dialect/Conversion/FlyToLLVM/Pointers.h"
#include "dialect/Conversion/FlyToLLVM/UniversalAtoms.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/RegisterMemory.h"
#include "layout/checked.h"
#include "layout/coord.h"
#include "layout/error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fly {

namespace fl = flydsl::layout;

namespace {

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

bool isRegister(Type type) {
  auto memref = dyn_cast_or_null<MemRefType>(type);
  return memref && memref.isIn(AddressSpace::Register);
}

/// The offsets of a fragment's elements from its pointer, in elements, by the index in the tensor.
SmallVector<int64_t> elementOffsets(const fl::AnyLayout &layout) {
  SmallVector<int64_t> offsets;
  int64_t count = fl::size(layout).value();
  if (count > kMostRegisterElements)
    fl::fail("a fragment of ", count, " elements is more than registers hold");
  for (int64_t i = 0; i < count; ++i)
    offsets.push_back(fl::crd2idx(fl::IntTuple(i), layout).leaf().value());
  return offsets;
}

/// The type of a fragment's value: the value type of contiguous registers, or a vector of its
/// elements.
Type fragmentType(MemRefType type) {
  if (Type contiguous = registerValueType(type))
    return contiguous;
  return VectorType::get({fl::size(type.getLayout()).value()}, storedElementType(type.getElemTy()));
}

/// A fragment has the alignment of its vector type if the pointer is a whole allocation, which code
/// generation aligns so, or a parameter of the function, which callers pass whole ones to.
Alignment fragmentAlignment(Value pointer) {
  if (pointer.getDefiningOp<LLVM::AllocaOp>())
    return Alignment::Never;
  auto argument = dyn_cast<BlockArgument>(pointer);
  bool isParameter = argument && argument.getOwner()->isEntryBlock() &&
                     isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return isParameter ? Alignment::Never : Alignment::IfLess;
}

/// `as` is the type in which contiguous registers are loaded; it has as many bits as they have.
Value loadFragment(OpBuilder &builder, Location loc, MemRefType type, Value pointer, Type as = {}) {
  PointerType pointerTy = type.getPointerType();
  if (Type contiguous = registerValueType(type))
    return emitLoad(builder, loc, as ? as : contiguous, pointerTy, pointer,
                    as ? fragmentAlignment(pointer) : Alignment::IfLess);
  SmallVector<int64_t> offsets = elementOffsets(type.getLayout());
  Type vectorTy = fragmentType(type);
  Value vector = ub::PoisonOp::create(builder, loc, vectorTy);
  for (auto [i, offset] : llvm::enumerate(offsets)) {
    Value at = offsetBy(builder, loc, pointerTy, pointer, constantI32(builder, loc, offset));
    Value element = emitLoad(builder, loc, storedElementType(type.getElemTy()), pointerTy, at);
    vector = vector::InsertOp::create(builder, loc, element, vector,
                                      ArrayRef<int64_t>{static_cast<int64_t>(i)});
  }
  return vector;
}

/// `asInstruction` says that `value` is the result of an instruction, not a vector of the
/// fragment's elements.
void storeFragment(OpBuilder &builder, Location loc, Value value, MemRefType type, Value pointer,
                   bool asInstruction = false) {
  PointerType pointerTy = type.getPointerType();
  if (registerValueType(type))
    return emitStore(builder, loc, value, pointerTy, pointer,
                     asInstruction ? fragmentAlignment(pointer) : Alignment::IfLess);
  for (auto [i, offset] : llvm::enumerate(elementOffsets(type.getLayout()))) {
    Value at = offsetBy(builder, loc, pointerTy, pointer, constantI32(builder, loc, offset));
    Value element =
        vector::ExtractOp::create(builder, loc, value, ArrayRef<int64_t>{static_cast<int64_t>(i)});
    emitStore(builder, loc, element, pointerTy, at);
  }
}

//===----------------------------------------------------------------------===//
// Atoms and their state
//===----------------------------------------------------------------------===//

/// The struct of an atom's state before anything is set.
Value makeAtom(OpBuilder &builder, Location loc, Type atomTy, Type structTy) {
  Value atom = LLVM::UndefOp::create(builder, loc, structTy);
  auto stateful = dyn_cast<StatefulOpTypeInterface>(instructionOf(atomTy));
  if (!stateful)
    return atom;
  SmallVector<int64_t> defaults = stateful.getStateFieldDefaults();
  llvm::DenseMap<Attribute, Value> constants;
  for (auto [i, type] : llvm::enumerate(stateful.getStateFieldTypes())) {
    auto value = builder.getIntegerAttr(type, defaults[i]);
    Value &constant = constants[value];
    if (!constant)
      constant = arith::ConstantOp::create(builder, loc, value);
    atom = LLVM::InsertValueOp::create(builder, loc, atom, constant,
                                       ArrayRef<int64_t>{static_cast<int64_t>(i)});
  }
  return atom;
}

/// Replaces an operation that makes an atom. An instruction of another target is refused here,
/// before anything calls it.
LogicalResult replaceByAtom(Operation *op, Type atomTy, const FlyTypeConverter &converter,
                            ConversionPatternRewriter &rewriter) {
  Type instruction = instructionOf(atomTy);
  if (!converter.isTaken(instruction.getDialect()))
    return op->emitOpError("the instruction ")
           << instruction << " is one of another target's; universal atoms work on every target";
  rewriter.replaceOp(op, makeAtom(rewriter, op->getLoc(), atomTy, converter.convertType(atomTy)));
  return success();
}

template <class MakeAtomOp> struct ConvertMakeAtom : OpConversionPattern<MakeAtomOp> {
  using OpConversionPattern<MakeAtomOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(MakeAtomOp op, typename MakeAtomOp::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const auto *converter = this->template getTypeConverter<FlyTypeConverter>();
    return replaceByAtom(op, op.getType(), *converter, rewriter);
  }
};

/// Converts static atoms. The users of other static values are gone by now.
struct ConvertStaticAtom : OpConversionPattern<StaticOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StaticOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (auto tiled = dyn_cast<TiledCopyType>(type))
      type = tiled.getCopyAtom();
    else if (auto tiled = dyn_cast<TiledMmaType>(type))
      type = tiled.getMmaAtom();
    if (!isa<CopyAtomType, MmaAtomType>(type))
      return failure();
    return replaceByAtom(op, type, *getTypeConverter<FlyTypeConverter>(), rewriter);
  }
};

template <class TiledOp> struct ConvertMakeTiled : OpConversionPattern<TiledOp> {
  using OpConversionPattern<TiledOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(TiledOp op,
                                typename OpConversionPattern<TiledOp>::OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, llvm::getSingleElement(adaptor.getOperands().front()));
    return success();
  }
};

struct ConvertAtomSetValue : OpConversionPattern<AtomSetValueOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AtomSetValueOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto stateful = dyn_cast<StatefulOpTypeInterface>(instructionOf(op.getAtom().getType()));
    std::optional<unsigned> field =
        stateful ? stateful.getStateFieldIndex(op.getField()) : std::nullopt;
    if (!field)
      return op.emitOpError("the atom ")
             << op.getAtom().getType() << " has no field '" << op.getField() << "'";
    Type fieldTy = stateful.getStateFieldTypes()[*field];
    Value value = adaptor.getValue();
    bool sized = value.getType().isIntOrFloat() || isa<VectorType>(value.getType());
    if (!sized || bitsOf(value.getType()) != bitsOf(fieldTy))
      return op.emitOpError("field '") << op.getField() << "' takes a value of type " << fieldTy
                                       << ", not " << value.getType();
    value = bitcastTo(rewriter, op.getLoc(), value, fieldTy);
    rewriter.replaceOpWithNewOp<LLVM::InsertValueOp>(
        op, adaptor.getAtom(), value, ArrayRef<int64_t>{static_cast<int64_t>(*field)});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A call of a copy atom, with registers as vectors. `resultTy` is null if the destination is
/// memory.
struct CopyCall {
  Operation *op;
  CopyAtomType atomTy;
  Value atom;
  Type resultTy, srcTy, dstTy;
  Value src, dst;

  /// Each side in memory must have its bits together. Only the universal copy can move truth
  /// values, which have a byte each.
  LogicalResult verifyMemory() const {
    auto instruction = dyn_cast<CopyOpTypeInterface>(atomTy.getCopyOp());
    for (Type side : {srcTy, dstTy}) {
      auto memref = dyn_cast_or_null<MemRefType>(side);
      if (!memref || !instruction || instruction.isWholeTileCopy())
        continue;
      int64_t bits = fl::size(atomTy.getThrValLayoutRef().at(1)).value() * atomTy.getValBits();
      if (failed(verifyAccess(op, memref.getPointerType(), bits)))
        return failure();
      if (memref.getElemTy().isInteger(1) && !isa<CopyOpUniversalCopyType>(atomTy.getCopyOp()))
        return op->emitOpError("the atom ")
               << atomTy << " can't copy truth values; a universal copy does";
    }
    return success();
  }

  FailureOr<Value> emitInstruction(OpBuilder &builder) const {
    Location loc = op->getLoc();
    return llvm::TypeSwitch<Type, FailureOr<Value>>(atomTy.getCopyOp())
        .Case<CopyOpUniversalCopyType>([&](auto copy) {
          return emitUniversalCopy(copy, builder, loc, resultTy, srcTy, dstTy, src, dst);
        })
        .Case<CopyOpUniversalAtomicType>([&](auto atomic) {
          return emitUniversalAtomic(atomic, builder, loc, srcTy, dstTy, src, dst);
        })
        .Case<CopyOpLoweringInterface>([&](auto instruction) {
          return instruction.emitCall(builder, loc, resultTy, atomTy, srcTy, dstTy, atom, src, dst);
        })
        .Default([](Type) { return failure(); });
  }

  FailureOr<Value> emit(OpBuilder &builder) const {
    FailureOr<Value> result = emitInstruction(builder);
    if (failed(result)) {
      InFlightDiagnostic diagnostic = op->emitOpError("the atom ")
                                      << atomTy << " can't copy from " << srcTy << " to ";
      diagnostic << (resultTy ? resultTy : dstTy);
      return diagnostic;
    }
    return result;
  }

  /// Emits the call under `pred`. Where that does not hold, the result is `otherwise`, or anything
  /// if `otherwise` is null.
  FailureOr<Value> emitIf(OpBuilder &builder, Value pred, Value otherwise) const {
    if (failed(verifyMemory()))
      return failure();
    if (!pred)
      return emit(builder);
    OpBuilder::InsertionGuard guard(builder);
    Location loc = op->getLoc();
    TypeRange types = resultTy ? TypeRange(resultTy) : TypeRange();
    if (resultTy && !otherwise)
      otherwise = ub::PoisonOp::create(builder, loc, resultTy);
    auto branch =
        scf::IfOp::create(builder, loc, types, pred, /*withElseRegion=*/resultTy != nullptr);
    builder.setInsertionPointToStart(branch.thenBlock());
    FailureOr<Value> result = emit(builder);
    if (failed(result) || !resultTy)
      return result;
    scf::YieldOp::create(builder, loc, *result);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, otherwise);
    return branch.getResult(0);
  }
};

Value loadPredicate(OpBuilder &builder, Location loc, Type type, Value pred) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return pred;
  Value loaded = emitLoad(builder, loc, builder.getI1Type(), memref.getPointerType(), pred);
  return loaded;
}

struct ConvertCopyAtomCall : OpConversionPattern<CopyAtomCallOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CopyAtomCallOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto srcTy = dyn_cast<MemRefType>(op.getSrc().getType()),
         dstTy = dyn_cast<MemRefType>(op.getDst().getType());
    if (!srcTy || !dstTy)
      return op.emitOpError("takes coordinates, which a pass of the target's has to lower before");
    CopyCall call{op,    op.getCopyAtom().getType(), adaptor.getCopyAtom(), {}, srcTy,
                  dstTy, adaptor.getSrc(),           adaptor.getDst()};
    Value pred = op.getPred()
                     ? loadPredicate(rewriter, loc, op.getPred().getType(), adaptor.getPred())
                     : Value();
    try {
      if (isRegister(srcTy)) {
        call.src = loadFragment(rewriter, loc, srcTy, adaptor.getSrc());
        call.srcTy = call.src.getType();
      }
      Value kept;
      if (isRegister(dstTy)) {
        call.resultTy = fragmentType(dstTy);
        call.dstTy = {};
        call.dst = {};
        kept = pred ? loadFragment(rewriter, loc, dstTy, adaptor.getDst()) : Value();
      }
      FailureOr<Value> result = call.emitIf(rewriter, pred, kept);
      if (failed(result))
        return failure();
      if (isRegister(dstTy))
        storeFragment(rewriter, loc, *result, dstTy, adaptor.getDst());
    } catch (const fl::LayoutError &error) {
      return op.emitOpError(error.what());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertCopyAtomCallSSA : OpConversionPattern<CopyAtomCallSSAOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CopyAtomCallSSAOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    bool hasResult = op.getNumResults() == 1;
    Type resultTy = hasResult ? getTypeConverter()->convertType(op.getResult(0).getType()) : Type();
    Type srcTy = op.getSrc().getType();
    CopyCall call{op,
                  op.getCopyAtom().getType(),
                  adaptor.getCopyAtom(),
                  resultTy,
                  srcTy,
                  {},
                  adaptor.getSrc(),
                  {}};
    Value pred = op.getPred()
                     ? loadPredicate(rewriter, loc, op.getPred().getType(), adaptor.getPred())
                     : Value();
    try {
      if (isRegister(srcTy)) {
        call.src = loadFragment(rewriter, loc, cast<MemRefType>(srcTy), adaptor.getSrc());
        call.srcTy = call.src.getType();
      }
      Value kept;
      MemRefType storeTo;
      if (hasResult) {
        kept = adaptor.getDst();
      } else if (isRegister(op.getDst().getType())) {
        storeTo = cast<MemRefType>(op.getDst().getType());
        call.resultTy = fragmentType(storeTo);
        kept = pred ? loadFragment(rewriter, loc, storeTo, adaptor.getDst()) : Value();
      } else {
        call.dstTy = op.getDst().getType();
        call.dst = adaptor.getDst();
      }
      FailureOr<Value> result = call.emitIf(rewriter, pred, kept);
      if (failed(result))
        return failure();
      if (storeTo)
        storeFragment(rewriter, loc, *result, storeTo, adaptor.getDst());
      if (hasResult)
        rewriter.replaceOp(op, *result);
      else
        rewriter.eraseOp(op);
    } catch (const fl::LayoutError &error) {
      return op.emitOpError(error.what());
    }
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Verifies that a fragment, or its value, has as many bits as the instruction takes. Null for
/// either means that any number will do.
LogicalResult verifySize(Operation *op, StringRef name, Value fragment, Type expected) {
  if (!fragment || !expected)
    return success();
  int64_t bits = 0;
  auto memref = dyn_cast<MemRefType>(fragment.getType());
  if (!memref)
    bits = bitsOf(fragment.getType());
  else if (isRegister(memref))
    bits = flydsl::layout::checkedMul(fl::size(memref.getLayout()).value(),
                                      memref.getElemTy().getIntOrFloatBitWidth());
  else
    return op->emitOpError("expected ") << name << " in registers, found " << memref;
  if (bits == bitsOf(expected))
    return success();
  return op->emitOpError("expected a fragment ")
         << name << " of " << bitsOf(expected) << " bits for " << expected << ", found " << bits
         << " bits in " << fragment.getType();
}

/// Converts both forms of the call. Operands are fragments in register memory, or values.
template <class CallOp> struct ConvertMmaCall : OpConversionPattern<CallOp> {
  using OpConversionPattern<CallOp>::OpConversionPattern;
  LogicalResult matchAndRewrite(CallOp op, typename CallOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto atomTy = cast<MmaAtomType>(op.getMmaAtom().getType());
    auto instruction = dyn_cast<MmaOpLoweringInterface>(atomTy.getMmaOp());
    auto registerType = [&](MmaOperand operand) {
      return instruction ? instruction.getRegisterType(operand) : Type();
    };
    auto value = [&](Type type, Value converted, MmaOperand operand) {
      return isRegister(type) ? loadFragment(rewriter, loc, cast<MemRefType>(type), converted,
                                             registerType(operand))
                              : converted;
    };
    bool hasResult = op->getNumResults() == 1;
    try {
      if (failed(verifySize(op, "A", op.getA(), registerType(MmaOperand::A))) ||
          failed(verifySize(op, "B", op.getB(), registerType(MmaOperand::B))) ||
          failed(verifySize(op, "C", op.getC(), registerType(MmaOperand::C))) ||
          failed(verifySize(op, "D", op.getD(), registerType(MmaOperand::D))))
        return failure();
      Value a = value(op.getA().getType(), adaptor.getA(), MmaOperand::A),
            b = value(op.getB().getType(), adaptor.getB(), MmaOperand::B),
            c = value(op.getC().getType(), adaptor.getC(), MmaOperand::C);
      MemRefType storeTo;
      Type resultTy;
      if (hasResult) {
        resultTy = this->getTypeConverter()->convertType(op->getResult(0).getType());
      } else {
        storeTo = dyn_cast_or_null<MemRefType>(op.getD() ? op.getD().getType() : Type());
        if (!isRegister(storeTo))
          return op.emitOpError("writes D to something other than registers");
        resultTy = registerValueType(storeTo) ? registerType(MmaOperand::D) : Type();
        if (!resultTy)
          resultTy = fragmentType(storeTo);
      }
      FailureOr<Value> d = failure();
      if (isa<MmaOpUniversalFMAType>(atomTy.getMmaOp()))
        d = emitUniversalFMA(rewriter, loc, resultTy, a, b, c);
      else if (instruction)
        d = instruction.emitCall(rewriter, loc, resultTy, adaptor.getMmaAtom(), a, b, c);
      if (failed(d))
        return op.emitOpError("the atom ") << atomTy << " has no instruction for " << a.getType()
                                           << ", " << b.getType() << " and " << c.getType();
      if (hasResult) {
        rewriter.replaceOp(op, *d);
        return success();
      }
      storeFragment(rewriter, loc, *d, storeTo, adaptor.getD(),
                    registerType(MmaOperand::D) != nullptr);
      rewriter.eraseOp(op);
      return success();
    } catch (const fl::LayoutError &error) {
      return op.emitOpError(error.what());
    }
  }
};

} // namespace

void populateAtomPatterns(RewritePatternSet &patterns, const FlyTypeConverter &converter) {
  patterns.add<ConvertMakeAtom<MakeCopyAtomOp>, ConvertMakeAtom<MakeMmaAtomOp>, ConvertStaticAtom,
               ConvertMakeTiled<MakeTiledCopyOp>, ConvertMakeTiled<MakeTiledMmaOp>,
               ConvertMakeTiled<GetCopyAtomOp>, ConvertMakeTiled<GetMmaAtomOp>, ConvertAtomSetValue,
               ConvertCopyAtomCall, ConvertCopyAtomCallSSA, ConvertMmaCall<MmaAtomCallOp>,
               ConvertMmaCall<MmaAtomCallSSAOp>>(converter, patterns.getContext());
}

} // namespace mlir::fly
