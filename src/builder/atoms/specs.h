// Atoms and tiled operations: values that their IR type determines.
#pragma once

#include "builder/trace/tracer.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include <flydsl/kernel/atom.h>

#include <tuple>

namespace flydsl::builder {

// `running` is the trace in progress, null outside of any.

/// A value of this static type. What the type's verifier refuses is a TraceError. `values` is the
/// element type that an atom was made for, if any.
Handle staticOf(const Tracer *running, detail::AtomSpec spec, Loc loc, DType values = {});
/// What a static atom or tiled operation is; null for one with state of the kernel.
template <class Spec> const Spec *specOf(const Handle &handle) {
  auto *spec = detail::hostAs<detail::AtomSpec>(handle);
  return spec ? std::get_if<Spec>(spec) : nullptr;
}
/// The instruction of an atom, which is always static.
const detail::AtomInstructionRef &instructionOf(const Tracer *running, const Handle &op, Loc loc);

/// The IR type of an atom or tiled operation, in the running trace's context, or in the host's.
mlir::Type atomType(const Tracer *running, const Handle &handle, Loc loc);
/// A TraceError if the trace's target is known and has no such instruction; it says what the
/// target has. The type is that of an instruction, an atom, or a tiled operation.
void expectOnTarget(const Tracer *running, mlir::Type type, Loc loc);
/// The operation of an atom on elements of a type; a TraceError if atoms have none.
mlir::fly::AtomicOp atomicOf(AtomicOp op, DType type, Loc loc);

/// A parameter of an instruction as one of its type in a context.
inline mlir::Type inContext(DType type, mlir::MLIRContext &context) {
  return elementType(type, &context);
}
inline mlir::fly::AtomicOpAttr inContext(mlir::fly::AtomicOp op, mlir::MLIRContext &context) {
  return mlir::fly::AtomicOpAttr::get(&context, op);
}
inline llvm::StringRef inContext(const std::string &text, mlir::MLIRContext &) { return text; }
inline int inContext(int number, mlir::MLIRContext &) { return number; }
inline bool inContext(bool flag, mlir::MLIRContext &) { return flag; }

/// The instruction that the dialect's type `Type` is, of these parameters.
template <class Type, class... Parameters>
class InstructionOf final : public detail::AtomInstruction {
public:
  explicit InstructionOf(Parameters... parameters) : parameters_(std::move(parameters)...) {}
  mlir::Type type(mlir::MLIRContext &context, detail::EmitError emitError) const override {
    return std::apply(
        [&](const Parameters &...p) -> mlir::Type {
          return Type::getChecked(emitError, &context, inContext(p, context)...);
        },
        parameters_);
  }

private:
  std::tuple<Parameters...> parameters_;
};

/// A value of an instruction. An element type that is none is a TraceError.
template <class Type, class... Parameters>
Handle instruction(const Tracer *running, Loc loc, Parameters... parameters) {
  auto expectType = [&](const auto &parameter) {
    if constexpr (std::is_same_v<std::decay_t<decltype(parameter)>, DType>)
      if (!parameter)
        throw TraceError("an instruction is asked for without an element type", loc);
  };
  (expectType(parameters), ...);
  return staticOf(
      running, std::make_shared<const InstructionOf<Type, Parameters...>>(std::move(parameters)...),
      loc);
}

} // namespace flydsl::builder
