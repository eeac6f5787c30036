// Copy and mma atoms of any target.
#include <flydsl/atom.h>

#include "builder/trace/guard.h"
#include "builder/atoms/static_types.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::atomType;
using builder::staticOf;
using builder::Tracer;
using detail::Handle;
using detail::hostHandle;
namespace fly = mlir::fly;

CopyOp UniversalCopy(int bits, Loc loc) {
  if (bits < 8 || bits > 128 || (bits & (bits - 1)))
    throw TraceError("UniversalCopy moves 8, 16, 32, 64 or 128 bits, not " + std::to_string(bits),
                     loc);
  return CopyOp(staticOf("!fly.universal_copy<" + std::to_string(bits) + ">", loc));
}

CopyOp UniversalAtomic(AtomicOp op, DType type, const char *scope, Loc loc) {
  std::string text = std::string("!fly.universal_atomic<") + builder::atomicName(op, type, loc) +
                     ", " + builder::elementText(type);
  if (*scope)
    text += std::string(", \"") + scope + "\"";
  return CopyOp(staticOf(text + ">", loc));
}

MmaOp UniversalFMA(DType type, Loc loc) {
  std::string t = builder::elementText(type);
  return MmaOp(staticOf("!fly.universal_fma<1x1x1, (" + t + ", " + t + ") -> " + t + ">", loc));
}

static CopyAtom copyAtomOf(const CopyOp &op, int bits, DType type, Loc loc) {
  return CopyAtom(staticOf("!fly.copy_atom<" + builder::staticText(op.handle()) + ", " +
                               std::to_string(bits) + ">",
                           loc, type));
}

CopyAtom make_copy_atom(const CopyOp &op, int bits, Loc loc) {
  return copyAtomOf(op, bits, {}, loc);
}

CopyAtom make_copy_atom(const CopyOp &op, DType type, Loc loc) {
  return copyAtomOf(op, type.bits(), type, loc);
}

MmaAtom make_mma_atom(const MmaOp &op, Loc loc) {
  return MmaAtom(staticOf("!fly.mma_atom<" + builder::staticText(op.handle()) + ">", loc));
}

namespace detail {

Handle atomSet(const Handle &atom, const char *field, const Handle &value, Loc loc) {
  Tracer &t = Tracer::require("an atom's set_value", loc);
  Handle number = hostAs<HostNumber>(value)
                      ? constant(*hostAs<HostNumber>(value), dtypeOf(value, loc), loc)
                      : value;
  mlir::Value v = t.emit("fly.atom.set_value", {t.use(atom, loc), t.use(number, loc)}, loc,
                         {t.named("field", t.string(field))});
  return t.wrap(v, atom.node()->dtype, loc);
}

} // namespace detail

static fly::CopyAtomType copyAtom(const CopyAtom &atom, Loc loc) {
  if (auto type = mlir::dyn_cast<fly::CopyAtomType>(atomType(atom.handle(), loc)))
    return type;
  throw TraceError("expected a copy atom, got " + atom.str(), loc);
}

static fly::MmaAtomType mmaAtom(const MmaAtom &atom, Loc loc) {
  if (auto type = mlir::dyn_cast<fly::MmaAtomType>(atomType(atom.handle(), loc)))
    return type;
  throw TraceError("expected an mma atom, got " + atom.str(), loc);
}

template <class Fn> static Layout asLayout(Loc loc, Fn fn) {
  return Layout(builder::guarded(loc, [&] { return hostHandle(fn()); }));
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
      builder::guarded(loc, [&] { return hostHandle(mmaAtom(*this, loc).getShapeMNK()); }));
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
