// Lanes, conversions and intrinsics of AMD's GPUs.
#include <flydsl/rocdl_intrinsics.h>

#include "builder/rocdl/immediate.h"
#include "builder/values/operand.h"
#include "builder/trace/types.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;

namespace rocdl {

static mlir::Value value(Tracer &t, const Handle &handle, Loc loc) {
  return detail::operand(t, handle, loc).value;
}

//===-- Lanes -------------------------------------------------------------===//

Numeric readfirstlane(const Numeric &x, Loc loc) {
  Tracer &t = Tracer::require("readfirstlane", loc);
  mlir::Value v = value(t, x.handle(), loc);
  return Numeric(t.wrap(t.emit("rocdl.readfirstlane", v, loc, {}, v.getType()), x.dtype(loc), loc));
}

Numeric readlane(const Numeric &x, const Numeric::Arg &lane) {
  Loc loc = lane.loc;
  Tracer &t = Tracer::require("readlane", loc);
  mlir::Value v = value(t, x.handle(), loc);
  mlir::Value from = t.use(detail::convert(lane.handle, i32, loc), loc);
  return Numeric(
      t.wrap(t.emit("rocdl.readlane", {v, from}, loc, {}, v.getType()), x.dtype(loc), loc));
}

Numeric ballot(const Boolean &condition, Loc loc) {
  Tracer &t = Tracer::require("ballot", loc);
  DType type = t.target("ballot", loc).wave_size() == 64 ? i64 : i32;
  return Numeric(t.wrap(t.emit("rocdl.ballot", value(t, condition.handle(), loc), loc, {},
                               builder::elementType(type, t.context())),
                        type, loc));
}

/// An operation on 32 bits, whatever type they are.
static Numeric on32Bits(const char *what, const Numeric &x, Loc loc,
                        llvm::function_ref<Handle(const Handle &)> fn) {
  DType type = x.dtype(loc);
  if (type.bits() != 32)
    throw TraceError(std::string(what) + " takes 32 bits, not " + std::string(type.name()), loc);
  return Numeric(detail::bitcast(fn(detail::bitcast(x.handle(), i32, loc)), type, loc));
}

Numeric ds_bpermute(const Numeric &byte_index, const Numeric &x, Loc loc) {
  Tracer &t = Tracer::require("ds_bpermute", loc);
  return on32Bits("ds_bpermute", x, loc, [&](const Handle &bits) {
    return t.wrap(t.emit("rocdl.ds_bpermute",
                         {value(t, byte_index.handle(), loc), t.use(bits, loc)}, loc, {},
                         t.builder().getI32Type()),
                  i32, loc);
  });
}

Numeric ds_swizzle(const Numeric &x, int offset, Loc loc) {
  builder::immediate("the offset of ds_swizzle", offset, 0xffff, loc);
  return on32Bits("ds_swizzle", x, loc, [&](const Handle &bits) {
    return impl::intrinsic("llvm.amdgcn.ds.swizzle", {i32}, {Numeric(bits), offset}, loc);
  });
}

Int32 perm_b32(const Int32 &high, const Int32 &low, const Int32 &selector, Loc loc) {
  return Int32(impl::intrinsic("llvm.amdgcn.perm", {i32}, {high, low, selector}, loc));
}

Int32 wave_id(Loc loc) {
  Tracer::require("wave_id", loc).targetWith(Feature::wave_id, "wave_id", loc);
  return Int32(impl::intrinsic("llvm.amdgcn.wave.id", {i32}, {}, loc));
}

Index3 cluster_workgroup_id(Loc loc) {
  Tracer::require("cluster_workgroup_id", loc)
      .targetWith(Feature::clusters, "cluster_workgroup_id", loc);
  auto part = [&](const char *name) { return Int32(impl::intrinsic(name, {i32}, {}, loc)); };
  return {part("llvm.amdgcn.cluster.workgroup.id.x"), part("llvm.amdgcn.cluster.workgroup.id.y"),
          part("llvm.amdgcn.cluster.workgroup.id.z")};
}

Numeric update_dpp(const Numeric &old, const Numeric &x, int control, int row_mask, int bank_mask,
                   bool bound_control, Loc loc) {
  Tracer &t = Tracer::require("update_dpp", loc);
  if (old.dtype(loc) != x.dtype(loc))
    throw TraceError("update_dpp takes two values of one type, not an old one of " +
                         std::string(old.dtype(loc).name()) + " and a new one of " +
                         std::string(x.dtype(loc).name()),
                     loc);
  builder::immediate("the control of update_dpp", control, 0x1ff, loc);
  builder::immediate("the row mask of update_dpp", row_mask, 15, loc);
  builder::immediate("the bank mask of update_dpp", bank_mask, 15, loc);
  mlir::OpBuilder &b = t.builder();
  mlir::Value v = value(t, x.handle(), loc);
  return Numeric(t.wrap(t.emit("rocdl.update.dpp", {value(t, old.handle(), loc), v}, loc,
                               {t.named("dppCtrl", b.getI32IntegerAttr(control)),
                                t.named("rowMask", b.getI32IntegerAttr(row_mask)),
                                t.named("bankMask", b.getI32IntegerAttr(bank_mask)),
                                t.named("boundCtrl", b.getBoolAttr(bound_control))},
                               v.getType()),
                        x.dtype(loc), loc));
}

static Numeric approximation(const char *intrinsicName, const Numeric &x, Loc loc) {
  if (!x.dtype(loc).is_float())
    throw TraceError(std::string(intrinsicName).substr(sizeof "llvm.amdgcn." - 1) +
                         " takes a float, not " + std::string(x.dtype(loc).name()) +
                         "; .to(fx::f32) converts",
                     loc);
  return Numeric(impl::intrinsic(intrinsicName, {x.dtype(loc)}, {x}, loc));
}
Numeric rcp(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.rcp", x, loc); }
Numeric rsq(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.rsq", x, loc); }
Numeric exp2(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.exp2", x, loc); }
Numeric log2(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.log", x, loc); }

//===-- Conversions -------------------------------------------------------===//

static Tracer &withFp8(const char *what, Loc loc) {
  Tracer &t = Tracer::require(what, loc);
  t.targetWith(Feature::fp8_conversions, what, loc);
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
BFloat16 cvt_sr_f32_to_bf16(const Float32 &x, const Int32 &seed, Loc loc) {
  Tracer &t = Tracer::require("cvt_sr_f32_to_bf16", loc);
  t.targetWith(Feature::stochastic_bf16, "cvt_sr_f32_to_bf16", loc);
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
  Tracer::require(what, loc).targetWith(Feature::fp4_conversions, what, loc);
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
