// AMD's instructions one by one: across lanes, conversions, raw buffers, raw matrix instructions,
// and whatever else LLVM has an intrinsic or the assembler a text for. What a target does not have
// is a TraceError that names those which have it.
#pragma once

#include <flydsl/gpu.h>
#include <flydsl/rocdl/atoms.h>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

//===-- Lanes -------------------------------------------------------------===//

/// The first active lane's value, in all lanes.
FLYDSL_API Numeric readfirstlane(const Numeric &value, Loc loc = Loc::current());
/// A given lane's value, in all lanes.
FLYDSL_API Numeric readlane(const Numeric &value, const Numeric::Arg &lane);
/// A bit per lane of the wave: 64 bits on CDNA, 32 on RDNA.
FLYDSL_API Numeric ballot(const Boolean &condition, Loc loc = Loc::current());
/// The value of lane `byte_index / 4`, of 32 bits.
FLYDSL_API Numeric ds_bpermute(const Numeric &byte_index, const Numeric &value,
                               Loc loc = Loc::current());
/// The value of the lane that ds_swizzle's offset says, of 32 bits.
FLYDSL_API Numeric ds_swizzle(const Numeric &value, int offset, Loc loc = Loc::current());
/// The value of another lane by a DPP control word; lanes that are masked out or have no source
/// keep `old`.
FLYDSL_API Numeric update_dpp(const Numeric &old, const Numeric &value, int control,
                              int row_mask = 0xf, int bank_mask = 0xf, bool bound_control = false,
                              Loc loc = Loc::current());
/// Bytes of two 32-bit values: byte k of the result is the one that byte k of `selector` numbers,
/// 0 to 3 of `low`, 4 to 7 of `high`.
FLYDSL_API Int32 perm_b32(const Int32 &high, const Int32 &low, const Int32 &selector,
                          Loc loc = Loc::current());
/// gfx12: the wave's number in its workgroup.
FLYDSL_API Int32 wave_id(Loc loc = Loc::current());
/// gfx1250: the workgroup's position in its cluster.
FLYDSL_API Index3 cluster_workgroup_id(Loc loc = Loc::current());

//===-- Arithmetic --------------------------------------------------------===//

/// The hardware's approximations.
FLYDSL_API Numeric rcp(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric rsq(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric exp2(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric log2(const Numeric &x, Loc loc = Loc::current());

/// Two floats as two fp8 (bf8: with five bits of exponent; of the target's kind, FNUZ on gfx942 and
/// OCP on gfx950 and gfx12) in the low (`high` false) or high half of `old`.
FLYDSL_API Int32 cvt_pk_fp8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high,
                                Loc loc = Loc::current());
FLYDSL_API Int32 cvt_pk_bf8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high,
                                Loc loc = Loc::current());
/// Two fp8 of the low or high half as floats.
FLYDSL_API Vector cvt_pk_f32_fp8(const Int32 &value, bool high, Loc loc = Loc::current());
FLYDSL_API Vector cvt_pk_f32_bf8(const Int32 &value, bool high, Loc loc = Loc::current());
/// One fp8, of byte 0 to 3, as a float.
FLYDSL_API Float32 cvt_f32_fp8(const Int32 &value, int byte, Loc loc = Loc::current());
FLYDSL_API Float32 cvt_f32_bf8(const Int32 &value, int byte, Loc loc = Loc::current());
/// A float as an fp8 in byte 0 to 3 of `old`, rounded up as often as the bits of `seed`, which are
/// added below the result's last place, carry.
FLYDSL_API Int32 cvt_sr_fp8_f32(const Float32 &x, const Int32 &seed, const Int32 &old, int byte,
                                Loc loc = Loc::current());
FLYDSL_API Int32 cvt_sr_bf8_f32(const Float32 &x, const Int32 &seed, const Int32 &old, int byte,
                                Loc loc = Loc::current());
/// gfx950: the same to bf16, by 32 random bits.
FLYDSL_API BFloat16 cvt_sr_f32_to_bf16(const Float32 &x, const Int32 &seed,
                                       Loc loc = Loc::current());
/// Two floats as two bf16, rounded to nearest even.
FLYDSL_API Vector cvt_pk_bf16_f32(const Float32 &a, const Float32 &b, Loc loc = Loc::current());
/// Two floats as two f16, rounded towards zero.
FLYDSL_API Vector cvt_pkrtz(const Float32 &a, const Float32 &b, Loc loc = Loc::current());
/// The low four bits, from -8 to 7, divided by 16.
FLYDSL_API Float32 cvt_off_f32_i4(const Int32 &value, Loc loc = Loc::current());
/// gfx950: two fp4 of byte 0 to 3, times the power of two that `scale` is, as floats; and back.
FLYDSL_API Vector cvt_scalef32_pk_f32_fp4(const Int32 &value, const Float32 &scale, int byte,
                                          Loc loc = Loc::current());
FLYDSL_API Vector cvt_scalef32_pk_bf16_fp4(const Int32 &value, const Float32 &scale, int byte,
                                           Loc loc = Loc::current());
FLYDSL_API Int32 cvt_scalef32_pk_fp4_f32(const Int32 &old, const Float32 &a, const Float32 &b,
                                         const Float32 &scale, int byte, Loc loc = Loc::current());

//===-- Anything else -----------------------------------------------------===//

/// The type of an intrinsic's result: an element type, and a number of elements where it is a
/// vector.
struct ResultType {
  DType type;
  std::int64_t size = 0;
};
/// An argument of an intrinsic.
struct IntrinsicArg {
  detail::Handle handle;
  IntrinsicArg(const Numeric &v) : handle(v.handle()) {}
  IntrinsicArg(const Vector &v) : handle(v.handle()) {}
  template <detail::HostNumeric T>
  IntrinsicArg(T v, Loc loc = Loc::current())
      : handle(detail::constant(detail::hostNumber(v), DType(), loc)) {}
  /// A constant of a type.
  template <detail::HostNumeric T> static IntrinsicArg of(DType type, T v, Loc loc) {
    return IntrinsicArg(Numeric(detail::constant(detail::hostNumber(v), type, loc)));
  }
};
namespace impl {
FLYDSL_API detail::Handle intrinsic(const char *name, ResultType result,
                                    std::initializer_list<IntrinsicArg> arguments, Loc loc);
FLYDSL_API detail::Handle inlineAsm(const char *text, const char *constraints, ResultType result,
                                    std::initializer_list<IntrinsicArg> arguments,
                                    bool side_effects, Loc loc);
} // namespace impl
/// An LLVM intrinsic by its name ("llvm.amdgcn.perm"), of one scalar result.
inline Numeric intrinsic(const char *name, DType result,
                         std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  return Numeric(impl::intrinsic(name, {result}, arguments, loc));
}
/// The same, of a vector of `size` elements.
inline Vector intrinsic(const char *name, DType result, std::int64_t size,
                        std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  return Vector(impl::intrinsic(name, {result, size}, arguments, loc));
}
/// The same, without a result.
inline void intrinsic(const char *name, std::initializer_list<IntrinsicArg> arguments,
                      Loc loc = Loc::current()) {
  impl::intrinsic(name, {}, arguments, loc);
}
/// Assembly with LLVM's constraints ("=v,v,v"), of one scalar result.
inline Numeric inline_asm(const char *text, const char *constraints, DType result,
                          std::initializer_list<IntrinsicArg> arguments, bool side_effects = false,
                          Loc loc = Loc::current()) {
  return Numeric(impl::inlineAsm(text, constraints, {result}, arguments, side_effects, loc));
}
/// The same, without a result.
inline void inline_asm(const char *text, const char *constraints,
                       std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  impl::inlineAsm(text, constraints, {}, arguments, true, loc);
}

//===-- Raw buffers -------------------------------------------------------===//

/// What a buffer instruction is given beside its buffer and offset.
struct RawBuffer {
  /// Bytes that are added to all lanes' offsets, a scalar of the wave.
  std::optional<Numeric> soffset = {};
  /// The instruction's cache bits.
  int aux = 0;
};
namespace impl {
FLYDSL_API detail::Handle rawLoad(const Pointer &buffer, const Numeric &offset, ResultType result,
                                  const RawBuffer &options, Loc loc);
FLYDSL_API void rawStore(const detail::Handle &value, const Pointer &buffer, const Numeric &offset,
                         const RawBuffer &options, Loc loc);
} // namespace impl
/// What is `offset` bytes from the buffer's start (the pointer's own offset does not count): zero
/// past its bound. `buffer` is of make_buffer_ptr, or a buffer tensor's `iter()`.
inline Numeric raw_buffer_load(const Pointer &buffer, const Numeric &offset, DType type,
                               const RawBuffer &options = {}, Loc loc = Loc::current()) {
  return Numeric(impl::rawLoad(buffer, offset, {type}, options, loc));
}
/// The same, of `size` elements: 32, 64, 96 or 128 bits in all.
inline Vector raw_buffer_load(const Pointer &buffer, const Numeric &offset, DType type,
                              std::int64_t size, const RawBuffer &options = {},
                              Loc loc = Loc::current()) {
  return Vector(impl::rawLoad(buffer, offset, {type, size}, options, loc));
}
/// Writes there; nothing is written past the bound.
inline void raw_buffer_store(const Numeric &value, const Pointer &buffer, const Numeric &offset,
                             const RawBuffer &options = {}, Loc loc = Loc::current()) {
  impl::rawStore(value.handle(), buffer, offset, options, loc);
}
inline void raw_buffer_store(const Vector &value, const Pointer &buffer, const Numeric &offset,
                             const RawBuffer &options = {}, Loc loc = Loc::current()) {
  impl::rawStore(value.handle(), buffer, offset, options, loc);
}
/// Combines with what is there, atomically, and gives what was there before.
FLYDSL_API Numeric raw_buffer_atomic(AtomicOp op, const Numeric &value, const Pointer &buffer,
                                     const Numeric &offset, const RawBuffer &options = {},
                                     Loc loc = Loc::current());
/// gfx9: `bytes` (1, 2, 4; 12 and 16 on gfx950) of each lane from a buffer into LDS, past the
/// registers, lane after lane from `lds` on, which is a scalar of the wave. A `s_waitcnt` on vmcnt
/// orders it.
FLYDSL_API void raw_buffer_load_lds(const Pointer &buffer, const Pointer &lds, int bytes,
                                    const Numeric &offset, const RawBuffer &options = {},
                                    Loc loc = Loc::current());

//===-- Raw matrix instructions -------------------------------------------===//

/// MFMA's modifiers.
struct MfmaModifiers {
  int cbsz = 0, abid = 0, blgp = 0;
};
/// A lane's part of D = A * B + C by one of CDNA's matrix instructions, named as LLVM names it
/// ("f32_32x32x8f16"). A, B and C have as many bits as the instruction takes; their element types
/// may be others.
FLYDSL_API Vector mfma(const char *instruction, const Vector &a, const Vector &b, const Vector &c,
                       const MfmaModifiers &modifiers = {}, Loc loc = Loc::current());
/// gfx950: the scaled instruction, "f32_16x16x128_f8f6f4" or "f32_32x32x64_f8f6f4". `format`
/// numbers A's and B's elements (0 e4m3, 1 e5m2, 2 e2m3, 3 e3m2, 4 e2m1); a scale is 4 exponents,
/// of which `opsel` picks one.
struct ScaledOperand {
  Vector values;
  int format;
  Int32 scale;
  int opsel = 0;
};
FLYDSL_API Vector mfma_scale(const char *instruction, const ScaledOperand &a,
                             const ScaledOperand &b, const Vector &c, Loc loc = Loc::current());
/// The same for RDNA and gfx1250 ("f32_16x16x16_f16").
FLYDSL_API Vector wmma(const char *instruction, const Vector &a, const Vector &b, const Vector &c,
                       const WmmaOptions &options = {}, Loc loc = Loc::current());

// FlyDSL's names of the most used ones.
#define FLYDSL_MFMA(name)                                                                          \
  inline Vector mfma_##name(const Vector &a, const Vector &b, const Vector &c,                     \
                            const MfmaModifiers &modifiers = {}, Loc loc = Loc::current()) {       \
    return mfma(#name, a, b, c, modifiers, loc);                                                   \
  }
/// The instructions by FlyDSL's names, as `mfma` takes them.
FLYDSL_MFMA(f32_32x32x8f16)
FLYDSL_MFMA(f32_32x32x8bf16_1k)
FLYDSL_MFMA(f32_16x16x16f16)
FLYDSL_MFMA(f32_16x16x16bf16_1k)
FLYDSL_MFMA(f32_16x16x32_fp8_fp8)
FLYDSL_MFMA(i32_16x16x32_i8)
FLYDSL_MFMA(f32_16x16x32_f16)
FLYDSL_MFMA(f32_16x16x32_bf16)
FLYDSL_MFMA(f32_32x32x16_f16)
FLYDSL_MFMA(f32_32x32x16_bf16)
#undef FLYDSL_MFMA
/// The scaled instructions by FlyDSL's names.
inline Vector mfma_scale_f32_16x16x128_f8f6f4(const ScaledOperand &a, const ScaledOperand &b,
                                              const Vector &c, Loc loc = Loc::current()) {
  return mfma_scale("f32_16x16x128_f8f6f4", a, b, c, loc);
}
inline Vector mfma_scale_f32_32x32x64_f8f6f4(const ScaledOperand &a, const ScaledOperand &b,
                                             const Vector &c, Loc loc = Loc::current()) {
  return mfma_scale("f32_32x32x64_f8f6f4", a, b, c, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
