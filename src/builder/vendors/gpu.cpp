// The functions of flydsl/kernel/gpu.h that each vendor has instructions of its own for.
#include <flydsl/kernel/gpu.h>

#include "builder/vendors/vendors.h"

#include <flydsl/error.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN

using builder::instructionsFor;

namespace gpu {

Numeric uniform(const Numeric &value, Loc loc) {
  return instructionsFor("gpu::uniform", loc).uniform(value, loc);
}

Boolean any_of_wave(const Boolean &condition, Loc loc) {
  return instructionsFor("gpu::any_of_wave", loc).anyOfWave(condition, loc);
}

static void expectCount(const char *kind, const std::optional<int> &count, Loc loc) {
  if (count && *count < 0)
    throw TraceError("gpu::wait_for leaves " + std::to_string(*count) + " " + kind +
                         " under way; it is 0 or more",
                     loc);
}
void wait_for(const UnderWay &left, Loc loc) {
  const auto &instructions = instructionsFor("gpu::wait_for", loc);
  if (!left.loads && !left.reads)
    throw TraceError("gpu::wait_for names nothing to wait for; give loads, reads or both, as in "
                     "{.loads = 0}",
                     loc);
  expectCount("loads", left.loads, loc);
  expectCount("reads", left.reads, loc);
  instructions.waitFor(left, loc);
}

void meet(Loc loc) { instructionsFor("gpu::meet", loc).meet(loc); }

void schedule_fence(Loc loc) { instructionsFor("gpu::schedule_fence", loc).scheduleFence(loc); }

void schedule_next(Scheduled kind, int count, Loc loc) {
  const auto &instructions = instructionsFor("gpu::schedule_next", loc);
  if (count < 1)
    throw TraceError("gpu::schedule_next orders " + std::to_string(count) +
                         " instructions; it is 1 or more",
                     loc);
  instructions.scheduleNext(kind, count, loc);
}

void wave_priority(int priority, Loc loc) {
  const auto &instructions = instructionsFor("gpu::wave_priority", loc);
  if (priority < 0 || priority > 3)
    throw TraceError("a wave's priority is 0 to 3, not " + std::to_string(priority), loc);
  instructions.wavePriority(priority, loc);
}

void trap(Loc loc) { instructionsFor("gpu::trap", loc).trap(loc); }

} // namespace gpu

static void expectWord(const char *call, DType type, Loc loc) {
  if (type.bits() != 32)
    throw TraceError(std::string(call) + " takes a number of 32 bits, not of type " +
                         std::string(type.name()),
                     loc);
}

Numeric rematerialised(const Numeric &value, Loc loc) {
  const auto &instructions = instructionsFor("rematerialised", loc);
  expectWord("rematerialised", value.dtype(loc), loc);
  return instructions.rematerialised(value, loc);
}

Numeric rematerialised_uniform(const Numeric &value, Loc loc) {
  const auto &instructions = instructionsFor("rematerialised_uniform", loc);
  expectWord("rematerialised_uniform", value.dtype(loc), loc);
  return instructions.rematerialisedUniform(value, loc);
}

Vector materialised(const Vector &values, Loc loc) {
  const auto &instructions = instructionsFor("materialised", loc);
  expectWord("materialised", values.dtype(loc), loc);
  return instructions.materialised(values, loc);
}

Int32 permute_bytes(const Int32 &high, const Int32 &low, std::uint32_t selector, Loc loc) {
  const auto &instructions = instructionsFor("permute_bytes", loc);
  for (int byte = 0; byte < 4; ++byte)
    if (const unsigned number = selector >> 8 * byte & 0xff; number > 7)
      throw TraceError("byte " + std::to_string(byte) + " of permute_bytes' selector names byte " +
                           std::to_string(number) + " of two words, which have 0 to 7",
                       loc);
  return instructions.permuteBytes(high, low, Int32(static_cast<std::int32_t>(selector), loc), loc);
}

Int32 permute_bytes(const Int32 &high, const Int32 &low, const Int32 &selector, Loc loc) {
  return instructionsFor("permute_bytes", loc).permuteBytes(high, low, selector, loc);
}

FLYDSL_NAMESPACE_END
