// Loops, branches and variables as scf operations and register memory.
#include <flydsl/kernel/control_flow.h>

#include "builder/trace/tracer.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"

#include <exception>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using builder::Tracer;
namespace fly = mlir::fly;
namespace scf = mlir::scf;

struct OpenRegion::State {
  Tracer &tracer;
  const char *what;
  Loc loc;
  mlir::OpBuilder::InsertPoint outside;
  int exceptions = std::uncaught_exceptions();
  mlir::Operation *op = nullptr;
  std::vector<DType> dtypes = {};      // of the carried values
  std::vector<mlir::Value> first = {}; // what the first branch of an if gave
  unsigned region = 0;
  bool open = true;

  mlir::OpBuilder &builder() { return tracer.builder(); }
  mlir::Block *block() { return &op->getRegion(region).front(); }
  void enter(unsigned index) {
    region = index;
    builder().setInsertionPointToEnd(block());
  }
  void leave() {
    open = false;
    builder().restoreInsertionPoint(outside);
  }
  void yield(mlir::ValueRange operands) {
    scf::YieldOp::create(builder(), tracer.ir.location(loc), operands);
  }
};

static mlir::Value carriedValue(Tracer &t, const Handle &handle, DType type, Loc loc) {
  return t.use(hostAs<HostNumber>(handle) ? expectScalar(handle, type, loc) : handle, loc);
}

/// The element type of a number; none of what is no number.
static DType carriedType(const Handle &handle, Loc loc) {
  return hostAs<HostNumber>(handle) ? dtypeOf(handle, loc) : handle.node()->dtype;
}

/// "f32", "4 of f32", or the type of what is no number.
static std::string carriedText(DType dtype, mlir::Type type) {
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type); vector && dtype)
    return std::to_string(vector.getNumElements()) + " of " + std::string(dtype.name());
  return dtype && type.isIntOrFloat() ? std::string(dtype.name()) : builder::typeText(type);
}

OpenRegion::OpenRegion(const char *what, Loc loc) {
  Tracer &t = Tracer::require(what, loc);
  state_ = new State{t, what, loc, t.builder().saveInsertionPoint()};
}

OpenRegion::~OpenRegion() {
  if (state_->open) {
    state_->leave();
    if (std::uncaught_exceptions() <= state_->exceptions)
      state_->tracer.diagnostics.defer(
          std::string("the body of ") + state_->what +
              " is left before its end (by break or return); what it does is "
              "decided at run time",
          state_->loc);
  }
  delete state_;
}

/// The values that a region starts with, brought into the IR; their types and element types are
/// kept.
static llvm::SmallVector<mlir::Value, 4> initialValues(Tracer &t, std::vector<DType> &dtypes,
                                                       std::initializer_list<const Handle *> init,
                                                       Loc loc) {
  llvm::SmallVector<mlir::Value, 4> values;
  for (const Handle *h : init) {
    dtypes.push_back(carriedType(*h, loc));
    values.push_back(carriedValue(t, *h, dtypes.back(), loc));
  }
  return values;
}

/// The names of the two sources of the values, for the message when their types differ.
struct Yields {
  const char *first, *then;
};
static constexpr Yields kLoopYields{"a loop carries", "its body"};
static constexpr Yields kWhileYields{"a while loop carries", "its body"};
static constexpr Yields kBranchYields{"the first branch yields", "the second"};

static llvm::SmallVector<mlir::Value, 4>
yieldedValues(Tracer &t, const std::vector<DType> &dtypes, mlir::TypeRange types,
              std::initializer_list<const Handle *> yielded, const Yields &words, Loc loc) {
  llvm::SmallVector<mlir::Value, 4> values;
  auto counted = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " value" : " values"); };
  if (yielded.size() != types.size()) {
    std::string carried;
    for (std::size_t i = 0; i < types.size(); ++i)
      carried += (i ? ", " : "") + carriedText(dtypes[i], types[i]);
    throw TraceError(std::string(words.first) + " " + counted(types.size()) + ", " + words.then +
                         " yields " + std::to_string(yielded.size()) +
                         "; it ends with return fx::yield(...) of " +
                         (carried.empty() ? "nothing" : carried),
                     loc);
  }
  for (const Handle *h : yielded) {
    std::size_t i = values.size();
    mlir::Value v = carriedValue(t, *h, dtypes[i], loc);
    DType given = hostAs<HostNumber>(*h) ? dtypes[i] : h->node()->dtype;
    if (v.getType() != types[i] || given != dtypes[i])
      throw TraceError(std::string(words.first) + " value " + std::to_string(i) + " as " +
                           carriedText(dtypes[i], types[i]) + ", " + words.then + " yields " +
                           carriedText(given, v.getType()) +
                           (dtypes[i] && given && dtypes[i] != given
                                ? "; .to(fx::" + std::string(dtypes[i].name()) + ") converts"
                                : ""),
                       loc);
    values.push_back(v);
  }
  return values;
}

Handle OpenRegion::argument(std::size_t i) const {
  mlir::Block *block = state_->block();
  std::size_t first =
      block->getNumArguments() - state_->dtypes.size(); // a for has its index before
  return state_->tracer.wrap(block->getArgument(static_cast<unsigned>(first + i)),
                             state_->dtypes[i], state_->loc);
}

Handle OpenRegion::result(std::size_t i) const {
  return state_->tracer.wrap(state_->op->getResult(static_cast<unsigned>(i)), state_->dtypes[i],
                             state_->loc);
}

//===-- for ---------------------------------------------------------------===//

/// Whether a bound needs 64 bits: loops count with a sign, so 32 bits without one are too many too.
static bool isWideBound(const Handle &scalar) {
  DType type = dtypeOf(scalar, Loc());
  return type.bits() > 32 || (type.bits() == 32 && !type.is_signed());
}

OpenFor::OpenFor(const IntTuple &lo, const IntTuple &hi, const IntTuple &step,
                 std::initializer_list<const Handle *> init, Loc loc)
    : OpenRegion("a loop", loc) {
  State &s = *state_;
  Tracer &t = s.tracer;
  llvm::SmallVector<Handle, 3> bounds;
  bool wide = false;
  for (const IntTuple *bound : {&lo, &hi, &step}) {
    bounds.push_back(scalarOfTuple(bound->handle(), loc));
    wide |= isWideBound(bounds.back());
  }
  if (auto *number = hostAs<HostNumber>(bounds[2]); number && number->integer <= 0)
    throw TraceError("a loop's step is positive, not " + std::to_string(number->integer), loc);
  mlir::OperationState op(t.ir.location(loc), scf::ForOp::getOperationName());
  for (const Handle &bound : bounds)
    op.addOperands(t.use(convert(bound, wide ? i64 : i32, loc), loc));
  op.addOperands(initialValues(t, s.dtypes, init, loc));
  mlir::ValueRange carried = mlir::ValueRange(op.operands).drop_front(3);
  op.addTypes(carried.getTypes());
  auto *body = new mlir::Block;
  body->addArgument(wide ? t.builder().getI64Type() : t.builder().getI32Type(), op.location);
  for (mlir::Type type : carried.getTypes())
    body->addArgument(type, op.location);
  op.addRegion()->push_back(body);
  s.op = t.builder().create(op);
  s.enter(0);
}

Handle OpenFor::index() const {
  mlir::Value i = state_->block()->getArgument(0);
  return state_->tracer.wrap(i, builder::dtypeOfElement(i.getType()), state_->loc);
}

void OpenFor::close(std::initializer_list<const Handle *> yielded) {
  State &s = *state_;
  s.yield(yieldedValues(s.tracer, s.dtypes, s.op->getResultTypes(), yielded, kLoopYields, s.loc));
  s.leave();
}

//===-- if ----------------------------------------------------------------===//

OpenIf::OpenIf(const Handle &condition, Loc loc) : OpenRegion("a branch", loc) {
  State &s = *state_;
  const mlir::Location place = s.tracer.ir.location(loc);
  mlir::Value decides = carriedValue(s.tracer, condition, boolean, loc);
  s.op = scf::IfOp::create(s.builder(), place, mlir::TypeRange(), decides, /*addThenBlock=*/true,
                           /*addElseBlock=*/false);
  s.enter(0);
}

void OpenIf::otherwise(std::initializer_list<const Handle *> yielded) {
  State &s = *state_;
  for (const Handle *h : yielded) {
    s.dtypes.push_back(carriedType(*h, s.loc));
    s.first.push_back(carriedValue(s.tracer, *h, s.dtypes.back(), s.loc));
  }
  s.yield(s.first);
  s.op->getRegion(1).push_back(new mlir::Block);
  s.enter(1);
}

void OpenIf::close(std::initializer_list<const Handle *> yielded) {
  State &s = *state_;
  llvm::SmallVector<mlir::Type, 4> types;
  for (mlir::Value v : s.first)
    types.push_back(v.getType());
  s.yield(yieldedValues(s.tracer, s.dtypes, types, yielded, kBranchYields, s.loc));
  s.leave();
  if (types.empty())
    return;
  // The results' types are known only now: the same branch again, with them.
  mlir::OpBuilder::InsertionGuard guard(s.builder());
  s.builder().setInsertionPoint(s.op);
  mlir::OperationState op(s.op->getLoc(), scf::IfOp::getOperationName());
  op.addOperands(s.op->getOperands());
  op.addTypes(types);
  for (mlir::Region &region : s.op->getRegions())
    op.addRegion()->takeBody(region);
  mlir::Operation *typed = s.builder().create(op);
  s.op->erase();
  s.op = typed;
}

void exitIf(const Handle &condition, Loc loc) {
  Tracer &t = Tracer::require("exit_if", loc);
  t.exits.exitIf(carriedValue(t, condition, boolean, loc), loc);
}

//===-- while -------------------------------------------------------------===//

OpenWhile::OpenWhile(std::initializer_list<const Handle *> init, Loc loc)
    : OpenRegion("a while loop", loc) {
  State &s = *state_;
  mlir::OperationState op(s.tracer.ir.location(loc), scf::WhileOp::getOperationName());
  op.addOperands(initialValues(s.tracer, s.dtypes, init, loc));
  mlir::TypeRange types = mlir::ValueRange(op.operands).getTypes();
  op.addTypes(types);
  for (int i = 0; i < 2; ++i) {
    auto *body = new mlir::Block;
    for (mlir::Type type : types)
      body->addArgument(type, op.location);
    op.addRegion()->push_back(body);
  }
  s.op = s.builder().create(op);
  s.enter(0);
}

void OpenWhile::condition(const Handle &condition) {
  State &s = *state_;
  mlir::Value goesOn = carriedValue(s.tracer, condition, boolean, s.loc);
  scf::ConditionOp::create(s.builder(), s.tracer.ir.location(s.loc), goesOn,
                           s.block()->getArguments());
  s.enter(1);
}

void OpenWhile::close(std::initializer_list<const Handle *> yielded) {
  State &s = *state_;
  s.yield(yieldedValues(s.tracer, s.dtypes, s.op->getResultTypes(), yielded, kWhileYields, s.loc));
  s.leave();
}

//===-- Variables ---------------------------------------------------------===//

Handle varNew(const Handle &init, DType type, Loc loc) {
  Tracer &t = Tracer::require("a Var", loc);
  mlir::Value value = carriedValue(t, init, type, loc);
  auto vector = mlir::dyn_cast<mlir::VectorType>(value.getType());
  layout::Layout layout(vector ? vector.getNumElements() : 1, 1);
  auto pointer =
      fly::PointerType::get(builder::elementType(type, t.context()), fly::AddressSpace::Register);
  // At the top, so that a loop's rounds share it.
  mlir::Value shape = t.use(hostHandle(layout), loc);
  mlir::Value memory = t.ir.prologue<fly::MemRefAllocaOp>(
      loc, fly::MemRefType::get(pointer, layout::AnyLayout(layout)), shape);
  Handle handle = t.values.wrapVariable(memory, type, vector != nullptr, loc);
  varStore(handle, init, loc);
  return handle;
}

Handle varLoad(const Handle &memory, Loc loc) {
  Tracer &t = Tracer::require("a Var", loc);
  loc = t.ir.place(loc);
  if (memory.node()->traced()->isVector)
    return t.wrap(t.emit<fly::MemRefLoadVecOp>(loc, t.use(memory, loc)), memory.node()->dtype, loc);
  mlir::Value from = t.use(memory, loc), first = t.use(staticLeaf(0), loc);
  return t.wrap(t.emit<fly::MemRefLoadOp>(loc, {from, first}), memory.node()->dtype, loc);
}

void varStore(const Handle &memory, const Handle &value, Loc loc) {
  Tracer &t = Tracer::require("a Var", loc);
  loc = t.ir.place(loc);
  DType type = memory.node()->dtype;
  if (!hostAs<HostNumber>(value) && dtypeOf(value, loc) != type)
    throw TraceError("a Var of " + std::string(type.name()) + " is given " +
                         std::string(dtypeOf(value, loc).name()) +
                         "; .to(fx::" + std::string(type.name()) + ") converts",
                     loc);
  mlir::Value v = carriedValue(t, value, type, loc);
  if (memory.node()->traced()->isVector) {
    std::int64_t size = IntTuple(algebra(AlgebraOp::size, {&memory}, loc)).value(loc);
    if (!mlir::isa<mlir::VectorType>(v.getType()))
      v = t.use(vectorSplat(t.wrap(v, type, loc), size, type, loc), loc);
    else if (mlir::cast<mlir::VectorType>(v.getType()).getNumElements() != size)
      throw TraceError("a Var of " + std::to_string(size) + " of " + std::string(type.name()) +
                           " is given " + carriedText(type, v.getType()),
                       loc);
    t.create<fly::MemRefStoreVecOp>(loc, v, t.use(memory, loc));
    return;
  }
  mlir::Value to = t.use(memory, loc), first = t.use(staticLeaf(0), loc);
  t.create<fly::MemRefStoreOp>(loc, v, to, first);
}

NumericArg::NumericArg(const NumericVar &v, Loc l) : handle(varLoad(v.memory(), l)), loc(l) {}
VectorArg::VectorArg(const VectorVar &v, Loc l) : handle(varLoad(v.memory(), l)), loc(l) {}

} // namespace detail
FLYDSL_NAMESPACE_END
