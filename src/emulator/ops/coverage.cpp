#include "emulator/ops/coverage.h"

#include "emulator/isa/encodings.h"
#include "emulator/isa/mnemonic.h"
#include "emulator/ops/find_op.h"
#include "emulator/ops/matrix/matrix.h"
#include "emulator/ops/refused.h"

#include <set>
#include <stdexcept>

namespace flyemu {

namespace {
/// Instructions that do not count as missing, by the beginning of their names (or, after a star, by
/// their end). Running one is a fault, as for any unknown instruction.
struct Excluded {
  std::string_view name, reason;
};
constexpr Excluded kExcluded[] = {
    {"buffer_store_lds_dword", "stores LDS through a buffer, which no compiler makes"},
    {"ds_bvh_stack", "ray traversal, of use with image instructions only"},
    {"ds_gws_init",
     "sets up a barrier of all workgroups, as the runtime of a cooperative launch does"},
    {"ds_gws_sema", "semaphores of the whole device, which nothing uses"},
    {"ds_ordered_count", "orders the waves of the graphics pipeline through GDS"},
    {"global_atomic_ordered_add", "orders the waves of geometry shaders"},
    {"s_barrier_init", "named barriers: their numbers are reserved on RDNA4"},
    {"s_barrier_join", "named barriers: their numbers are reserved on RDNA4"},
    {"s_barrier_leave", "named barriers: their numbers are reserved on RDNA4"},
    {"s_endpgm_ordered_ps_done", "ends pixel shaders"},
    {"s_rfe_", "returns from a trap handler, and no handler runs here"},
    {"*_tfe", "reports the residency of sparse resources, which do not exist here"},
    {"v_illegal", "the encoding that is illegal by definition"},
    {"v_mfma_ld_scale_b32", "the first half of v_mfma_scale_*, which count"},
    {"v_screen_partition_4se_b32", "screen space of the rasteriser"},
};

const Excluded *exclusionOf(std::string_view name, const Machine &machine) {
  const bool hasNamedBarriers = machine.has(flydsl::Feature::clusters);
  for (const Excluded &e : kExcluded)
    if (e.name.starts_with("s_barrier_") && hasNamedBarriers)
      continue;
    else if (e.name[0] == '*' ? name.ends_with(e.name.substr(1)) : name.starts_with(e.name))
      return &e;
  return nullptr;
}

} // namespace

Coverage coverage(std::string_view target) {
  const Machine *info = findMachine(target);
  if (!info)
    throw std::invalid_argument("unsupported target '" + std::string(target) + "'");
  McTarget mc(info->processor->name, info->disassembler);
  std::set<std::string> names;
  eachEncoding(*info, mc, [&](const EncodingWords &, const McInstruction &i) {
    names.insert(baseMnemonic(mc.opcodeName(i.opcode)));
  });
  Coverage c;
  for (const std::string &n : names) {
    const bool known = (findOp(n) || findMatrixOp(n, *info)) && !refusalOf(n, *info);
    if (const Excluded *e = known ? nullptr : exclusionOf(n, *info))
      c.excluded.push_back({n, std::string(e->reason)});
    else
      (known ? c.implemented : c.missing).push_back(n);
  }
  return c;
}

} // namespace flyemu
