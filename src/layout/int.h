// The integer of the algebra: static, dynamic or wildcard, and possibly a multiple of a basis
// vector.
//
//   static    a 64-bit number; arithmetic that leaves 64 bits is a LayoutError
//   dynamic   `?`: a number that is known at run time. Its type says how many bits it has (32 or
//   64) and
//             what divides it; an expression (expr.h) says what it is worth, or is null in a mere
//             type
//   wildcard  `*`: "all of this mode" in a coordinate, "leave this mode alone" in a tile
//
// A static or dynamic integer with basis modes stands for a multiple of a coordinate axis: `2E1` is
// twice the unit step along mode 1, `1E0E1` the unit step along mode 1 of mode 0.
//
// Types are inferred by fixed rules that do not look at expressions, so that a module's types come
// out the same wherever it is written: arithmetic has the larger width of its operands (a static
// operand counts as 32 bits where it fits), sums, differences, remainders, minima and maxima keep
// the greatest common divisor, products multiply, quotients know nothing. A static 0 or 1 that
// settles the result keeps it static.
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
  /// Static 0.
  Int() = default;
  /// A static number.
  Int(int64_t value) : value_(value) {}
  Int(int value) : value_(value) {}

  /// A dynamic number of 32 or 64 bits, divisible by `divisibility` (at least 1), worth `expr`.
  static Int dynamic(int width = 32, int64_t divisibility = 1, ExprRef expr = nullptr);
  /// A dynamic number that is a fresh symbol of the caller's numbering.
  static Int symbol(uint64_t id, int width = 32, int64_t divisibility = 1, ValueRange range = {});
  static Int wildcard();

  bool isStatic() const { return kind_ == Kind::Static; }
  bool isDynamic() const { return kind_ == Kind::Dynamic; }
  bool isWildcard() const { return kind_ == Kind::Wildcard; }
  /// Static, without basis modes, and equal to `v`.
  bool isStatic(int64_t v) const { return isStatic() && !basis_ && value_ == v; }

  /// The number of a static integer (the factor where there are basis modes); a LayoutError
  /// otherwise.
  int64_t value() const;
  /// 32 or 64; for static numbers the smaller one that holds them.
  int width() const;
  /// What is known to divide it: of a static number its magnitude (1 for 0).
  int64_t divisibility() const;
  /// True where `divisor` is known to divide it.
  bool isDivisibleBy(int64_t divisor) const;
  /// The expression of a dynamic number, null where it has none; a constant for a static one.
  ExprRef expr() const;

  bool hasBasis() const { return basis_ != nullptr; }
  /// Mode path of the axis; empty without basis.
  const ModePath &basis() const;
  /// The same factor along the axis `modes` (empty: none).
  Int withBasis(ModePath modes) const;
  /// The factor alone.
  Int withoutBasis() const;
  /// The same type with another expression; static numbers and wildcards are returned as they are.
  Int withExpr(ExprRef expr) const;

  /// Same type: kind, value or width and divisibility, basis. Expressions do not count.
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

/// Arithmetic. The operands of + - / % min max and of comparisons have no basis modes; in * one
/// side may. A wildcard counts as 0 in sums and is refused elsewhere.
Int operator+(const Int &a, const Int &b);
Int operator-(const Int &a, const Int &b);
Int operator*(const Int &a, const Int &b);
/// Rounds towards zero.
Int operator/(const Int &a, const Int &b);
Int operator%(const Int &a, const Int &b);
Int min(const Int &a, const Int &b);
Int max(const Int &a, const Int &b);
/// a / b where b divides a: static parts that contradict this are an error. `a` may have basis
/// modes.
Int exactDiv(const Int &a, const Int &b);
/// The quotient rounded up, for b > 0. `a` may have basis modes.
Int ceilDiv(const Int &a, const Int &b);
/// The quotient rounded up, of two shapes of which one divides the other; static ones that do not
/// are an error.
Int shapeDiv(const Int &a, const Int &b);

/// Comparisons and logic: 0 or 1.
Int lessThan(const Int &a, const Int &b);
Int lessEqual(const Int &a, const Int &b);
/// Multiples of different axes, or of an axis and none, are unequal.
Int equalTo(const Int &a, const Int &b);
Int logicalAnd(const Int &a, const Int &b);
Int logicalOr(const Int &a, const Int &b);
Int logicalNot(const Int &a);

/// The number under values of its symbols (its factor where it has basis modes).
int64_t evaluate(const Int &value, const SymbolValues &symbols);

} // namespace flydsl::layout
