// Vector operations whose lanes depend on each other or on scalars: readlane, permlane, mbcnt,
// swap, moves.
#include "emulator/ops/find_op.h"
#include "emulator/ops/memory/memory_ops.h"
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
uint32_t laneValue(const Wave &w, const Operand &o, unsigned lane) {
  return o.isVgpr() ? w.row(o.index)[lane] : read32(w, o);
}

void readFirstLane(Wave &w, const Inst &i) {
  uint64_t exec = w.exec();
  unsigned lane = exec ? static_cast<unsigned>(std::countr_zero(exec)) : 0;
  w.s[i.dst.index & 127] = laneValue(w, i.src[0], lane); // the field has a bit too many
}
void readLane(Wave &w, const Inst &i) {
  w.s[i.dst.index & 127] = laneValue(w, i.src[0], read32(w, i.src[1]) % w.lanes);
}
void writeLane(Wave &w, const Inst &i) {
  w.row(i.dst.index)[read32(w, i.src[1]) % w.lanes] = read32(w, i.src[0]);
}

template <unsigned Base> void maskedBitCount(Wave &w, const Inst &i) {
  uint32_t *out = w.row(i.dst.index);
  forLanes(w.exec(), [&](unsigned lane) {
    uint32_t below;
    if (Base == 0)
      below = lane >= 32 ? ~0u : (1u << lane) - 1;
    else
      below = lane >= 32 ? (1u << (lane - 32)) - 1 : 0;
    uint32_t x = laneValue(w, i.src[0], lane), y = laneValue(w, i.src[1], lane);
    out[lane] = y + static_cast<uint32_t>(std::popcount(x & below));
  });
}

void swapRegisters(Wave &w, const Inst &i) {
  uint32_t *a = w.row(i.dst.index), *b = w.row(i.src[0].index);
  forLanes(w.exec(), [&](unsigned lane) {
    uint32_t t = a[lane];
    a[lane] = b[lane];
    b[lane] = t;
  });
}

/// gfx950: exchanges rows of 32 (16) lanes between two registers.
template <unsigned Rows> void permlaneSwap(Wave &w, const Inst &i) {
  uint32_t *a = w.row(i.dst.index), *b = w.row(i.src[0].index);
  uint64_t exec = w.exec();
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    if (lane & Rows)
      continue;
    // The lower row of b and the upper row of a change places.
    unsigned upper = lane + Rows;
    if ((exec >> lane & 1) || (exec >> upper & 1)) {
      uint32_t x = a[upper], y = b[lane];
      if (exec >> upper & 1)
        a[upper] = y;
      if (exec >> lane & 1)
        b[lane] = x;
    }
  }
}

/// gfx11 and 12: lanes of a row of 16 take from any lane of their row, or of the other row of the
/// pair. The selectors are 16 fields of 4 bits in two scalars (or in a register, the var forms).
/// op_sel bit 0: fetch from inactive lanes; bit 1: bound control, which gives 0 for them.
template <bool Cross, bool Var> void permlane16(Wave &w, const Inst &i) {
  const uint32_t *in = w.row(i.src[0].index);
  uint32_t *out = w.row(i.dst.index);
  uint32_t tmp[kLanes];
  uint64_t exec = w.exec(), write = exec;
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    unsigned sel;
    if (Var) {
      sel = w.row(i.src[1].index)[lane] & 15;
    } else {
      uint64_t fields = read32(w, i.src[1]) | uint64_t(read32(w, i.src[2])) << 32;
      sel = static_cast<unsigned>(fields >> (4 * (lane & 15)) & 15);
    }
    unsigned from = (lane & ~15u) ^ (Cross ? 16u : 0u);
    from |= sel;
    if ((exec >> from & 1) || i.opsel & 1)
      tmp[lane] = in[from];
    else if (i.opsel & 2)
      tmp[lane] = 0;
    else
      write &= ~(uint64_t(1) << lane);
  }
  forLanes(write, [&](unsigned lane) { out[lane] = tmp[lane]; });
}

void permlane64(Wave &w, const Inst &i) {
  const uint32_t *in = w.row(i.src[0].index);
  uint32_t *out = w.row(i.dst.index);
  uint32_t tmp[kLanes];
  if (w.lanes != 64)
    return;
  for (unsigned lane = 0; lane < 64; ++lane)
    tmp[lane] = in[lane ^ 32];
  forLanes(w.exec(), [&](unsigned lane) { out[lane] = tmp[lane]; });
}

/// How gfx1250 moves words among groups of lanes.
enum class InGroup : uint8_t { Broadcast, Up, Down, Xor };

/// gfx1250: the lanes are in groups of src2, a power of two, and each takes from a lane of its
/// group: from that of a number, or from the one so many places below or above, or whose number
/// differs by these bits. Where there is no such lane in the group it keeps its own. (AMD's HIP
/// header amd_warp_functions.h, which makes shuffles of them. No source says what a lane that is
/// off gives.)
template <InGroup How> void permlaneInGroup(Wave &w, const Inst &i) {
  const uint32_t *in = w.row(i.src[0].index);
  uint32_t *out = w.row(i.dst.index);
  const uint32_t by = read32(w, i.src[1]), width = read32(w, i.src[2]);
  if (!std::has_single_bit(width) || width > w.lanes)
    throw WaveFault{"groups of " + std::to_string(width) +
                    " lanes: a power of two that a wave has is known"};
  uint32_t tmp[kLanes];
  forLanes(w.exec(), [&](unsigned lane) {
    const uint32_t first = lane & ~(width - 1), place = lane - first;
    uint64_t to = place;
    switch (How) {
    case InGroup::Broadcast:
      to = by & (width - 1);
      break;
    case InGroup::Up:
      to = by <= place ? place - by : place;
      break;
    case InGroup::Down:
      to = uint64_t(place) + by < width ? place + by : place;
      break;
    case InGroup::Xor:
      to = (place ^ by) < width ? place ^ by : place;
      break;
    }
    const auto from = static_cast<unsigned>(first + to);
    if (!(w.exec() >> from & 1))
      throw WaveFault{"a word of lane " + std::to_string(from) +
                          ", which is off: no source says what it gives",
                      static_cast<int>(lane)};
    tmp[lane] = in[from];
  });
  forLanes(w.exec(), [&](unsigned lane) { out[lane] = tmp[lane]; });
}

void moveRelative(Wave &w, const Inst &i, unsigned from, unsigned to) {
  if (from >= w.tempRow || to >= w.tempRow)
    throw WaveFault{"relative move beyond the registers"};
  const uint32_t *in = w.row(from);
  uint32_t *out = w.row(to);
  forLanes(w.exec(), [&](unsigned lane) { out[lane] = in[lane]; });
}

void swapHalves(Wave &w, const Inst &i) {
  uint32_t *a = w.row(i.dst.index), *b = w.row(i.src[0].index);
  const unsigned shiftA = i.dst.flags & kHigh ? 16 : 0, shiftB = i.src[0].flags & kHigh ? 16 : 0;
  forLanes(w.exec(), [&](unsigned lane) {
    const uint32_t x = a[lane] >> shiftA & 0xffff, y = b[lane] >> shiftB & 0xffff;
    a[lane] = (a[lane] & ~(0xffffu << shiftA)) | y << shiftA;
    b[lane] = (b[lane] & ~(0xffffu << shiftB)) | x << shiftB;
  });
}

/// M0 has an index for each side.
void swapRelative(Wave &w, const Inst &i) {
  const unsigned from = i.src[0].index + (w.m0() & 1023), to = i.dst.index + (w.m0() >> 16 & 1023);
  if (from >= w.tempRow || to >= w.tempRow)
    throw WaveFault{"relative move beyond the registers"};
  uint32_t *a = w.row(to), *b = w.row(from);
  forLanes(w.exec(), [&](unsigned lane) { std::swap(a[lane], b[lane]); });
}

/// gfx12's functions of a scalar: the vector operation `Name` on one lane, whatever EXEC is.
template <const char *const &Name> void pseudoScalar(Wave &w, const Inst &i) {
  static const OpDef *const vector = findOp(Name);
  Inst run = i;
  run.op = vector;
  run.dst = w.tempOperand(0);
  run.flags &= static_cast<uint16_t>(~kKeepHigh);
  const uint64_t exec = w.exec();
  w.setExec(1);
  vector->fn(w, run);
  w.setExec(exec);
  w.s[i.dst.index] = w.temp(0)[0];
}
template <const char *const &Name> constexpr OpDef scalarFunction(const char *name, Type type) {
  return {name, pseudoScalar<Name>, Class::Valu, Type::B32, {type, Type::None, Type::None},
          {},   Trait::ScalarResult};
}
constexpr const char *kExp32 = "v_exp_f32", *kExp16 = "v_exp_f16", *kLog32 = "v_log_f32",
                     *kLog16 = "v_log_f16", *kRcp32 = "v_rcp_f32", *kRcp16 = "v_rcp_f16",
                     *kRsq32 = "v_rsq_f32", *kRsq16 = "v_rsq_f16", *kSqrt32 = "v_sqrt_f32",
                     *kSqrt16 = "v_sqrt_f16";

constexpr OpDef op(const char *name, Handler fn, Type s0 = Type::B32, Type s1 = Type::None,
                   Type s2 = Type::None) {
  return {name, fn, Class::Valu, Type::B32, {s0, s1, s2}};
}

constexpr OpDef kOps[] = {
    op("v_readfirstlane_b32", readFirstLane).with(Trait::ReadsFirstLane),
    op("v_readlane_b32", readLane, Type::B32, Type::B32).with(Trait::ReadsLane),
    op("v_writelane_b32", writeLane, Type::B32, Type::B32).with(Trait::WritesLane),
    op("v_mbcnt_lo_u32_b32", maskedBitCount<0>, Type::B32, Type::B32),
    op("v_mbcnt_hi_u32_b32", maskedBitCount<32>, Type::B32, Type::B32),
    op("v_swap_b32", swapRegisters).with(Trait::SwapsInLane),
    OpDef{"v_swap_b16", swapHalves, Class::Valu, Type::B16, {Type::B16, Type::None, Type::None}}
        .with(Trait::SwapsInLane),
    op("v_swaprel_b32", swapRelative),
    op("v_movrelsd_2_b32",
       [](Wave &w, const Inst &i) {
         moveRelative(w, i, i.src[0].index + (w.m0() & 1023), i.dst.index + (w.m0() >> 16 & 1023));
       })
        .with(Trait::RelativeResult),
    scalarFunction<kExp32>("v_s_exp_f32", Type::F32),
    scalarFunction<kExp16>("v_s_exp_f16", Type::F16),
    scalarFunction<kLog32>("v_s_log_f32", Type::F32),
    scalarFunction<kLog16>("v_s_log_f16", Type::F16),
    scalarFunction<kRcp32>("v_s_rcp_f32", Type::F32),
    scalarFunction<kRcp16>("v_s_rcp_f16", Type::F16),
    scalarFunction<kRsq32>("v_s_rsq_f32", Type::F32),
    scalarFunction<kRsq16>("v_s_rsq_f16", Type::F16),
    scalarFunction<kSqrt32>("v_s_sqrt_f32", Type::F32),
    scalarFunction<kSqrt16>("v_s_sqrt_f16", Type::F16),
    op("v_permlane32_swap_b32", permlaneSwap<32>),
    op("v_permlane16_swap_b32", permlaneSwap<16>),
    op("v_permlane16_b32", permlane16<false, false>, Type::B32, Type::B32, Type::B32),
    op("v_permlanex16_b32", permlane16<true, false>, Type::B32, Type::B32, Type::B32),
    op("v_permlane16_var_b32", permlane16<false, true>, Type::B32, Type::B32),
    op("v_permlanex16_var_b32", permlane16<true, true>, Type::B32, Type::B32),
    op("v_permlane64_b32", permlane64),
    op("v_permlane_bcast_b32", permlaneInGroup<InGroup::Broadcast>, Type::B32, Type::B32,
       Type::B32),
    op("v_permlane_up_b32", permlaneInGroup<InGroup::Up>, Type::B32, Type::B32, Type::B32),
    op("v_permlane_down_b32", permlaneInGroup<InGroup::Down>, Type::B32, Type::B32, Type::B32),
    op("v_permlane_xor_b32", permlaneInGroup<InGroup::Xor>, Type::B32, Type::B32, Type::B32),
    op("v_movrels_b32",
       [](Wave &w, const Inst &i) { moveRelative(w, i, i.src[0].index + w.m0(), i.dst.index); })
        .with(Trait::RelativeResult),
    op("v_movreld_b32",
       [](Wave &w, const Inst &i) {
         Inst at = i;
         at.dst.index = static_cast<uint16_t>(i.dst.index + w.m0());
         if (at.dst.index >= w.tempRow)
           throw WaveFault{"relative move beyond the registers"};
         uint32_t *out = w.row(at.dst.index);
         forLanes(w.exec(), [&](unsigned lane) { out[lane] = laneValue(w, i.src[0], lane); });
       })
        .with(Trait::RelativeResult),
    op("v_movrelsd_b32",
       [](Wave &w, const Inst &i) {
         moveRelative(w, i, i.src[0].index + w.m0(), i.dst.index + w.m0());
       })
        .with(Trait::RelativeResult),
    op(
        "v_nop", [](Wave &, const Inst &) {}, Type::None),
    op(
        "v_pipeflush", [](Wave &, const Inst &) {}, Type::None),
    op(
        "v_clrexcp", [](Wave &, const Inst &) {}, Type::None),
};
} // namespace

OpTable tableCrossLane() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
