// AMD's instructions one by one: cross-lane operations, conversions, raw buffers, raw matrix
// instructions, LLVM's intrinsics by name, and inline assembly. If the target lacks an instruction,
// a TraceError names the targets that have it.
#pragma once

#include <flydsl/kernel/gpu.h>
#include <flydsl/rocdl/atoms.h>

#include <optional>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

//===-- Lanes -------------------------------------------------------------===//

/// All lanes get the value of the first active lane.
FLYDSL_API Numeric readfirstlane(const Numeric &value, Loc loc = Loc::current());
/// All lanes get the value of the given lane.
FLYDSL_API Numeric readlane(const Numeric &value, const Numeric::Arg &lane);
/// One bit per lane of the wave, set if the lane's condition holds: 64 bits on CDNA, 32 on RDNA.
FLYDSL_API Numeric ballot(const Boolean &condition, Loc loc = Loc::current());
/// The value of lane `byte_index / 4`; values have 32 bits.
FLYDSL_API Numeric ds_bpermute(const Numeric &byteIndex, const Numeric &value,
                               Loc loc = Loc::current());
/// The value of the lane that the offset of ds_swizzle selects; values have 32 bits.
FLYDSL_API Numeric ds_swizzle(const Numeric &value, int offset, Loc loc = Loc::current());
/// The value of another lane, selected by a DPP control word. Lanes that are masked out or have no
/// source keep `old`.
FLYDSL_API Numeric update_dpp(const Numeric &old, const Numeric &value, int control,
                              int rowMask = 0xf, int bankMask = 0xf, bool boundControl = false,
                              Loc loc = Loc::current());
/// RDNA and gfx1250: a value of 32 bits from the other row of 16 lanes (rows 0 and 1 are each
/// other's other row, and so are 2 and 3). Lane k of a row gets the value of the lane whose number
/// in its row stands in bits 4 * k to 4 * k + 3 of `selector`.
FLYDSL_API Numeric permlanex16(const Numeric &value, std::uint64_t selector,
                               Loc loc = Loc::current());
/// Selects bytes of two 32-bit values: byte k of `selector` is the number of the byte that becomes
/// byte k of the result, 0 to 3 for those of `low`, 4 to 7 for those of `high`.
FLYDSL_API Int32 perm_b32(const Int32 &high, const Int32 &low, const Int32 &selector,
                          Loc loc = Loc::current());
/// gfx950: of each two rows of 16 lanes, the odd row of `a` and the even row of `b` change places:
/// the pair is (a's rows 0, b's 0, a's 2, b's 2), (a's 1, b's 1, a's 3, b's 3). Values have 32
/// bits.
FLYDSL_API std::pair<Numeric, Numeric> permlane16_swap(const Numeric &a, const Numeric &b,
                                                       Loc loc = Loc::current());
/// gfx950: the upper 32 lanes of `a` and the lower 32 lanes of `b` change places: the pair is
/// (a's lower half, b's lower half), (a's upper half, b's upper half). Values have 32 bits.
FLYDSL_API std::pair<Numeric, Numeric> permlane32_swap(const Numeric &a, const Numeric &b,
                                                       Loc loc = Loc::current());
/// gfx12: the number of the wave in its workgroup.
FLYDSL_API Int32 wave_id(Loc loc = Loc::current());
/// gfx1250: the position of the workgroup in its cluster (LaunchConfig::cluster).
FLYDSL_API Index3 cluster_workgroup_id(Loc loc = Loc::current());
/// gfx1250: the number of workgroups of the cluster along each dimension.
FLYDSL_API Index3 cluster_dim(Loc loc = Loc::current());
/// gfx1250: the number of the workgroup in its cluster, x first; its bit in a mask of workgroups.
FLYDSL_API Int32 cluster_workgroup_flat_id(Loc loc = Loc::current());
/// gfx1250: a barrier of all threads of all workgroups of the cluster, in launches with one. What a
/// workgroup wrote to its own shared memory before it can be read by that workgroup after it; what
/// it wrote to global memory needs a fence for the others to see it.
FLYDSL_API void cluster_barrier(Loc loc = Loc::current());

//===-- Arithmetic --------------------------------------------------------===//

/// The hardware's approximations of 1 / x, 1 / sqrt(x), 2 to the power x, and the logarithm to base
/// 2.
FLYDSL_API Numeric rcp(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric rsq(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric exp2(const Numeric &x, Loc loc = Loc::current());
FLYDSL_API Numeric log2(const Numeric &x, Loc loc = Loc::current());

/// Converts two floats to two fp8 (bf8 has five bits of exponent) in the low half of `old`, or in
/// the high half if `high` is true. The formats are those of the target: FNUZ on gfx942, OCP on
/// gfx950 and gfx12.
FLYDSL_API Int32 cvt_pk_fp8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high,
                                Loc loc = Loc::current());
FLYDSL_API Int32 cvt_pk_bf8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high,
                                Loc loc = Loc::current());
/// Converts the two fp8 of the low or high half to floats.
FLYDSL_API Vector cvt_pk_f32_fp8(const Int32 &value, bool high, Loc loc = Loc::current());
FLYDSL_API Vector cvt_pk_f32_bf8(const Int32 &value, bool high, Loc loc = Loc::current());
/// Converts the fp8 in byte 0 to 3 to a float.
FLYDSL_API Float32 cvt_f32_fp8(const Int32 &value, int byte, Loc loc = Loc::current());
FLYDSL_API Float32 cvt_f32_bf8(const Int32 &value, int byte, Loc loc = Loc::current());
/// Rounds a float stochastically to an fp8 in byte 0 to 3 of `old`: the bits of `seed` are added
/// below the last place of the result, so that a random `seed` rounds up with the probability of
/// the part that is cut off.
FLYDSL_API Int32 cvt_sr_fp8_f32(const Float32 &x, const Int32 &seed, const Int32 &old, int byte,
                                Loc loc = Loc::current());
FLYDSL_API Int32 cvt_sr_bf8_f32(const Float32 &x, const Int32 &seed, const Int32 &old, int byte,
                                Loc loc = Loc::current());
/// gfx950: the same to bf16 and to f16, into the low (`high` false) or high half of `old`.
FLYDSL_API Int32 cvt_sr_bf16_f32(const Float32 &x, const Int32 &seed, const Int32 &old, bool high,
                                 Loc loc = Loc::current());
FLYDSL_API Int32 cvt_sr_f16_f32(const Float32 &x, const Int32 &seed, const Int32 &old, bool high,
                                Loc loc = Loc::current());
/// gfx950: the same to one bf16, with 32 random bits.
FLYDSL_API BFloat16 cvt_sr_f32_to_bf16(const Float32 &x, const Int32 &seed,
                                       Loc loc = Loc::current());
/// Two floats as two bf16, rounded to nearest even.
FLYDSL_API Vector cvt_pk_bf16_f32(const Float32 &a, const Float32 &b, Loc loc = Loc::current());
/// Two floats as two f16, rounded towards zero.
FLYDSL_API Vector cvt_pkrtz(const Float32 &a, const Float32 &b, Loc loc = Loc::current());
/// The low four bits as an integer from -8 to 7, divided by 16.
FLYDSL_API Float32 cvt_off_f32_i4(const Int32 &value, Loc loc = Loc::current());
/// gfx950: converts the two fp4 in byte 0 to 3 to f32 or bf16 and multiplies them by `scale`, a
/// power of two; `cvt_scalef32_pk_fp4_f32` converts back.
FLYDSL_API Vector cvt_scalef32_pk_f32_fp4(const Int32 &value, const Float32 &scale, int byte,
                                          Loc loc = Loc::current());
FLYDSL_API Vector cvt_scalef32_pk_bf16_fp4(const Int32 &value, const Float32 &scale, int byte,
                                           Loc loc = Loc::current());
FLYDSL_API Int32 cvt_scalef32_pk_fp4_f32(const Int32 &old, const Float32 &a, const Float32 &b,
                                         const Float32 &scale, int byte, Loc loc = Loc::current());

//===-- Anything else -----------------------------------------------------===//

/// The type of an instruction's result: an element type and, for a vector, the number of elements.
/// A vector of fewer than one element is a TraceError.
struct ResultType {
  DType type = {};
  std::optional<std::int64_t> size = {};
  ResultType() = default;
  ResultType(DType type) : type(type) {}
  ResultType(DType type, std::int64_t size) : type(type), size(size) {}
};
/// An argument of an intrinsic or of inline assembly. A pointer to global or shared memory is the
/// address; for that of a buffer, `buffer_descriptor` gives the descriptor.
struct IntrinsicArg {
  detail::Handle handle;
  IntrinsicArg(const Numeric &v) : handle(v.handle()) {}
  IntrinsicArg(const Vector &v) : handle(v.handle()) {}
  IntrinsicArg(const Pointer &p) : handle(p.handle()) {}
  template <detail::HostNumeric T>
  IntrinsicArg(T v, Loc loc = Loc::current())
      : handle(detail::constant(detail::hostNumber(v), DType(), loc)) {}
  /// A constant of the given type.
  template <detail::HostNumeric T> static IntrinsicArg of(DType type, T v, Loc loc) {
    return IntrinsicArg(Numeric(detail::constant(detail::hostNumber(v), type, loc)));
  }
};
/// The results of an instruction that has several.
class FLYDSL_API Results {
public:
  explicit Results(std::vector<detail::Handle> handles) : handles_(std::move(handles)) {}
  /** The number of results. */ std::size_t size() const { return handles_.size(); }
  /// A result that is a scalar. Throws TraceError if there are fewer, or if it is a vector.
  Numeric operator[](std::size_t i) const { return scalar(i); }
  Numeric scalar(std::size_t i, Loc loc = Loc::current()) const;
  /// A result that is a vector. Throws TraceError if there are fewer, or if it is a scalar.
  Vector vector(std::size_t i, Loc loc = Loc::current()) const;

private:
  const detail::Handle &at(std::size_t i, bool isVector, Loc loc) const;
  std::vector<detail::Handle> handles_;
};
namespace impl {
FLYDSL_API detail::Handle intrinsic(const char *name, ResultType result,
                                    std::initializer_list<IntrinsicArg> arguments, Loc loc);
FLYDSL_API detail::Handle inlineAsm(const char *text, const char *constraints, ResultType result,
                                    std::initializer_list<IntrinsicArg> arguments, bool sideEffects,
                                    Loc loc);
} // namespace impl
/// Calls an LLVM intrinsic by its name ("llvm.amdgcn.perm"); the result is a scalar.
inline Numeric intrinsic(const char *name, DType result,
                         std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  return Numeric(impl::intrinsic(name, result, arguments, loc));
}
/// The same with a vector of `size` elements as the result.
inline Vector intrinsic(const char *name, DType result, std::int64_t size,
                        std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  return Vector(impl::intrinsic(name, {result, size}, arguments, loc));
}
/// The same without a result.
inline void intrinsic(const char *name, std::initializer_list<IntrinsicArg> arguments,
                      Loc loc = Loc::current()) {
  impl::intrinsic(name, {}, arguments, loc);
}
/// The same with several results, which LLVM gives as a struct. A result of one scalar or vector is
/// no struct.
FLYDSL_API Results intrinsic_struct(const char *name, std::initializer_list<ResultType> results,
                                    std::initializer_list<IntrinsicArg> arguments,
                                    Loc loc = Loc::current());
/// Inline assembly with LLVM's constraints ("=v,v,v": "v" a vector, "s" a scalar, "a" an
/// accumulation register of CDNA); the result is a scalar. The constraints name as many outputs
/// ("=...") as there are results, and as many inputs as there are arguments. Nobody checks what the
/// text does, and the compiler's waits do not count what it starts.
inline Numeric inline_asm(const char *text, const char *constraints, DType result,
                          std::initializer_list<IntrinsicArg> arguments, bool sideEffects = false,
                          Loc loc = Loc::current()) {
  return Numeric(impl::inlineAsm(text, constraints, result, arguments, sideEffects, loc));
}
/// The same with a vector of `size` elements as the result, in registers one after another.
inline Vector inline_asm(const char *text, const char *constraints, DType result, std::int64_t size,
                         std::initializer_list<IntrinsicArg> arguments, bool sideEffects = false,
                         Loc loc = Loc::current()) {
  return Vector(impl::inlineAsm(text, constraints, {result, size}, arguments, sideEffects, loc));
}
/// The same without a result.
inline void inline_asm(const char *text, const char *constraints,
                       std::initializer_list<IntrinsicArg> arguments, Loc loc = Loc::current()) {
  impl::inlineAsm(text, constraints, {}, arguments, true, loc);
}
/// The same with several results ("=v,=v,0,1").
FLYDSL_API Results inline_asm_struct(const char *text, const char *constraints,
                                     std::initializer_list<ResultType> results,
                                     std::initializer_list<IntrinsicArg> arguments,
                                     bool sideEffects = false, Loc loc = Loc::current());
/// The four 32-bit words of a buffer's descriptor, as inline assembly takes them.
FLYDSL_API Vector buffer_descriptor(const Pointer &buffer, Loc loc = Loc::current());

//===-- Raw buffers -------------------------------------------------------===//

/// Options of a raw buffer instruction.
struct RawBuffer {
  /// The number of bytes that is added to the offsets of all lanes. It is a scalar of the wave.
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
/// Reads at `offset` bytes from the buffer's start (the offset of the pointer itself does not
/// count); past the buffer's range it reads zero. `buffer` comes from make_buffer_ptr, or is a
/// buffer tensor's `iter()`.
inline Numeric raw_buffer_load(const Pointer &buffer, const Numeric &offset, DType type,
                               const RawBuffer &options = {}, Loc loc = Loc::current()) {
  return Numeric(impl::rawLoad(buffer, offset, {type}, options, loc));
}
/// The same for `size` elements, which have 32, 64, 96 or 128 bits together.
inline Vector raw_buffer_load(const Pointer &buffer, const Numeric &offset, DType type,
                              std::int64_t size, const RawBuffer &options = {},
                              Loc loc = Loc::current()) {
  return Vector(impl::rawLoad(buffer, offset, {type, size}, options, loc));
}
/// Writes at `offset` bytes from the buffer's start; nothing is written past the buffer's range.
inline void raw_buffer_store(const Numeric &value, const Pointer &buffer, const Numeric &offset,
                             const RawBuffer &options = {}, Loc loc = Loc::current()) {
  impl::rawStore(value.handle(), buffer, offset, options, loc);
}
inline void raw_buffer_store(const Vector &value, const Pointer &buffer, const Numeric &offset,
                             const RawBuffer &options = {}, Loc loc = Loc::current()) {
  impl::rawStore(value.handle(), buffer, offset, options, loc);
}
/// Atomically combines the value in memory with `value`, and returns the previous value.
FLYDSL_API Numeric raw_buffer_atomic(AtomicOp op, const Numeric &value, const Pointer &buffer,
                                     const Numeric &offset, const RawBuffer &options = {},
                                     Loc loc = Loc::current());
/// gfx9: copies `bytes` (1, 2, 4; 12 and 16 on gfx950) per lane from a buffer into LDS and bypasses
/// the registers. The lanes' values lie one after another from `lds` on, which is a scalar of the
/// wave. An `s_waitcnt` on vmcnt waits for the copy.
FLYDSL_API void raw_buffer_load_lds(const Pointer &buffer, const Pointer &lds, int bytes,
                                    const Numeric &offset, const RawBuffer &options = {},
                                    Loc loc = Loc::current());

//===-- Raw matrix instructions -------------------------------------------===//

/// The modifiers of MFMA instructions.
struct MfmaModifiers {
  int cbsz = 0, abid = 0, blgp = 0;
};
/// Computes a lane's part of D = A * B + C with one of CDNA's matrix instructions, given by LLVM's
/// name ("f32_32x32x8f16"). A, B and C must have as many bits as the instruction takes; their
/// element types may differ from the instruction's.
FLYDSL_API Vector mfma(const char *instruction, const Vector &a, const Vector &b, const Vector &c,
                       const MfmaModifiers &modifiers = {}, Loc loc = Loc::current());
/// An operand of a scaled matrix instruction (gfx950), "f32_16x16x128_f8f6f4" or
/// "f32_32x32x64_f8f6f4". `format` is the number of the element type (0 e4m3, 1 e5m2, 2 e2m3, 3
/// e3m2, 4 e2m1). `scale` contains 4 exponents, and `opsel` selects one.
struct ScaledOperand {
  Vector values;
  int format;
  Int32 scale;
  int opsel = 0;
};
FLYDSL_API Vector mfma_scale(const char *instruction, const ScaledOperand &a,
                             const ScaledOperand &b, const Vector &c, Loc loc = Loc::current());
/// The same for the matrix instructions of RDNA and gfx1250 ("f32_16x16x16_f16").
FLYDSL_API Vector wmma(const char *instruction, const Vector &a, const Vector &b, const Vector &c,
                       const WmmaOptions &options = {}, Loc loc = Loc::current());

// FlyDSL's names of the most used instructions.
#define FLYDSL_MFMA(name)                                                                          \
  inline Vector mfma_##name(const Vector &a, const Vector &b, const Vector &c,                     \
                            const MfmaModifiers &modifiers = {}, Loc loc = Loc::current()) {       \
    return mfma(#name, a, b, c, modifiers, loc);                                                   \
  }
/// The instructions by FlyDSL's names; the arguments are those of `mfma`.
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
