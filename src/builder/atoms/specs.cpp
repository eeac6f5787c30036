#include "builder/atoms/specs.h"

#include "builder/trace/dialects.h"
#include "dialect/Fly/Interfaces/VendorInterface.h"

namespace flydsl::builder {

namespace fly = mlir::fly;

namespace {

/// What verifiers say of types that can't be. They are made in a context of this class, since
/// handlers of diagnostics belong to a context, and the host's serves many threads.
class Refusal {
public:
  mlir::InFlightDiagnostic emit() { return mlir::emitError(mlir::UnknownLoc::get(&context_)); }
  std::string text() { return diagnostics_.take(); }

private:
  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  Diagnostics diagnostics_{context_};
};

mlir::MLIRContext &contextOf(const Tracer *running) {
  return running ? *running->context() : hostContext();
}

} // namespace

Handle staticOf(const Tracer *running, detail::AtomSpec spec, Loc loc, DType values) {
  std::optional<Refusal> refusal;
  auto emitError = [&] {
    if (!refusal)
      refusal.emplace();
    return refusal->emit();
  };
  if (!detail::typeOf(spec, contextOf(running), emitError))
    throw TraceError("no such instruction or tiling: " +
                         (refusal ? refusal->text() : "the types don't fit"),
                     loc);
  return detail::hostHandle(std::move(spec), values);
}

const detail::AtomInstructionRef &instructionOf(const Tracer *running, const Handle &op, Loc loc) {
  if (auto *instruction = specOf<detail::AtomInstructionRef>(op))
    return *instruction;
  throw TraceError("expected an instruction, got " + describe(running, op), loc);
}

mlir::Type atomType(const Tracer *running, const Handle &handle, Loc loc) {
  if (detail::isTraced(handle))
    return tracedType(running, handle, loc);
  if (detail::hostAs<detail::AtomSpec>(handle))
    return staticType(handle.node()->host()->value, &contextOf(running));
  throw TraceError("expected an atom or a tiled operation, got " + describe(running, handle), loc);
}

void expectOnTarget(const Tracer *running, mlir::Type type, Loc loc) {
  if (!running || !running->kernel.target)
    return;
  const mlir::Type ofAtom = fly::instructionOf(type), instruction = ofAtom ? ofAtom : type;
  if (const auto *vendor = fly::VendorInterface::of(instruction))
    if (std::string missing =
            vendor->missingOn(instruction, *running->kernel.target, /*byName=*/false);
        !missing.empty())
      throw TraceError(missing, loc);
}

fly::AtomicOp atomicOf(AtomicOp op, DType type, Loc loc) {
  const bool isUnsigned = type.is_integer() && !type.is_signed();
  auto compared = [&](fly::AtomicOp comparison) {
    if (isUnsigned)
      throw TraceError("an atomic atom compares integers as signed ones, not as " +
                           std::string(type.name()) + "; fx::atomic compares unsigned ones",
                       loc);
    return comparison;
  };
  switch (op) {
  case AtomicOp::add:
    return fly::AtomicOp::Add;
  case AtomicOp::max:
    return compared(fly::AtomicOp::Max);
  case AtomicOp::min:
    return compared(fly::AtomicOp::Min);
  case AtomicOp::and_:
    return fly::AtomicOp::And;
  case AtomicOp::or_:
    return fly::AtomicOp::Or;
  case AtomicOp::inc:
    return fly::AtomicOp::Inc;
  case AtomicOp::dec:
    return fly::AtomicOp::Dec;
  case AtomicOp::xor_:
  case AtomicOp::exchange:
    break;
  }
  throw TraceError("an atomic atom adds, takes max and min, and, or, inc and dec; fx::atomic does "
                   "xor and exchange",
                   loc);
}

} // namespace flydsl::builder
