#include "builder/rocdl/intrinsic.h"

#include "builder/memory/address.h"
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"

namespace flydsl::builder {

mlir::Type typeOf(Tracer &t, const rocdl::ResultType &result, Loc loc) {
  mlir::Type element = elementType(result.type, t.context());
  if (!result.size)
    return element;
  if (*result.size < 1)
    throw TraceError("a result of " + std::to_string(*result.size) + " elements of " +
                         std::string(result.type.name()) +
                         "; a vector has at least one, and a result without a size is a scalar",
                     loc);
  return mlir::VectorType::get(*result.size, element);
}

mlir::Value callIntrinsic(Tracer &t, llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type type, Loc loc) {
  if (type)
    return t.create<mlir::LLVM::CallIntrinsicOp>(loc, type, t.ir.string(name), operands)
        .getResult(0);
  t.create<mlir::LLVM::CallIntrinsicOp>(loc, t.ir.string(name), operands);
  return {};
}

} // namespace flydsl::builder

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

using builder::Tracer;
using detail::Handle;
namespace LLVM = mlir::LLVM;

using ResultTypes = std::initializer_list<ResultType>;
using Arguments = std::initializer_list<IntrinsicArg>;

/// The type of a call's result: none, the type of the one, or a struct of several.
static mlir::Type typeOfAll(Tracer &t, ResultTypes results, Loc loc) {
  if (results.size() == 0)
    return {};
  if (results.size() == 1)
    return builder::typeOf(t, *results.begin(), loc);
  llvm::SmallVector<mlir::Type, 4> types;
  for (const ResultType &result : results)
    types.push_back(builder::typeOf(t, result, loc));
  return LLVM::LLVMStructType::getLiteral(t.context(), types);
}

/// The results of a call whose result has the type that `typeOfAll` gives.
static std::vector<Handle> partsOf(Tracer &t, mlir::Value call, ResultTypes results, Loc loc) {
  std::vector<Handle> parts;
  if (results.size() == 1) {
    parts.push_back(t.wrap(call, results.begin()->type, loc));
    return parts;
  }
  for (const ResultType &result : results)
    parts.push_back(t.wrap(t.create<LLVM::ExtractValueOp>(loc, call, std::int64_t(parts.size())),
                           result.type, loc));
  return parts;
}

static mlir::Value valueOf(Tracer &t, const IntrinsicArg &argument, Loc loc) {
  const bool isPointer =
      detail::isTraced(argument.handle) &&
      mlir::isa<mlir::fly::PointerType>(builder::tracedType(&t, argument.handle, loc));
  if (!isPointer)
    return detail::operand(t, argument.handle, loc).value;
  if (auto type = builder::addressable(t, argument.handle, loc))
    return builder::llvmPointer(t, argument.handle, *type, loc);
  throw TraceError("an instruction takes a pointer to global or shared memory, not " +
                       detail::describe(argument.handle) +
                       "; fx::rocdl::buffer_descriptor gives a buffer's descriptor",
                   loc);
}

static llvm::SmallVector<mlir::Value, 8> valuesOf(Tracer &t, Arguments arguments, Loc loc) {
  llvm::SmallVector<mlir::Value, 8> values;
  for (const IntrinsicArg &a : arguments)
    values.push_back(valueOf(t, a, loc));
  return values;
}

static std::vector<Handle> callOf(const char *name, ResultTypes results, Arguments arguments,
                                  Loc loc) {
  llvm::StringRef known = name;
  known.consume_front("llvm.amdgcn.");
  Tracer &t = Tracer::require(known.data(), loc);
  if (llvm::Intrinsic::lookupIntrinsicID(name) == llvm::Intrinsic::not_intrinsic)
    throw TraceError("LLVM " LLVM_VERSION_STRING " has no intrinsic " + std::string(name), loc);
  mlir::Value v =
      builder::callIntrinsic(t, name, valuesOf(t, arguments, loc), typeOfAll(t, results, loc), loc);
  return v ? partsOf(t, v, results, loc) : std::vector<Handle>();
}

/// LLVM would take the process down over constraints that do not fit.
static void expectConstraints(const Tracer &t, const char *constraints, std::size_t results,
                              std::size_t arguments, Loc loc) {
  const auto infos = llvm::InlineAsm::ParseConstraints(constraints);
  const std::string quoted = "the constraints \"" + std::string(constraints) + "\"";
  if (infos.empty() && *constraints)
    throw TraceError(quoted + " of inline_asm can't be read; they are as LLVM's, \"=v,v,s\"", loc);
  std::size_t outputs = 0, inputs = 0;
  for (const llvm::InlineAsm::ConstraintInfo &info : infos) {
    outputs += info.Type == llvm::InlineAsm::isOutput;
    inputs += info.Type == llvm::InlineAsm::isInput;
    for (const std::string &code : info.Codes)
      if (code == "a" || code.starts_with("{a"))
        t.kernel.targetWith(Feature::accumulation_registers,
                            "inline_asm with accumulation registers", loc);
  }
  const auto counted = [](std::size_t n, const char *what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  if (outputs != results || inputs != arguments)
    throw TraceError(quoted + " name " + counted(outputs, "output") + " and " +
                         counted(inputs, "input") + ", but inline_asm is called with " +
                         counted(results, "result") + " and " + counted(arguments, "argument"),
                     loc);
}

static std::vector<Handle> assemblyOf(const char *text, const char *constraints,
                                      ResultTypes results, Arguments arguments, bool sideEffects,
                                      Loc loc) {
  Tracer &t = Tracer::require("inline_asm", loc);
  expectConstraints(t, constraints, results.size(), arguments.size(), loc);
  mlir::Type type = typeOfAll(t, results, loc);
  auto op =
      t.create<LLVM::InlineAsmOp>(loc, type ? mlir::TypeRange(type) : mlir::TypeRange(),
                                  valuesOf(t, arguments, loc), text, constraints, sideEffects,
                                  /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                  LLVM::AsmDialectAttr(), mlir::ArrayAttr());
  return type ? partsOf(t, op.getRes(), results, loc) : std::vector<Handle>();
}

/// The struct of one element is no struct for LLVM; the functions with one result are for it.
static void expectSeveral(const char *what, std::size_t results, Loc loc) {
  if (results < 2)
    throw TraceError(std::string(what) + "_struct has at least two results, not " +
                         std::to_string(results) + "; fx::rocdl::" + what + " has one or none",
                     loc);
}

Results intrinsic_struct(const char *name, ResultTypes results, Arguments arguments, Loc loc) {
  expectSeveral("intrinsic", results.size(), loc);
  return Results(callOf(name, results, arguments, loc));
}

Results inline_asm_struct(const char *text, const char *constraints, ResultTypes results,
                          Arguments arguments, bool sideEffects, Loc loc) {
  expectSeveral("inline_asm", results.size(), loc);
  return Results(assemblyOf(text, constraints, results, arguments, sideEffects, loc));
}

const Handle &Results::at(std::size_t i, bool isVector, Loc loc) const {
  if (i >= handles_.size())
    throw TraceError("result " + std::to_string(i) + " of " + std::to_string(handles_.size()), loc);
  const auto type = detail::tracedType(handles_[i], loc);
  if (mlir::isa<mlir::VectorType>(type) != isVector)
    throw TraceError("result " + std::to_string(i) + " is " + detail::describe(handles_[i]) +
                         (isVector ? ", no vector; [] gives it"
                                   : ", no scalar; .vector(" + std::to_string(i) + ") gives it"),
                     loc);
  return handles_[i];
}
Numeric Results::scalar(std::size_t i, Loc loc) const { return Numeric(at(i, false, loc)); }
Vector Results::vector(std::size_t i, Loc loc) const { return Vector(at(i, true, loc)); }

namespace impl {

static Handle only(const std::vector<Handle> &parts) {
  return parts.empty() ? Handle() : parts.front();
}

Handle intrinsic(const char *name, ResultType result, Arguments arguments, Loc loc) {
  return only(result.type ? callOf(name, {result}, arguments, loc)
                          : callOf(name, {}, arguments, loc));
}

Handle inlineAsm(const char *text, const char *constraints, ResultType result, Arguments arguments,
                 bool sideEffects, Loc loc) {
  return only(result.type ? assemblyOf(text, constraints, {result}, arguments, sideEffects, loc)
                          : assemblyOf(text, constraints, {}, arguments, sideEffects, loc));
}

} // namespace impl
} // namespace rocdl
FLYDSL_NAMESPACE_END
