#include "generate.h"

#include <algorithm>
#include <iterator>

namespace programs {

namespace {

constexpr Kind kIntegers[] = {Kind::i8,  Kind::u8,  Kind::i16, Kind::u16,
                              Kind::i32, Kind::u32, Kind::i64, Kind::u64};
constexpr Kind kFloats[] = {Kind::f32, Kind::f64, Kind::f16, Kind::bf16};

Node node(Op op, Kind kind, std::vector<Node> operands, std::int64_t number = 0) {
  return std::make_shared<Expression>(Expression{op, kind, std::move(operands), number, 0});
}
Node constant(Kind kind, std::int64_t value) {
  auto made = std::make_shared<Expression>(Expression{Op::constant, kind, {}, 0, 0});
  if (isFloat(kind))
    made->real = rounded(static_cast<long double>(value % 1000) / 4, kind);
  else
    made->number = wrapped(value, kind);
  return made;
}

class Generator {
public:
  explicit Generator(Random &random) : random_(random) {}
  Kind kind() { return below(6) ? any(kIntegers) : any(kFloats); }
  Node of(Kind kind, int depth);

private:
  struct Loop {
    std::int64_t number;
    Kind kind;
  };
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  template <std::size_t N> Kind any(const Kind (&kinds)[N]) { return kinds[below(int(N))]; }
  /// A number of any magnitude.
  std::int64_t number() { return static_cast<std::int64_t>(random_() >> below(64)); }
  Node leaf(Kind kind);
  Node ofFloats(Kind kind, int depth);
  Node ofIntegers(Kind kind, int depth);
  Node loop(Kind kind, int depth);
  Node bits(Kind kind, int depth);
  Node divisor(Kind kind, int depth, bool positive);
  Node vector(Kind kind, int depth);
  Node condition(int depth) {
    const Kind a = kind();
    const Kind b = isFloat(a) || below(3) ? a : any(kIntegers);
    Node left = of(a, depth);
    return node(Op::less, Kind::boolean, {left, of(b, depth)});
  }
  Node two(Op op, Kind kind, int depth) {
    Node left = of(kind, depth);
    return node(op, kind, {left, of(kind, depth)});
  }

  Random &random_;
  std::vector<Loop> loops_;
  std::int64_t made_ = 0;
};

Node Generator::leaf(Kind kind) {
  if (!loops_.empty() && below(2)) {
    const Loop &around = loops_[static_cast<std::size_t>(below(int(loops_.size())))];
    if (around.kind == kind)
      return node(Op::variable, kind, {}, around.number);
    if (kind == Kind::i32)
      return node(Op::turn, kind, {}, around.number);
  }
  return below(3) ? node(Op::input, kind, {}, below(kInputs)) : constant(kind, number());
}

Node Generator::ofFloats(Kind kind, int depth) {
  constexpr Op kOfTwo[] = {Op::add, Op::add, Op::sub, Op::mul, Op::min, Op::max};
  constexpr Op kOfOne[] = {Op::floor, Op::neg, Op::abs};
  switch (const int choice = below(13)) {
  case 12:
    return vector(kind, depth);
  case 6:
  case 7: {
    Node which = condition(depth), a = of(kind, depth);
    return node(choice == 6 ? Op::select : Op::branch, kind, {which, a, of(kind, depth)});
  }
  case 8:
    return node(Op::convert, kind, {of(this->kind(), depth)});
  case 9: {
    if (kind == Kind::bf16) // rounded once or twice, as the target has it
      return two(Op::mul, kind, depth);
    Node a = of(kind, depth), b = of(kind, depth);
    return node(Op::fma, kind, {a, b, of(kind, depth)});
  }
  case 10:
  case 11:
    return node(kOfOne[below(3)], kind, {of(kind, depth)});
  default:
    return two(kOfTwo[choice], kind, depth);
  }
}

/// A number other than 0, and mostly other than -1: rows where it is are passed over.
Node Generator::divisor(Kind kind, int depth, bool positive) {
  Node some = of(kind, depth);
  if (positive || below(2))
    return node(Op::add, kind,
                {node(Op::bitAnd, kind, {some, constant(kind, 63)}), constant(kind, 1)});
  return node(Op::bitOr, kind,
              {node(Op::bitAnd, kind, {some, constant(kind, number())}), constant(kind, 2)});
}

Node Generator::vector(Kind kind, int depth) {
  constexpr Op kOps[] = {Op::add, Op::sub, Op::mul};
  std::vector<Node> operands{of(Kind::i32, depth - 1)};
  for (int i = 0; i < 8; ++i)
    operands.push_back(of(kind, depth - 2));
  return node(Op::vector, kind, std::move(operands), static_cast<std::int64_t>(kOps[below(3)]));
}

/// The bits of another type of the same width.
Node Generator::bits(Kind kind, int depth) {
  std::vector<Kind> same;
  for (Kind other : kIntegers)
    if (other != kind && bitsOf(other) == bitsOf(kind))
      same.push_back(other);
  for (Kind other : kFloats)
    if (bitsOf(other) == bitsOf(kind))
      same.push_back(other);
  return node(Op::bitcast, kind,
              {of(same[static_cast<std::size_t>(below(int(same.size())))], depth)});
}

Node Generator::loop(Kind kind, int depth) {
  Node first = of(kind, depth), turns = of(Kind::i32, depth);
  const std::int64_t number = ++made_;
  loops_.push_back({number, kind});
  Node next = of(kind, depth);
  loops_.pop_back();
  return node(Op::loop, kind, {first, turns, next}, number);
}

Node Generator::ofIntegers(Kind kind, int depth) {
  constexpr Op kOfTwo[] = {Op::add,   Op::add,    Op::sub, Op::mul, Op::mul, Op::bitAnd,
                           Op::bitOr, Op::bitXor, Op::shl, Op::shr, Op::min, Op::max};
  constexpr Op kOfOne[] = {Op::neg, Op::bitNot, Op::abs, Op::ctlz, Op::cttz, Op::ctpop};
  constexpr Op kDivisions[] = {Op::div, Op::rem, Op::floorDiv, Op::ceilDiv};
  switch (const int choice = below(26)) {
  case 25:
    return vector(kind, depth);
  case 12:
  case 13:
  case 14: {
    const Op op = kDivisions[below(4)];
    Node dividend = of(kind, depth);
    return node(op, kind, {dividend, divisor(kind, depth, op == Op::ceilDiv)});
  }
  case 15:
  case 16: {
    Node which = condition(depth), a = of(kind, depth);
    return node(choice == 15 ? Op::select : Op::branch, kind, {which, a, of(kind, depth)});
  }
  case 17: {
    if (below(3))
      return node(Op::convert, kind, {of(any(kIntegers), depth)});
    const Kind from = any(kFloats);
    Node above =
        node(Op::max, from, {of(from, depth), constant(from, DType(kind).is_signed() ? -400 : 0)});
    return node(Op::convert, kind, {node(Op::min, from, {above, constant(from, 480)})});
  }
  case 18:
  case 19:
    return node(kOfOne[below(6)], kind, {of(kind, depth)});
  case 20:
    return loops_.size() < 2 ? loop(kind, depth) : two(Op::add, kind, depth);
  case 21:
    return bits(kind, depth);
  case 22: { // operands of two types
    const Kind a = any(kIntegers), b = any(kIntegers);
    Node left = of(a, depth);
    Node both = node(below(2) ? Op::add : Op::mul, commonOf(a, b), {left, of(b, depth)});
    return both->kind == kind ? both : node(Op::convert, kind, {both});
  }
  case 23:
    return node(Op::element, kind, {of(kind, depth)});
  case 24:
    return two(Op::sub, kind, depth);
  default:
    return two(kOfTwo[choice], kind, depth);
  }
}

Node Generator::of(Kind kind, int depth) {
  if (depth <= 0 || below(12) == 0)
    return leaf(kind);
  return isFloat(kind) ? ofFloats(kind, depth - 1) : ofIntegers(kind, depth - 1);
}

/// Calls visit(node, replace) for each node, where replace(other) is the program with `other` in its
/// place, until it returns a program.
Node eachNode(
    const Node &at, const std::function<Node(const Node &)> &whole,
    const std::function<Node(const Node &, const std::function<Node(const Node &)> &)> &visit) {
  if (Node found = visit(at, whole))
    return found;
  for (std::size_t i = 0; i < at->operands.size(); ++i) {
    const auto around = [&, i](const Node &other) {
      auto copy = std::make_shared<Expression>(*at);
      copy->operands[i] = other;
      return whole(copy);
    };
    if (Node found = eachNode(at->operands[i], around, visit))
      return found;
  }
  return nullptr;
}

/// Whether loops' variables are used in their bodies alone.
bool isClosed(const Node &n, std::vector<std::int64_t> &loops) {
  if (n->op == Op::variable || n->op == Op::turn)
    return std::find(loops.begin(), loops.end(), n->number) != loops.end();
  for (std::size_t i = 0; i < n->operands.size(); ++i) {
    const bool isBody = n->op == Op::loop && i == 2;
    if (isBody)
      loops.push_back(n->number);
    const bool isFine = isClosed(n->operands[i], loops);
    if (isBody)
      loops.pop_back();
    if (!isFine)
      return false;
  }
  return true;
}

} // namespace

Node randomProgram(Random &random, int depth) {
  Generator generator(random);
  return generator.of(generator.kind(), depth);
}

std::vector<Row> randomRows(Random &random, int count) {
  std::vector<Row> rows(static_cast<std::size_t>(count), Row(kInputs));
  for (Row &row : rows)
    for (std::int64_t &number : row) {
      number = static_cast<std::int64_t>(random() >> 1 >> random() % 63);
      if (random() % 2)
        number = -number;
    }
  return rows;
}

Node smallest(Node program, const std::function<bool(const Node &)> &isWrong) {
  const auto smaller = [&](const Node &at, const std::function<Node(const Node &)> &with) -> Node {
    std::vector<Node> candidates;
    for (const Node &operand : at->operands) {
      if (operand->kind == at->kind)
        candidates.push_back(operand);
      else if (at->op != Op::convert && operand->kind != Kind::boolean && !isFloat(operand->kind) &&
               !isFloat(at->kind))
        candidates.push_back(node(Op::convert, at->kind, {operand}));
    }
    if (at->kind != Kind::boolean && at->op != Op::constant && at->op != Op::input) {
      for (int column = 0; column < kInputs; ++column)
        candidates.push_back(node(Op::input, at->kind, {}, column));
      for (int value : {0, 1, 5})
        candidates.push_back(constant(at->kind, value));
    }
    for (const Node &candidate : candidates) {
      Node tried = with(candidate);
      std::vector<std::int64_t> loops;
      if (isClosed(tried, loops) && isWrong(tried))
        return tried;
    }
    return nullptr;
  };
  while (Node found = eachNode(
             program, [](const Node &whole) { return whole; }, smaller))
    program = found;
  return program;
}

static void write(const Node &n, int depth, std::string &out) {
  static const char *const names[] = {
      "input",    "constant", "add",     "sub",    "mul",      "div",     "rem",
      "floorDiv", "ceilDiv",  "bitAnd",  "bitOr",  "bitXor",   "shl",     "shr",
      "min",      "max",      "less",    "select", "branch",   "convert", "bitcast",
      "neg",      "bitNot",   "abs",     "ctlz",   "cttz",     "ctpop",   "fma",
      "floor",    "vector",   "element", "loop",   "variable", "turn"};
  static_assert(std::size(names) == static_cast<std::size_t>(Op::turn) + 1);
  out += std::string(static_cast<std::size_t>(2 * depth), ' ') +
         names[static_cast<std::size_t>(n->op)] + " " + std::string(DType(n->kind).name());
  if (n->op == Op::constant)
    out += isFloat(n->kind) ? " " + std::to_string(n->real) : " " + std::to_string(n->number);
  else if (n->op == Op::input || n->op == Op::loop || n->op == Op::variable || n->op == Op::turn)
    out += " #" + std::to_string(n->number);
  else if (n->op == Op::vector)
    out += std::string(" ") + names[static_cast<std::size_t>(n->number)];
  out += "\n";
  for (const Node &operand : n->operands)
    write(operand, depth + 1, out);
}
std::string text(const Node &program) {
  std::string out;
  write(program, 0, out);
  return out;
}

} // namespace programs
