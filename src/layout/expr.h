// Expressions over symbols: the values of the algebra's dynamic integers.
//
// An expression is an immutable tree with shared nodes. The functions below that make nodes apply
// the simplifications that are cheap to detect (x * 1, x + 0, constants, division by known
// divisors, remainders of values known to be in range), so that a tree has no arithmetic that the
// result does not need. Division and remainder round towards zero. Simplifications that hold only
// for non-negative values are applied if the operands' ranges prove it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>

namespace flydsl::layout {

class Expr;
/// A shared expression. Null is an unknown value, as in a type that says no more than `?`.
using ExprRef = std::shared_ptr<const Expr>;

enum class ExprOp : uint8_t {
  Constant, ///< value()
  Symbol,   ///< symbol()
  Add,
  Sub,
  Mul,
  Div, ///< rounds towards zero
  Mod, ///< sign of the dividend
  Min,
  Max,
  And, ///< bitwise
  Or,  ///< bitwise
  Xor, ///< bitwise
  Shl,
  Shr, ///< of a non-negative value
  Less,
  Equal, ///< comparisons are worth 0 or 1
};

/// The lower and the upper bound of a value; both are included.
struct ValueRange {
  int64_t lo = std::numeric_limits<int64_t>::min();
  int64_t hi = std::numeric_limits<int64_t>::max();

  static ValueRange nonNegative() { return {0, std::numeric_limits<int64_t>::max()}; }
  bool isNonNegative() const { return lo >= 0; }
  /// Whether an integer of 32 bits with a sign holds all of it.
  bool fits32() const {
    return lo >= std::numeric_limits<int32_t>::min() && hi <= std::numeric_limits<int32_t>::max();
  }
  bool operator==(const ValueRange &) const = default;
};

/// A node. Only the functions below make nodes.
class Expr {
public:
  ExprOp op() const { return op_; }
  bool isConstant() const { return op_ == ExprOp::Constant; }
  bool isConstant(int64_t v) const { return isConstant() && value_ == v; }
  bool isSymbol() const { return op_ == ExprOp::Symbol; }
  int64_t value() const { return value_; }
  /// The caller's number for the symbol.
  uint64_t symbol() const { return static_cast<uint64_t>(value_); }
  const ExprRef &lhs() const { return lhs_; }
  const ExprRef &rhs() const { return rhs_; }
  /// 32 or 64: the bits that a symbol was declared with, or that the operands of a node need.
  int width() const { return width_; }
  /// A positive number that is known to divide the value.
  int64_t divisor() const { return divisor_; }
  const ValueRange &range() const { return range_; }
  size_t hash() const { return hash_; }
  /// Infix text, with symbols as `s0`, `s1`, ...; after 4000 characters it is cut with `...`.
  std::string str() const;

private:
  friend struct ExprMaker;
  ExprOp op_ = ExprOp::Constant;
  uint8_t width_ = 32;
  int64_t value_ = 0;
  int64_t divisor_ = 1;
  ValueRange range_;
  size_t hash_ = 0;
  ExprRef lhs_, rhs_;
};

/// A constant; its width is 32 if the value fits, otherwise 64.
ExprRef exprConstant(int64_t value);
/// A symbol that the caller numbers. `divisor` and `range` are promises about every value that it
/// takes.
ExprRef exprSymbol(uint64_t id, int width = 32, int64_t divisor = 1, ValueRange range = {});

/// Makes a binary node, simplified. Two constants fold; an overflow or a zero divisor during
/// folding is a LayoutError. If an operand is null, the result is null.
ExprRef exprBinary(ExprOp op, const ExprRef &lhs, const ExprRef &rhs);
inline ExprRef exprAdd(const ExprRef &a, const ExprRef &b) { return exprBinary(ExprOp::Add, a, b); }
inline ExprRef exprSub(const ExprRef &a, const ExprRef &b) { return exprBinary(ExprOp::Sub, a, b); }
inline ExprRef exprMul(const ExprRef &a, const ExprRef &b) { return exprBinary(ExprOp::Mul, a, b); }
inline ExprRef exprDiv(const ExprRef &a, const ExprRef &b) { return exprBinary(ExprOp::Div, a, b); }
inline ExprRef exprMod(const ExprRef &a, const ExprRef &b) { return exprBinary(ExprOp::Mod, a, b); }
/// The quotient rounded up, (a + b - 1) / b, for non-negative a and positive b. If b is known to
/// divide a, it is the plain quotient.
ExprRef exprCeilDiv(const ExprRef &a, const ExprRef &b);

/// True if the trees are the same; pointers are compared first. Trees of more than about 10000
/// nodes may count as different.
bool structurallyEqual(const ExprRef &a, const ExprRef &b);

/// Values of symbols.
using SymbolValues = std::unordered_map<uint64_t, int64_t>;

/// The value for given values of the symbols, in 64 bits. Overflow, division by zero, a null
/// expression or a symbol without a value is a LayoutError. Each shared node is computed once.
int64_t evaluate(const ExprRef &expr, const SymbolValues &symbols);

/// The same tree with other leaves: every symbol is replaced by the result of `map` for it; null
/// keeps the symbol.
ExprRef substitute(const ExprRef &expr, const std::function<ExprRef(const Expr &symbol)> &map);

} // namespace flydsl::layout
