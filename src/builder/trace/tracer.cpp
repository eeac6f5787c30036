#include "builder/trace/tracer.h"

#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "target/processors.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace flydsl::builder {

static thread_local Tracer *running = nullptr;
static std::atomic<std::uint64_t> nextId{1};

static SourceLocation sourceOf(mlir::Location location) {
  SourceLocation where;
  if (auto at = location->findInstanceOf<mlir::FileLineColLoc>()) {
    where.file = at.getFilename().str();
    where.line = at.getLine();
    where.column = at.getColumn();
  }
  return where;
}

std::string userName(llvm::StringRef operation) {
  for (const char *dialect : {"fly.", "fly_rocdl.", "math.", "gpu.", "rocdl.", "llvm.amdgcn."})
    if (operation.consume_front(dialect))
      break;
  if (!operation.consume_front("int_tuple_") && !operation.consume_front("composed_get_") &&
      (operation == "get_shape" || operation == "get_stride" || operation == "get_layout"))
    operation.consume_front("get_");
  return operation.str();
}

Tracer::Tracer(mlir::MLIRContext &context, mlir::Block *body, std::string kernel,
               std::array<unsigned, 3> block, unsigned fastMath, std::optional<Target> target)
    : context_(&context), builder_(mlir::OpBuilder::atBlockEnd(body)), body_(body),
      kernel_(std::move(kernel)), block_(block), id_(nextId.fetch_add(1)), outer_(running),
      diagnostics_(&context,
                   [this](mlir::Diagnostic &d) {
                     if (collected_.empty())
                       firstError_ = sourceOf(d.getLocation());
                     else
                       collected_ += '\n';
                     collected_ += d.str();
                     for (mlir::Diagnostic &note : d.getNotes())
                       collected_ += "\n  " + note.str();
                     return mlir::success();
                   }),
      target_(std::move(target)) {
  setFastMath(fastMath);
  running = this;
}

Tracer::~Tracer() { running = outer_; }

Tracer *Tracer::current() { return running; }

Tracer &Tracer::require(const char *what, Loc loc) {
  if (!running)
    throw TraceError(userName(what) + " needs a kernel that is being traced", loc);
  return *running;
}

std::string Tracer::parameterName(unsigned index) const {
  return "parameter " + std::to_string(index) + " of kernel " + kernel_ +
         (origin_.known() ? " of " + origin_.file + ":" + std::to_string(origin_.line) : "");
}

const Target &Tracer::target(const char *what, Loc loc) const {
  if (!target_)
    throw TraceError(std::string(what) + " needs to know the target, and the trace is for none; "
                                         "ARCH or compile({.arch = ...}) names one",
                     loc);
  return *target_;
}

const Target &Tracer::targetWith(Feature feature, const char *what, Loc loc) const {
  const Target &known = target(what, loc);
  if (known.has(feature))
    return known;
  const std::string others = detail::processorsWith(feature);
  throw TraceError("there is no " + std::string(what) + " on " + known.name() + "; " + others +
                       (others.find(',') == std::string::npos ? " has it" : " have it"),
                   loc);
}

unsigned Tracer::setFastMath(unsigned flags) {
  using Flags = mlir::arith::FastMathFlags;
  fastMathAttr_ = flags ? mlir::arith::FastMathFlagsAttr::get(context_, static_cast<Flags>(flags))
                        : mlir::Attribute();
  return std::exchange(fastMath_, flags);
}

mlir::Location Tracer::location(Loc loc) {
  if (loc.line())
    last_ = loc;
  else
    loc = last_;
  mlir::StringAttr &file = files_[loc.file_name()];
  if (!file)
    file = builder_.getStringAttr(loc.file_name());
  return mlir::FileLineColLoc::get(file, loc.line(), loc.column());
}

mlir::Attribute Tracer::attribute(llvm::StringRef text) {
  mlir::Attribute a = mlir::parseAttribute(text, context_);
  if (!a)
    throw TraceError("internal: attribute " + text.str() + ": " + takeDiagnostics());
  return a;
}

std::string Tracer::takeDiagnostics() { return std::exchange(collected_, {}); }

void Tracer::fail(const std::string &message, Loc loc) {
  std::string detail = takeDiagnostics();
  throw TraceError(detail.empty() ? message : message + ": " + detail, loc);
}

static std::string operandTypes(mlir::ValueRange operands) {
  std::string text;
  for (mlir::Value v : operands)
    text += (text.empty() ? "" : ", ") + typeText(v.getType());
  return text;
}

/// What MLIR says of an operation, without the operation's name before it.
static std::string withoutNames(std::string text, bool keep) {
  for (std::size_t at = 0; (at = text.find("'fly", at)) != std::string::npos;) {
    const std::size_t end = text.find("' op ", at);
    if (end == std::string::npos || text.find('\n', at) < end)
      break;
    const std::string name = userName(llvm::StringRef(text).slice(at + 1, end));
    text.replace(at, end + 5 - at, keep ? name + ": " : "");
  }
  return text;
}

void Tracer::failOn(llvm::StringRef name, mlir::ValueRange operands, Loc loc) {
  collected_ = withoutNames(std::move(collected_), /*keep=*/false);
  fail(userName(name) + "(" + operandTypes(operands) + ")", loc);
}

/// What comes out of thread numbers alone, through operations that touch no memory: whether a
/// value is sure to differ between threads of a block is not known, but it is made to.
static bool dependsOnThread(mlir::Value value) {
  llvm::SmallVector<mlir::Value, 8> open{value};
  llvm::SmallPtrSet<mlir::Operation *, 16> seen;
  while (!open.empty()) {
    mlir::Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    const llvm::StringRef name = op->getName().getStringRef();
    if (name == "gpu.thread_id" || name == "gpu.lane_id" || name.starts_with("rocdl.mbcnt"))
      return true;
    if (op->getNumRegions() == 0 && !name.contains("load") && !name.contains("readfirstlane"))
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

void Tracer::exitIf(mlir::Value condition, Loc loc) {
  if (builder_.getInsertionBlock() != top())
    throw TraceError("exit_if stands in a loop or a branch; the kernel ends early only from outside "
                     "of those: keep the condition in a Var, and exit behind them",
                     loc);
  mlir::Value stays =
      emit("arith.xori", {condition, constant(1, boolean, loc)}, loc, {}, condition.getType());
  mlir::OperationState op(location(loc), "scf.if");
  op.addOperands(stays);
  op.addRegion()->push_back(new mlir::Block);
  op.addRegion();
  mlir::Operation *rest = builder_.create(op);
  exits_.push_back({rest, loc, dependsOnThread(condition)});
  builder_.setInsertionPointToEnd(&rest->getRegion(0).front());
}

void Tracer::expectAllThreads(const char *what, Loc loc) const {
  for (const Exit &exit : exits_)
    if (exit.mayDiffer)
      throw TraceError(std::string(what) +
                           " after an exit_if whose condition comes from the thread's number, at " +
                           exit.loc.file_name() + ":" + std::to_string(exit.loc.line()) +
                           ": threads that left do not arrive; exit behind the last barrier, or on "
                           "a condition that is the same for the whole block",
                       loc);
}

void Tracer::finish(mlir::Location loc) {
  for (; !exits_.empty(); exits_.pop_back()) {
    mlir::OperationState end(loc, "scf.yield");
    builder_.create(end);
    builder_.setInsertionPointAfter(exits_.back().rest);
  }
  mlir::OperationState state(loc, "gpu.return");
  builder_.create(state);
}

void Tracer::failVerification() {
  std::string detail = withoutNames(takeDiagnostics(), /*keep=*/true);
  throw TraceError("kernel " + kernel_ + ": " + detail, firstError_);
}

void Tracer::defer(std::string message, Loc loc) {
  if (!deferred_)
    deferred_.emplace(message, loc);
}

void Tracer::throwDeferred() {
  if (deferred_) {
    TraceError error = *deferred_;
    deferred_.reset();
    throw error;
  }
}

static bool inferTypes(mlir::OperationState &state) {
  auto info = state.name.getRegisteredInfo();
  auto *infer = info ? info->getInterface<mlir::InferTypeOpInterface>() : nullptr;
  if (!infer)
    return false;
  mlir::DictionaryAttr attributes = state.attributes.getDictionary(state.getContext());
  // Properties are read by inference before the operation that will hold them exists.
  std::unique_ptr<char[]> storage;
  mlir::OpaqueProperties properties(nullptr);
  if (int size = info->getOpPropertyByteSize()) {
    storage = std::make_unique<char[]>(size);
    properties = mlir::OpaqueProperties(storage.get());
    info->initOpProperties(properties, mlir::OpaqueProperties(nullptr));
    auto emitError = [&] { return mlir::emitError(state.location); };
    if (mlir::failed(
            info->setOpPropertiesFromAttribute(state.name, properties, attributes, emitError)))
      return false;
  }
  bool ok =
      mlir::succeeded(infer->inferReturnTypes(state.getContext(), state.location, state.operands,
                                              attributes, properties, state.regions, state.types));
  if (properties)
    info->destroyOpProperties(properties);
  return ok;
}

static bool takesFastMath(llvm::StringRef name) {
  if (name.consume_front("arith."))
    return name.ends_with("f") && !name.starts_with("trunc") && !name.starts_with("ext");
  return name.starts_with("math.") && !name.ends_with("i") && !name.starts_with("math.ct");
}

mlir::Operation *Tracer::create(llvm::StringRef name, mlir::ValueRange operands, Loc loc,
                                llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                std::optional<mlir::TypeRange> types) {
  throwDeferred();
  mlir::OperationState state(location(loc), name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  if (fastMathAttr_ && takesFastMath(name))
    state.addAttribute("fastmath", fastMathAttr_);
  if (types)
    state.addTypes(*types);
  else if (!inferTypes(state))
    failOn(name, operands, loc);
  mlir::Operation *op = builder_.create(state);
  if (types && mlir::failed(mlir::verify(op, /*verifyRecursively=*/false))) {
    op->erase();
    failOn(name, operands, loc);
  }
  return op;
}

llvm::SmallVector<mlir::Type, 2> Tracer::infer(llvm::StringRef name, mlir::ValueRange operands,
                                               Loc loc,
                                               llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OperationState state(location(loc), name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  if (!inferTypes(state))
    failOn(name, operands, loc);
  return {state.types.begin(), state.types.end()};
}

mlir::Value Tracer::emitInferred(llvm::StringRef name, mlir::ValueRange operands, Loc loc,
                                 llvm::ArrayRef<mlir::NamedAttribute> attributes, mlir::Type type) {
  throwDeferred();
  mlir::OperationState state(location(loc), name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(type);
  return builder_.create(state)->getResult(0);
}

mlir::Value Tracer::emit(llvm::StringRef name, mlir::ValueRange operands, Loc loc,
                         llvm::ArrayRef<mlir::NamedAttribute> attributes, mlir::Type type) {
  std::optional<mlir::TypeRange> types;
  if (type)
    types = mlir::TypeRange(type);
  return create(name, operands, loc, attributes, types)->getResult(0);
}

mlir::Value Tracer::prologue(llvm::StringRef name, Loc loc,
                             llvm::ArrayRef<mlir::NamedAttribute> attributes, mlir::Type type,
                             mlir::ValueRange operands) {
  mlir::OpBuilder::InsertionGuard guard(builder_);
  if (lastPrologue_)
    builder_.setInsertionPointAfter(lastPrologue_);
  else
    builder_.setInsertionPointToStart(body_);
  mlir::Value v = emit(name, operands, loc, attributes, type);
  lastPrologue_ = v.getDefiningOp();
  return v;
}

mlir::Value Tracer::constant(mlir::TypedAttr value, Loc loc) {
  if (mlir::Value known = constants_.lookup(value))
    return known;
  mlir::Value v = prologue("arith.constant", loc, {named("value", value)}, value.getType());
  constants_[value] = v;
  return v;
}

mlir::Value Tracer::constant(std::int64_t value, DType type, Loc loc) {
  mlir::Type t = elementType(type, context_);
  if (type.is_float())
    return constant(builder_.getFloatAttr(t, static_cast<double>(value)), loc);
  llvm::APInt bits(t.getIntOrFloatBitWidth(), static_cast<std::uint64_t>(value), true, true);
  return constant(builder_.getIntegerAttr(t, bits), loc);
}

Handle Tracer::wrap(mlir::Value value, DType dtype, Loc loc) {
  Node *node = new Node;
  node->value = value.getAsOpaquePointer();
  node->trace = id_;
  node->dtype = dtype;
  node->where = loc;
  return Handle(node);
}

static mlir::Value valueOf(const Node &node) {
  return mlir::Value::getFromOpaquePointer(node.value);
}

/// ", made at file:line"; what a parameter is; nothing where nobody knows.
static std::string originOf(const Node &node) {
  if (!node.origin.empty())
    return ", " + node.origin;
  if (!node.where.line())
    return "";
  return ", made at " + std::string(node.where.file_name()) + ":" +
         std::to_string(node.where.line());
}

void Tracer::check(const Node &node, Loc loc) {
  if (node.trace != id_)
    throw TraceError("kernel " + kernel_ + " uses a value of another kernel" + originOf(node) +
                         "; a traced value is good in the kernel, and the trace of it, that made "
                         "it alone",
                     loc);
  mlir::Block *home = valueOf(node).getParentBlock();
  for (mlir::Block *at = builder_.getInsertionBlock(); at;) {
    if (at == home)
      return;
    mlir::Operation *parent = at->getParentOp();
    at = parent ? parent->getBlock() : nullptr;
  }
  throw TraceError("kernel " + kernel_ + " uses a value of type " +
                       typeText(valueOf(node).getType()) + originOf(node) +
                       ", outside of the loop or branch that made it; carry it out of there, or "
                       "keep it in a Var",
                   loc);
}

mlir::Value Tracer::use(const Handle &handle, Loc loc) {
  throwDeferred();
  if (!handle)
    throw TraceError("kernel " + kernel_ + " uses a value that was moved from", loc);
  const Node &node = *handle.node();
  if (node.trace) {
    check(node, loc);
    return valueOf(node);
  }
  if (auto *number = std::get_if<detail::HostNumber>(&node.host)) {
    if (node.dtype.is_float()) {
      double v = number->kind == detail::HostNumber::Kind::floating
                     ? number->floating
                     : static_cast<double>(number->integer);
      return constant(builder_.getFloatAttr(elementType(node.dtype, context_), v), loc);
    }
    return constant(number->integer, node.dtype, loc);
  }
  if (auto *lazy = std::get_if<detail::LazyIndex>(&node.host))
    return useLazy(*lazy, loc);
  auto *tuple = std::get_if<layout::IntTuple>(&node.host);
  if (tuple && !node.leaves.empty())
    return useTuple(node, *tuple, loc);
  mlir::Type type = staticType(node.host, context_);
  if (!type)
    fail("kernel " + kernel_ + ": no IR for " + describe(handle), loc);
  if (mlir::Value known = statics_.lookup(type))
    return known;
  mlir::Value v = tuple                           ? prologue("fly.make_int_tuple", loc, {}, type)
                  : mlir::fly::isStaticType(type) ? prologue("fly.static", loc, {}, type)
                                                  : makeStateful(type, loc);
  statics_[type] = v;
  return v;
}

/// An atom that carries state is no constant: it is made with the state that it starts with.
mlir::Value Tracer::makeStateful(mlir::Type type, Loc loc) {
  namespace fly = mlir::fly;
  auto part = [&](mlir::Type t) {
    return use(detail::hostHandle(detail::StaticType{typeText(t)}), loc);
  };
  if (auto atom = mlir::dyn_cast<fly::CopyAtomType>(type))
    return prologue("fly.make_copy_atom", loc,
                    {named("valBits", builder_.getI32IntegerAttr(atom.getValBits()))}, type);
  if (mlir::isa<fly::MmaAtomType>(type))
    return prologue("fly.make_mma_atom", loc, {}, type);
  if (auto copy = mlir::dyn_cast<fly::TiledCopyType>(type)) {
    mlir::Value atom = part(copy.getCopyAtom());
    mlir::Value threads = part(copy.getLayoutThrVal());
    return prologue("fly.make_tiled_copy", loc, {}, type, {atom, threads, part(copy.getTileMN())});
  }
  if (auto mma = mlir::dyn_cast<fly::TiledMmaType>(type)) {
    mlir::Value atom = part(mma.getMmaAtom());
    mlir::Value atoms = part(mma.getAtomLayout());
    return prologue("fly.make_tiled_mma", loc, {}, type, {atom, atoms, part(mma.getPermutation())});
  }
  throw TraceError("kernel " + kernel_ + ": no constant of type " + typeText(type), loc);
}

mlir::Type Tracer::typeOf(const Handle &handle, Loc loc) {
  if (!handle)
    throw TraceError("kernel " + kernel_ + " uses a value that was moved from", loc);
  const Node &node = *handle.node();
  if (node.trace) {
    check(node, loc);
    return valueOf(node).getType();
  }
  if (auto *tuple = std::get_if<layout::IntTuple>(&node.host))
    return mlir::fly::IntTupleType::get(context_, *tuple);
  if (std::holds_alternative<detail::LazyIndex>(node.host))
    return builder_.getI32Type();
  if (std::holds_alternative<detail::HostNumber>(node.host))
    return elementType(node.dtype, context_);
  return staticType(node.host, context_);
}

mlir::Value Tracer::useLazy(const detail::LazyIndex &lazy, Loc loc) {
  auto key = std::pair(lazy.op, lazy.dimension);
  if (mlir::Value known = lazies_.lookup(key))
    return known;
  llvm::SmallVector<mlir::NamedAttribute, 1> attributes;
  if (lazy.dimension)
    attributes.push_back(
        named("dimension", attribute("#gpu<dim " + std::string(lazy.dimension) + ">")));
  mlir::Value index = prologue(lazy.op, loc, attributes, builder_.getIndexType());
  mlir::Value v = prologue("arith.index_cast", loc, {}, builder_.getI32Type(), index);
  lazies_[key] = v;
  return v;
}

mlir::Value Tracer::leafValue(const detail::DynamicLeaf &leaf, Loc loc) {
  mlir::Value v = use(leaf.value, loc);
  if (leaf.part >= 0)
    return create("fly.get_leaves", v, loc, {named("dynamicOnly", builder_.getBoolAttr(true))})
        ->getResult(leaf.part);
  DType type = leaf.value.node()->dtype;
  if (type.bits() < 32)
    v = emit(type.is_signed() ? "arith.extsi" : "arith.extui", v, loc, {}, builder_.getI32Type());
  return v;
}

mlir::Value Tracer::useTuple(const Node &node, const layout::IntTuple &tuple, Loc loc) {
  llvm::SmallVector<mlir::Value, 8> operands;
  for (std::size_t i = 0; i < node.leaves.size(); ++i) {
    const detail::DynamicLeaf &leaf = node.leaves[i];
    // One get_leaves serves neighbours from one tuple.
    if (leaf.part > 0 && i > 0 && node.leaves[i - 1].value.node() == leaf.value.node() &&
        node.leaves[i - 1].part == leaf.part - 1) {
      operands.push_back(operands.back().getDefiningOp()->getResult(leaf.part));
      continue;
    }
    operands.push_back(leafValue(leaf, loc));
  }
  return emit("fly.make_int_tuple", operands, loc, {},
              mlir::fly::IntTupleType::get(context_, tuple));
}

mlir::Type tracedType(const Handle &handle, Loc loc) {
  const Node &node = *handle.node();
  Tracer *tracer = Tracer::current();
  if (!tracer || node.trace != tracer->id())
    throw TraceError("a value" + originOf(node) +
                         (originOf(node).empty() ? "" : ",") +
                         " is used outside of the kernel that made it",
                     loc);
  return valueOf(node).getType();
}

detail::HostValue hostView(const Handle &handle, Loc loc) {
  if (!handle)
    throw TraceError("a value that was moved from is used", loc);
  const Node &node = *handle.node();
  if (node.trace)
    return valueOfStaticType(tracedType(handle, loc));
  if (!node.leaves.empty())
    return {};
  return node.host;
}

std::string describe(const Handle &handle) {
  if (!handle)
    return "(moved from)";
  const Node &node = *handle.node();
  if (node.trace) {
    Tracer *tracer = Tracer::current();
    return tracer && node.trace == tracer->id() ? typeText(valueOf(node).getType())
                                                : "(a value of a finished kernel)";
  }
  return std::visit(
      []<class T>(const T &v) -> std::string {
        if constexpr (requires { v.str(); })
          return v.str();
        else if constexpr (std::is_same_v<T, detail::HostNumber>)
          return v.kind == detail::HostNumber::Kind::floating ? std::to_string(v.floating)
                                                              : std::to_string(v.integer);
        else if constexpr (std::is_same_v<T, detail::StaticType>)
          return v.text;
        else if constexpr (std::is_same_v<T, detail::LazyIndex>)
          return v.op;
        else
          return "(empty)";
      },
      node.host);
}

} // namespace flydsl::builder
