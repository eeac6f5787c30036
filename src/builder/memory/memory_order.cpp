#include "builder/memory/memory_order.h"

#include "builder/trace/tracer.h"

namespace flydsl::builder {

namespace llvmd = mlir::LLVM;

llvmd::AtomicOrdering orderingOf(MemoryOrder order) {
  switch (order) {
  case MemoryOrder::relaxed:
    return llvmd::AtomicOrdering::monotonic;
  case MemoryOrder::acquire:
    return llvmd::AtomicOrdering::acquire;
  case MemoryOrder::release:
    return llvmd::AtomicOrdering::release;
  case MemoryOrder::acq_rel:
    return llvmd::AtomicOrdering::acq_rel;
  case MemoryOrder::seq_cst:
    return llvmd::AtomicOrdering::seq_cst;
  }
  llvm_unreachable("an order");
}

llvm::StringRef scopeNamed(SyncScope scope, Loc loc) {
  // AMDGPUUsage, "Memory Scopes".
  static constexpr llvm::StringLiteral kKnown[] = {
      "agent",        "workgroup",        "wavefront",        "singlethread",
      "agent-one-as", "workgroup-one-as", "wavefront-one-as", "singlethread-one-as",
      "one-as"};
  const llvm::StringRef name = scope.name();
  if (name.empty() || name == "system")
    return {};
  if (name == "system-one-as")
    return "one-as";
  for (llvm::StringRef known : kKnown)
    if (name == known)
      return known;
  throw TraceError("there is no memory scope " + name.str() +
                       "; there are wavefront, workgroup, agent and system",
                   loc);
}

} // namespace flydsl::builder

FLYDSL_NAMESPACE_BEGIN

void fence(MemoryOrder order, SyncScope scope, Loc loc) {
  builder::Tracer &t = builder::Tracer::require("fence", loc);
  if (order == MemoryOrder::relaxed)
    throw TraceError("a fence of order relaxed orders nothing; it has the order acquire, release, "
                     "acq_rel or seq_cst",
                     loc);
  t.create<mlir::LLVM::FenceOp>(loc, builder::orderingOf(order), builder::scopeNamed(scope, loc));
}

FLYDSL_NAMESPACE_END
