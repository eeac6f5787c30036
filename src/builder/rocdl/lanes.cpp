// Lanes and approximate functions of AMD's GPUs.
#include <flydsl/rocdl/intrinsics.h>

#include "builder/rocdl/immediate.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
namespace ROCDL = mlir::ROCDL;

namespace rocdl {

static mlir::Value value(Tracer &t, const Handle &handle, Loc loc) {
  return detail::operand(t, handle, loc).value;
}

Numeric readfirstlane(const Numeric &x, Loc loc) {
  Tracer &t = Tracer::require("readfirstlane", loc);
  mlir::Value v = value(t, x.handle(), loc);
  return Numeric(t.wrap(t.create<ROCDL::ReadfirstlaneOp>(loc, v.getType(), v), x.dtype(loc), loc));
}

Numeric readlane(const Numeric &x, const Numeric::Arg &lane) {
  Loc loc = lane.loc;
  Tracer &t = Tracer::require("readlane", loc);
  const int lanes = t.kernel.targetFor("readlane", loc).wave_size();
  if (auto *known = detail::hostAs<detail::HostNumber>(lane.handle);
      known && (known->integer < 0 || known->integer >= lanes))
    throw TraceError("readlane of lane " + std::to_string(known->integer) + " in a wave of " +
                         std::to_string(lanes),
                     loc);
  mlir::Value v = value(t, x.handle(), loc);
  mlir::Value from = t.use(detail::convert(lane.handle, i32, loc), loc);
  return Numeric(t.wrap(t.create<ROCDL::ReadlaneOp>(loc, v.getType(), v, from), x.dtype(loc), loc));
}

Numeric ballot(const Boolean &condition, Loc loc) {
  Tracer &t = Tracer::require("ballot", loc);
  DType type = t.kernel.targetFor("ballot", loc).wave_size() == 64 ? i64 : i32;
  mlir::Value v = value(t, condition.handle(), loc);
  return Numeric(t.wrap(t.create<ROCDL::BallotOp>(loc, builder::elementType(type, t.context()), v),
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

Numeric ds_bpermute(const Numeric &byteIndex, const Numeric &x, Loc loc) {
  Tracer &t = Tracer::require("ds_bpermute", loc);
  return on32Bits("ds_bpermute", x, loc, [&](const Handle &bits) {
    mlir::Value index = value(t, byteIndex.handle(), loc), from = t.use(bits, loc);
    return t.wrap(t.create<ROCDL::DsBpermuteOp>(loc, t.builder().getI32Type(), index, from), i32,
                  loc);
  });
}

template <class Swap>
static std::pair<Numeric, Numeric> swapRows(const char *name, const Numeric &a, const Numeric &b,
                                            Loc loc) {
  Tracer &t = Tracer::require(name, loc);
  t.kernel.targetWith(Feature::permlane_swap, name, loc);
  const DType type = a.dtype(loc);
  if (b.dtype(loc) != type || type.bits() != 32)
    throw TraceError(std::string(name) + " takes two values of one type of 32 bits, not " +
                         std::string(type.name()) + " and " + std::string(b.dtype(loc).name()),
                     loc);
  mlir::Value first = t.use(detail::bitcast(a.handle(), i32, loc), loc),
              second = t.use(detail::bitcast(b.handle(), i32, loc), loc);
  mlir::Type word = t.builder().getI32Type(),
             both = mlir::LLVM::LLVMStructType::getLiteral(t.context(), {word, word});
  mlir::Value swapped = t.create<Swap>(loc, both, first, second, /*fi=*/false,
                                       /*boundControl=*/false);
  auto part = [&](std::int64_t i) {
    Handle bits = t.wrap(t.create<mlir::LLVM::ExtractValueOp>(loc, swapped, i), i32, loc);
    return Numeric(detail::bitcast(bits, type, loc));
  };
  return {part(0), part(1)};
}

std::pair<Numeric, Numeric> permlane16_swap(const Numeric &a, const Numeric &b, Loc loc) {
  return swapRows<ROCDL::Permlane16SwapOp>("permlane16_swap", a, b, loc);
}
std::pair<Numeric, Numeric> permlane32_swap(const Numeric &a, const Numeric &b, Loc loc) {
  return swapRows<ROCDL::Permlane32SwapOp>("permlane32_swap", a, b, loc);
}

Numeric ds_swizzle(const Numeric &x, int offset, Loc loc) {
  builder::immediate("the offset of ds_swizzle", offset, 0xffff, loc);
  return on32Bits("ds_swizzle", x, loc, [&](const Handle &bits) {
    return impl::intrinsic("llvm.amdgcn.ds.swizzle", {i32}, {Numeric(bits), offset}, loc);
  });
}

Numeric permlanex16(const Numeric &x, std::uint64_t selector, Loc loc) {
  Tracer::require("permlanex16", loc).kernel.targetWith(Feature::permlanex16, "permlanex16", loc);
  const auto half = [&](std::uint64_t bits) {
    return IntrinsicArg::of(u32, static_cast<std::uint32_t>(bits), loc);
  };
  return on32Bits("permlanex16", x, loc, [&](const Handle &bits) {
    return impl::intrinsic("llvm.amdgcn.permlanex16", {i32},
                           {Numeric(bits), Numeric(bits), half(selector), half(selector >> 32),
                            IntrinsicArg(false, loc), IntrinsicArg(false, loc)},
                           loc);
  });
}

Int32 perm_b32(const Int32 &high, const Int32 &low, const Int32 &selector, Loc loc) {
  return Int32(impl::intrinsic("llvm.amdgcn.perm", {i32}, {high, low, selector}, loc));
}

Int32 wave_id(Loc loc) {
  Tracer::require("wave_id", loc).kernel.targetWith(Feature::wave_id, "wave_id", loc);
  return Int32(impl::intrinsic("llvm.amdgcn.wave.id", {i32}, {}, loc));
}

Index3 cluster_workgroup_id(Loc loc) {
  Tracer::require("cluster_workgroup_id", loc)
      .kernel.targetWith(Feature::clusters, "cluster_workgroup_id", loc);
  auto part = [&](const char *name) { return Int32(impl::intrinsic(name, {i32}, {}, loc)); };
  return {part("llvm.amdgcn.cluster.workgroup.id.x"), part("llvm.amdgcn.cluster.workgroup.id.y"),
          part("llvm.amdgcn.cluster.workgroup.id.z")};
}

Index3 cluster_dim(Loc loc) {
  Tracer::require("cluster_dim", loc).kernel.targetWith(Feature::clusters, "cluster_dim", loc);
  auto part = [&](const char *name) {
    const Handle last = impl::intrinsic(name, {i32}, {}, loc);
    return Int32(detail::binary(detail::BinaryOp::add, last,
                                detail::constant(detail::hostNumber(1), i32, loc), loc));
  };
  return {part("llvm.amdgcn.cluster.workgroup.max.id.x"),
          part("llvm.amdgcn.cluster.workgroup.max.id.y"),
          part("llvm.amdgcn.cluster.workgroup.max.id.z")};
}

Int32 cluster_workgroup_flat_id(Loc loc) {
  Tracer::require("cluster_workgroup_flat_id", loc)
      .kernel.targetWith(Feature::clusters, "cluster_workgroup_flat_id", loc);
  return Int32(impl::intrinsic("llvm.amdgcn.cluster.workgroup.flat.id", {i32}, {}, loc));
}

void cluster_barrier(Loc loc) {
  Tracer &t = Tracer::require("cluster_barrier", loc);
  t.kernel.targetWith(Feature::clusters, "cluster_barrier", loc);
  t.arrivals.expectBlock("a cluster's barrier", loc);
  t.create<mlir::LLVM::FenceOp>(loc, mlir::LLVM::AtomicOrdering::release, "workgroup");
  intrinsic("llvm.amdgcn.s.cluster.barrier", {}, loc);
  t.create<mlir::LLVM::FenceOp>(loc, mlir::LLVM::AtomicOrdering::acquire, "workgroup");
}

Numeric update_dpp(const Numeric &old, const Numeric &x, int control, int rowMask, int bankMask,
                   bool boundControl, Loc loc) {
  Tracer &t = Tracer::require("update_dpp", loc);
  if (old.dtype(loc) != x.dtype(loc))
    throw TraceError("update_dpp takes two values of one type, not an old one of " +
                         std::string(old.dtype(loc).name()) + " and a new one of " +
                         std::string(x.dtype(loc).name()),
                     loc);
  builder::immediate("the control of update_dpp", control, 0x1ff, loc);
  builder::immediate("the row mask of update_dpp", rowMask, 15, loc);
  builder::immediate("the bank mask of update_dpp", bankMask, 15, loc);
  mlir::Value v = value(t, x.handle(), loc), before = value(t, old.handle(), loc);
  auto bits = [](int field) { return static_cast<std::uint32_t>(field); };
  return Numeric(t.wrap(t.create<ROCDL::DPPUpdateOp>(loc, v.getType(), before, v, bits(control),
                                                     bits(rowMask), bits(bankMask), boundControl),
                        x.dtype(loc), loc));
}

static Numeric approximation(const char *name, const char *intrinsicName, const Numeric &x,
                             Loc loc) {
  if (!x.dtype(loc).is_float())
    throw TraceError(std::string(name) + " takes a float, not " + std::string(x.dtype(loc).name()) +
                         "; .to(fx::f32) converts",
                     loc);
  return Numeric(impl::intrinsic(intrinsicName, {x.dtype(loc)}, {x}, loc));
}
Numeric rcp(const Numeric &x, Loc loc) { return approximation("rcp", "llvm.amdgcn.rcp", x, loc); }
Numeric rsq(const Numeric &x, Loc loc) { return approximation("rsq", "llvm.amdgcn.rsq", x, loc); }
Numeric exp2(const Numeric &x, Loc loc) {
  return approximation("exp2", "llvm.amdgcn.exp2", x, loc);
}
Numeric log2(const Numeric &x, Loc loc) { return approximation("log2", "llvm.amdgcn.log", x, loc); }

} // namespace rocdl
FLYDSL_NAMESPACE_END
