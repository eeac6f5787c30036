#include "emulator/ops/vector/permute.h"

#include "emulator/core/wave.h"
#include "emulator/isa/op.h"
#include "emulator/ops/memory/memory_ops.h"

#include <memory>

namespace flyemu {

namespace {
constexpr int kNoLane = -1, kUnknown = -2;

/// DPP controls (ISA manuals, "DPP Data Parallel Primitives"). Below kQuadEnd they are a
/// permutation of each four lanes; those of a row have the amount in their low bits.
constexpr unsigned kQuadEnd = 0x100, kControls = 0x200;
enum RowControl : unsigned { RowShl = 0x10, RowShr, RowRor, RowShare = 0x15, RowXmask };
enum WaveControl : unsigned {
  WaveShl = 0x130,
  WaveRol = 0x134,
  WaveShr = 0x138,
  WaveRor = 0x13c,
  RowMirror = 0x140,
  RowHalfMirror,
  RowBcast15,
  RowBcast31
};

/// The lane that `lane` reads under a DPP control, kNoLane, or kUnknown for no control.
int dppSource(int lanes, unsigned ctrl, int lane) {
  int row = lane & ~15, n = lane & 15;
  if (ctrl < kQuadEnd)
    return (lane & ~3) | (ctrl >> (2 * (lane & 3)) & 3);
  int amount = static_cast<int>(ctrl & 15);
  switch (ctrl >> 4) {
  case RowShl:
    return n + amount < 16 ? lane + amount : kNoLane;
  case RowShr:
    return n - amount >= 0 ? lane - amount : kNoLane;
  case RowRor:
    return row | ((n - amount) & 15);
  case RowShare: // ROW_NEWBCAST on gfx9
    return row | amount;
  case RowXmask:
    return row | (n ^ amount);
  default:
    break;
  }
  int last = lanes - 1;
  switch (ctrl) {
  case WaveShl:
    return lane < last ? lane + 1 : kNoLane;
  case WaveRol:
    return lane < last ? lane + 1 : 0;
  case WaveShr:
    return lane > 0 ? lane - 1 : kNoLane;
  case WaveRor:
    return lane > 0 ? lane - 1 : last;
  case RowMirror:
    return row | (15 - n);
  case RowHalfMirror:
    return (lane & ~7) | (7 - (lane & 7));
  case RowBcast15:
    return lane >= 16 ? row - 1 : kNoLane;
  case RowBcast31:
    return lane >= 32 ? 31 : kNoLane;
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
    LaneMap of[2][kControls];
    bool known[2][kControls];
  };
  static const Maps *const maps = [] { // not destroyed: streams may run at exit
    auto m = std::make_unique<Maps>();
    for (unsigned size = 0; size < 2; ++size)
      for (unsigned c = 0; c < kControls; ++c) {
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
  if (!maps->known[size][ctrl % kControls])
    throw WaveFault{"DPP control " + std::to_string(ctrl)};
  return maps->of[size][ctrl % kControls];
}

/// The lanes that a row mask and a bank mask leave on: rows are 16 lanes, banks 4 of them.
uint64_t lanesOfMasks(unsigned bankMask, unsigned rowMask) {
  uint64_t banks = 0, lanes = 0;
  for (unsigned b = 0; b < 4; ++b)
    banks |= bankMask >> b & 1 ? uint64_t(15) << (4 * b) : 0;
  for (unsigned r = 0; r < 4; ++r)
    lanes |= rowMask >> r & 1 ? banks << (16 * r) : 0;
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
  const bool dpp8 = inst.permute == Permute::Dpp8, zero = !dpp8 && inst.dpp.zero;
  const bool inactive = dpp8 ? inst.dpp8.fetchInactive : inst.dpp.fetchInactive;
  LaneMap own;
  const LaneMap *map = &own;
  if (dpp8) {
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      own.from[lane] =
          static_cast<int8_t>((lane & ~7u) | (inst.dpp8.selectors >> (3 * (lane & 7)) & 7));
    own.valid = w.fullMask();
  } else {
    map = &laneMap(w, inst.dpp.control);
    enable &= lanesOfMasks(inst.dpp.banks, inst.dpp.rows);
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
      uint32_t *out = w.temp(r);
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        out[lane] = valid >> lane & 1 ? in[map->from[lane]] : 0;
    }
    run.src[0].index = w.tempRow;
  }
  run.permute = Permute::None;
  w.setExec(enable);
  inst.base(w, run);
  // A comparison that writes EXEC has done so; all others leave it as it was.
  if (!inst.op->has(Trait::ComparesToExec))
    w.setExec(exec);
}

namespace {
/// The selected part of a dword.
uint32_t selectPart(uint32_t x, unsigned sel, bool sext) {
  if (sel == kWholeDword)
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
  for (unsigned k = 0; k < 2; ++k) {
    const Operand &o = inst.src[k];
    if (o.kind == Kind::None || inst.op->src[k] == Type::None)
      continue;
    uint32_t *out = w.temp(k);
    const uint32_t scalar = o.isVgpr() ? 0 : read32(w, o);
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      out[lane] = selectPart(o.isVgpr() ? w.row(o.index)[lane] : scalar, inst.sdwa.sources[k],
                             o.flags & kSext);
    run.src[k] = {Kind::Vgpr, static_cast<uint8_t>(o.flags & (kNeg | kAbs)),
                  static_cast<uint16_t>(w.tempRow + k), 0};
  }
  const unsigned dstSel = inst.sdwa.result, unused = inst.sdwa.unused;
  // Multiply-accumulate forms read their destination, so it stays in place for a full-register
  // result.
  if (dstSel == kWholeDword) {
    inst.base(w, run);
    return;
  }
  uint32_t *dst = w.row(inst.dst.index), *result = w.temp(2);
  std::memcpy(result, dst, sizeof(uint32_t) * kLanes);
  run.dst.index = w.tempOperand(2).index;
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
  std::memcpy(w.temp(kDualTemp), w.row(inst.dst.index),
              sizeof(uint32_t) * kLanes * dwordsOf(inst.op->dst));
  inst.base(w, inst);
  second.base(w, second);
}

} // namespace flyemu
