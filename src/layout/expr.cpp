#include "layout/expr.h"

#include "layout/checked.h"

#include <algorithm>

namespace flydsl::layout {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t clampTo64(__int128 v) {
  return v < kMin ? kMin : v > kMax ? kMax : static_cast<int64_t>(v);
}

size_t mix(size_t seed, size_t v) {
  return seed ^ (v + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

int64_t fold(ExprOp op, int64_t a, int64_t b) {
  switch (op) {
  case ExprOp::Add:
    return checkedAdd(a, b);
  case ExprOp::Sub:
    return checkedSub(a, b);
  case ExprOp::Mul:
    return checkedMul(a, b);
  case ExprOp::Div:
    return checkedDiv(a, b);
  case ExprOp::Mod:
    return checkedMod(a, b);
  case ExprOp::Min:
    return std::min(a, b);
  case ExprOp::Max:
    return std::max(a, b);
  case ExprOp::And:
    return a & b;
  case ExprOp::Or:
    return a | b;
  case ExprOp::Xor:
    return a ^ b;
  case ExprOp::Shl:
    if (b < 0 || b > 62)
      fail("shift out of range: ", a, " << ", b);
    return checkedMul(a, int64_t(1) << b);
  case ExprOp::Shr:
    if (b < 0 || b > 63)
      fail("shift out of range: ", a, " >> ", b);
    return static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
  case ExprOp::Less:
    return a < b;
  case ExprOp::Equal:
    return a == b;
  case ExprOp::Constant:
  case ExprOp::Symbol:
    break;
  }
  fail("not a binary expression");
}

/// The range of the result, as far as the ranges of the operands determine it.
ValueRange rangeOf(ExprOp op, const ValueRange &a, const ValueRange &b) {
  using Wide = __int128;
  switch (op) {
  case ExprOp::Add:
    return {clampTo64(Wide(a.lo) + b.lo), clampTo64(Wide(a.hi) + b.hi)};
  case ExprOp::Sub:
    return {clampTo64(Wide(a.lo) - b.hi), clampTo64(Wide(a.hi) - b.lo)};
  case ExprOp::Mul: {
    Wide c[] = {Wide(a.lo) * b.lo, Wide(a.lo) * b.hi, Wide(a.hi) * b.lo, Wide(a.hi) * b.hi};
    return {clampTo64(*std::min_element(c, c + 4)), clampTo64(*std::max_element(c, c + 4))};
  }
  case ExprOp::Div:
    if (a.lo >= 0 && b.lo >= 0)
      return {b.hi ? a.lo / b.hi : 0, a.hi / std::max<int64_t>(b.lo, 1)};
    return {};
  case ExprOp::Mod:
    if (a.lo >= 0 && b.lo >= 0)
      return {0, std::min(a.hi, b.hi > 0 ? b.hi - 1 : 0)};
    return {};
  case ExprOp::Min:
    return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  case ExprOp::Max:
    return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  case ExprOp::And:
    if (a.lo >= 0 && b.lo >= 0)
      return {0, std::min(a.hi, b.hi)};
    return {};
  case ExprOp::Or:
  case ExprOp::Xor:
    if (a.lo >= 0 && b.lo >= 0) {
      uint64_t bits = static_cast<uint64_t>(a.hi) | static_cast<uint64_t>(b.hi);
      for (int s = 1; s < 64; s <<= 1)
        bits |= bits >> s;
      return {0, static_cast<int64_t>(bits)};
    }
    return {};
  case ExprOp::Shl:
  case ExprOp::Shr:
    return a.lo >= 0 ? ValueRange::nonNegative() : ValueRange{};
  case ExprOp::Less:
  case ExprOp::Equal:
    return {0, 1};
  case ExprOp::Constant:
  case ExprOp::Symbol:
    break;
  }
  return {};
}

int64_t divisorOf(ExprOp op, const Expr &a, const Expr &b) {
  switch (op) {
  case ExprOp::Add:
  case ExprOp::Sub:
  case ExprOp::Mod:
  case ExprOp::Min:
  case ExprOp::Max:
    return std::max<int64_t>(gcdOf(a.divisor(), b.divisor()), 1);
  case ExprOp::Mul:
    return productDivisor(a.divisor(), b.divisor());
  case ExprOp::Div:
    if (b.isConstant() && b.value() > 0 && a.divisor() % b.value() == 0)
      return a.divisor() / b.value();
    return 1;
  case ExprOp::And:
  case ExprOp::Or:
  case ExprOp::Xor: {
    // Low zero bits that both operands have stay zero.
    int64_t g = gcdOf(a.divisor(), b.divisor());
    return std::max<int64_t>(g & -g, 1);
  }
  case ExprOp::Shl:
    if (b.isConstant() && b.value() >= 0 && b.value() < 62)
      return productDivisor(a.divisor(), int64_t(1) << b.value());
    return a.divisor();
  default:
    return 1;
  }
}

bool isCommutative(ExprOp op) {
  return op == ExprOp::Add || op == ExprOp::Mul || op == ExprOp::Min || op == ExprOp::Max ||
         op == ExprOp::And || op == ExprOp::Or || op == ExprOp::Xor || op == ExprOp::Equal;
}

const char *symbolOf(ExprOp op) {
  switch (op) {
  case ExprOp::Add:
    return " + ";
  case ExprOp::Sub:
    return " - ";
  case ExprOp::Mul:
    return " * ";
  case ExprOp::Div:
    return " / ";
  case ExprOp::Mod:
    return " % ";
  case ExprOp::And:
    return " & ";
  case ExprOp::Or:
    return " | ";
  case ExprOp::Xor:
    return " ^ ";
  case ExprOp::Shl:
    return " << ";
  case ExprOp::Shr:
    return " >> ";
  case ExprOp::Less:
    return " < ";
  case ExprOp::Equal:
    return " == ";
  default:
    return ", ";
  }
}

} // namespace

/// Builds nodes and simplifies them.
struct ExprMaker {
  static ExprRef constant(int64_t value) {
    auto e = std::make_shared<Expr>();
    e->value_ = value;
    e->width_ = value == static_cast<int32_t>(value) ? 32 : 64;
    e->divisor_ = value == 0 ? int64_t(1) << 62 : gcdOf(value, 0);
    e->range_ = {value, value};
    e->hash_ = mix(1, static_cast<size_t>(value));
    return e;
  }

  static ExprRef symbol(uint64_t id, int width, int64_t divisor, ValueRange range) {
    auto e = std::make_shared<Expr>();
    e->op_ = ExprOp::Symbol;
    e->value_ = static_cast<int64_t>(id);
    e->width_ = static_cast<uint8_t>(width);
    e->divisor_ = std::max<int64_t>(divisor, 1);
    e->range_ = range;
    e->hash_ = mix(mix(2, id), static_cast<size_t>(width));
    return e;
  }

  static ExprRef node(ExprOp op, const ExprRef &a, const ExprRef &b) {
    auto e = std::make_shared<Expr>();
    e->op_ = op;
    e->width_ = std::max(a->width_, b->width_);
    if (op == ExprOp::Less || op == ExprOp::Equal)
      e->width_ = 32;
    e->divisor_ = divisorOf(op, *a, *b);
    e->range_ = rangeOf(op, a->range_, b->range_);
    e->hash_ = mix(mix(mix(3, static_cast<size_t>(op)), a->hash_), b->hash_);
    e->lhs_ = a;
    e->rhs_ = b;
    return e;
  }

  static ExprRef make(ExprOp op, ExprRef a, ExprRef b) {
    if (a->isConstant() && b->isConstant())
      return constant(fold(op, a->value(), b->value()));
    if (isCommutative(op) && a->isConstant())
      std::swap(a, b); // constants stand on the right
    switch (op) {
    case ExprOp::Add:
      return add(a, b);
    case ExprOp::Sub:
      return sub(a, b);
    case ExprOp::Mul:
      return mul(a, b);
    case ExprOp::Div:
      return div(a, b);
    case ExprOp::Mod:
      return mod(a, b);
    case ExprOp::Min:
      if (structurallyEqual(a, b) || a->range().hi <= b->range().lo)
        return a;
      return b->range().hi <= a->range().lo ? b : node(op, a, b);
    case ExprOp::Max:
      if (structurallyEqual(a, b) || a->range().lo >= b->range().hi)
        return a;
      return b->range().lo >= a->range().hi ? b : node(op, a, b);
    case ExprOp::And:
      if (b->isConstant(0))
        return b;
      return b->isConstant(-1) || structurallyEqual(a, b) ? a : node(op, a, b);
    case ExprOp::Or:
      return b->isConstant(0) || structurallyEqual(a, b) ? a : node(op, a, b);
    case ExprOp::Xor:
      if (structurallyEqual(a, b))
        return constant(0);
      return b->isConstant(0) ? a : node(op, a, b);
    case ExprOp::Shl:
    case ExprOp::Shr:
      return b->isConstant(0) || a->isConstant(0) ? a : node(op, a, b);
    case ExprOp::Less:
      if (a->range().hi < b->range().lo)
        return constant(1);
      return a->range().lo >= b->range().hi || structurallyEqual(a, b) ? constant(0)
                                                                       : node(op, a, b);
    case ExprOp::Equal:
      if (structurallyEqual(a, b))
        return constant(1);
      return a->range().hi < b->range().lo || b->range().hi < a->range().lo ? constant(0)
                                                                            : node(op, a, b);
    case ExprOp::Constant:
    case ExprOp::Symbol:
      break;
    }
    fail("not a binary expression");
  }

  static ExprRef add(const ExprRef &a, const ExprRef &b) {
    if (b->isConstant(0))
      return a;
    if (a->isConstant(0))
      return b;
    int64_t sum;
    if (b->isConstant() && a->op() == ExprOp::Add && a->rhs()->isConstant() &&
        !__builtin_add_overflow(a->rhs()->value(), b->value(), &sum))
      return make(ExprOp::Add, a->lhs(), constant(sum));
    return node(ExprOp::Add, a, b);
  }

  static ExprRef sub(const ExprRef &a, const ExprRef &b) {
    if (b->isConstant(0))
      return a;
    if (structurallyEqual(a, b))
      return constant(0);
    if (b->isConstant() && b->value() != kMin)
      return make(ExprOp::Add, a, constant(-b->value()));
    return node(ExprOp::Sub, a, b);
  }

  static ExprRef mul(const ExprRef &a, const ExprRef &b) {
    if (b->isConstant(1))
      return a;
    if (b->isConstant(0))
      return b;
    int64_t product;
    if (b->isConstant() && a->op() == ExprOp::Mul && a->rhs()->isConstant() &&
        !__builtin_mul_overflow(a->rhs()->value(), b->value(), &product))
      return make(ExprOp::Mul, a->lhs(), constant(product));
    return node(ExprOp::Mul, a, b);
  }

  /// The quotient a / c for a constant c that divides a; null if the quotient is not apparent.
  static ExprRef exactQuotient(const ExprRef &a, int64_t c) {
    if (a->isConstant())
      return a->value() % c == 0 ? constant(a->value() / c) : nullptr;
    if (a->op() == ExprOp::Mul && a->rhs()->isConstant() && a->rhs()->value() % c == 0)
      return make(ExprOp::Mul, a->lhs(), constant(a->rhs()->value() / c));
    if (a->op() == ExprOp::Add || a->op() == ExprOp::Sub) {
      ExprRef l = exactQuotient(a->lhs(), c);
      ExprRef r = l ? exactQuotient(a->rhs(), c) : nullptr;
      return r ? make(a->op(), l, r) : nullptr;
    }
    return nullptr;
  }

  static ExprRef div(const ExprRef &a, const ExprRef &b) {
    if (b->isConstant(1) || a->isConstant(0))
      return a;
    if (a->range().isNonNegative() && a->range().hi < b->range().lo)
      return constant(0);
    if (!b->isConstant() || b->value() <= 0)
      return node(ExprOp::Div, a, b);
    int64_t c = b->value();
    if (ExprRef exact = exactQuotient(a, c))
      return exact;
    if (!a->range().isNonNegative())
      return node(ExprOp::Div, a, b);
    if (a->op() == ExprOp::Add && a->lhs()->range().isNonNegative() &&
        a->rhs()->range().isNonNegative()) {
      // If nothing is negative, (x * c + y) / c == x + y / c.
      if (ExprRef l = exactQuotient(a->lhs(), c))
        return make(ExprOp::Add, l, div(a->rhs(), b));
      if (ExprRef r = exactQuotient(a->rhs(), c))
        return make(ExprOp::Add, div(a->lhs(), b), r);
    }
    int64_t product;
    if (a->op() == ExprOp::Div && a->rhs()->isConstant() && a->rhs()->value() > 0 &&
        a->lhs()->range().isNonNegative() &&
        !__builtin_mul_overflow(a->rhs()->value(), c, &product))
      return div(a->lhs(), constant(product));
    return node(ExprOp::Div, a, b);
  }

  static ExprRef mod(const ExprRef &a, const ExprRef &b) {
    if (b->isConstant(1) || a->isConstant(0))
      return constant(0);
    if (a->range().isNonNegative() && a->range().hi < b->range().lo)
      return a;
    if (!b->isConstant() || b->value() <= 0)
      return node(ExprOp::Mod, a, b);
    int64_t c = b->value();
    if (a->divisor() % c == 0)
      return constant(0);
    if (a->op() == ExprOp::Add && a->lhs()->range().isNonNegative() &&
        a->rhs()->range().isNonNegative()) {
      if (a->lhs()->divisor() % c == 0)
        return mod(a->rhs(), b);
      if (a->rhs()->divisor() % c == 0)
        return mod(a->lhs(), b);
    }
    if (a->op() == ExprOp::Mod && a->rhs()->isConstant() && a->rhs()->value() > 0 &&
        a->rhs()->value() % c == 0)
      return mod(a->lhs(), b);
    return node(ExprOp::Mod, a, b);
  }
};

ExprRef exprConstant(int64_t value) { return ExprMaker::constant(value); }

ExprRef exprSymbol(uint64_t id, int width, int64_t divisor, ValueRange range) {
  if (width != 32 && width != 64)
    fail("a symbol has 32 or 64 bits, not ", width);
  return ExprMaker::symbol(id, width, divisor, range);
}

ExprRef exprBinary(ExprOp op, const ExprRef &lhs, const ExprRef &rhs) {
  if (!lhs || !rhs)
    return nullptr;
  return ExprMaker::make(op, lhs, rhs);
}

ExprRef exprCeilDiv(const ExprRef &a, const ExprRef &b) {
  if (!a || !b)
    return nullptr;
  if (b->isConstant() && b->value() > 0 && a->divisor() % b->value() == 0)
    return exprDiv(a, b);
  return exprDiv(exprAdd(a, exprSub(b, exprConstant(1))), b);
}

/// Compares until `budget` nodes are visited. Shared nodes may be visited often; trees that are not
/// compared completely by then count as different.
static bool equalWithin(const ExprRef &a, const ExprRef &b, int &budget) {
  if (a == b)
    return true;
  if (!a || !b || a->hash() != b->hash() || a->op() != b->op() || --budget < 0)
    return false;
  if (a->isConstant())
    return a->value() == b->value();
  if (a->isSymbol())
    return a->symbol() == b->symbol() && a->width() == b->width();
  return equalWithin(a->lhs(), b->lhs(), budget) && equalWithin(a->rhs(), b->rhs(), budget);
}

bool structurallyEqual(const ExprRef &a, const ExprRef &b) {
  int budget = 10000;
  return equalWithin(a, b, budget);
}

namespace {

int64_t evaluateNode(const Expr *e, const SymbolValues &symbols,
                     std::unordered_map<const Expr *, int64_t> &done) {
  if (e->isConstant())
    return e->value();
  if (e->isSymbol()) {
    auto it = symbols.find(e->symbol());
    if (it == symbols.end())
      fail("no value for symbol s", e->symbol());
    return it->second;
  }
  auto it = done.find(e);
  if (it != done.end())
    return it->second;
  int64_t l = evaluateNode(e->lhs().get(), symbols, done);
  int64_t r = evaluateNode(e->rhs().get(), symbols, done);
  int64_t v = fold(e->op(), l, r);
  done.emplace(e, v);
  return v;
}

} // namespace

int64_t evaluate(const ExprRef &expr, const SymbolValues &symbols) {
  if (!expr)
    fail("a dynamic value without an expression has no value");
  std::unordered_map<const Expr *, int64_t> done;
  return evaluateNode(expr.get(), symbols, done);
}

namespace {

ExprRef substituteNode(const ExprRef &e, const std::function<ExprRef(const Expr &)> &map,
                       std::unordered_map<const Expr *, ExprRef> &done) {
  if (e->isConstant())
    return e;
  if (e->isSymbol()) {
    ExprRef r = map(*e);
    return r ? r : e;
  }
  auto it = done.find(e.get());
  if (it != done.end())
    return it->second;
  ExprRef l = substituteNode(e->lhs(), map, done);
  ExprRef r = substituteNode(e->rhs(), map, done);
  ExprRef result = l == e->lhs() && r == e->rhs() ? e : exprBinary(e->op(), l, r);
  done.emplace(e.get(), result);
  return result;
}

} // namespace

ExprRef substitute(const ExprRef &expr, const std::function<ExprRef(const Expr &)> &map) {
  if (!expr)
    return nullptr;
  std::unordered_map<const Expr *, ExprRef> done;
  return substituteNode(expr, map, done);
}

/// Appends the text; past `limit` characters, `...` replaces the rest.
static void appendExpr(std::string &out, const Expr &e, size_t limit) {
  if (out.size() > limit) {
    out += "...";
    return;
  }
  if (e.isConstant()) {
    out += std::to_string(e.value());
    return;
  }
  if (e.isSymbol()) {
    out += "s" + std::to_string(e.symbol());
    return;
  }
  out += e.op() == ExprOp::Min ? "min(" : e.op() == ExprOp::Max ? "max(" : "(";
  appendExpr(out, *e.lhs(), limit);
  out += symbolOf(e.op());
  appendExpr(out, *e.rhs(), limit);
  out += ")";
}

std::string Expr::str() const {
  std::string out;
  appendExpr(out, *this, 4000);
  return out;
}

} // namespace flydsl::layout
