#include "emulator/exec/permute.h"

#include "emulator/exec/memory_ops.h"
#include "emulator/exec/op.h"
#include "emulator/exec/wave.h"

namespace flyemu {

namespace {
constexpr int kNoLane = -1;

/// The lane that `lane` reads under a DPP control, or kNoLane (ISA manuals, "DPP Data Parallel Primitives").
int dppSource(const Wave &w, unsigned ctrl, int lane) {
  int row = lane & ~15, n = lane & 15;
  if (ctrl < 0x100)
    return (lane & ~3) | (ctrl >> (2 * (lane & 3)) & 3);
  int amount = static_cast<int>(ctrl & 15);
  switch (ctrl >> 4) {
  case 0x10: return n + amount < 16 ? lane + amount : kNoLane; // row_shl
  case 0x11: return n - amount >= 0 ? lane - amount : kNoLane; // row_shr
  case 0x12: return row | ((n - amount) & 15);                 // row_ror
  case 0x15: return row | amount;                              // row_share, row_newbcast
  case 0x16: return row | (n ^ amount);                        // row_xmask
  default: break;
  }
  int last = static_cast<int>(w.lanes) - 1;
  switch (ctrl) {
  case 0x130: return lane < last ? lane + 1 : kNoLane;  // wave_shl
  case 0x134: return lane < last ? lane + 1 : 0;        // wave_rol
  case 0x138: return lane > 0 ? lane - 1 : kNoLane;     // wave_shr
  case 0x13c: return lane > 0 ? lane - 1 : last;        // wave_ror
  case 0x140: return row | (15 - n);                    // row_mirror
  case 0x141: return (lane & ~7) | (7 - (lane & 7));    // row_half_mirror
  case 0x142: return lane >= 16 ? row - 1 : kNoLane;    // row_bcast15
  case 0x143: return lane >= 32 ? 31 : kNoLane;         // row_bcast31
  default: throw WaveFault{"DPP control " + std::to_string(ctrl)};
  }
}

/// The dwords of src[0] that a permute moves.
unsigned sourceRows(const Inst &i) { return i.op->src[0] == Type::B64 || i.op->src[0] == Type::F64 ? 2 : 1; }
} // namespace

void runDpp(Wave &w, const Inst &inst) {
  uint64_t exec = w.exec(), enable = exec;
  int from[kLanes];
  const bool dpp8 = inst.flags & kDpp8, zero = inst.dppFlags & 1, inactive = inst.dppFlags & 2;
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    int source = dpp8 ? static_cast<int>((lane & ~7u) | (inst.sdwa >> (3 * (lane & 7)) & 7))
                      : dppSource(w, inst.dppCtrl, static_cast<int>(lane));
    if (!dpp8) {
      unsigned bank = lane / 4 % 4, row = lane / 16;
      if (!(inst.dppMasks >> bank & 1) || !(inst.dppMasks >> 4 >> row & 1))
        enable &= ~(uint64_t(1) << lane);
    }
    if (source != kNoLane && !inactive && !(exec >> source & 1))
      source = kNoLane;
    // A lane without a source keeps its destination, or, with bound_ctrl, reads 0.
    if (source == kNoLane && !zero && !dpp8)
      enable &= ~(uint64_t(1) << lane);
    from[lane] = source;
  }
  Inst run = inst;
  if (inst.src[0].isVgpr()) {
    for (unsigned r = 0; r < sourceRows(inst); ++r) {
      const uint32_t *in = w.row(inst.src[0].index + r);
      uint32_t *out = w.row(kTempRow + r);
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        out[lane] = from[lane] == kNoLane ? 0 : in[from[lane]];
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
/// The selected part of a dword: 0-3 bytes, 4-5 words, 6 all.
uint32_t selectPart(uint32_t x, unsigned sel, bool sext) {
  if (sel == 6)
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
      out[lane] = selectPart(o.isVgpr() ? w.row(o.index)[lane] : scalar, selects[k], o.flags & kSext);
    run.src[k] = {Kind::Vgpr, static_cast<uint8_t>(o.flags & (kNeg | kAbs)), static_cast<uint16_t>(kTempRow + k), 0};
  }
  const unsigned dstSel = inst.sdwa & 7, unused = inst.sdwa >> 3 & 3;
  // Multiply-accumulate forms read their destination, so it stays in place for a full-register result.
  if (dstSel == 6) {
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
