// gfx1250's named barriers: variables of a type of their own in shared memory, to which LLVM gives
// the numbers of barriers.
#include <flydsl/kernel/wave_memory.h>
#include <flydsl/rocdl/named_barrier.h>

#include "builder/rocdl/fence.h"
#include "builder/trace/tracer.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
namespace LLVM = mlir::LLVM;
namespace ROCDL = mlir::ROCDL;

namespace rocdl {

namespace {
constexpr int kMostBarriers = 16, kMostWaves = 32;
/// Every number above 0 says that the wave waits at the barrier that it has joined.
constexpr std::uint16_t kJoinedBarrier = 1;

mlir::gpu::GPUFuncOp kernelOf(Tracer &t) {
  mlir::Operation *at = t.builder().getInsertionBlock()->getParentOp();
  auto kernel = mlir::dyn_cast<mlir::gpu::GPUFuncOp>(at);
  return kernel ? kernel : at->getParentOfType<mlir::gpu::GPUFuncOp>();
}

bool isBarrier(LLVM::GlobalOp global) {
  const auto type = mlir::dyn_cast<LLVM::LLVMTargetExtType>(global.getType());
  return type && type.getExtTypeName() == "amdgcn.named.barrier";
}

/// A new barrier's variable. Throws TraceError if the kernel has all that there are.
LLVM::GlobalOp makeVariable(Tracer &t, Loc loc) {
  auto module = kernelOf(t)->getParentOfType<mlir::gpu::GPUModuleOp>();
  int count = 0;
  for (auto global : module.getOps<LLVM::GlobalOp>())
    count += isBarrier(global);
  if (count == kMostBarriers)
    throw TraceError("a kernel has " + std::to_string(kMostBarriers) +
                         " named barriers at most; this is one more",
                     loc);
  mlir::OpBuilder::InsertionGuard guard(t.builder());
  t.builder().setInsertionPointToStart(module.getBody());
  const auto type = LLVM::LLVMTargetExtType::get(t.context(), "amdgcn.named.barrier", {}, {0u});
  return LLVM::GlobalOp::create(t.builder(), t.ir.location(loc), type, /*isConstant=*/false,
                                LLVM::Linkage::Internal, "named_barrier_" + std::to_string(count),
                                mlir::Attribute(), /*alignment=*/0,
                                ROCDL::ROCDLDialect::kSharedMemoryAddressSpace);
}

/// Throws TraceError for members that the block does not have.
void expectMembers(Tracer &t, int members, Loc loc) {
  int waves = kMostWaves;
  if (t.kernel.knowsBlock()) {
    (void)t.kernel.targetFor("NamedBarrier", loc);
    waves = *t.kernel.waves();
  }
  if (members < 1 || members > waves)
    throw TraceError("a named barrier of " + std::to_string(members) +
                         " waves; the block has 1 to " + std::to_string(waves),
                     loc);
}
} // namespace

NamedBarrier::NamedBarrier(int members, Loc loc) : members_(members) {
  Tracer &t = Tracer::require("NamedBarrier", loc);
  t.kernel.targetWith(Feature::clusters, "NamedBarrier", loc);
  expectMembers(t, members, loc);
  LLVM::GlobalOp variable = makeVariable(t, loc);
  const mlir::Value address = t.ir.prologue<LLVM::AddressOfOp>(loc, variable).getResult();
  place_ = t.wrap(address, i32, loc);
  t.create<ROCDL::BarrierInitOp>(loc, address, static_cast<std::uint32_t>(members));
  gpu::barrier(AddressSpace::shared, loc);
}

void NamedBarrier::join(Loc loc) const {
  Tracer &t = Tracer::require("NamedBarrier::join", loc);
  t.create<ROCDL::BarrierJoinOp>(loc, t.use(place_, loc));
}

void NamedBarrier::signal(Loc loc) const {
  Tracer &t = Tracer::require("NamedBarrier::signal", loc);
  t.arrivals.expectInstruction("a barrier", loc);
  const mlir::Value place = t.use(place_, loc);
  builder::blockFence(t, LLVM::AtomicOrdering::release, AddressSpace::shared, loc);
  t.create<ROCDL::BarrierSignalVarOp>(loc, place, static_cast<std::uint32_t>(members_));
}

void NamedBarrier::wait(Loc loc) {
  Tracer &t = Tracer::require("NamedBarrier::wait", loc);
  t.kernel.targetWith(Feature::clusters, "NamedBarrier", loc);
  t.arrivals.expectInstruction("a barrier", loc);
  const auto joins =
      kernelOf(t).walk([](ROCDL::BarrierJoinOp) { return mlir::WalkResult::interrupt(); });
  if (!joins.wasInterrupted())
    throw TraceError(
        "a wait at a named barrier before any join: a wave waits at the barrier that it "
        "has joined",
        loc);
  t.create<ROCDL::BarrierWaitOp>(loc, kJoinedBarrier);
  builder::blockFence(t, LLVM::AtomicOrdering::acquire, AddressSpace::shared, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
