// What each vendor has instructions of its own for: how waves use memory, and the clock.
#include <flydsl/kernel/clock.h>
#include <flydsl/kernel/wave_memory.h>

#include "builder/trace/tracer.h"
#include "builder/vendors/vendors.h"

#include <flydsl/error.h>

FLYDSL_NAMESPACE_BEGIN

using builder::instructionsFor;

namespace gpu {

Numeric uniform_load(const Tensor &tensor, const IntTuple &coord, Loc loc) {
  return instructionsFor("gpu::uniform_load", loc).uniformLoad(tensor, coord, loc);
}
void barrier(AddressSpace memory, Loc loc) {
  if (memory == AddressSpace::generic)
    return barrier(loc);
  const auto &instructions = instructionsFor("gpu::barrier", loc);
  if (memory == AddressSpace::register_)
    throw TraceError(
        "a barrier orders accesses to memory that threads share, not to registers; name "
        "AddressSpace::shared or AddressSpace::global",
        loc);
  builder::Tracer::require("gpu::barrier", loc).arrivals.expectBlock("a barrier", loc);
  instructions.barrier(memory, loc);
}

Int64 steady_clock(Loc loc) { return instructionsFor("gpu::steady_clock", loc).steadyClock(loc); }

} // namespace gpu

void fence(MemoryOrder order, AddressSpace memory, SyncScope scope, Loc loc) {
  if (memory == AddressSpace::generic || order == MemoryOrder::relaxed) // which is refused
    return fence(order, scope, loc);
  const auto &instructions = instructionsFor("fence", loc);
  if (memory == AddressSpace::register_)
    throw TraceError("a fence orders accesses to memory that threads share, not to registers; name "
                     "AddressSpace::shared or AddressSpace::global",
                     loc);
  instructions.fence(order, memory, scope, loc);
}

CopyOp CopyToShared(int bits, Loc loc) { return CopyToShared(bits, CachePolicy::cached, loc); }
CopyOp CopyToShared(int bits, CachePolicy cache, Loc loc) {
  return instructionsFor("CopyToShared", loc).copyToShared(bits, cache, loc);
}
CopyOp TransposedCopyFromShared(int elementBits, int bits, Loc loc) {
  return instructionsFor("TransposedCopyFromShared", loc)
      .transposedCopyFromShared(elementBits, bits, loc);
}

FLYDSL_NAMESPACE_END
