// Conversions of AMD's GPUs.
#include <flydsl/rocdl/intrinsics.h>

#include "builder/trace/tracer.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;

namespace rocdl {

static Tracer &withFp8(const char *what, Loc loc) {
  Tracer &t = Tracer::require(what, loc);
  t.kernel.targetWith(Feature::fp8_conversions, what, loc);
  return t;
}
static void expectByte(const char *what, int byte, Loc loc) {
  if (byte < 0 || byte > 3)
    throw TraceError(
        std::string(what) + " takes byte 0, 1, 2 or 3 of a word, not " + std::to_string(byte), loc);
}

static Int32 pack8(const char *name, const char *intrinsic, const Float32 &a, const Float32 &b,
                   const Int32 &old, bool high, Loc loc) {
  withFp8(name, loc);
  return Int32(impl::intrinsic(intrinsic, {i32}, {a, b, old, high}, loc));
}
Int32 cvt_pk_fp8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high, Loc loc) {
  return pack8("cvt_pk_fp8_f32", "llvm.amdgcn.cvt.pk.fp8.f32", a, b, old, high, loc);
}
Int32 cvt_pk_bf8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high, Loc loc) {
  return pack8("cvt_pk_bf8_f32", "llvm.amdgcn.cvt.pk.bf8.f32", a, b, old, high, loc);
}
Vector cvt_pk_f32_fp8(const Int32 &x, bool high, Loc loc) {
  withFp8("cvt_pk_f32_fp8", loc);
  return Vector(impl::intrinsic("llvm.amdgcn.cvt.pk.f32.fp8", {f32, 2}, {x, high}, loc));
}
Vector cvt_pk_f32_bf8(const Int32 &x, bool high, Loc loc) {
  withFp8("cvt_pk_f32_bf8", loc);
  return Vector(impl::intrinsic("llvm.amdgcn.cvt.pk.f32.bf8", {f32, 2}, {x, high}, loc));
}
Float32 cvt_f32_fp8(const Int32 &x, int byte, Loc loc) {
  withFp8("cvt_f32_fp8", loc);
  expectByte("cvt_f32_fp8", byte, loc);
  return Float32(impl::intrinsic("llvm.amdgcn.cvt.f32.fp8", {f32}, {x, byte}, loc));
}
Float32 cvt_f32_bf8(const Int32 &x, int byte, Loc loc) {
  withFp8("cvt_f32_bf8", loc);
  expectByte("cvt_f32_bf8", byte, loc);
  return Float32(impl::intrinsic("llvm.amdgcn.cvt.f32.bf8", {f32}, {x, byte}, loc));
}
Int32 cvt_sr_fp8_f32(const Float32 &x, const Int32 &seed, const Int32 &old, int byte, Loc loc) {
  withFp8("cvt_sr_fp8_f32", loc);
  expectByte("cvt_sr_fp8_f32", byte, loc);
  return Int32(impl::intrinsic("llvm.amdgcn.cvt.sr.fp8.f32", {i32}, {x, seed, old, byte}, loc));
}
Int32 cvt_sr_bf8_f32(const Float32 &x, const Int32 &seed, const Int32 &old, int byte, Loc loc) {
  withFp8("cvt_sr_bf8_f32", loc);
  expectByte("cvt_sr_bf8_f32", byte, loc);
  return Int32(impl::intrinsic("llvm.amdgcn.cvt.sr.bf8.f32", {i32}, {x, seed, old, byte}, loc));
}
static Int32 stochasticHalf(const char *name, const char *intrinsic, DType type, const Float32 &x,
                            const Int32 &seed, const Int32 &old, bool high, Loc loc) {
  Tracer::require(name, loc).kernel.targetWith(Feature::stochastic_bf16, name, loc);
  const Vector before = Vector::splat(old, 1, loc).bitcast(type, loc);
  const Vector both(impl::intrinsic(intrinsic, {type, 2}, {before, x, seed, high}, loc));
  return Int32(both.bitcast(i32, loc).at(0, loc), loc);
}
Int32 cvt_sr_bf16_f32(const Float32 &x, const Int32 &seed, const Int32 &old, bool high, Loc loc) {
  return stochasticHalf("cvt_sr_bf16_f32", "llvm.amdgcn.cvt.sr.bf16.f32", bf16, x, seed, old, high,
                        loc);
}
Int32 cvt_sr_f16_f32(const Float32 &x, const Int32 &seed, const Int32 &old, bool high, Loc loc) {
  return stochasticHalf("cvt_sr_f16_f32", "llvm.amdgcn.cvt.sr.f16.f32", f16, x, seed, old, high,
                        loc);
}
BFloat16 cvt_sr_f32_to_bf16(const Float32 &x, const Int32 &seed, Loc loc) {
  Tracer &t = Tracer::require("cvt_sr_f32_to_bf16", loc);
  t.kernel.targetWith(Feature::stochastic_bf16, "cvt_sr_f32_to_bf16", loc);
  Vector old = Vector::splat(0.0f, 2, bf16, loc); // the half that is not written
  return BFloat16(
      Vector(impl::intrinsic("llvm.amdgcn.cvt.sr.bf16.f32", {bf16, 2}, {old, x, seed, false}, loc))
          .at(0, loc),
      loc);
}
Vector cvt_pk_bf16_f32(const Float32 &a, const Float32 &b, Loc loc) {
  return Vector::of({a, b}, loc).to(bf16, loc);
}
Vector cvt_pkrtz(const Float32 &a, const Float32 &b, Loc loc) {
  return Vector(impl::intrinsic("llvm.amdgcn.cvt.pkrtz", {f16, 2}, {a, b}, loc));
}
Float32 cvt_off_f32_i4(const Int32 &x, Loc loc) {
  return Float32(impl::intrinsic("llvm.amdgcn.cvt.off.f32.i4", {f32}, {x}, loc));
}

static void withScaledFp4(const char *what, int byte, Loc loc) {
  Tracer::require(what, loc).kernel.targetWith(Feature::fp4_conversions, what, loc);
  expectByte(what, byte, loc);
}
Vector cvt_scalef32_pk_f32_fp4(const Int32 &x, const Float32 &scale, int byte, Loc loc) {
  withScaledFp4("cvt_scalef32_pk_f32_fp4", byte, loc);
  return Vector(
      impl::intrinsic("llvm.amdgcn.cvt.scalef32.pk.f32.fp4", {f32, 2}, {x, scale, byte}, loc));
}
Vector cvt_scalef32_pk_bf16_fp4(const Int32 &x, const Float32 &scale, int byte, Loc loc) {
  withScaledFp4("cvt_scalef32_pk_bf16_fp4", byte, loc);
  return Vector(
      impl::intrinsic("llvm.amdgcn.cvt.scalef32.pk.bf16.fp4", {bf16, 2}, {x, scale, byte}, loc));
}
Int32 cvt_scalef32_pk_fp4_f32(const Int32 &old, const Float32 &a, const Float32 &b,
                              const Float32 &scale, int byte, Loc loc) {
  withScaledFp4("cvt_scalef32_pk_fp4_f32", byte, loc);
  return Int32(
      impl::intrinsic("llvm.amdgcn.cvt.scalef32.pk.fp4.f32", {i32}, {old, a, b, scale, byte}, loc));
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
