#include "builder/trace/atom_spec.h"

#include "dialect/Fly/IR/FlyTypes.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace fly = mlir::fly;

static mlir::Type typeOf(const AtomInstructionRef &instruction, mlir::MLIRContext &context,
                         EmitError emitError) {
  return instruction->type(context, emitError);
}

static fly::CopyAtomType typeOf(const CopyAtomSpec &atom, mlir::MLIRContext &context,
                                EmitError emitError) {
  mlir::Type instruction = atom.instruction->type(context, emitError);
  return instruction
             ? fly::CopyAtomType::getChecked(emitError, &context, instruction, atom.valueBits)
             : fly::CopyAtomType();
}

static fly::MmaAtomType typeOf(const MmaAtomSpec &atom, mlir::MLIRContext &context,
                               EmitError emitError) {
  mlir::Type instruction = atom.instruction->type(context, emitError);
  return instruction ? fly::MmaAtomType::getChecked(emitError, &context, instruction)
                     : fly::MmaAtomType();
}

static mlir::Type typeOf(const TiledCopySpec &copy, mlir::MLIRContext &context,
                         EmitError emitError) {
  fly::CopyAtomType atom = typeOf(copy.atom, context, emitError);
  if (!atom)
    return {};
  return fly::TiledCopyType::getChecked(emitError, &context, atom,
                                        fly::LayoutType::get(&context, copy.threadsAndValues),
                                        fly::TileType::get(&context, copy.tile));
}

static mlir::Type typeOf(const TiledMmaSpec &mma, mlir::MLIRContext &context, EmitError emitError) {
  fly::MmaAtomType atom = typeOf(mma.atom, context, emitError);
  if (!atom)
    return {};
  return fly::TiledMmaType::getChecked(emitError, &context, atom,
                                       fly::LayoutType::get(&context, mma.atoms),
                                       fly::TileType::get(&context, mma.permutation));
}

mlir::Type typeOf(const AtomSpec &spec, mlir::MLIRContext &context, EmitError emitError) {
  return std::visit([&](const auto &s) -> mlir::Type { return typeOf(s, context, emitError); },
                    spec);
}

} // namespace detail
FLYDSL_NAMESPACE_END
