#include "random_algebra.h"

#include "layout/error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace flydsl::test {

using namespace mlir;
using namespace mlir::fly;
using flydsl::layout::Int;
using flydsl::layout::IntTuple;
using flydsl::layout::Layout;
using flydsl::layout::Tile;

namespace {

class Generator {
public:
  Generator(OpBuilder &builder, Location loc, Value in, Value out, std::mt19937_64 &random,
            Case &result)
      : builder(builder), loc(loc), in(in), out(out), random(random), result(result) {}

  bool run() {
    switch (pick(18)) {
    case 0:
      return finish("size", {layoutOperand()});
    case 1:
      return finish("crd2idx", crd2idxOperands());
    case 2:
    case 3:
      return finish(pick(2) ? "idx2crd" : "get_flat_coord", indexOperands());
    case 4:
      return finish("get_1d_coord", indexOperands());
    case 5: {
      IntTuple shape = shapeTuple(0);
      const char *names[] = {"int_tuple_add", "int_tuple_sub", "int_tuple_mul"};
      return finish(names[pick(3)], {tuple(shape), tuple(like(shape, 50))});
    }
    case 6: {
      negative = true;
      IntTuple shape = like(shapeTuple(0), 200);
      negative = false;
      return finish(pick(2) ? "int_tuple_div" : "int_tuple_mod",
                    {tuple(shape), tuple(like(shape, 9))});
    }
    case 7:
      return finish("ceil_div", {tuple(like(shapeTuple(0), 300)), tuple(IntTuple(leaf(9)))});
    case 8:
      return finish(pick(2) ? "int_tuple_product" : "int_tuple_product_each",
                    {tuple(shapeTuple(0))});
    case 9: {
      IntTuple shape = shapeTuple(0);
      return finish(pick(2) ? "elem_less" : "equal", {tuple(shape), tuple(like(shape, 8))});
    }
    case 10:
    case 11: {
      const char *names[] = {"flat_divide", "zipped_divide", "tiled_divide", "logical_divide"};
      Layout layout = flatLayout();
      return finish(names[pick(4)], {make(layout), tileFor(layout)});
    }
    case 12:
      return finish("composition",
                    {make(flatLayout()), constant(LayoutType::get(context(), smallLayout()))});
    case 13: {
      Layout layout = flatLayout();
      return finish("slice", {make(layout), tuple(coordWithHole(layout.shape()))});
    }
    case 14:
      return finish("coalesce", {layoutOperand()});
    case 15:
      return finish("cosize", {layoutOperand()});
    case 16: {
      IntTuple shape = like(shapeTuple(1), 7);
      return finish("make_identity_layout", {tuple(shape)});
    }
    default: {
      const char *names[] = {"logical_product", "blocked_product", "raked_product", "flat_product"};
      return finish(names[pick(4)],
                    {constant(LayoutType::get(context(), compactLayout())), make(flatLayout())});
    }
    }
  }

private:
  MLIRContext *context() { return builder.getContext(); }
  int64_t pick(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }

  /// A number of at most `largest`: static, or a new input.
  Int leaf(int64_t largest) {
    if (pick(2))
      return Int(1 + pick(largest));
    int64_t divisor = pick(3) ? 1 : int64_t(1) << pick(3);
    result.divisors.push_back(divisor);
    result.largest.push_back(std::max(largest, divisor));
    result.negative.push_back(negative);
    return Int::symbol(result.divisors.size() - 1, pick(3) ? 32 : 64, divisor,
                       flydsl::layout::ValueRange{negative ? INT32_MIN : 1, INT32_MAX});
  }

  IntTuple shapeTuple(int depth) {
    if (depth == 2 || (depth > 0 && pick(3)))
      return leaf(8);
    std::vector<IntTuple> elements;
    for (int64_t i = 0, n = 1 + pick(3); i < n; ++i)
      elements.push_back(shapeTuple(depth + 1));
    return IntTuple::tuple(elements);
  }
  IntTuple like(const IntTuple &shape, int64_t largest) {
    return shape.mapLeaves([&](const Int &) { return leaf(largest); });
  }
  IntTuple coordFor(const IntTuple &shape) {
    return shape.mapLeaves([&](const Int &) { return leaf(6); });
  }
  IntTuple coordWithHole(const IntTuple &shape) {
    std::vector<IntTuple> elements;
    int64_t hole = pick(shape.rank());
    for (int i = 0; i < shape.rank(); ++i)
      elements.push_back(i == hole || pick(2) == 0 ? IntTuple(Int::wildcard()) : IntTuple(leaf(5)));
    return shape.isLeaf() ? IntTuple(Int::wildcard()) : IntTuple::tuple(elements);
  }

  Layout anyLayout() {
    IntTuple shape = shapeTuple(0);
    return Layout(shape, like(shape, 30));
  }
  Layout flatLayout() {
    std::vector<IntTuple> shapes, strides;
    for (int64_t i = 0, n = 1 + pick(3); i < n; ++i) {
      shapes.push_back(leaf(40));
      strides.push_back(leaf(30));
    }
    return Layout(IntTuple::unwrapped(shapes), IntTuple::unwrapped(strides));
  }
  Layout smallLayout() {
    int64_t a = int64_t(1) << pick(3), b = int64_t(1) << pick(3);
    return Layout(flydsl::layout::tup(a, b), flydsl::layout::tup(1, a * (1 + pick(2))));
  }
  Layout compactLayout() {
    int64_t a = 1 + pick(5), b = 1 + pick(5);
    return Layout(flydsl::layout::tup(a, b), flydsl::layout::tup(b, 1));
  }
  Value tileFor(const Layout &layout) {
    std::vector<Tile> modes;
    for (int i = 0; i < layout.rank(); ++i)
      modes.push_back(Tile(int64_t(1) << pick(4)));
    return constant(TileType::get(context(), Tile::list(modes)));
  }

  SmallVector<Value> crd2idxOperands() {
    Layout layout = anyLayout();
    return {tuple(pick(3) ? coordFor(layout.shape()) : IntTuple(leaf(100))), make(layout)};
  }
  SmallVector<Value> indexOperands() {
    IntTuple shape = shapeTuple(0);
    return {tuple(IntTuple(leaf(200))), make(Layout(shape, like(shape, 12)))};
  }
  Value layoutOperand() { return make(anyLayout()); }

  //===----------------------------------------------------------------------===//

  /// Remembers what an operand is over symbols.
  Value known(Value value, AlgebraValue symbolic) {
    symbolicOf.emplace_back(value, std::move(symbolic));
    return value;
  }
  Value constant(Type type) {
    return known(StaticOp::create(builder, loc, type), getAlgebraValue(type));
  }

  Value tuple(const IntTuple &t) {
    SmallVector<Value> numbers;
    for (const Int &l : t.leaves())
      if (l.isDynamic())
        numbers.push_back(input(l.expr()->symbol(), l.width()));
    return known(MakeIntTupleOp::create(builder, loc, IntTupleType::get(context(), t), numbers), t);
  }
  Value make(const Layout &layout) {
    Value shape = tuple(layout.shape()), stride = tuple(layout.stride());
    return known(MakeLayoutOp::create(builder, loc, shape, stride), layout);
  }

  Value address(Value base, int64_t index) {
    return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI64Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  }
  /// Some inputs are seen to be not negative, as thread numbers are: other instructions serve for
  /// those.
  Value input(int64_t index, unsigned width) {
    Value number = LLVM::LoadOp::create(builder, loc, builder.getI64Type(), address(in, index));
    if (width == 32)
      number = arith::TruncIOp::create(builder, loc, builder.getI32Type(), number);
    if (pick(2) && !result.negative[index]) {
      Value zero =
          arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(number.getType(), 0));
      number = arith::MaxSIOp::create(builder, loc, number, zero);
    }
    return number;
  }
  void output(Value number) {
    unsigned bits = number.getType().getIntOrFloatBitWidth();
    if (bits == 1)
      number = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), number);
    else if (bits < 64)
      number = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), number);
    LLVM::StoreOp::create(builder, loc, number, address(out, outputs++));
  }
  void outputTuple(Value tuple) {
    for (Value number : GetLeavesOp::create(builder, loc, tuple, /*dynamicOnly=*/true).getResults())
      output(number);
  }

  bool finish(StringRef name, SmallVector<Value> operands) {
    OperationState state(loc, ("fly." + name).str(), operands, {}, {});
    auto info = state.name.getRegisteredInfo();
    auto *infer = info ? info->getInterface<InferTypeOpInterface>() : nullptr;
    SmallVector<AlgebraValue> values;
    for (Value operand : operands)
      for (const auto &[value, symbolic] : symbolicOf)
        if (value == operand)
          values.push_back(symbolic);
    SmallVector<Type> types;
    if (name == "elem_less" || name == "equal")
      types.push_back(builder.getI1Type());
    else if (!infer ||
             failed(infer->inferReturnTypes(context(), loc, operands, builder.getDictionaryAttr({}),
                                            state.getRawProperties(), state.regions, types)))
      return false;
    state.addTypes(types);
    Operation *op = builder.create(state);
    result.op = cast<AlgebraOpInterface>(op);
    result.operands.assign(values.begin(), values.end());
    result.result = getAlgebraValue(types.front());
    llvm::raw_string_ostream text(result.text);
    op->print(text);
    Value value = op->getResult(0);
    if (isa<LayoutType>(types.front())) {
      outputTuple(GetShapeOp::create(builder, loc, value));
      outputTuple(GetStrideOp::create(builder, loc, value));
    } else if (isa<IntTupleType>(types.front())) {
      outputTuple(value);
    } else {
      output(value);
    }
    return true;
  }

  OpBuilder &builder;
  Location loc;
  Value in, out;
  std::mt19937_64 &random;
  Case &result;
  int64_t outputs = 0;
  bool negative = false; ///< whether numbers may have any sign
  std::vector<std::pair<Value, AlgebraValue>> symbolicOf;
};

} // namespace

bool addRandomCase(OpBuilder &builder, ModuleOp module, std::mt19937_64 &random,
                   const std::string &name, Case &result) {
  Location loc = builder.getUnknownLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto func =
      func::FuncOp::create(builder, loc, name, builder.getFunctionType({pointer, pointer}, {}));
  Block *body = func.addEntryBlock();
  builder.setInsertionPointToStart(body);
  result.name = name;
  bool drawn = false;
  try {
    drawn =
        Generator(builder, loc, body->getArgument(0), body->getArgument(1), random, result).run();
  } catch (const flydsl::layout::LayoutError &) { // a shape or tile that there is none of
  }
  if (!drawn) {
    func.erase();
    return false;
  }
  func::ReturnOp::create(builder, loc);
  return true;
}

} // namespace flydsl::test
