// The integer of the algebra. It is static, dynamic or a wildcard, and may be a multiple of a basis
// vector.
//
//   static    a 64-bit number; arithmetic that leaves 64 bits is a LayoutError
//   dynamic   `?`: a number that is known at run time. Its type says how many bits it has (32 or
//             64) and what divides it; an expression (expr.h) gives its value, or is null in a
//             type without values
//   wildcard  `*`: "all of this mode" in a coordinate, "leave this mode alone" in a tile
//
// A static or dynamic integer with basis modes stands for a multiple of a coordinate axis: `2E1` is
// twice the unit step along mode 1, `1E0E1` the unit step along mode 1 of mode 0.
//
// Types are inferred by fixed rules that do not look at expressions, so that the types of a module
// do not depend on where it is written. The result of an arithmetic operation has the larger width
// of its operands, where a static operand counts as 32 bits if it fits. The known divisor of a sum,
// difference, remainder, minimum or maximum is the greatest common divisor of the operands'
// divisors; that of a product is their product; that of a quotient is 1. A static 0 or 1 that
// determines the result keeps it static.
#pragma once

#include "layout/expr.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flydsl::layout {

/// A path of mode numbers into a nested tuple, outermost first.
using ModePath = std::vector<int32_t>;

class Int {
public:
  /// The static 0.
  Int() = default;
  /// A static number.
  Int(int64_t value) : value_(value) {}
  Int(int value) : value_(value) {}

  /// A dynamic number of 32 or 64 bits that is divisible by `divisibility` (at least 1). `expr`
  /// gives its value.
  static Int dynamic(int width = 32, int64_t divisibility = 1, ExprRef expr = nullptr);
  /// A dynamic number that is a new symbol, numbered by the caller.
  static Int symbol(uint64_t id, int width = 32, int64_t divisibility = 1, ValueRange range = {});
  static Int wildcard();

  bool isStatic() const { return kind_ == Kind::Static; }
  bool isDynamic() const { return kind_ == Kind::Dynamic; }
  bool isWildcard() const { return kind_ == Kind::Wildcard; }
  /// True if it is static, has no basis modes, and equals `v`.
  bool isStatic(int64_t v) const { return isStatic() && !basis_ && value_ == v; }

  /// The number of a static integer; if it has basis modes, their factor. A LayoutError for other
  /// integers.
  int64_t value() const;
  /// 32 or 64; for a static number the smaller one that holds it.
  int width() const;
  /// The largest known divisor; for a static number its magnitude (1 for 0).
  int64_t divisibility() const;
  /// True if `divisor` is known to divide it.
  bool isDivisibleBy(int64_t divisor) const;
  /// The expression of a dynamic number, null if it has none; for a static number a constant.
  ExprRef expr() const;

  bool hasBasis() const { return basis_ != nullptr; }
  /// The mode path of the axis; empty without basis modes.
  const ModePath &basis() const;
  /// The same factor along the axis `modes` (empty: without basis modes).
  Int withBasis(ModePath modes) const;
  /// The factor without basis modes.
  Int withoutBasis() const;
  /// The same type with another expression; static numbers and wildcards are returned as they are.
  Int withExpr(ExprRef expr) const;

  /// True if the types are the same: kind, value or width and divisibility, and basis. Expressions
  /// are not compared.
  bool operator==(const Int &other) const;
  size_t hash() const;
  /// `8`, `?`, `?{i64 div=8}`, `*`, `2E1`.
  std::string str() const;

private:
  enum class Kind : uint8_t { Static, Dynamic, Wildcard };
  Kind kind_ = Kind::Static;
  uint8_t width_ = 32;
  int64_t value_ = 0; // divisibility of a dynamic number
  ExprRef expr_;
  std::shared_ptr<const ModePath> basis_;
};

/// Arithmetic. In `*` one operand may have basis modes; the other operators and the comparisons
/// take none. A wildcard counts as 0 in sums and is refused elsewhere.
Int operator+(const Int &a, const Int &b);
Int operator-(const Int &a, const Int &b);
Int operator*(const Int &a, const Int &b);
/// The quotient, rounded towards zero.
Int operator/(const Int &a, const Int &b);
Int operator%(const Int &a, const Int &b);
Int min(const Int &a, const Int &b);
Int max(const Int &a, const Int &b);
/// The quotient a / b, where b must divide a; it is an error if static parts contradict this. `a`
/// may have basis modes.
Int exactDiv(const Int &a, const Int &b);
/// The quotient rounded up, for b > 0. `a` may have basis modes.
Int ceilDiv(const Int &a, const Int &b);
/// The quotient, rounded up, of two shapes. One must divide the other; it is an error if
/// static shapes do not.
Int shapeDiv(const Int &a, const Int &b);

/// Comparisons and logic; the result is 0 or 1.
Int lessThan(const Int &a, const Int &b);
/// Multiples of different axes are unequal, and so are a multiple of an axis and a plain number.
Int equalTo(const Int &a, const Int &b);
Int logicalAnd(const Int &a, const Int &b);

/// The number for given values of its symbols; if it has basis modes, their factor.
int64_t evaluate(const Int &value, const SymbolValues &symbols);

} // namespace flydsl::layout
