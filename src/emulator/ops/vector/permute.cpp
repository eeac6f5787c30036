#include "emulator/ops/vector/permute.h"

#include "emulator/core/wave.h"
#include "emulator/isa/op.h"
#include "emulator/ops/memory/memory_ops.h"

#include <memory>

namespace flyemu {

namespace {
constexpr int kNoLane = -1, kUnknown = -2;

/// The lane that `lane` reads under a DPP control, kNoLane, or kUnknown for no control (ISA
/// manuals, "DPP Data Parallel Primitives").
int dppSource(int lanes, unsigned ctrl, int lane) {
  int row = lane & ~15, n = lane & 15;
  if (ctrl < 0x100)
    return (lane & ~3) | (ctrl >> (2 * (lane & 3)) & 3);
  int amount = static_cast<int>(ctrl & 15);
  switch (ctrl >> 4) {
  case 0x10:
    return n + amount < 16 ? lane + amount : kNoLane; // row_shl
  case 0x11:
    return n - amount >= 0 ? lane - amount : kNoLane; // row_shr
  case 0x12:
    return row | ((n - amount) & 15); // row_ror
  case 0x15:
    return row | amount; // row_share, row_newbcast
  case 0x16:
    return row | (n ^ amount); // row_xmask
  default:
    break;
  }
  int last = lanes - 1;
  switch (ctrl) {
  case 0x130:
    return lane < last ? lane + 1 : kNoLane; // wave_shl
  case 0x134:
    return lane < last ? lane + 1 : 0; // wave_rol
  case 0x138:
    return lane > 0 ? lane - 1 : kNoLane; // wave_shr
  case 0x13c:
    return lane > 0 ? lane - 1 : last; // wave_ror
  case 0x140:
    return row | (15 - n); // row_mirror
  case 0x141:
    return (lane & ~7) | (7 - (lane & 7)); // row_half_mirror
  case 0x142:
    return lane >= 16 ? row - 1 : kNoLane; // row_bcast15
  case 0x143:
    return lane >= 32 ? 31 : kNoLane; // row_bcast31
  default:
    return kUnknown;
  }
}

/// Where each lane reads under one control: -1 has no source, and its bit in `valid` is off.
struct LaneMap {
  int8_t from[kLanes];
  uint64_t valid;
};

/// The maps of all DPP controls for waves of 64 and 32 lanes, made at the first use.
const LaneMap &laneMap(const Wave &w, unsigned ctrl) {
  struct Maps {
    LaneMap of[2][0x200];
    bool known[2][0x200];
  };
  static const Maps *const maps = [] { // not destroyed: streams may run at exit
    auto m = std::make_unique<Maps>();
    for (unsigned size = 0; size < 2; ++size)
      for (unsigned c = 0; c < 0x200; ++c) {
        LaneMap &map = m->of[size][c];
        const int lanes = size ? 64 : 32;
        map.valid = 0;
        m->known[size][c] = true;
        for (int lane = 0; lane < lanes; ++lane) {
          int from = dppSource(lanes, c, lane);
          m->known[size][c] &= from != kUnknown;
          map.from[lane] = static_cast<int8_t>(from);
          map.valid |= uint64_t(from >= 0) << lane;
        }
      }
    return m.release();
  }();
  const unsigned size = w.lanes == 64;
  if (!maps->known[size][ctrl & 0x1ff])
    throw WaveFault{"DPP control " + std::to_string(ctrl)};
  return maps->of[size][ctrl & 0x1ff];
}

/// The lanes that a row mask and a bank mask leave on: rows are 16 lanes, banks 4 of them.
uint64_t lanesOfMasks(unsigned masks) {
  uint64_t banks = 0, lanes = 0;
  for (unsigned b = 0; b < 4; ++b)
    banks |= masks >> b & 1 ? uint64_t(15) << (4 * b) : 0;
  for (unsigned r = 0; r < 4; ++r)
    lanes |= masks >> (4 + r) & 1 ? banks << (16 * r) : 0;
  return lanes;
}

/// The dwords of src[0] that a permute moves.
unsigned sourceRows(const Inst &i) {
  return i.op->src[0] == Type::B64 || i.op->src[0] == Type::F64 ? 2 : 1;
}
} // namespace

void runDpp(Wave &w, const Inst &inst) {
  const uint64_t exec = w.exec();
  uint64_t enable = exec, valid = 0;
  const bool dpp8 = inst.flags & kDpp8, zero = inst.dppFlags & 1, inactive = inst.dppFlags & 2;
  LaneMap own;
  const LaneMap *map = &own;
  if (dpp8) {
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      own.from[lane] = static_cast<int8_t>((lane & ~7u) | (inst.sdwa >> (3 * (lane & 7)) & 7));
    own.valid = w.fullMask();
  } else {
    map = &laneMap(w, inst.dppCtrl);
    enable &= lanesOfMasks(inst.dppMasks);
  }
  // A source lane that is off is no source, unless the instruction fetches from inactive lanes.
  valid = map->valid;
  if (!inactive && exec != w.fullMask())
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      if (map->from[lane] >= 0 && !(exec >> map->from[lane] & 1))
        valid &= ~(uint64_t(1) << lane);
  // A lane without a source keeps its destination, or, with bound_ctrl, reads 0.
  if (!zero && !dpp8)
    enable &= valid;
  Inst run = inst;
  if (inst.src[0].isVgpr()) {
    for (unsigned r = 0; r < sourceRows(inst); ++r) {
      const uint32_t *in = w.row(inst.src[0].index + r);
      uint32_t *out = w.row(kTempRow + r);
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        out[lane] = valid >> lane & 1 ? in[map->from[lane]] : 0;
    }
    run.src[0].index = kTempRow;
  }
  run.permute = Permute::None;
  w.setExec(enable);
  inst.base(w, run);
  // A comparison that writes EXEC has done so; all others leave it as it was.
  if (!(inst.op->dst == Type::Mask && inst.op->info & 0x100))
    w.setExec(exec);
}

namespace {
/// The selected part of a dword: 0-3 bytes, 4-5 words, 6 all; 7, which is reserved, as 6.
uint32_t selectPart(uint32_t x, unsigned sel, bool sext) {
  if (sel >= 6)
    return x;
  if (sel < 4) {
    uint32_t b = x >> (8 * sel) & 255;
    return sext ? static_cast<uint32_t>(static_cast<int8_t>(b)) : b;
  }
  uint32_t h = x >> (16 * (sel - 4)) & 0xffff;
  return sext ? static_cast<uint32_t>(static_cast<int16_t>(h)) : h;
}
} // namespace

void runSdwa(Wave &w, const Inst &inst) {
  Inst run = inst;
  run.permute = Permute::None;
  const unsigned selects[2] = {inst.sdwa >> 5 & 7, inst.sdwa >> 8 & 7};
  for (unsigned k = 0; k < 2; ++k) {
    const Operand &o = inst.src[k];
    if (o.kind == Kind::None || inst.op->src[k] == Type::None)
      continue;
    uint32_t *out = w.row(kTempRow + k);
    const uint32_t scalar = o.isVgpr() ? 0 : read32(w, o);
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      out[lane] =
          selectPart(o.isVgpr() ? w.row(o.index)[lane] : scalar, selects[k], o.flags & kSext);
    run.src[k] = {Kind::Vgpr, static_cast<uint8_t>(o.flags & (kNeg | kAbs)),
                  static_cast<uint16_t>(kTempRow + k), 0};
  }
  const unsigned dstSel = inst.sdwa & 7, unused = inst.sdwa >> 3 & 3;
  // Multiply-accumulate forms read their destination, so it stays in place for a full-register
  // result.
  if (dstSel >= 6) {
    inst.base(w, run);
    return;
  }
  uint32_t *dst = w.row(inst.dst.index), *result = w.row(kTempRow + 2);
  std::memcpy(result, dst, sizeof(uint32_t) * kLanes);
  run.dst.index = kTempRow + 2;
  inst.base(w, run);
  const unsigned bits = dstSel < 4 ? 8 : 16, shift = dstSel < 4 ? 8 * dstSel : 16 * (dstSel - 4);
  const uint32_t part = (1u << bits) - 1;
  forLanes(w.exec(), [&](unsigned lane) {
    uint32_t x = result[lane] & part, r = x << shift;
    if (unused == 2) // preserve
      r |= dst[lane] & ~(part << shift);
    else if (unused == 1 && x >> (bits - 1)) // sign-extend upwards
      r |= shift + bits < 32 ? ~0u << (shift + bits) : 0;
    dst[lane] = r;
  });
}

void runDual(Wave &w, const Inst &inst) {
  const Inst &second = *(&inst + 1);
  std::memcpy(w.row(kDualRow), w.row(inst.dst.index), sizeof(uint32_t) * kLanes);
  inst.base(w, inst);
  second.base(w, second);
}

} // namespace flyemu
