#include "layout/int.h"

#include "layout/checked.h"

#include <algorithm>

namespace flydsl::layout {

Int Int::dynamic(int width, int64_t divisibility, ExprRef expr) {
  if (width != 32 && width != 64)
    fail("a dynamic integer has 32 or 64 bits, not ", width);
  if (divisibility < 1)
    fail("divisibility must be at least 1, not ", divisibility);
  Int r;
  r.kind_ = Kind::Dynamic;
  r.width_ = static_cast<uint8_t>(width);
  r.value_ = divisibility;
  r.expr_ = std::move(expr);
  return r;
}

Int Int::symbol(uint64_t id, int width, int64_t divisibility, ValueRange range) {
  return dynamic(width, divisibility, exprSymbol(id, width, divisibility, range));
}

Int Int::wildcard() {
  Int r;
  r.kind_ = Kind::Wildcard;
  return r;
}

int64_t Int::value() const {
  if (!isStatic())
    fail("a static integer is needed, but this one is ", *this);
  return value_;
}

int Int::width() const {
  if (isDynamic())
    return width_;
  return value_ == static_cast<int32_t>(value_) ? 32 : 64;
}

int64_t Int::divisibility() const {
  if (isDynamic())
    return value_;
  return std::max<int64_t>(gcdOf(value_, 0), 1);
}

bool Int::isDivisibleBy(int64_t divisor) const {
  if (divisor == 0)
    return isStatic(0);
  return isWildcard() ? false : checkedMod(value_, divisor) == 0;
}

ExprRef Int::expr() const { return isStatic() ? exprConstant(value_) : expr_; }

const ModePath &Int::basis() const {
  static const ModePath none;
  return basis_ ? *basis_ : none;
}

Int Int::withBasis(ModePath modes) const {
  if (isWildcard())
    fail("a wildcard has no basis modes");
  for (int32_t m : modes)
    if (m < 0)
      fail("a basis mode is not negative, but here is ", m);
  Int r = *this;
  r.basis_ = modes.empty() ? nullptr : std::make_shared<const ModePath>(std::move(modes));
  return r;
}

Int Int::withoutBasis() const {
  if (!basis_)
    return *this;
  Int r = *this;
  r.basis_ = nullptr;
  return r;
}

Int Int::withExpr(ExprRef expr) const {
  if (!isDynamic())
    return *this;
  Int r = *this;
  r.expr_ = std::move(expr);
  return r;
}

bool Int::operator==(const Int &other) const {
  if (kind_ != other.kind_ || value_ != other.value_)
    return false;
  if (isDynamic() && width_ != other.width_)
    return false;
  return basis_ == other.basis_ || basis() == other.basis();
}

size_t Int::hash() const {
  size_t h = std::hash<int64_t>()(value_) * 3 + static_cast<size_t>(kind_);
  if (isDynamic())
    h = h * 31 + width_;
  for (int32_t m : basis())
    h = h * 31 + static_cast<size_t>(m) + 7;
  return h;
}

std::string Int::str() const {
  std::string s;
  if (isWildcard()) {
    s = "*";
  } else if (isStatic()) {
    s = std::to_string(value_);
  } else {
    s = "?";
    if (width_ != 32 || value_ != 1) {
      s += "{";
      if (width_ != 32)
        s += "i64";
      if (width_ != 32 && value_ != 1)
        s += " ";
      if (value_ != 1)
        s += "div=" + std::to_string(value_);
      s += "}";
    }
  }
  for (int32_t m : basis())
    s += "E" + std::to_string(m);
  return s;
}

namespace {

/// Throws unless the operands of `what` are plain numbers.
void needScalars(const char *what, const Int &a, const Int &b) {
  if (a.isWildcard() || b.isWildcard())
    fail(what, " of a wildcard: ", a, " and ", b);
  if (a.hasBasis() || b.hasBasis())
    fail(what, " is not defined for coordinate axes: ", a, " and ", b);
}

Int dynamicOf(const Int &a, const Int &b, int64_t divisibility, ExprRef expr) {
  return Int::dynamic(std::max(a.width(), b.width()), std::max<int64_t>(divisibility, 1),
                      std::move(expr));
}

/// The greatest common divisor of the operands' known divisors; a static 0 is divisible by
/// everything.
int64_t commonDivisor(const Int &a, const Int &b) {
  if (a.isStatic(0))
    return b.divisibility();
  if (b.isStatic(0))
    return a.divisibility();
  return gcdOf(a.divisibility(), b.divisibility());
}

Int truth(ExprOp op, const Int &a, const Int &b) {
  return Int::dynamic(32, 1, exprBinary(op, a.expr(), b.expr()));
}

} // namespace

Int operator+(const Int &a, const Int &b) {
  if (a.isWildcard() || b.isWildcard()) {
    if (a.isWildcard() && b.isWildcard())
      return Int(0);
    return a.isWildcard() ? b : a;
  }
  if (a.isStatic(0))
    return b;
  if (b.isStatic(0))
    return a;
  if (a.hasBasis() || b.hasBasis())
    fail("a sum of coordinate axes is a tuple, not a number: ", a, " + ", b);
  if (a.isStatic() && b.isStatic())
    return checkedAdd(a.value(), b.value());
  return dynamicOf(a, b, commonDivisor(a, b), exprAdd(a.expr(), b.expr()));
}

Int operator-(const Int &a, const Int &b) {
  needScalars("difference", a, b);
  if (a.isStatic() && b.isStatic())
    return checkedSub(a.value(), b.value());
  if (b.isStatic(0))
    return a;
  return dynamicOf(a, b, commonDivisor(a, b), exprSub(a.expr(), b.expr()));
}

Int operator*(const Int &a, const Int &b) {
  if (a.isWildcard() || b.isWildcard())
    fail("product of a wildcard: ", a, " * ", b);
  if (a.hasBasis() && b.hasBasis())
    fail("product of two coordinate axes: ", a, " * ", b);
  if (a.hasBasis() || b.hasBasis()) {
    const Int &axis = a.hasBasis() ? a : b;
    return (a.withoutBasis() * b.withoutBasis()).withBasis(axis.basis());
  }
  if (a.isStatic() && b.isStatic())
    return checkedMul(a.value(), b.value());
  if (a.isStatic(0) || b.isStatic(0))
    return 0;
  return dynamicOf(a, b, productDivisor(a.divisibility(), b.divisibility()),
                   exprMul(a.expr(), b.expr()));
}

Int operator/(const Int &a, const Int &b) {
  needScalars("quotient", a, b);
  if (a.isStatic() && b.isStatic())
    return checkedDiv(a.value(), b.value());
  if (b.isStatic(0))
    fail("division by zero: ", a, " / 0");
  if (a.isStatic(0))
    return 0;
  return dynamicOf(a, b, 1, exprDiv(a.expr(), b.expr()));
}

Int operator%(const Int &a, const Int &b) {
  needScalars("remainder", a, b);
  if (a.isStatic() && b.isStatic())
    return checkedMod(a.value(), b.value());
  if (b.isStatic(0))
    fail("division by zero: ", a, " % 0");
  if (b.isStatic(1) || a.isStatic(0))
    return 0;
  return dynamicOf(a, b, commonDivisor(a, b), exprMod(a.expr(), b.expr()));
}

Int min(const Int &a, const Int &b) {
  needScalars("minimum", a, b);
  if (a.isStatic() && b.isStatic())
    return std::min(a.value(), b.value());
  return dynamicOf(a, b, commonDivisor(a, b), exprBinary(ExprOp::Min, a.expr(), b.expr()));
}

Int max(const Int &a, const Int &b) {
  needScalars("maximum", a, b);
  if (a.isStatic() && b.isStatic())
    return std::max(a.value(), b.value());
  return dynamicOf(a, b, commonDivisor(a, b), exprBinary(ExprOp::Max, a.expr(), b.expr()));
}

Int exactDiv(const Int &a, const Int &b) {
  if (a.hasBasis())
    return exactDiv(a.withoutBasis(), b).withBasis(a.basis());
  needScalars("exact quotient", a, b);
  if (b.isStatic(0))
    fail("division by zero: ", a, " / 0");
  if (b.isStatic() && !a.isDivisibleBy(b.value()))
    fail("exact division: ", b, " is not known to divide ", a);
  if (a.isStatic() && b.isStatic())
    return checkedDiv(a.value(), b.value());
  if (a.isStatic(0))
    return 0;
  return dynamicOf(a, b, 1, exprDiv(a.expr(), b.expr()));
}

Int ceilDiv(const Int &a, const Int &b) {
  if (a.hasBasis())
    return ceilDiv(a.withoutBasis(), b).withBasis(a.basis());
  needScalars("rounded-up quotient", a, b);
  if (b.isStatic() && b.value() <= 0)
    fail("rounded-up division needs a positive divisor: ", a, " / ", b);
  if (a.isStatic() && b.isStatic()) {
    int64_t q = checkedDiv(a.value(), b.value());
    return a.value() > 0 && a.value() % b.value() != 0 ? q + 1 : q;
  }
  if (a.isStatic(0) || a.isStatic(1))
    return a;
  return dynamicOf(a, b, 1, exprCeilDiv(a.expr(), b.expr()));
}

Int shapeDiv(const Int &a, const Int &b) {
  needScalars("shape_div", a, b);
  if (a.isStatic() && b.isStatic()) {
    int64_t x = a.value(), y = b.value();
    if (x <= 0 || y <= 0 || (x % y != 0 && y % x != 0))
      fail("shape_div: neither of ", a, " and ", b, " divides the other");
  }
  return ceilDiv(a, b);
}

Int lessThan(const Int &a, const Int &b) {
  needScalars("comparison", a, b);
  if (a.isStatic() && b.isStatic())
    return int64_t(a.value() < b.value());
  return truth(ExprOp::Less, a, b);
}

Int equalTo(const Int &a, const Int &b) {
  if (a.isWildcard() || b.isWildcard())
    fail("comparison of a wildcard: ", a, " and ", b);
  if (a.basis() != b.basis())
    return 0;
  if (a.isStatic() && b.isStatic())
    return int64_t(a.value() == b.value());
  return truth(ExprOp::Equal, a, b);
}

Int logicalAnd(const Int &a, const Int &b) {
  needScalars("logical and", a, b);
  if (a.isStatic(0) || b.isStatic(0))
    return 0;
  if (a.isStatic() && b.isStatic())
    return 1;
  if (a.isStatic())
    return b.withExpr(b.expr());
  if (b.isStatic())
    return a;
  return truth(ExprOp::And, a, b);
}

int64_t evaluate(const Int &value, const SymbolValues &symbols) {
  if (value.isWildcard())
    fail("a wildcard has no value");
  return value.isStatic() ? value.value() : evaluate(value.expr(), symbols);
}

} // namespace flydsl::layout
