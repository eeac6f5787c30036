// Expressions of the layout algebra as arith operations.
//
// The layout lowering evaluates the algebra on symbols that stand for SSA values. What a remaining
// operation needs of the answer is turned into arith here: each distinct expression once, as early
// as its operands allow (which takes it out of loops), and nothing that is not asked for.
#pragma once

#include "layout/expr.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/DenseMap.h"

#include <unordered_map>
#include <vector>

namespace mlir::fly {

class ExprMaterializer {
public:
  explicit ExprMaterializer(DominanceInfo &dominance) : dominance_(dominance) {}

  /// The expression of an i32 or i64 value that `user` takes: a constant, the expression that it
  /// was materialised from, or a symbol with what is known of its range. `divisor` and
  /// `nonNegative` are promises that the caller has from this use; they hold in the user's block.
  flydsl::layout::ExprRef exprOf(Value value, Operation *user, int64_t divisor = 1,
                                 bool nonNegative = false);

  /// The same number where `user` promises that `divisor` divides it; a sum or product keeps what
  /// follows from its parts.
  flydsl::layout::ExprRef promised(const flydsl::layout::ExprRef &expr, Operation *user,
                                   int64_t divisor) {
    return expr->isSymbol() ? exprOf(symbolValues_[expr->symbol()], user, divisor) : expr;
  }

  /// How an expression is to be computed.
  enum class Mode {
    Typed, ///< each node in the width that its type says; the result in that width
    Exact, ///< in 64 bits wherever 32 are not proven enough; the result in 32 bits where it fits
           ///< them, else in 64
    Low32, ///< modulo 2^32, the result an i32: for memories whose addresses have 32 bits
  };

  /// The value of `expr` at the builder's place, i32 or i64. Comparisons give an i32 of 0 or 1.
  Value materialize(OpBuilder &builder, Location loc, const flydsl::layout::ExprRef &expr,
                    Mode mode);

  /// The same as a value of `type` (i1 for logic, i32, i64).
  Value materializeAs(OpBuilder &builder, Location loc, const flydsl::layout::ExprRef &expr,
                      Type type);

  /// The same at the builder's place and no earlier, for a number that nothing else shares.
  Value materializeHere(OpBuilder &builder, Location loc, const flydsl::layout::ExprRef &expr,
                        Type type);

  /// An integer constant, one per function and type, at the start of the function that holds the
  /// builder's place.
  Value constant(OpBuilder &builder, Location loc, int64_t value, Type type);

  /// Moves the builder to just behind the later of two values (either may be null) that both
  /// dominate its place.
  void placeAfter(OpBuilder &builder, Value a, Value b);

private:
  struct Key {
    flydsl::layout::ExprRef expr;
    unsigned width; // 1 for logic
    Mode mode;      // what wraps in one may not wrap in another
    Block *entry;   // of the function; values are not shared between functions
    bool operator==(const Key &other) const {
      return width == other.width && mode == other.mode && entry == other.entry &&
             flydsl::layout::structurallyEqual(expr, other.expr);
    }
  };
  struct KeyHash {
    size_t operator()(const Key &k) const {
      return k.expr->hash() * 31 + k.width + reinterpret_cast<uintptr_t>(k.entry);
    }
  };

  Value emit(OpBuilder &builder, Location loc, const flydsl::layout::ExprRef &expr, unsigned width,
             Mode mode);
  Value emitLogic(OpBuilder &builder, Location loc, const flydsl::layout::ExprRef &expr, Mode mode);
  Value emitNode(OpBuilder &builder, Location loc, const flydsl::layout::Expr &node, unsigned width,
                 Value lhs, Value rhs);
  Value convert(OpBuilder &builder, Location loc, Value value, unsigned width, bool nonNegative);
  Value cached(OpBuilder &builder, const Key &key);
  /// Records the expression that `value` was made from, if none is recorded yet.
  void remember(Value value, const flydsl::layout::ExprRef &expr);

  DominanceInfo &dominance_;
  bool here_ = false; ///< whether nothing is placed before the builder's place
  std::vector<Value> symbolValues_;
  struct Known {
    flydsl::layout::ExprRef expr;
    Block *promisedIn; ///< where its promises hold; null where it has none
  };
  llvm::DenseMap<Value, SmallVector<Known, 1>> exprsOfValue_;
  std::unordered_map<Key, Value, KeyHash> done_;
  llvm::DenseMap<std::tuple<Block *, int64_t, Type>, Value> constants_;
};

} // namespace mlir::fly
