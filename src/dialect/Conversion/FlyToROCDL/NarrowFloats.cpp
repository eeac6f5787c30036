//===- NarrowFloats.cpp - Conversions of floats of 8 bits and less --------===//
//
// LLVM has no such types, so their values are integers of as many bits. The target's instructions
// convert fp8 in the target's own format. All other formats are converted by integer arithmetic,
// which rounds to nearest even as the instructions do. A number out of range becomes infinity, or
// NaN if the format has no infinity; formats without either saturate. f8E8M0FNU is a power of two:
// it is the exponent of an f32.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/Fly/IR/ElementTypes.h"
#include "support/float_format.h"
#include "target/processors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

#include <cmath>

namespace mlir::fly {

#define GEN_PASS_DEF_CONVERTNARROWFLOATSPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

using flydsl::Feature;
using flydsl::detail::FloatFormat;
using flydsl::detail::FloatSpecials;
using flydsl::detail::Processor;

namespace {

/// The format of a type that this pass converts: of fewer than 16 bits. Null for other types.
const FloatFormat *formatOf(Type type) {
  const FloatFormat *format = flydsl::detail::smallFloatFormat(dtypeOfElement(type));
  return format && format->bits() < 16 ? format : nullptr;
}

/// "fp8" or "bf8" if the target's instructions convert this type, else empty. `processor` is null
/// if the target is not known.
StringRef nativeName(const Processor *processor, Type type) {
  const bool converts = processor && processor->features.has(Feature::fp8_conversions);
  const bool isFnuz = converts && processor->features.has(Feature::fnuz_fp8);
  const bool isOcp = converts && processor->features.has(Feature::ocp_fp8);
  if ((isFnuz && isa<Float8E4M3FNUZType>(type)) || (isOcp && isa<Float8E4M3FNType>(type)))
    return "fp8";
  if ((isFnuz && isa<Float8E5M2FNUZType>(type)) || (isOcp && isa<Float8E5M2Type>(type)))
    return "bf8";
  return {};
}

/// Arithmetic on scalars and vectors of 32 bits an element.
class Words {
public:
  Words(OpBuilder &builder, Location loc, Type like) : b_(builder), loc_(loc), shape_(like) {}

  Type of(Type element) const {
    auto vector = dyn_cast<VectorType>(shape_);
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  }
  Value word(uint32_t v) const { return constant(b_.getI32IntegerAttr(static_cast<int32_t>(v))); }
  Value number(float v) const { return constant(b_.getF32FloatAttr(v)); }
  Value bits(Value v) const { return cast(v, b_.getI32Type()); }
  Value asFloat(Value v) const { return cast(v, b_.getF32Type()); }
  template <class Op> Value op(Value x, Value y) const { return Op::create(b_, loc_, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) const {
    return arith::CmpIOp::create(b_, loc_, predicate, x, y);
  }
  Value select(Value c, Value x, Value y) const {
    return arith::SelectOp::create(b_, loc_, c, x, y);
  }
  Value cast(Value v, Type element) const {
    return v.getType() == of(element) ? v : arith::BitcastOp::create(b_, loc_, of(element), v);
  }
  Value resize(Value v, int width) const {
    Type type = of(b_.getIntegerType(width));
    const unsigned now = getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth();
    if (now == static_cast<unsigned>(width))
      return v;
    if (now < static_cast<unsigned>(width))
      return arith::ExtUIOp::create(b_, loc_, type, v);
    return arith::TruncIOp::create(b_, loc_, type, v);
  }

private:
  Value constant(TypedAttr value) const {
    if (auto vector = dyn_cast<VectorType>(of(value.getType())))
      return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(vector, Attribute(value)));
    return arith::ConstantOp::create(b_, loc_, value);
  }

  OpBuilder &b_;
  Location loc_;
  Type shape_;
};

/// The f32 of a narrow number's bits.
Value widened(const Words &w, const FloatFormat &f, Value bits) {
  using namespace arith;
  Value word = w.resize(bits, 32);
  const int magnitudeBits = f.exponent + f.mantissa;
  Value magnitude = w.op<AndIOp>(word, w.word(f.magnitudeMask()));
  // Move the fields to their places in f32. The multiplication corrects the bias and normalises
  // denormal numbers.
  Value placed = w.op<ShLIOp>(magnitude, w.word(static_cast<uint32_t>(23 - f.mantissa)));
  Value scaled = w.bits(w.op<MulFOp>(w.asFloat(placed), w.number(std::ldexp(1.0f, 127 - f.bias))));
  const Value nan = w.word(0x7fc00000);
  if (f.specials == FloatSpecials::ieee)
    scaled = w.select(
        w.compare(CmpIPredicate::ugt, magnitude, w.word(f.largest())),
        w.op<OrIOp>(w.word(0x7f800000),
                    w.op<ShLIOp>(magnitude, w.word(static_cast<uint32_t>(23 - f.mantissa)))),
        scaled);
  else if (f.specials == FloatSpecials::finite)
    scaled = w.select(w.compare(CmpIPredicate::ugt, magnitude, w.word(f.largest())), nan, scaled);
  Value sign =
      w.op<ShLIOp>(w.op<ShRUIOp>(word, w.word(static_cast<uint32_t>(magnitudeBits))), w.word(31));
  Value result = w.op<OrIOp>(scaled, sign);
  if (f.specials == FloatSpecials::unsignedZero)
    result = w.select(w.compare(CmpIPredicate::eq, word, w.word(f.signBit())), nan, result);
  return w.asFloat(result);
}

/// The bits of a narrow number, as an i32.
Value narrowed(const Words &w, const FloatFormat &f, Value number) {
  using namespace arith;
  Value word = w.bits(number);
  Value magnitude = w.op<AndIOp>(word, w.word(0x7fffffff));
  const auto shift = static_cast<uint32_t>(23 - f.mantissa);
  // Normal numbers: add half of the last place, or less by one bit if the number is even, and cut
  // off the rest.
  Value odd = w.op<AndIOp>(w.op<ShRUIOp>(magnitude, w.word(shift)), w.word(1));
  Value rounded = w.op<AddIOp>(w.op<AddIOp>(magnitude, w.word((1u << (shift - 1)) - 1)), odd);
  Value normal = w.op<SubIOp>(w.op<ShRUIOp>(rounded, w.word(shift)),
                              w.word(static_cast<uint32_t>(127 - f.bias) << f.mantissa));
  // Denormal numbers: add a number whose last place is the format's smallest step, so that the sum
  // is rounded to such steps.
  const float magic = std::ldexp(1.0f, 1 - f.bias - f.mantissa + 23);
  Value denormal = w.op<SubIOp>(w.bits(w.op<AddFOp>(w.asFloat(magnitude), w.number(magic))),
                                w.bits(w.number(magic)));
  Value isNormal =
      w.compare(CmpIPredicate::uge, magnitude, w.word(static_cast<uint32_t>(128 - f.bias) << 23));
  Value result = w.select(isNormal, normal, denormal);
  Value tooLarge = w.compare(CmpIPredicate::ugt, result, w.word(f.largest()));
  result = w.select(tooLarge, w.word(f.overflow()), result);
  if (f.specials == FloatSpecials::ieee)
    result = w.select(w.compare(CmpIPredicate::ugt, magnitude, w.word(0x7f800000)), w.word(f.nan()),
                      result);
  Value sign = w.op<ShLIOp>(w.op<ShRUIOp>(word, w.word(31)),
                            w.word(static_cast<uint32_t>(f.exponent + f.mantissa)));
  if (f.specials == FloatSpecials::unsignedZero) // neither zero nor NaN has a sign
    sign = w.select(w.op<OrIOp>(tooLarge, w.compare(CmpIPredicate::eq, result, w.word(0))),
                    w.word(0), sign);
  return w.op<OrIOp>(result, sign);
}

/// The scalars of a value of any shape.
SmallVector<Value> elementsOf(OpBuilder &b, Location loc, Value v) {
  auto vector = dyn_cast<VectorType>(v.getType());
  if (!vector)
    return {v};
  SmallVector<Value> elements;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    elements.push_back(vector::ExtractOp::create(b, loc, v, ArrayRef<int64_t>{i}));
  return elements;
}
Value joined(OpBuilder &b, Location loc, ArrayRef<Value> elements, Type type) {
  return isa<VectorType>(type) ? Value(vector::FromElementsOp::create(b, loc, type, elements))
                               : elements.front();
}

Value call(OpBuilder &b, Location loc, const Twine &name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), operands)->getResult(0);
}

/// Narrows by the target's instructions, which convert two elements
/// each and write a half of a word.
Value nativelyNarrowed(OpBuilder &b, Location loc, StringRef name, Value number) {
  SmallVector<Value> from = elementsOf(b, loc, number), to;
  Type i32 = b.getI32Type(), i8 = b.getIntegerType(8);
  for (size_t i = 0; i < from.size(); i += 4) {
    const size_t count = std::min<size_t>(4, from.size() - i);
    // What is in the word before does not matter if both halves are written.
    Value word = count < 4 ? Value(arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0)))
                           : Value(LLVM::UndefOp::create(b, loc, i32));
    for (size_t k = 0; k < count; k += 2) {
      Value upper = arith::ConstantOp::create(b, loc, b.getBoolAttr(k > 0));
      word = call(b, loc, "llvm.amdgcn.cvt.pk." + name + ".f32", i32,
                  {from[i + k], from[i + std::min(k + 1, count - 1)], word, upper});
    }
    Value bytes = vector::BitCastOp::create(
        b, loc, VectorType::get({4}, i8),
        vector::FromElementsOp::create(b, loc, VectorType::get({1}, i32), word));
    for (size_t k = 0; k < count; ++k)
      to.push_back(
          vector::ExtractOp::create(b, loc, bytes, ArrayRef<int64_t>{static_cast<int64_t>(k)}));
  }
  auto vector = dyn_cast<VectorType>(number.getType());
  return joined(b, loc, to, vector ? Type(VectorType::get(vector.getShape(), i8)) : i8);
}
/// Widens by the target's instructions, which convert two elements of a word each.
Value nativelyWidened(OpBuilder &b, Location loc, StringRef name, Value bits, Type type) {
  SmallVector<Value> from = elementsOf(b, loc, bits), to;
  Type i32 = b.getI32Type(), f32 = b.getF32Type(), two = VectorType::get({2}, f32);
  Value first = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  for (size_t i = 0; i < from.size(); i += 4) {
    const size_t count = std::min<size_t>(4, from.size() - i);
    if (count < 4) { // what is no whole word
      for (size_t k = 0; k < count; ++k)
        to.push_back(call(b, loc, "llvm.amdgcn.cvt.f32." + name, f32,
                          {arith::ExtUIOp::create(b, loc, i32, from[i + k]), first}));
      continue;
    }
    Value bytes = vector::FromElementsOp::create(b, loc, VectorType::get({4}, b.getIntegerType(8)),
                                                 ArrayRef<Value>(from).slice(i, 4));
    Value word = vector::ExtractOp::create(
        b, loc, vector::BitCastOp::create(b, loc, VectorType::get({1}, i32), bytes),
        ArrayRef<int64_t>{0});
    for (bool upper : {false, true}) {
      Value half = arith::ConstantOp::create(b, loc, b.getBoolAttr(upper));
      Value pair = call(b, loc, "llvm.amdgcn.cvt.pk.f32." + name, two, {word, half});
      for (int64_t k : {0, 1})
        to.push_back(vector::ExtractOp::create(b, loc, pair, ArrayRef<int64_t>{k}));
    }
  }
  return joined(b, loc, to, type);
}

Value scaleWidened(const Words &w, Value bits) {
  Value word = w.resize(bits, 32);
  auto is = [&](uint32_t n) { return w.compare(arith::CmpIPredicate::eq, word, w.word(n)); };
  Value placed = w.op<arith::ShLIOp>(word, w.word(23));
  placed = w.op<arith::MaxUIOp>(placed, w.word(0x00400000)); // 0 stands for 2^-127, a denormal
  return w.asFloat(w.select(is(255), w.word(0x7fc00000), placed));
}

Value scaleNarrowed(const Words &w, Value number) {
  return w.op<arith::AndIOp>(w.op<arith::ShRUIOp>(w.bits(number), w.word(23)), w.word(0xff));
}

Value extended(OpBuilder &b, arith::ExtFOp op, const Processor *processor) {
  Location loc = op.getLoc();
  Type from = getElementTypeOrSelf(op.getIn().getType());
  Words w(b, loc, op.getType());
  Value bits = w.cast(op.getIn(), b.getIntegerType(from.getIntOrFloatBitWidth()));
  const FloatFormat &format = *formatOf(from);
  if (format.specials == FloatSpecials::powers)
    return scaleWidened(w, bits);
  if (StringRef name = nativeName(processor, from); !name.empty())
    return nativelyWidened(b, loc, name, bits, op.getType());
  return widened(w, format, bits);
}

/// Whether a conversion of f32 to bf16 loses nothing, because the number was a float of 8 bits,
/// whose bits of the mantissa and exponents all fit bf16.
bool cutsExactly(arith::TruncFOp op) {
  auto from = op.getIn().getDefiningOp<arith::ExtFOp>();
  if (!from || !getElementTypeOrSelf(op.getType()).isBF16() ||
      !getElementTypeOrSelf(op.getIn().getType()).isF32())
    return false;
  Type narrow = getElementTypeOrSelf(from.getIn().getType());
  return formatOf(narrow) && narrow.getIntOrFloatBitWidth() <= 8;
}
/// The upper half of an f32 whose lower half is 0, or that is a NaN with bits in its upper half.
Value upperHalf(OpBuilder &b, arith::TruncFOp op) {
  Words w(b, op.getLoc(), op.getType());
  return w.cast(w.resize(w.op<arith::ShRUIOp>(w.bits(op.getIn()), w.word(16)), 16),
                b.getBF16Type());
}

Value truncated(OpBuilder &b, arith::TruncFOp op, const Processor *processor) {
  Location loc = op.getLoc();
  Type to = getElementTypeOrSelf(op.getType());
  Words w(b, loc, op.getType());
  const int width = static_cast<int>(to.getIntOrFloatBitWidth());
  const FloatFormat &format = *formatOf(to);
  if (format.specials == FloatSpecials::powers)
    return w.cast(w.resize(scaleNarrowed(w, op.getIn()), width), to);
  if (StringRef name = nativeName(processor, to); !name.empty())
    return w.cast(nativelyNarrowed(b, loc, name, op.getIn()), to);
  return w.cast(w.resize(narrowed(w, format, op.getIn()), width), to);
}

struct ConvertNarrowFloats : impl::ConvertNarrowFloatsPassBase<ConvertNarrowFloats> {
  using ConvertNarrowFloatsPassBase::ConvertNarrowFloatsPassBase;

  void runOnOperation() override {
    const Processor *processor = flydsl::detail::findProcessor(chipset.getValue());
    if (!processor && !chipset.empty()) {
      getOperation()->emitError("unknown chipset '")
          << chipset << "'; known: " << flydsl::detail::processorNames();
      return signalPassFailure();
    }
    SmallVector<Operation *> conversions, cuts;
    getOperation()->walk([&](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
        return;
      if (auto cut = dyn_cast<arith::TruncFOp>(op); cut && cutsExactly(cut))
        cuts.push_back(op);
      Type in = getElementTypeOrSelf(op->getOperand(0).getType()),
           out = getElementTypeOrSelf(op->getResult(0).getType());
      Type narrow = isa<arith::ExtFOp>(op) ? in : out, wide = isa<arith::ExtFOp>(op) ? out : in;
      if (formatOf(narrow) && wide.isF32())
        conversions.push_back(op);
    });
    for (Operation *op : cuts) {
      OpBuilder b(op);
      op->getResult(0).replaceAllUsesWith(upperHalf(b, cast<arith::TruncFOp>(op)));
      op->erase();
    }
    for (Operation *op : conversions) {
      OpBuilder b(op);
      auto extend = dyn_cast<arith::ExtFOp>(op);
      op->getResult(0).replaceAllUsesWith(extend
                                              ? extended(b, extend, processor)
                                              : truncated(b, cast<arith::TruncFOp>(op), processor));
      op->erase();
    }
  }
};

} // namespace

} // namespace mlir::fly
