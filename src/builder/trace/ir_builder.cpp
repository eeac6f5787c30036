#include "builder/trace/ir_builder.h"

#include "builder/trace/types.h"
#include "support/text.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/CastInterfaces.h"

namespace flydsl::builder {

IrBuilder::IrBuilder(mlir::MLIRContext &context, mlir::Block *body, Diagnostics &diagnostics)
    : builder_(mlir::OpBuilder::atBlockEnd(body)), body_(body), diagnostics_(diagnostics) {}

mlir::Location IrBuilder::location(Loc loc) {
  if (loc.line())
    last_ = loc;
  else
    loc = last_;
  mlir::StringAttr &file = files_[loc.file_name()];
  if (!file)
    file = builder_.getStringAttr(loc.file_name());
  return mlir::FileLineColLoc::get(file, loc.line(), loc.column());
}

unsigned IrBuilder::setFastMath(unsigned flags) { return std::exchange(fastMath_, flags); }

/// Gives an operation on floats the scope's flags beside its own. Conversions round as they say,
/// whatever the scope.
static void addFastMath(mlir::Operation *op, unsigned flags) {
  using namespace mlir::arith;
  auto math = mlir::dyn_cast<ArithFastMathInterface>(op);
  if (!math || mlir::isa<mlir::CastOpInterface>(op) ||
      !mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(op->getOperand(0))))
    return;
  FastMathFlagsAttr own = math.getFastMathFlagsAttr();
  const FastMathFlags all =
      (own ? own.getValue() : FastMathFlags::none) | static_cast<FastMathFlags>(flags);
  op->setAttr(math.getFastMathAttrName(), FastMathFlagsAttr::get(op->getContext(), all));
}

mlir::OperationState IrBuilder::begin(Loc loc, llvm::StringRef name) {
  throwDeferred();
  mlir::OperationState state(location(loc), name);
  if (!state.name.isRegistered()) [[unlikely]] {
    context()->getOrLoadDialect(name.split('.').first);
    state.name = mlir::OperationName(name, context());
  }
  return state;
}

mlir::Operation *IrBuilder::insert(mlir::OperationState &state) {
  mlir::Operation *op = builder_.create(state);
  if (fastMath_)
    addFastMath(op, fastMath_);
  return op;
}

mlir::Operation *IrBuilder::insertVerified(mlir::OperationState &state, Loc loc) {
  mlir::Operation *op = insert(state);
  if (mlir::failed(mlir::verify(op, /*verifyRecursively=*/false))) {
    op->erase();
    failOn(state.name.getStringRef(), state.operands, loc);
  }
  return op;
}

mlir::Operation *IrBuilder::createNamed(llvm::StringRef name, mlir::TypeRange types,
                                        mlir::ValueRange operands,
                                        llvm::ArrayRef<mlir::NamedAttribute> attributes, Loc loc) {
  mlir::OperationState state = begin(loc, name);
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(attributes);
  return insertVerified(state, loc);
}

void IrBuilder::toPrologue() {
  if (lastPrologue_)
    builder_.setInsertionPointAfter(lastPrologue_);
  else
    builder_.setInsertionPointToStart(body_);
}

static std::string operandTypes(mlir::ValueRange operands) {
  return support::joined(operands, [](mlir::Value v) { return typeText(v.getType()); });
}

void IrBuilder::failOn(llvm::StringRef name, mlir::ValueRange operands, Loc loc) {
  diagnostics_.fail(userName(name) + "(" + operandTypes(operands) + ")", loc);
}

mlir::Value IrBuilder::constant(mlir::TypedAttr value, Loc loc) {
  if (mlir::Value known = constants_.lookup(value))
    return known;
  mlir::Value v = prologue<mlir::arith::ConstantOp>(loc, value.getType(), value);
  constants_[value] = v;
  return v;
}

mlir::Value IrBuilder::constant(std::int64_t value, DType type, Loc loc) {
  mlir::Type t = elementType(type, context());
  if (type.is_float())
    return constant(builder_.getFloatAttr(t, static_cast<double>(value)), loc);
  llvm::APInt bits(t.getIntOrFloatBitWidth(), static_cast<std::uint64_t>(value), true, true);
  return constant(builder_.getIntegerAttr(t, bits), loc);
}

} // namespace flydsl::builder
