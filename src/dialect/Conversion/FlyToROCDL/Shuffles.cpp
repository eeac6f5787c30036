//===- Shuffles.cpp - Shuffles whose lanes are known while compiling -------===//
//
// MLIR lowers every gpu.shuffle to ds_bpermute: an address for each lane, and a way through LDS's
// crossbar. Where the lane is known, AMD's GPUs have instructions that need neither. Within a row of
// 16 lanes values move by DPP, an operand of vector instructions that costs nothing ("DPP Data
// Parallel Primitives" in AMD's ISA manuals); RDNA exchanges its two rows by v_permlanex16, gfx950
// rows and halves by v_permlane16_swap and v_permlane32_swap; ds_swizzle exchanges by any mask below
// 32 without an address; v_readlane gives all lanes the value of one.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "target/processors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fly {

#define GEN_PASS_DEF_LOWERSHUFFLESPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

namespace {

using flydsl::Feature;
using flydsl::detail::Processor;

/// DPP controls as the ISA encodes them. A permutation of a quad names the source of its four lanes
/// in two bits each, the first lane's lowest.
constexpr int kQuadXor[] = {0xe4, 0xb1, 0x4e, 0x1b}; // lane ^ 0, 1, 2, 3
constexpr int kRowRotate8 = 0x128;                   // row_ror:8 is lane ^ 8
constexpr int kRowMirror = 0x140;                    // lane ^ 15
constexpr int kRowHalfMirror = 0x141;                // lane ^ 7
constexpr int kRowXor = 0x160;                       // row_xmask:n, RDNA's

/// The exchanges and broadcasts of one shuffle, made where it stands.
class Mover {
public:
  Mover(gpu::ShuffleOp shuffle, const Processor &processor)
      : b_(shuffle), loc_(shuffle.getLoc()), processor_(processor) {}

  /// The value of lane `lane ^ mask`.
  Value exchanged(Value value, int mask) {
    return moved(value, [&](Value word) { return exchangedWord(word, mask); });
  }

  /// The value of one lane of the wave.
  Value broadcast(Value value, int lane) {
    Value number = arith::ConstantIntOp::create(b_, loc_, lane, 32);
    return moved(value, [&](Value word) -> Value {
      return ROCDL::ReadlaneOp::create(b_, loc_, word.getType(), word, number);
    });
  }

private:
  bool has(Feature feature) const { return processor_.features.has(feature); }

  /// Moves the value by words of 32 bits.
  template <class Move> Value moved(Value value, Move move) {
    const Type type = value.getType();
    const unsigned bits = type.getIntOrFloatBitWidth();
    const Type whole = b_.getIntegerType(bits), word = b_.getI32Type();
    Value given = type == whole ? value : arith::BitcastOp::create(b_, loc_, whole, value);
    Value got;
    if (bits == 32) {
      got = move(given);
    } else if (bits < 32) {
      got = move(Value(arith::ExtUIOp::create(b_, loc_, word, given)));
      got = arith::TruncIOp::create(b_, loc_, whole, got);
    } else {
      Value half = arith::ConstantIntOp::create(b_, loc_, 32, 64);
      Value low = move(Value(arith::TruncIOp::create(b_, loc_, word, given)));
      Value above = arith::ShRUIOp::create(b_, loc_, given, half);
      Value high = move(Value(arith::TruncIOp::create(b_, loc_, word, above)));
      low = arith::ExtUIOp::create(b_, loc_, whole, low);
      high = arith::ExtUIOp::create(b_, loc_, whole, high);
      got = arith::OrIOp::create(b_, loc_, low, arith::ShLIOp::create(b_, loc_, high, half));
    }
    return type == whole ? got : arith::BitcastOp::create(b_, loc_, type, got);
  }

  Value exchangedWord(Value word, int mask) {
    if (mask < 4)
      return byDpp(word, kQuadXor[mask]);
    if (mask < 16 && has(Feature::dpp_row_xmask))
      return byDpp(word, kRowXor + mask);
    if (mask == 8)
      return byDpp(word, kRowRotate8);
    if (mask == 15)
      return byDpp(word, kRowMirror);
    if (mask >= 4 && mask < 8) { // lane ^ 7, and what is left of it in a quad
      Value mirrored = byDpp(word, kRowHalfMirror);
      return mask == 7 ? mirrored : byDpp(mirrored, kQuadXor[mask ^ 7]);
    }
    if (mask == 16 && has(Feature::permlanex16))
      return callWord("llvm.amdgcn.permlanex16",
                      {word, word, number(0x76543210), number(0xfedcba98u), flag(), flag()});
    if (mask == 16 && has(Feature::permlane_swap))
      return bySwap<ROCDL::Permlane16SwapOp>(word, mask);
    if (mask == 32 && has(Feature::permlane_swap))
      return bySwap<ROCDL::Permlane32SwapOp>(word, mask);
    if (mask >= 32)
      return byCrossbar(word, mask);
    // Bits 10 to 14 of the offset are the mask, bits 0 to 4 those of the lane's number that count.
    return callWord("llvm.amdgcn.ds.swizzle", {word, number(mask << 10 | 0x1f)});
  }

  Value number(std::uint32_t value) {
    return arith::ConstantIntOp::create(b_, loc_, static_cast<std::int32_t>(value), 32);
  }
  Value flag() { return arith::ConstantIntOp::create(b_, loc_, 0, 1); }

  Value callWord(StringRef intrinsic, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b_, loc_, b_.getI32Type(), b_.getStringAttr(intrinsic),
                                         operands)
        .getResult(0);
  }

  Value byDpp(Value word, int control) {
    return ROCDL::DPPUpdateOp::create(b_, loc_, word.getType(), word, word, control, 0xf, 0xf,
                                      /*boundCtrl=*/true);
  }

  /// ds_bpermute takes the number of the lane times 4.
  Value byCrossbar(Value word, int mask) {
    Value from = arith::XOrIOp::create(b_, loc_, lane(), number(static_cast<std::uint32_t>(mask)));
    from = arith::ShLIOp::create(b_, loc_, from, number(2));
    return ROCDL::DsBpermuteOp::create(b_, loc_, word.getType(), from, word);
  }

  /// With the same word twice, the first result has that of the lower rows or the lower half in
  /// both, the second that of the upper ones.
  template <class Op> Value bySwap(Value word, int mask) {
    const Type pair =
        LLVM::LLVMStructType::getLiteral(b_.getContext(), {word.getType(), word.getType()});
    Value swapped = Op::create(b_, loc_, pair, word, word, /*fi=*/false, /*boundControl=*/false);
    Value lower = LLVM::ExtractValueOp::create(b_, loc_, swapped, 0);
    Value upper = LLVM::ExtractValueOp::create(b_, loc_, swapped, 1);
    return arith::SelectOp::create(b_, loc_, isUpper(mask), lower, upper);
  }
  Value lane() {
    Value index = gpu::LaneIdOp::create(b_, loc_, IntegerAttr());
    return arith::IndexCastOp::create(b_, loc_, b_.getI32Type(), index);
  }
  Value isUpper(int mask) {
    Value bit = arith::AndIOp::create(b_, loc_, lane(), number(static_cast<std::uint32_t>(mask)));
    return arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ne, bit, number(0));
  }

  OpBuilder b_;
  Location loc_;
  const Processor &processor_;
};

/// A number that a value is while compiling; -1 for others.
int numberOf(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)) || number.isNegative() ||
      number.getActiveBits() > 8)
    return -1;
  return static_cast<int>(number.getZExtValue());
}

bool hasWords(Type type) {
  if (!type.isIntOrFloat())
    return false;
  const unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/// What the shuffle gives, or null where it stays. A lane that would read past the last lane of its
/// group keeps its own value, which no lane does where the group has the lane that is named.
Value lowered(gpu::ShuffleOp shuffle, const Processor &processor) {
  const int lanes = numberOf(shuffle.getWidth()), by = numberOf(shuffle.getOffset());
  if (lanes < 0 || by < 0 || by >= lanes || lanes > processor.waveSize ||
      !hasWords(shuffle.getValue().getType()))
    return {};
  switch (shuffle.getMode()) {
  case gpu::ShuffleMode::XOR:
    return by == 0 ? shuffle.getValue() : Mover(shuffle, processor).exchanged(shuffle.getValue(), by);
  case gpu::ShuffleMode::IDX:
    // The lane is counted in the wave, and is past the end of other groups but for the whole wave.
    return lanes == processor.waveSize ? Mover(shuffle, processor).broadcast(shuffle.getValue(), by)
                                       : Value();
  case gpu::ShuffleMode::UP:
  case gpu::ShuffleMode::DOWN:
    return {};
  }
  llvm_unreachable("a mode of gpu.shuffle");
}

struct LowerShuffles : impl::LowerShufflesPassBase<LowerShuffles> {
  using LowerShufflesPassBase::LowerShufflesPassBase;

  void runOnOperation() override {
    const Processor *processor = flydsl::detail::findProcessor(chipset.getValue());
    if (!processor) {
      emitError(getOperation()->getLoc(), "no processor is called '") << chipset.getValue() << "'";
      return signalPassFailure();
    }
    SmallVector<gpu::ShuffleOp> shuffles;
    getOperation()->walk([&](gpu::ShuffleOp shuffle) { shuffles.push_back(shuffle); });
    for (gpu::ShuffleOp shuffle : shuffles) {
      Value got = lowered(shuffle, *processor);
      if (!got)
        continue;
      shuffle.getShuffleResult().replaceAllUsesWith(got);
      if (!shuffle.getValid().use_empty()) {
        OpBuilder b(shuffle);
        Value valid = arith::ConstantIntOp::create(b, shuffle.getLoc(), 1, 1);
        shuffle.getValid().replaceAllUsesWith(valid);
      }
      shuffle.erase();
    }
  }
};

} // namespace

} // namespace mlir::fly
