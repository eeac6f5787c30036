//===- SplitAddresses.cpp - A wave's base and a lane's offset ----------------===//
//
// The address of a tensor's element is one sum: of the tile that the block has, the round of a
// loop, and the place of the thread. A load or store of global memory takes a base of 64 bits from
// scalar registers, an offset of 32 bits from a vector register, and a constant. LLVM finds these
// three only where the address is added up in this order.
//
// This pass takes a chain of llvm.getelementptr apart into its terms, and adds them up anew: first
// the terms that all lanes of a wave have in common, then those of the lane, in 32 bits where they
// are known to fit, then the constant. What the scalar unit computes then costs no vector register,
// and stands before a loop that does not change it. A lane whose row is its own has a base or terms of
// 64 bits; its accesses share these, and differ in the constant. A constant that is too large for the instruction
// is divided: what is left of it after whole multiples of the instruction's range stays the last
// term, and the multiples, which neighbouring accesses have in common, go to the wave's terms.
//
// The start of a buffer has nothing but terms of the wave. It becomes a number too: what it has in
// common with the buffer's range, such as a stride in bytes, is then computed once.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/Conversion/FlyToROCDL/Uniformity.h"

#include "dialect/Fly/Transforms/IntegerFacts.h"
#include "layout/error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::fly {

#define GEN_PASS_DEF_SPLITADDRESSESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

/// A sum of integers of 64 bits, by who computes it.
struct Sum {
  SmallVector<Value> ofWave, ofLane; ///< of 32 or of 64 bits, which are extended with their sign
  uint64_t constant = 0;             ///< wraps, as addresses do
};

/// Whether 32 bits with a sign hold the number that `make` describes. The algebra refuses constants
/// of more than 64 bits by an exception, which must not get into MLIR.
bool fits32(function_ref<flydsl::layout::ExprRef()> make) {
  try {
    return make()->range().fits32();
  } catch (const flydsl::layout::LayoutError &) {
    return false;
  }
}

/// Takes sums of integers apart. It makes operations where it multiplies out, at `builder`.
class Terms {
public:
  Terms(OpBuilder &builder, Location loc, const Uniformity &uniformity)
      : builder_(builder), loc_(loc), uniformity_(uniformity) {}

  /// Adds the terms of an integer of 32 or 64 bits, as a number with a sign.
  void add(Value value, Sum &to) {
    if (std::optional<int64_t> constant = constantValue(value)) {
      to.constant += static_cast<uint64_t>(*constant);
    } else if (uniformity_.isUniform(value)) {
      to.ofWave.push_back(value);
    } else if (!addParts(value, to)) {
      to.ofLane.push_back(value);
    }
  }

private:
  /// False if the value is no sum whose parts can be added one by one.
  bool addParts(Value value, Sum &to) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    // An extension of a sum is the sum of the extensions only if the sum does not wrap.
    if (isa<arith::ExtSIOp>(op) || isa<arith::ExtUIOp>(op)) {
      Value from = op->getOperand(0);
      if (!from.getType().isInteger(32) || (isa<arith::ExtUIOp>(op) && !isNonNegative(from)))
        return false;
      add(from, to);
      return true;
    }
    if (isa<arith::AddIOp>(op) && isExact(op)) {
      add(op->getOperand(0), to);
      add(op->getOperand(1), to);
      return true;
    }
    if (Value whole = withoutQuotient(op)) {
      add(whole, to);
      return true;
    }
    return multiplyOut(op, to);
  }

  /// x, if the operation is x / c * c and c divides x: a piece of c neighbours, at x as its number.
  static Value withoutQuotient(Operation *op) {
    using namespace flydsl::layout;
    if (!isa<arith::MulIOp, arith::ShLIOp>(op))
      return {};
    const std::optional<int64_t> by = constantValue(op->getOperand(1));
    if (!by || *by <= 0 || (isa<arith::ShLIOp>(op) && !isShift(op->getOperand(1))))
      return {};
    const int64_t factor = isa<arith::ShLIOp>(op) ? int64_t(1) << *by : *by;
    Value quotient = op->getOperand(0);
    if (auto extended = quotient.getDefiningOp<arith::ExtSIOp>())
      quotient = extended.getIn();
    Operation *division = quotient.getDefiningOp();
    if (!isa_and_nonnull<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(division) ||
        constantValue(division->getOperand(1)) != factor)
      return {};
    Value whole = division->getOperand(0);
    const ExprRef facts = factsOf(whole);
    if (isa<arith::DivUIOp>(division) && !facts->range().isNonNegative())
      return {};
    return facts->divisor() % factor == 0 ? whole : Value();
  }

  /// A product of a sum and a factor that all lanes have in common.
  bool multiplyOut(Operation *op, Sum &to) {
    if (!isa<arith::MulIOp, arith::ShLIOp>(op) || !isExact(op))
      return false;
    Value factor = op->getOperand(1), other = op->getOperand(0);
    if (isa<arith::MulIOp>(op) && !uniformity_.isUniform(factor))
      std::swap(factor, other);
    if (!uniformity_.isUniform(factor) || (isa<arith::ShLIOp>(op) && !isShift(factor)))
      return false;
    Sum parts;
    add(other, parts);
    if (parts.ofWave.empty() && parts.constant == 0)
      return false;
    for (Value part : parts.ofWave)
      to.ofWave.push_back(times(op, part, factor));
    for (Value part : parts.ofLane)
      to.ofLane.push_back(times(op, part, factor));
    if (parts.constant != 0)
      addConstant(op, parts.constant, factor, to);
    return true;
  }

  void addConstant(Operation *op, uint64_t constant, Value factor, Sum &to) {
    if (std::optional<int64_t> by = constantValue(factor)) {
      to.constant +=
          isa<arith::ShLIOp>(op) ? constant << *by : constant * static_cast<uint64_t>(*by);
      return;
    }
    Value number = arith::ConstantOp::create(
        builder_, loc_, builder_.getI64IntegerAttr(static_cast<int64_t>(constant)));
    to.ofWave.push_back(times(op, number, factor));
  }

  /// In the type of the product where it is known to fit there, else in 64 bits: a part may be
  /// larger than the sum.
  Value times(Operation *op, Value part, Value factor) {
    using namespace flydsl::layout;
    const bool shifts = isa<arith::ShLIOp>(op);
    const ExprRef by =
        shifts ? exprConstant(int64_t(1) << *constantValue(factor)) : factsOf(factor);
    Type type = op->getResult(0).getType();
    if (!fits32([&] { return exprMul(factsOf(part), by); }))
      type = builder_.getI64Type();
    part = inType(part, type);
    factor = inType(factor, type);
    if (shifts)
      return arith::ShLIOp::create(builder_, loc_, part, factor);
    return arith::MulIOp::create(builder_, loc_, part, factor);
  }
  Value inType(Value value, Type type) {
    const unsigned from = value.getType().getIntOrFloatBitWidth(),
                   to = type.getIntOrFloatBitWidth();
    if (from < to)
      return arith::ExtSIOp::create(builder_, loc_, type, value);
    return from > to ? Value(arith::TruncIOp::create(builder_, loc_, type, value)) : value;
  }

  static bool isShift(Value by) {
    const std::optional<int64_t> bits = constantValue(by);
    return bits && *bits >= 0 && *bits <= 62;
  }
  static bool isNonNegative(Value value) { return factsOf(value)->range().isNonNegative(); }

public:
  /// In 64 bits, addresses wrap as their sums do. In 32 bits, the result must be known to fit.
  static bool isExact(Operation *op) {
    return op->getResult(0).getType().isInteger(64) ||
           (op->getResult(0).getType().isInteger(32) && isExactIn32(op));
  }

private:
  static bool isExactIn32(Operation *op) {
    using namespace flydsl::layout;
    if (isa<arith::ShLIOp>(op) && !isShift(op->getOperand(1)))
      return false;
    return fits32([&] {
      const ExprRef a = factsOf(op->getOperand(0)), b = factsOf(op->getOperand(1));
      return isa<arith::AddIOp>(op)   ? exprAdd(a, b)
             : isa<arith::MulIOp>(op) ? exprMul(a, b)
                                      : exprMul(a, exprConstant(int64_t(1) << b->value()));
    });
  }

  OpBuilder &builder_;
  Location loc_;
  const Uniformity &uniformity_;
};

/// The low 32 bits of an integer, computed in 32 bits as far as they depend on nothing else.
class Low32 {
public:
  Low32(OpBuilder &builder, Location loc) : builder_(builder), loc_(loc) {}
  Value of(Value value) {
    if (value.getType().isInteger(32))
      return value;
    Type type = builder_.getI32Type();
    if (std::optional<int64_t> constant = constantValue(value))
      return arith::ConstantOp::create(builder_, loc_,
                                       builder_.getI32IntegerAttr(static_cast<int32_t>(*constant)));
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) &&
        op->getOperand(0).getType().isInteger(32))
      return op->getOperand(0);
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
      Value low[] = {of(op->getOperand(0)), of(op->getOperand(1))};
      return builder_.create(loc_, op->getName().getIdentifier(), low, {type})->getResult(0);
    }
    if (auto shift = dyn_cast_or_null<arith::ShLIOp>(op)) {
      std::optional<int64_t> by = constantValue(shift.getRhs());
      if (by && *by >= 0 && *by < 32)
        return arith::ShLIOp::create(builder_, loc_, of(shift.getLhs()), of(shift.getRhs()));
    }
    return arith::TruncIOp::create(builder_, loc_, type, value);
  }

private:
  OpBuilder &builder_;
  Location loc_;
};

/// The one number by which an llvm.getelementptr moves its pointer, in steps of its element type;
/// none if it has several or moves by a constant alone.
struct Step {
  Value number;
  int64_t constant = 0;
};
std::optional<Step> stepOf(LLVM::GEPOp op) {
  if (op.getRawConstantIndices().size() != 1 || op.getNoWrapFlags() != LLVM::GEPNoWrapFlags::none)
    return std::nullopt;
  if (op.getDynamicIndices().empty())
    return Step{{}, op.getRawConstantIndices().front()};
  Value number = op.getDynamicIndices().front();
  if (!number.getType().isInteger(32) && !number.getType().isInteger(64))
    return std::nullopt;
  return Step{number};
}

/// A pointer that moves in steps of a type, by a sum.
struct Move {
  Type step;
  Sum by;
};

/// The bytes of a step; none for types whose size the target decides.
std::optional<int64_t> bytesOf(Type type) {
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() % 8 != 0)
    return std::nullopt;
  return type.getIntOrFloatBitWidth() / 8;
}

/// A constant as a part that is common to accesses near by, and one that the instruction adds.
struct Constant {
  int64_t common = 0, near = 0;

  /// `bits`: of the signed offset in the instruction.
  static Constant of(uint64_t bytes, unsigned bits) {
    const uint64_t range = uint64_t(1) << bits, common = (bytes + range / 2) & ~(range - 1);
    return {static_cast<int64_t>(common), static_cast<int64_t>(bytes - common)};
  }
  /// All of it as the part that the instruction adds.
  static Constant nearby(uint64_t bytes) { return {0, static_cast<int64_t>(bytes)}; }
};

/// How many loops stand around what an integer is computed from: how often it changes, whichever
/// loop its arithmetic stands in.
class Loops {
public:
  unsigned around(Value value) {
    if (auto known = known_.find(value); known != known_.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    unsigned count = 0;
    if (op && isPure(op) && op->getNumRegions() == 0) {
      for (Value operand : op->getOperands())
        count = std::max(count, around(operand));
    } else {
      for (Operation *parent = value.getParentBlock()->getParentOp(); parent;
           parent = parent->getParentOp())
        count += isa<LoopLikeOpInterface>(parent);
    }
    known_[value] = count;
    return count;
  }

private:
  llvm::DenseMap<Value, unsigned> known_;
};

class Splitter {
public:
  Splitter(Operation *kernel, unsigned offsetBits) : uniformity_(kernel), offsetBits_(offsetBits) {}

  /// The same address as `end`, added up in the order of the terms; null if it is so already.
  Value split(LLVM::GEPOp end) {
    SmallVector<LLVM::GEPOp> chain;
    Value base = end;
    while (auto move = base.getDefiningOp<LLVM::GEPOp>()) {
      if (!stepOf(move))
        break;
      chain.push_back(move);
      base = move.getBase();
    }
    if (chain.empty())
      return {};
    OpBuilder builder(end);
    SmallVector<Move> moves;
    Terms terms(builder, end.getLoc(), uniformity_);
    for (LLVM::GEPOp each : llvm::reverse(chain)) {
      if (moves.empty() || moves.back().step != each.getElemType())
        moves.push_back({each.getElemType(), {}});
      const Step step = *stepOf(each);
      if (step.number)
        terms.add(step.number, moves.back().by);
      moves.back().by.constant += static_cast<uint64_t>(step.constant);
    }
    uint64_t bytes = 0;
    for (const Move &move : moves) {
      const std::optional<int64_t> step = bytesOf(move.step);
      if (!step)
        return {};
      bytes += static_cast<uint64_t>(*step) * move.by.constant;
    }
    // Of a base that is each lane's own, nothing is the wave's.
    if (!uniformity_.isUniform(base))
      for (Move &move : moves) {
        move.by.ofLane.append(move.by.ofWave);
        move.by.ofWave.clear();
      }
    const Constant constant =
        uniformity_.isUniform(base) ? Constant::of(bytes, offsetBits_) : Constant::nearby(bytes);
    const bool ofWave = llvm::any_of(moves, [](const Move &m) { return !m.by.ofWave.empty(); }),
               ofLane = llvm::any_of(moves, [](const Move &m) { return !m.by.ofLane.empty(); });
    if (!ofLane && ofWave && isStartOfBuffers(end))
      return addUp(builder, end, base, moves, {static_cast<int64_t>(bytes), 0});
    // LLVM would take a sum of 64 bits apart again.
    const bool isWideSum = llvm::any_of(
        moves, [](const Move &m) { return m.by.ofLane.size() > 1 && !fitsLane(m.by.ofLane); });
    if (!ofLane || (!ofWave && constant.common == 0 && !isWideSum && !fitsByAssumptions(moves) &&
                    isAddedUp(chain, constant.near)))
      return {};
    return addUp(builder, end, base, moves, constant);
  }

private:
  /// Whether an address is used by nothing but descriptors of buffers, and further steps.
  static bool isStartOfBuffers(LLVM::GEPOp op) {
    return llvm::all_of(op->getUsers(), [](Operation *user) {
      return isa<ROCDL::MakeBufferRsrcOp, LLVM::GEPOp>(user);
    });
  }
  /// Whether the chain moves once by what its lanes have, and then by all of the constant.
  static bool isAddedUp(ArrayRef<LLVM::GEPOp> chain, int64_t constant) {
    int64_t atEnd = 0;
    while (chain.size() > 1 && !stepOf(chain.front())->number) {
      LLVM::GEPOp last = chain.front(); // of the chain, which goes back from the end
      atEnd += *bytesOf(last.getElemType()) * stepOf(last)->constant;
      chain = chain.drop_front();
    }
    return chain.size() == 1 && atEnd == constant;
  }

  /// Adds up the terms of the wave, then those of the lane, then the constant. Terms of 64 bits are
  /// added as numbers: LLVM adds each index of a pointer by itself, while a sum of products is one
  /// multiply-add for each. The wave's are numbers because of pointers that differ by a constant,
  /// LLVM would add the lane's offset to one and the constant to the sum, in vector registers of 64
  /// bits.
  Value addUp(OpBuilder &builder, LLVM::GEPOp end, Value base, ArrayRef<Move> moves,
              const Constant &constant) {
    const Location loc = end.getLoc();
    const auto number = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
    };
    Value sum; // the base with what was added as numbers; none: nothing was
    const auto add = [&](auto bytes) {
      if (!sum)
        sum = numberOf(builder, loc, base);
      sum = arith::AddIOp::create(builder, loc, sum, bytes());
    };
    const auto addTerms = [&](Type step, ArrayRef<Value> terms) {
      add([&]() -> Value {
        Value by = sum64(builder, loc, terms);
        const int64_t bytes = *bytesOf(step);
        return bytes == 1 ? by : Value(arith::MulIOp::create(builder, loc, by, number(bytes)));
      });
    };
    for (const Move &move : moves)
      if (!move.by.ofWave.empty())
        addTerms(move.step, move.by.ofWave);
    if (constant.common != 0)
      add([&] { return number(constant.common); });
    const bool assumed = fitsByAssumptions(moves);
    if (!assumed)
      addWide(moves, [&](ArrayRef<WideTerm> together) {
        add([&] { return bytesOfTerms(builder, loc, together); });
      });
    if (sum)
      base = LLVM::IntToPtrOp::create(builder, loc, end.getType(), sum);
    auto moved = [&](Type step, LLVM::GEPArg by) {
      base = LLVM::GEPOp::create(builder, loc, end.getType(), step, base, by);
    };
    if (assumed) {
      moved(builder.getI8Type(), bytesOfLane(builder, loc, moves));
    } else {
      for (const Move &move : moves)
        if (!move.by.ofLane.empty() && fitsLane(move.by.ofLane))
          moved(move.step, sum32(builder, loc, move.by.ofLane));
    }
    if (llvm::isInt<32>(constant.near) && constant.near != 0)
      moved(builder.getI8Type(), static_cast<int32_t>(constant.near));
    else if (constant.near != 0)
      moved(builder.getI8Type(), number(constant.near));
    return base;
  }

  /// A term of a lane's sum that 32 bits do not hold, and the bytes of its step.
  struct WideTerm {
    Value value;
    int64_t bytes;
    unsigned loops; ///< around what it is computed from
    bool small;     ///< 32 bits without a sign hold its bytes, and it is no row
  };
  /// Calls `add` with the terms of such sums, those first that change least often: what accesses of a
  /// loop have in common is so added up before it, and what neighbouring rows have in common once for
  /// all of them. Small terms that change together are one number of 32 bits.
  void addWide(ArrayRef<Move> moves, function_ref<void(ArrayRef<WideTerm>)> add) {
    SmallVector<WideTerm> terms;
    for (const Move &move : moves)
      if (!fitsLane(move.by.ofLane))
        for (Value term : move.by.ofLane) {
          const int64_t bytes = *bytesOf(move.step);
          const bool small = !isRow(term) && fitsUnsigned32(term, bytes);
          terms.push_back({term, bytes, loops_.around(term), small});
        }
    llvm::stable_sort(terms, [&](const WideTerm &a, const WideTerm &b) {
      return std::pair(a.loops, !a.small) < std::pair(b.loops, !b.small);
    });
    for (ArrayRef<WideTerm> rest = terms; !rest.empty();) {
      size_t count = 1;
      while (rest[0].small && count < rest.size() && rest[count].small &&
             rest[count].loops == rest[0].loops && fitTogether(rest.take_front(count + 1)))
        ++count;
      add(rest.take_front(count));
      rest = rest.drop_front(count);
    }
  }
  static bool fitTogether(ArrayRef<WideTerm> terms) {
    using namespace flydsl::layout;
    try {
      ExprRef all = exprConstant(0);
      for (const WideTerm &term : terms)
        all = exprAdd(all, exprMul(factsOf(term.value), exprConstant(term.bytes)));
      return all->range().isNonNegative() && all->range().hi <= int64_t(UINT32_MAX);
    } catch (const LayoutError &) {
      return false;
    }
  }
  /// A product with a number that the lanes have in common and that only the call knows.
  bool isRow(Value term) const {
    auto product = term.getDefiningOp<arith::MulIOp>();
    return product && llvm::any_of(product->getOperands(), [&](Value factor) {
             return uniformity_.isUniform(factor) && !constantValue(factor);
           });
  }
  Value bytesOfTerms(OpBuilder &builder, Location loc, ArrayRef<WideTerm> terms) const {
    if (terms.size() == 1)
      return bytesOfTerm(builder, loc, terms[0]);
    Value sum;
    for (const WideTerm &term : terms) {
      Value bytes = Low32(builder, loc).of(term.value);
      if (term.bytes != 1)
        bytes = arith::MulIOp::create(
            builder, loc, bytes,
            arith::ConstantOp::create(builder, loc,
                                      builder.getI32IntegerAttr(static_cast<int32_t>(term.bytes))));
      sum = sum ? Value(arith::AddIOp::create(builder, loc, sum, bytes)) : bytes;
    }
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), sum);
  }
  /// A term in bytes. Of a product, the factor that the lanes have in common takes the bytes. If both
  /// factors are known to be 32 bits without a sign, they are extended, and their product and its sum
  /// are one instruction.
  Value bytesOfTerm(OpBuilder &builder, Location loc, const WideTerm &term) const {
    const auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
    };
    const auto inBytes = [&](Value value) -> Value {
      return term.bytes == 1 ? value
                             : arith::MulIOp::create(builder, loc, value, constant(term.bytes));
    };
    auto product = term.value.getDefiningOp<arith::MulIOp>();
    if (!product || !Terms::isExact(product))
      return inBytes(extended(builder, loc, term.value));
    Value factor = product.getRhs(), own = product.getLhs();
    if (!uniformity_.isUniform(factor))
      std::swap(factor, own);
    if (!uniformity_.isUniform(factor))
      return inBytes(extended(builder, loc, product));
    const std::optional<int64_t> known = constantValue(factor);
    Value common = known ? constant(*known * term.bytes) : inBytes(wide(builder, loc, factor));
    if (!known && fitsUnsigned32(own, 1) && fitsUnsigned32(factor, term.bytes))
      common = unsigned32(builder, loc, common);
    return arith::MulIOp::create(builder, loc, extended(builder, loc, own), common);
  }
  /// A number in 64 bits, which shows where it has 32 without a sign.
  static Value extended(OpBuilder &builder, Location loc, Value value) {
    return fitsUnsigned32(value, 1) ? unsigned32(builder, loc, value) : wide(builder, loc, value);
  }
  /// Whether 32 bits without a sign are known to hold a multiple of a number.
  static bool fitsUnsigned32(Value value, int64_t times) {
    using namespace flydsl::layout;
    try {
      const auto range = exprMul(factsOf(value), exprConstant(times))->range();
      return range.isNonNegative() && range.hi <= int64_t(UINT32_MAX);
    } catch (const LayoutError &) {
      return false;
    }
  }
  /// Its low 32 bits, extended without a sign.
  static Value unsigned32(OpBuilder &builder, Location loc, Value value) {
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(),
                                  Low32(builder, loc).of(value));
  }

  static Value numberOf(OpBuilder &builder, Location loc, Value pointer) {
    const Type number = builder.getI64Type();
    auto from = pointer.getDefiningOp<LLVM::IntToPtrOp>();
    return from && from.getArg().getType() == number
               ? from.getArg()
               : Value(LLVM::PtrToIntOp::create(builder, loc, number, pointer));
  }

  /// Whether 32 bits without a sign hold the lane's terms in bytes.
  static bool fitsBytes(ArrayRef<Move> moves, flydsl::layout::ExprRef (*facts)(Value)) {
    using namespace flydsl::layout;
    try {
      ExprRef all = exprConstant(0);
      for (const Move &move : moves)
        for (Value term : move.by.ofLane)
          all = exprAdd(all, exprMul(facts(term), exprConstant(*bytesOf(move.step))));
      return all->range().isNonNegative() && all->range().hi <= int64_t(UINT32_MAX);
    } catch (const LayoutError &) {
      return false;
    }
  }
  /// Whether they do because of what the kernel assumes. LLVM's code generator does not know what was
  /// assumed; where they fit without that, it finds the offset itself.
  static bool fitsByAssumptions(ArrayRef<Move> moves) {
    return !fitsBytes(moves, factsWithoutAssumptions) && fitsBytes(moves, factsOf);
  }
  /// The lane's terms in bytes then, extended without a sign: the instruction takes such an offset as
  /// it is.
  static Value bytesOfLane(OpBuilder &builder, Location loc, ArrayRef<Move> moves) {
    Value sum;
    for (const Move &move : moves) {
      if (move.by.ofLane.empty())
        continue;
      Value ofMove = sum32(builder, loc, move.by.ofLane);
      if (const int64_t step = *bytesOf(move.step); step != 1)
        ofMove = arith::MulIOp::create(
            builder, loc, ofMove,
            arith::ConstantOp::create(builder, loc,
                                      builder.getI32IntegerAttr(static_cast<int32_t>(step))));
      sum = sum ? Value(arith::AddIOp::create(builder, loc, sum, ofMove)) : ofMove;
    }
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), sum);
  }

  static Value wide(OpBuilder &builder, Location loc, Value value) {
    return value.getType().isInteger(64)
               ? value
               : Value(arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value));
  }
  static Value sum64(OpBuilder &builder, Location loc, ArrayRef<Value> terms) {
    Value sum;
    for (Value term : terms) {
      Value next = wide(builder, loc, term);
      sum = sum ? Value(arith::AddIOp::create(builder, loc, sum, next)) : next;
    }
    return sum;
  }
  /// Whether 32 bits are known to hold the sum. Its low bits depend on nothing but those of the terms.
  static bool fitsLane(ArrayRef<Value> terms) {
    using namespace flydsl::layout;
    return fits32([&] {
      ExprRef all = exprConstant(0);
      for (Value term : terms)
        all = exprAdd(all, factsOf(term));
      return all;
    });
  }
  static Value sum32(OpBuilder &builder, Location loc, ArrayRef<Value> terms) {
    Value sum;
    for (Value term : terms) {
      Value next = Low32(builder, loc).of(term);
      sum = sum ? Value(arith::AddIOp::create(builder, loc, sum, next)) : next;
    }
    return sum;
  }

  const Uniformity uniformity_;
  Loops loops_;
  const unsigned offsetBits_;
};

/// Whether a pointer is used by more than further steps.
bool isAccessed(LLVM::GEPOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<LLVM::GEPOp>(user); });
}

struct SplitAddresses : impl::SplitAddressesPassBase<SplitAddresses> {
  using SplitAddressesPassBase::SplitAddressesPassBase;
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      SmallVector<LLVM::GEPOp> ends;
      kernel.walk([&](LLVM::GEPOp op) {
        auto type = dyn_cast<LLVM::LLVMPointerType>(op.getType());
        if (type && type.getAddressSpace() == ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace &&
            isAccessed(op))
          ends.push_back(op);
      });
      if (ends.empty())
        return;
      Splitter splitter(kernel, offsetBits);
      SmallVector<std::pair<LLVM::GEPOp, Value>> made;
      for (LLVM::GEPOp end : ends)
        if (Value address = splitter.split(end))
          made.push_back({end, address});
      for (auto [end, address] : made)
        end->getResult(0).replaceUsesWithIf(
            address, [](OpOperand &use) { return !isa<LLVM::GEPOp>(use.getOwner()); });
    });
  }
};

} // namespace

} // namespace mlir::fly
