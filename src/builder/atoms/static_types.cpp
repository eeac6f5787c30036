#include "builder/atoms/static_types.h"

#include "builder/trace/dialects.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"
#include "support/fork.h"

#include "mlir/AsmParser/AsmParser.h"

#include <mutex>

namespace flydsl::builder {

static mlir::Type parsed(const std::string &text, Loc loc) {
  if (Tracer *t = Tracer::current()) {
    mlir::Type type = mlir::parseType(text, t->context());
    if (!type)
      t->fail("no such instruction or tiling: " + text, loc);
    return type;
  }
  // Diagnostic handlers belong to the context, so one thread asks at a time.
  static std::mutex *mutex = [] {
    auto *made = new std::mutex;
    support::holdAtFork(*made);
    return made;
  }();
  std::lock_guard lock(*mutex);
  mlir::MLIRContext &context = hostContext();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    message += (message.empty() ? "" : "\n") + d.str();
    return mlir::success();
  });
  mlir::Type type = mlir::parseType(text, &context);
  if (!type)
    throw TraceError("no such instruction or tiling: " + text + ": " + message, loc);
  return type;
}

Handle staticOf(const std::string &text, Loc loc, DType values) {
  parsed(text, loc);
  return detail::hostHandle(detail::StaticType{text}, values);
}

Handle staticOf(mlir::Type type, Loc loc) {
  return detail::hostHandle(detail::StaticType{typeText(type)});
}

mlir::Type atomType(const Handle &handle, Loc loc) {
  if (handle.node()->trace)
    return tracedType(handle, loc);
  if (auto *type = detail::hostAs<detail::StaticType>(handle))
    return parsed(type->text, loc);
  throw TraceError("expected an atom or a tiled operation, got " + describe(handle), loc);
}

static mlir::Type instructionOf(mlir::Type type) {
  if (auto tiled = mlir::dyn_cast<mlir::fly::TiledCopyType>(type))
    type = tiled.getCopyAtom();
  else if (auto tiled = mlir::dyn_cast<mlir::fly::TiledMmaType>(type))
    type = tiled.getMmaAtom();
  if (auto atom = mlir::dyn_cast<mlir::fly::CopyAtomType>(type))
    return atom.getCopyOp();
  if (auto atom = mlir::dyn_cast<mlir::fly::MmaAtomType>(type))
    return atom.getMmaOp();
  return type;
}

void expectOnTarget(mlir::Type type, Loc loc) {
  Tracer *t = Tracer::current();
  if (!t || !t->targetIfKnown())
    return;
  std::string missing = mlir::fly_rocdl::missingOn(instructionOf(type), *t->targetIfKnown());
  if (!missing.empty())
    throw TraceError(missing, loc);
}

std::string staticText(const Handle &handle) {
  auto *type = detail::hostAs<detail::StaticType>(handle);
  return type ? type->text : std::string();
}

const char *atomicName(AtomicOp op, DType type, Loc loc) {
  static constexpr const char *names[] = {"add", "max", "min", "and", "or", "inc", "dec"};
  const auto index = static_cast<std::size_t>(op);
  if (index >= std::size(names))
    throw TraceError(
        "an atomic atom adds, takes max and min, and, or, inc and dec; fx::atomic does "
        "xor and exchange",
        loc);
  if ((op == AtomicOp::max || op == AtomicOp::min) && type.is_integer() && !type.is_signed())
    throw TraceError("an atomic atom compares integers as signed ones, not as " +
                         std::string(type.name()) + "; fx::atomic compares unsigned ones",
                     loc);
  return names[index];
}

std::string elementText(DType type) { return std::string(type.ir_name()); }

} // namespace flydsl::builder
