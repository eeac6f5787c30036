// Copy and multiply instructions ("atoms"): the work of one call each.
#pragma once

#include <flydsl/kernel/numeric.h>
#include <flydsl/layout/layout.h>

FLYDSL_NAMESPACE_BEGIN

/// The instruction of a copy atom, for example UniversalCopy(128).
class FLYDSL_API CopyOp : public Value {
public:
  using Value::Value;
};

/// The instruction of an mma atom, for example rocdl::MFMA(16, 16, 4, fx::f32).
class FLYDSL_API MmaOp : public Value {
public:
  using Value::Value;
};

/// How long caches are to keep what a copy moves.
enum class CachePolicy {
  cached,       ///< as long as there is room
  non_temporal, ///< not long: the data is not needed again soon, and others may have the room
};

/// A plain load or store of `bits` (8 to 128); the memories involved decide which instruction it
/// is.
FLYDSL_API CopyOp UniversalCopy(int bits, Loc loc = Loc::current());
/// The same with a cache policy. One that is not cached moves data from or to global memory.
FLYDSL_API CopyOp UniversalCopy(int bits, CachePolicy cache, Loc loc = Loc::current());
inline CopyOp UniversalCopy8b(Loc loc = Loc::current()) { return UniversalCopy(8, loc); }
inline CopyOp UniversalCopy16b(Loc loc = Loc::current()) { return UniversalCopy(16, loc); }
inline CopyOp UniversalCopy32b(Loc loc = Loc::current()) { return UniversalCopy(32, loc); }
inline CopyOp UniversalCopy64b(Loc loc = Loc::current()) { return UniversalCopy(64, loc); }
inline CopyOp UniversalCopy128b(Loc loc = Loc::current()) { return UniversalCopy(128, loc); }

/// The operation of an atomic access. Copy atoms support those up to `dec`; they treat integers as
/// signed in minimum and maximum.
enum class AtomicOp { add, max, min, and_, or_, inc, dec, xor_, exchange };
/// A copy that atomically combines the source with the destination's value. `scope` is LLVM's sync
/// scope; the empty one is the whole system.
FLYDSL_API CopyOp UniversalAtomic(AtomicOp op, DType type, const char *scope = "",
                                  Loc loc = Loc::current());
/// One multiply-add of one thread.
FLYDSL_API MmaOp UniversalFMA(DType type, Loc loc = Loc::current());

namespace detail {
FLYDSL_API Handle atomSet(const Handle &atom, const char *field, const Handle &value, Loc loc);
} // namespace detail

/// A copy instruction together with the width of the elements that it moves.
class FLYDSL_API CopyAtom : public Value, public detail::StaticParam<CopyAtom> {
public:
  using Value::Value;
  /// The number of bits of an element.
  int val_bits(Loc loc = Loc::current()) const;
  /// The threads that execute the instruction together.
  Layout thr_layout(Loc loc = Loc::current()) const;
  /// The same as thr_layout.
  Layout thr_id(Loc loc = Loc::current()) const { return thr_layout(loc); }
  /// The layout (thread, value) -> element of the moved block, in the order in which the source is
  /// read.
  Layout layout_src_tv(Loc loc = Loc::current()) const;
  /// The same, in the order in which the destination is written.
  Layout layout_dst_tv(Loc loc = Loc::current()) const;
  /// The same, in the order by which a tiled copy divides its tile.
  Layout layout_ref_tv(Loc loc = Loc::current()) const;
  /// The atom with a value for one of its instruction's operands, by the operand's name ("soffset",
  /// ...).
  CopyAtom set_value(const char *field, const Numeric::Arg &value) const {
    return CopyAtom(detail::atomSet(handle_, field, value.handle, value.loc));
  }
};

/// A multiply instruction.
class FLYDSL_API MmaAtom : public Value, public detail::StaticParam<MmaAtom> {
public:
  using Value::Value;
  /// The threads that execute the instruction together.
  Layout thr_layout(Loc loc = Loc::current()) const;
  /// The same as thr_layout.
  Layout thr_id(Loc loc = Loc::current()) const { return thr_layout(loc); }
  /// The extents of one call in M, N and K.
  IntTuple shape_mnk(Loc loc = Loc::current()) const;
  /// The layout (thread, value) -> element of the operand's tile, counted in column-major order.
  Layout layout_A_tv(Loc loc = Loc::current()) const;
  Layout layout_B_tv(Loc loc = Loc::current()) const;
  Layout layout_C_tv(Loc loc = Loc::current()) const;
  /// The atom with a value for one of its instruction's operands, by the operand's name.
  MmaAtom set_value(const char *field, const Numeric::Arg &value) const {
    return MmaAtom(detail::atomSet(handle_, field, value.handle, value.loc));
  }
};

/// The atom of an instruction for elements of a type, or of a width in bits. An atom made for a
/// type copies only elements of that type's width; one made for a width moves any elements that
/// have these bits.
FLYDSL_API CopyAtom make_copy_atom(const CopyOp &op, DType type, Loc loc = Loc::current());
FLYDSL_API CopyAtom make_copy_atom(const CopyOp &op, int bits, Loc loc = Loc::current());
FLYDSL_API MmaAtom make_mma_atom(const MmaOp &op, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
