// Which of a target's instructions the emulator has: every opcode field of every encoding is put to
// LLVM's disassembler, and what it accepts is looked up in the operation tables.
#include "emulator/exec/dispatch.h"
#include "emulator/exec/matrix.h"
#include "emulator/exec/op.h"
#include "emulator/isa/mc.h"
#include "emulator/isa/mnemonic.h"

#include <cstring>
#include <set>
#include <stdexcept>

namespace flyemu {

namespace {
/// An encoding: its fixed bits, and where its opcode field is.
struct Format {
  uint32_t prefix;
  unsigned shift, bits;
};

constexpr Format kGfx9[] = {{0x80000000, 23, 7}, {0xb0000000, 23, 5}, {0xbe800000, 8, 8},
                            {0xbf000000, 16, 7}, {0xbf800000, 16, 7}, {0x00000000, 25, 6},
                            {0x7e000000, 9, 8},  {0x7c000000, 17, 8}, {0xd0000000, 16, 10},
                            {0xd3800000, 16, 7}, {0xd8000000, 17, 8}, {0xdc000000, 18, 7},
                            {0xdc004000, 18, 7}, {0xdc008000, 18, 7}, {0xe0000000, 18, 7},
                            {0xe8000000, 15, 4}, {0xc0000000, 18, 8}};
constexpr Format kGfx11[] = {{0x80000000, 23, 7}, {0xb0000000, 23, 5}, {0xbe800000, 8, 8},
                             {0xbf000000, 16, 7}, {0xbf800000, 16, 7}, {0x00000000, 25, 6},
                             {0x7e000000, 9, 8},  {0x7c000000, 17, 8}, {0xd4000000, 16, 10},
                             {0xcc000000, 16, 7}, {0xd8000000, 18, 8}, {0xdc000000, 18, 7},
                             {0xdc010000, 18, 7}, {0xdc020000, 18, 7}, {0xe0000000, 18, 8},
                             {0xe8000000, 15, 4}, {0xf4000000, 18, 8}};
constexpr Format kGfx12[] = {
    {0x80000000, 23, 7},  {0xb0000000, 23, 5}, {0xbe800000, 8, 8},  {0xbf000000, 16, 7},
    {0xbf800000, 16, 7},  {0x00000000, 25, 6}, {0x7e000000, 9, 8},  {0x7c000000, 17, 8},
    {0xd4000000, 16, 10}, {0xcc000000, 16, 7}, {0xd8000000, 18, 8}, {0xec000000, 14, 8},
    {0xed000000, 14, 8},  {0xee000000, 14, 8}, {0xc4000000, 14, 8}, {0xf4000000, 13, 6}};

// Fills of the other fields: some encodings are valid with particular registers only (aligned
// pairs, an absent scalar address, vector operands).
struct Fill {
  uint32_t first, second, third;
};
constexpr Fill kFills[] = {{0, 0, 0},
                           {0, 0x02020100, 0},
                           {0, 0x04040402, 0},
                           {2, 0x02020100, 0},
                           {0, 0x1a0a0500, 0},
                           {0x8000, 0x1c020902, 0},
                           {0, 0x007f0002, 0},
                           {0x7c, 0, 0},
                           {0x7c, 0x00000002, 0},
                           {0, 0x7c020902, 0},
                           {0, 0x020a0500, 0},
                           {0, 0x00040100, 0},
                           {0, 0xf8000000, 0},
                           {0x10000, 2, 0},
                           {0x20000, 2, 0},
                           {0x4010, 0x1c420d02, 0},
                           {0x4010, 0x1c060d02, 0}};

/// Instructions that are not counted, by a prefix of their names (or, after a star, by an end);
/// executing them is a fault like
/// that of any unknown instruction.
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

const Excluded *exclusionOf(std::string_view name) {
  for (const Excluded &e : kExcluded)
    if (e.name[0] == '*' ? name.ends_with(e.name.substr(1)) : name.starts_with(e.name))
      return &e;
  return nullptr;
}

void insert(const McTarget &mc, const McInstruction &i, std::set<std::string> &names) {
  std::string name = baseMnemonic(mc.opcodeName(i.opcode));
  if (size_t at = name.find("f8f6f4"); at != std::string::npos)
    name.resize(at + 6);
  names.insert(name);
}

template <size_t N>
void walk(const Format (&formats)[N], const McTarget &mc, std::set<std::string> &names) {
  for (const Format &f : formats)
    for (uint32_t opcode = 0; opcode < 1u << f.bits; ++opcode)
      for (const Fill &fill : kFills) {
        uint32_t words[4] = {(f.prefix | opcode << f.shift) | fill.first, fill.second, fill.third,
                             0};
        McInstruction i = mc.decode(words, sizeof words);
        if (i.size) {
          insert(mc, i, names);
        }
      }
}
} // namespace

Coverage coverage(std::string_view target) {
  const Machine *info = findMachine(target);
  if (!info)
    throw std::invalid_argument("unsupported target '" + std::string(target) + "'");
  McTarget mc(info->processor->name, info->disassembler);
  std::set<std::string> names;
  switch (info->encoding) {
  case Encoding::Gfx9:
    walk(kGfx9, mc, names);
    break;
  case Encoding::Gfx11:
    walk(kGfx11, mc, names);
    break;
  case Encoding::Gfx12:
    walk(kGfx12, mc, names);
    break;
  }
  // Scaled matrix instructions: a half with the scales before the instruction proper.
  if (info->has(flydsl::Feature::mfma_scale))
    for (uint32_t product : {0xd3ad0818u, 0xd3ae0820u}) {
      const uint32_t words[4] = {0xd3ac0000, 0x00020702, product,
                                 product == 0xd3ad0818 ? 0x04622108u : 0x04822108u};
      if (McInstruction i = mc.decode(words, sizeof words); i.size)
        insert(mc, i, names);
    }
  Coverage c;
  for (const std::string &n : names) {
    bool known = findOp(n) || findMatrixOp(n, *info);
    if (const Excluded *e = known ? nullptr : exclusionOf(n))
      c.excluded.push_back({n, std::string(e->reason)});
    else
      (known ? c.implemented : c.missing).push_back(n);
  }
  return c;
}

} // namespace flyemu
