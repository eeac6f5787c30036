#include "builder/rocdl/vendor.h"

#include "builder/kernel/vendor_instructions.h"
#include "builder/memory/memory_order.h"
#include "builder/rocdl/fence.h"
#include "builder/rocdl/lane_moves.h"
#include "builder/trace/tracer.h"
#include "support/argument_mark.h"
#include "target/processors.h"

#include <flydsl/host/product.h>
#include <flydsl/rocdl/atoms.h>
#include <flydsl/rocdl/buffer.h>
#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/rocdl/scalar_load.h>
#include <flydsl/rocdl/schedule.h>

#include <algorithm>

namespace flydsl::builder {

namespace {

class AmdInstructions final : public VendorInstructions {
public:
  Vendor vendor() const override { return Vendor::amd; }

  Numeric uniform(const Numeric &value, Loc loc) const override {
    return rocdl::readfirstlane(value, loc);
  }
  Boolean anyOfWave(const Boolean &condition, Loc loc) const override {
    const Numeric lanes = rocdl::ballot(condition, loc);
    const Numeric::Arg none(0, loc);
    return Boolean(detail::binary(detail::BinaryOp::ne, lanes.handle(), none.handle, loc));
  }

  /// One instruction for both counters where there is one, otherwise one for each (gfx1250).
  void waitFor(const gpu::UnderWay &left, Loc loc) const override {
    const Target &target =
        Tracer::require("gpu::wait_for", loc).kernel.targetFor("gpu::wait_for", loc);
    const WaitLimits most = wait_limits(target);
    const auto counted = [](const std::optional<int> &count, int limit) {
      return count ? std::optional(std::min(*count, limit)) : std::nullopt;
    };
    const auto loads = counted(left.loads, most.loads), reads = counted(left.reads, most.lds);
    if (target.has(Feature::s_waitcnt))
      return rocdl::s_waitcnt({.vmcnt = loads, .lgkmcnt = reads}, loc);
    if (loads)
      rocdl::s_wait_loadcnt(*loads, loc);
    if (reads)
      rocdl::s_wait_dscnt(*reads, loc);
  }
  void meet(Loc loc) const override { rocdl::s_barrier(loc); }
  void barrier(AddressSpace memory, Loc loc) const override {
    Tracer &t = Tracer::require("gpu::barrier", loc);
    blockFence(t, mlir::LLVM::AtomicOrdering::release, memory, loc);
    t.create<mlir::ROCDL::SBarrierOp>(loc);
    blockFence(t, mlir::LLVM::AtomicOrdering::acquire, memory, loc);
  }
  void fence(MemoryOrder order, AddressSpace memory, SyncScope scope, Loc loc) const override {
    fenceOf(Tracer::require("fence", loc), orderingOf(order), scopeNamed(scope, loc), memory, loc);
  }
  Int64 steadyClock(Loc loc) const override {
    return Int64(rocdl::intrinsic("llvm.readsteadycounter", i64, {}, loc));
  }
  void scheduleFence(Loc loc) const override { rocdl::sched_barrier(0, loc); }
  void scheduleNext(gpu::Scheduled kind, int count, Loc loc) const override {
    switch (kind) {
    case gpu::Scheduled::products:
      return rocdl::sched_mfma(count, loc);
    case gpu::Scheduled::loads:
      return rocdl::sched_vmem(count, loc);
    case gpu::Scheduled::lds_reads:
      return rocdl::sched_dsrd(count, loc);
    case gpu::Scheduled::lds_writes:
      return rocdl::sched_dswr(count, loc);
    }
  }
  void wavePriority(int priority, Loc loc) const override { rocdl::s_setprio(priority, loc); }
  void trap(Loc loc) const override { rocdl::inline_asm("s_trap 2", "", {}, loc); }

  // An empty instruction that takes a register and gives it back: LLVM sees a new number.
  Numeric rematerialised(const Numeric &value, Loc loc) const override {
    return rocdl::inline_asm("", "=v,0", value.dtype(loc), {value}, true, loc);
  }
  Numeric rematerialisedUniform(const Numeric &value, Loc loc) const override {
    return rocdl::inline_asm("", "=s,0", value.dtype(loc), {value}, true, loc);
  }
  Numeric argumentAgain(const Numeric &argument, Loc loc) const override {
    return rocdl::inline_asm(support::kArgumentMark, "=s,0", argument.dtype(loc), {argument}, true,
                             loc);
  }
  Vector materialised(const Vector &values, Loc loc) const override {
    return rocdl::inline_asm("", "=v,0", values.dtype(loc), values.size(loc), {values}, true, loc);
  }

  Int32 permuteBytes(const Int32 &high, const Int32 &low, const Int32 &selector,
                     Loc loc) const override {
    return rocdl::perm_b32(high, low, selector, loc);
  }
  // LLVM's features dot1-insts and dot8-insts, which tests/target compares with these.
  Int32 dot4(const Int32 &a, const Int32 &b, const Int32 &sum, Loc loc) const override {
    const Target &target = Tracer::require("dot4", loc).kernel.targetFor("dot4", loc);
    const rocdl::IntrinsicArg yes(true, loc), no(false, loc); // the last one saturates the sum
    if (target.has(Feature::mfma))
      return Int32(rocdl::intrinsic("llvm.amdgcn.sdot4", i32, {a, b, sum, no}, loc));
    if (target.has(Feature::wmma)) // which is told of each word whether its bytes have a sign
      return Int32(rocdl::intrinsic("llvm.amdgcn.sudot4", i32, {yes, a, yes, b, sum, no}, loc));
    return dotByShifts(a, b, sum, loc);
  }
  std::unique_ptr<const LaneMoves> laneMoves(const LaneGroup &group) const override {
    return amdLaneMoves(group);
  }
  Tensor bounded(const Tensor &tensor, const Int64 &bytes, Loc loc) const override {
    return rocdl::make_buffer_tensor(tensor, {.num_records_bytes = bytes}, loc);
  }
  CopyOp boundedCopy(int bits, CachePolicy cache, Loc loc) const override {
    return rocdl::BufferCopy(bits, cache, loc);
  }
  Numeric boundedLoad(const Pointer &view, const BoundedPlace &place, DType type,
                      Loc loc) const override {
    return rocdl::raw_buffer_load(view, place.ofLane, type, {.soffset = place.ofWave}, loc);
  }
  Vector boundedLoad(const Pointer &view, const BoundedPlace &place, DType type, std::int64_t size,
                     CachePolicy cache, Loc loc) const override {
    return rocdl::raw_buffer_load(view, place.ofLane, type, size, options(place, cache, loc), loc);
  }
  void boundedLoadToShared(const Pointer &view, const BoundedPlace &place, const Pointer &shared,
                           int bytes, CachePolicy cache, Loc loc) const override {
    const char *const what = "bounded_load_to_shared";
    const Target &target = Tracer::require(what, loc).kernel.targetFor(what, loc);
    if (!target.has(Feature::buffer_to_lds))
      throw TraceError("there is no bounded_load_to_shared on " + target.name() + "; " +
                           detail::processorsWith(Feature::buffer_to_lds) +
                           " have it. Elsewhere a BoundedCopy loads into registers, which a "
                           "UniversalCopy stores to shared memory",
                       loc);
    rocdl::raw_buffer_load_lds(view, shared, bytes, place.ofLane, options(place, cache, loc), loc);
  }
  Numeric uniformLoad(const Tensor &tensor, const IntTuple &coord, Loc loc) const override {
    return rocdl::s_load(tensor, coord, loc);
  }
  CopyOp copyToShared(int bits, CachePolicy cache, Loc loc) const override {
    return rocdl::GlobalLoadAsyncLDS(bits, cache, loc);
  }
  CopyOp transposedCopyFromShared(int elementBits, int bits, Loc loc) const override {
    return rocdl::LDSReadTrans(elementBits, bits, loc);
  }
  // The compiler's scheduler moves no access past it; it is no instruction.
  void meetOfWave(Loc loc) const override { rocdl::intrinsic("llvm.amdgcn.wave.barrier", {}, loc); }
  Int32 rounded(const Float32 &x, const Int32 &bits, const Int32 &word, int at, DType type,
                Loc loc) const override {
    switch (type.kind()) {
    case DType::Kind::f16:
      return rocdl::cvt_sr_f16_f32(x, bits, word, at == 1, loc);
    case DType::Kind::bf16:
      return rocdl::cvt_sr_bf16_f32(x, bits, word, at == 1, loc);
    case DType::Kind::f8E4M3FN:
    case DType::Kind::f8E4M3FNUZ:
      return rocdl::cvt_sr_fp8_f32(x, bits, word, at, loc);
    default:
      return rocdl::cvt_sr_bf8_f32(x, bits, word, at, loc);
    }
  }

private:
  static rocdl::RawBuffer options(const BoundedPlace &place, CachePolicy cache, Loc loc) {
    return {.soffset = place.ofWave, .aux = rocdl::CacheControl(cache).auxiliary(loc)};
  }
};

} // namespace

const VendorInstructions &amdInstructions() {
  static const AmdInstructions instructions;
  return instructions;
}

} // namespace flydsl::builder
