// Copy and mma atoms of any target.
#include <flydsl/kernel/atom.h>

#include "builder/atoms/specs.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::atomType;
using builder::staticOf;
using builder::Tracer;
using detail::Handle;
using detail::hostHandle;
namespace fly = mlir::fly;

CopyOp UniversalCopy(int bits, Loc loc) { return UniversalCopy(bits, CachePolicy::cached, loc); }

CopyOp UniversalCopy(int bits, CachePolicy cache, Loc loc) {
  if (bits < 8 || bits > 128 || (bits & (bits - 1)))
    throw TraceError("UniversalCopy moves 8, 16, 32, 64 or 128 bits, not " + std::to_string(bits),
                     loc);
  return CopyOp(builder::instruction<fly::CopyOpUniversalCopyType>(
      detail::running(), loc, bits, cache == CachePolicy::non_temporal));
}

CopyOp UniversalAtomic(AtomicOp op, DType type, const char *scope, Loc loc) {
  return CopyOp(builder::instruction<fly::CopyOpUniversalAtomicType>(
      detail::running(), loc, builder::atomicOf(op, type, loc), type, std::string(scope)));
}

MmaOp UniversalFMA(DType type, Loc loc) {
  return MmaOp(builder::instruction<fly::MmaOpUniversalFMAType>(detail::running(), loc, type));
}

static CopyAtom copyAtomOf(const CopyOp &op, int bits, DType type, Loc loc) {
  const Tracer *running = detail::running();
  return CopyAtom(staticOf(
      running, detail::CopyAtomSpec{builder::instructionOf(running, op.handle(), loc), bits}, loc,
      type));
}

CopyAtom make_copy_atom(const CopyOp &op, int bits, Loc loc) {
  return copyAtomOf(op, bits, {}, loc);
}

CopyAtom make_copy_atom(const CopyOp &op, DType type, Loc loc) {
  return copyAtomOf(op, type.bits(), type, loc);
}

MmaAtom make_mma_atom(const MmaOp &op, Loc loc) {
  const Tracer *running = detail::running();
  return MmaAtom(staticOf(
      running, detail::MmaAtomSpec{builder::instructionOf(running, op.handle(), loc)}, loc));
}

namespace detail {

/// The atom has an operand of that name, and a float is not taken for the bits of an integer.
static void expectOperand(Tracer &t, mlir::Value atom, const char *field, mlir::Value part,
                          Loc loc) {
  const mlir::Type instruction = fly::instructionOf(atom.getType());
  auto stateful = mlir::dyn_cast_or_null<fly::StatefulOpTypeInterface>(instruction);
  if (stateful && stateful.isCompoundField(field))
    return;
  const std::optional<unsigned> index =
      stateful ? stateful.getStateFieldIndex(field) : std::optional<unsigned>();
  if (!index)
    throw TraceError("the instruction " + builder::typeText(instruction) + " has no operand '" +
                         field + "'; the documentation of each atom names its operands",
                     loc);
  const mlir::Type expected = stateful.getStateFieldTypes()[*index];
  if (mlir::isa<mlir::FloatType>(part.getType()) && mlir::isa<mlir::IntegerType>(expected))
    throw TraceError("the operand '" + std::string(field) + "' is an integer, " +
                         builder::typeText(expected) + ", not " +
                         builder::typeText(part.getType()) + "; .to(fx::i32) converts",
                     loc);
}

Handle atomSet(const Handle &atom, const char *field, const Handle &value, Loc loc) {
  Tracer &t = Tracer::require("an atom's set_value", loc);
  Handle number = hostAs<HostNumber>(value)
                      ? constant(*hostAs<HostNumber>(value), dtypeOf(value, loc), loc)
                      : value;
  mlir::Value whole = t.use(atom, loc), part = t.use(number, loc);
  expectOperand(t, whole, field, part, loc);
  fly::AtomSetValueOp::Properties properties;
  properties.field = t.ir.string(field);
  mlir::Value v = t.emit<fly::AtomSetValueOp>(loc, {whole, part}, properties);
  return t.wrap(v, atom.node()->dtype, loc);
}

} // namespace detail

static fly::CopyAtomType copyAtom(const CopyAtom &atom, Loc loc) {
  if (auto type =
          mlir::dyn_cast<fly::CopyAtomType>(atomType(detail::running(), atom.handle(), loc)))
    return type;
  throw TraceError("expected a copy atom, got " + atom.str(), loc);
}

static fly::MmaAtomType mmaAtom(const MmaAtom &atom, Loc loc) {
  if (auto type = mlir::dyn_cast<fly::MmaAtomType>(atomType(detail::running(), atom.handle(), loc)))
    return type;
  throw TraceError("expected an mma atom, got " + atom.str(), loc);
}

template <class Fn> static Layout asLayout(Loc loc, Fn fn) {
  return Layout(builder::layoutErrorsAt(loc, [&] { return hostHandle(fn()); }));
}

int CopyAtom::val_bits(Loc loc) const { return copyAtom(*this, loc).getValBits(); }
Layout CopyAtom::thr_layout(Loc loc) const {
  return asLayout(loc, [&] { return copyAtom(*this, loc).getThrLayout(); });
}
Layout CopyAtom::layout_src_tv(Loc loc) const {
  return asLayout(loc, [&] { return copyAtom(*this, loc).getThrValLayoutSrc(); });
}
Layout CopyAtom::layout_dst_tv(Loc loc) const {
  return asLayout(loc, [&] { return copyAtom(*this, loc).getThrValLayoutDst(); });
}
Layout CopyAtom::layout_ref_tv(Loc loc) const {
  return asLayout(loc, [&] { return copyAtom(*this, loc).getThrValLayoutRef(); });
}

Layout MmaAtom::thr_layout(Loc loc) const {
  return asLayout(loc, [&] { return mmaAtom(*this, loc).getThrLayout(); });
}
IntTuple MmaAtom::shape_mnk(Loc loc) const {
  return IntTuple(
      builder::layoutErrorsAt(loc, [&] { return hostHandle(mmaAtom(*this, loc).getShapeMNK()); }));
}
Layout MmaAtom::layout_A_tv(Loc loc) const {
  return asLayout(loc, [&] { return mmaAtom(*this, loc).getThrValLayout(fly::MmaOperand::A); });
}
Layout MmaAtom::layout_B_tv(Loc loc) const {
  return asLayout(loc, [&] { return mmaAtom(*this, loc).getThrValLayout(fly::MmaOperand::B); });
}
Layout MmaAtom::layout_C_tv(Loc loc) const {
  return asLayout(loc, [&] { return mmaAtom(*this, loc).getThrValLayout(fly::MmaOperand::C); });
}

FLYDSL_NAMESPACE_END
