// LDS: reads, writes, atomics, and the lane permutes that use its crossbar.
#include "emulator/core/group.h"
#include "emulator/ops/lds/lds.h"
#include "emulator/ops/memory/atomics.h"
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
void dsRead(Wave &w, const Inst &i) {
  const Transfer &transfer = i.op->transfer;
  const uint32_t bytes = transfer.bytes;
  const uint32_t *address = w.row(i.src[0].index);
  uint32_t *row = w.row(i.dst.index);
  uint64_t all[kLanes];
  if (ldsBulk(w, w.exec(), address, static_cast<uint32_t>(i.offset), bytes, all)) {
    ldsReport(w, i, all, bytes, false);
    if (bytes >= 4)
      return gather(w, w.exec(), all, row, bytes / 4);
    forLanes(w.exec(), [&](unsigned lane) {
      row[lane] = mergePart(transfer, reinterpret_cast<const uint8_t *>(all[lane]), row[lane]);
    });
    return;
  }
  forLanes(w.exec(), [&](unsigned lane) {
    const uint8_t *p = ldsPlace(
        w, i, lane, uint64_t(address[lane]) + static_cast<uint32_t>(i.offset), bytes, false);
    static constexpr uint8_t kZero[16] = {};
    if (!p)
      p = kZero;
    if (bytes < 4) {
      row[lane] = mergePart(transfer, p, row[lane]);
      return;
    }
    for (unsigned d = 0; d < bytes / 4; ++d)
      std::memcpy(&row[d * kLanes + lane], p + 4 * d, 4);
  });
  ldsDone(w, i);
}

void dsWrite(Wave &w, const Inst &i) {
  const Transfer &transfer = i.op->transfer;
  const uint32_t bytes = transfer.bytes;
  const uint32_t *address = w.row(i.src[0].index), *row = w.row(i.src[1].index);
  uint64_t all[kLanes];
  if (ldsBulk(w, w.exec(), address, static_cast<uint32_t>(i.offset), bytes, all)) {
    ldsReport(w, i, all, bytes, true);
    return scatterElements(w, transfer, all, row);
  }
  forLanes(w.exec(), [&](unsigned lane) {
    uint8_t *p = ldsPlace(w, i, lane, uint64_t(address[lane]) + static_cast<uint32_t>(i.offset),
                          bytes, true);
    if (p)
      storeElement(transfer, row, lane, p);
  });
  ldsDone(w, i);
}

void dsRead2(Wave &w, const Inst &i) {
  const uint32_t bytes = i.op->transfer.bytes, unit = i.op->transfer.pairUnit, dwords = bytes / 4;
  const uint32_t *address = w.row(i.src[0].index);
  uint32_t *row = w.row(i.dst.index);
  uint32_t offsets[2] = {(i.offset & 255) * unit, (i.offset >> 8 & 255) * unit};
  uint64_t all[2][kLanes];
  if (ldsBulk(w, w.exec(), address, offsets[0], bytes, all[0]) &&
      ldsBulk(w, w.exec(), address, offsets[1], bytes, all[1])) {
    ldsReport(w, i, all[0], all[1], bytes, false);
    gather(w, w.exec(), all[0], row, dwords);
    gather(w, w.exec(), all[1], row + dwords * kLanes, dwords);
    return;
  }
  forLanes(w.exec(), [&](unsigned lane) {
    uint32_t x[4] = {};
    for (unsigned k = 0; k < 2; ++k)
      if (const uint8_t *p =
              ldsPlace(w, i, lane, uint64_t(address[lane]) + offsets[k], bytes, false))
        std::memcpy(x + k * dwords, p, bytes);
    for (unsigned d = 0; d < 2 * dwords; ++d)
      row[d * kLanes + lane] = x[d];
  });
  ldsDone(w, i);
}

void dsWrite2(Wave &w, const Inst &i) {
  const uint32_t bytes = i.op->transfer.bytes, unit = i.op->transfer.pairUnit;
  const uint32_t *address = w.row(i.src[0].index);
  const uint32_t *rows[2] = {w.row(i.src[1].index), w.row(i.src[2].index)};
  uint32_t offsets[2] = {(i.offset & 255) * unit, (i.offset >> 8 & 255) * unit};
  unsigned count =
      offsets[0] == offsets[1] ? 1 : 2; // equal offsets make one access, of the first data
  uint64_t all[2][kLanes];
  if (ldsBulk(w, w.exec(), address, offsets[0], bytes, all[0]) &&
      ldsBulk(w, w.exec(), address, offsets[1], bytes, all[1])) {
    if (count == 2)
      ldsReport(w, i, all[0], all[1], bytes, true);
    else
      ldsReport(w, i, all[0], bytes, true);
    // Lanes store in their order, so that the last one wins where they overlap.
    forLanes(w.exec(), [&](unsigned lane) {
      for (unsigned k = 0; k < count; ++k)
        for (unsigned d = 0; d < bytes / 4; ++d)
          std::memcpy(reinterpret_cast<uint8_t *>(all[k][lane]) + 4 * d,
                      &rows[k][d * kLanes + lane], 4);
    });
    return;
  }
  forLanes(w.exec(), [&](unsigned lane) {
    for (unsigned k = 0; k < count; ++k)
      if (uint8_t *p = ldsPlace(w, i, lane, uint64_t(address[lane]) + offsets[k], bytes, true))
        for (unsigned d = 0; d < bytes / 4; ++d)
          std::memcpy(p + 4 * d, &rows[k][d * kLanes + lane], 4);
  });
  ldsDone(w, i);
}

/// The barrier of the whole grid. The wave waits until N waves have arrived; the operand of the
/// first active lane holds N - 1. A cooperative launch has resource 0.
void gridBarrier(Wave &w, const Inst &i) {
  if (i.offset || !w.group->grid || !w.group->grid->exists)
    throw WaveFault{"a barrier of the whole grid, in a launch that is not cooperative"};
  const uint64_t exec = w.exec();
  const unsigned lane = exec ? static_cast<unsigned>(std::countr_zero(exec)) : 0;
  const uint64_t count = uint64_t(w.row(i.src[0].index)[lane]) + 1;
  const uint64_t before = w.group->grid->arrived.fetch_add(1, std::memory_order_acq_rel);
  w.gridTarget = (before / count + 1) * count;
  w.halt(Stop::Yield);
}

template <class F, class T, bool Return> void dsAtomic(Wave &w, const Inst &i) {
  const uint32_t *address = w.row(i.src[0].index), *data = w.row(i.src[1].index),
                 *data2 = w.row(i.src[2].index);
  uint32_t *out = w.row(i.dst.index);
  uint64_t all[kLanes];
  const bool isBulk =
      ldsBulk(w, w.exec(), address, static_cast<uint32_t>(i.offset), sizeof(T), all);
  if (isBulk)
    ldsReport(w, i, all, sizeof(T), true, true);
  forLanes(w.exec(), [&](unsigned lane) {
    uint8_t *p =
        isBulk ? reinterpret_cast<uint8_t *>(all[lane])
               : ldsPlace(w, i, lane, uint64_t(address[lane]) + static_cast<uint32_t>(i.offset),
                          sizeof(T), true, true);
    T old = 0;
    if (p) {
      std::memcpy(&old, p, sizeof(T));
      // LDS compare-and-store has the comparand first and the new value second before gfx11.
      T a = readLane<T>(data, lane), b = F::kCompare ? readLane<T>(data2, lane) : 0;
      constexpr bool kMaskFirst = requires { F::kMaskFirst; };
      bool swapped = F::kCompare && (kMaskFirst || w.target->encoding == Encoding::Gfx9);
      T now = F::apply(old, swapped ? b : a, swapped ? a : b);
      std::memcpy(p, &now, sizeof(T));
    }
    if (Return)
      writeLane<T>(out, lane, old);
  });
  if (!isBulk)
    ldsDone(w, i);
}

struct MaskedOr {                          // (m & ~mask) | data: the mask comes first
  static constexpr bool kMaskFirst = true; ///< on all targets
  static constexpr bool kCompare = true;
  template <class T> static T apply(T m, T data, T mask) { return (m & ~mask) | data; }
};
struct Wrap {
  static constexpr bool kMaskFirst = true; ///< on all targets
  static constexpr bool kCompare = true;
  template <class T> static T apply(T m, T second, T first) {
    return m >= first ? m - first : m + second;
  }
};
struct Exchange32 { // conditional exchange of the halves whose top bit is on
  static constexpr bool kCompare = false;
  static uint64_t apply(uint64_t m, uint64_t x, uint64_t) {
    uint64_t r = m;
    if (x >> 31 & 1)
      r = (r & ~uint64_t(0xffffffff)) | (x & 0x7fffffff);
    if (x >> 63)
      r = (r & 0xffffffff) | (x & 0x7fffffff00000000ull);
    return r;
  }
};

void dsExchange2(Wave &w, const Inst &i) {
  const uint32_t bytes = i.op->transfer.bytes, unit = i.op->transfer.pairUnit, dwords = bytes / 4;
  const uint32_t *address = w.row(i.src[0].index);
  const uint32_t *rows[2] = {w.row(i.src[1].index), w.row(i.src[2].index)};
  uint32_t *out = w.row(i.dst.index);
  uint32_t offsets[2] = {(i.offset & 255) * unit, (i.offset >> 8 & 255) * unit};
  forLanes(w.exec(), [&](unsigned lane) {
    uint32_t old[4] = {}, data[2][2];
    for (unsigned k = 0; k < 2; ++k)
      for (unsigned d = 0; d < dwords; ++d)
        data[k][d] = rows[k][d * kLanes + lane];
    for (unsigned k = 0; k < 2; ++k)
      if (uint8_t *p =
              ldsPlace(w, i, lane, uint64_t(address[lane]) + offsets[k], bytes, true, true)) {
        std::memcpy(old + k * dwords, p, bytes);
        std::memcpy(p, data[k], bytes);
      }
    for (unsigned d = 0; d < 2 * dwords; ++d)
      out[d * kLanes + lane] = old[d];
  });
  ldsDone(w, i);
}

/// Lane l sends to lane (address / 4) mod lanes. If several send to one lane, the highest wins; a
/// lane that receives nothing gets 0.
void permute(Wave &w, const Inst &i) {
  const uint32_t *address = w.row(i.src[0].index), *data = w.row(i.src[1].index);
  uint32_t tmp[kLanes] = {};
  uint32_t *out = w.row(i.dst.index);
  forLanes(w.exec(), [&](unsigned lane) {
    tmp[(address[lane] + static_cast<uint32_t>(i.offset)) / 4 % w.lanes] = data[lane];
  });
  forLanes(w.exec(), [&](unsigned lane) { out[lane] = tmp[lane]; });
}

/// Lane l takes from lane (address / 4) mod lanes; 0 from an inactive one.
template <bool Inactive> void bpermute(Wave &w, const Inst &i) {
  const uint32_t *address = w.row(i.src[0].index), *data = w.row(i.src[1].index);
  uint32_t tmp[kLanes];
  uint32_t *out = w.row(i.dst.index);
  uint64_t exec = w.exec();
  forLanes(exec, [&](unsigned lane) {
    unsigned from = (address[lane] + static_cast<uint32_t>(i.offset)) / 4 % w.lanes;
    tmp[lane] = Inactive || exec >> from & 1 ? data[from] : 0;
  });
  forLanes(exec, [&](unsigned lane) { out[lane] = tmp[lane]; });
}

/// The source lane of a swizzle pattern (offset), of the modes quad permute, rotate, bit mask
/// and FFT.
unsigned swizzleSource(unsigned pattern, unsigned lane) {
  if (pattern >= 0xe000) { // reversed bits, but for the mask's
    const unsigned mask = pattern & 31;
    unsigned reversed = 0;
    for (unsigned b = 0; b < 5; ++b)
      reversed |= (lane >> b & 1) << (4 - b);
    return (lane & 32) | (lane & mask) | reversed >> std::popcount(mask);
  }
  if (pattern >= 0xc000) {
    unsigned mask = pattern & 31, amount = pattern >> 5 & 31, l = lane & 31;
    unsigned to = pattern >> 10 & 1 ? l - amount : l + amount;
    return (lane & 32) | (l & mask) | (to & 31 & ~mask);
  }
  if (pattern & 0x8000)
    return (lane & ~3u) | (pattern >> (2 * (lane & 3)) & 3);
  unsigned andMask = pattern & 31, orMask = pattern >> 5 & 31, xorMask = pattern >> 10 & 31;
  return (lane & 32) | (((lane & andMask) | orMask) ^ xorMask);
}

void swizzle(Wave &w, const Inst &i) {
  const uint32_t *data = w.row(i.src[0].index);
  uint32_t tmp[kLanes];
  uint32_t *out = w.row(i.dst.index);
  uint64_t exec = w.exec();
  forLanes(exec, [&](unsigned lane) {
    unsigned from = swizzleSource(static_cast<unsigned>(i.offset), lane);
    tmp[lane] = exec >> from & 1 ? data[from] : 0;
  });
  forLanes(exec, [&](unsigned lane) { out[lane] = tmp[lane]; });
}

void readAddTid(Wave &w, const Inst &i) {
  uint32_t *out = w.row(i.dst.index);
  forLanes(w.exec(), [&](unsigned lane) {
    const uint8_t *p = ldsPlace(
        w, i, lane, uint64_t(ldsBase(w)) + static_cast<uint32_t>(i.offset) + lane * 4, 4, false);
    uint32_t x = 0;
    if (p)
      std::memcpy(&x, p, 4);
    out[lane] = x;
  });
  ldsDone(w, i);
}
void writeAddTid(Wave &w, const Inst &i) {
  const uint32_t *data = w.row(i.src[1].index);
  forLanes(w.exec(), [&](unsigned lane) {
    if (uint8_t *p = ldsPlace(
            w, i, lane, uint64_t(ldsBase(w)) + static_cast<uint32_t>(i.offset) + lane * 4, 4, true))
      std::memcpy(p, &data[lane], 4);
  });
  ldsDone(w, i);
}

/// Appends or consumes as many entries as lanes are active, at M0's offset; every lane gets the old
/// counter.
template <int Sign> void appendConsume(Wave &w, const Inst &i) {
  uint64_t exec = w.exec();
  uint64_t at = uint64_t(ldsBase(w)) + static_cast<uint32_t>(i.offset);
  uint8_t *p = ldsPlace(w, i, 0, at, 4, true, true);
  uint32_t old = 0;
  if (p) {
    std::memcpy(&old, p, 4);
    uint32_t now = old + static_cast<uint32_t>(Sign * std::popcount(exec));
    std::memcpy(p, &now, 4);
  }
  uint32_t *out = w.row(i.dst.index);
  forLanes(exec, [&](unsigned lane) { out[lane] = old; });
  ldsDone(w, i);
}

constexpr OpDef op(const char *name, Handler fn, Transfer transfer = {}) {
  return {name, fn, Class::Lds, Type::B32, {}, transfer};
}

#define ATOMIC(NAME, SUFFIX, F, T)                                                                 \
  op("ds_" NAME "_" SUFFIX, dsAtomic<F, T, false>),                                                \
      op("ds_" NAME "_rtn_" SUFFIX, dsAtomic<F, T, true>)
#define INTEGER(NAME, S32, S64, F)                                                                 \
  ATOMIC(NAME, S32, atomics::F, uint32_t), ATOMIC(NAME, S64, atomics::F, uint64_t)

constexpr OpDef kOps[] = {
    INTEGER("add", "u32", "u64", Add),
    INTEGER("sub", "u32", "u64", Sub),
    INTEGER("rsub", "u32", "u64", ReverseSub),
    INTEGER("inc", "u32", "u64", Inc),
    INTEGER("dec", "u32", "u64", Dec),
    INTEGER("min", "i32", "i64", SMin),
    INTEGER("max", "i32", "i64", SMax),
    INTEGER("min", "u32", "u64", UMin),
    INTEGER("max", "u32", "u64", UMax),
    INTEGER("and", "b32", "b64", And),
    INTEGER("or", "b32", "b64", Or),
    INTEGER("xor", "b32", "b64", Xor),
    INTEGER("cmpst", "b32", "b64", CompareSwap),
    INTEGER("cmpst", "f32", "f64", FCompareSwap),
    INTEGER("cmpstore", "b32", "b64", CompareSwap),
    INTEGER("cmpstore", "f32", "f64", FCompareSwap),
    INTEGER("add", "f32", "f64", FAdd),
    INTEGER("min", "f32", "f64", FMinMax<false>),
    INTEGER("max", "f32", "f64", FMinMax<true>),
    INTEGER("min_num", "f32", "f64", FMinMax<false>),
    INTEGER("max_num", "f32", "f64", FMinMax<true>),
    INTEGER("sub_clamp", "u32", "u64", SubClamp),
    INTEGER("cond_sub", "u32", "u64", CondSub),
    ATOMIC("mskor", "b32", MaskedOr, uint32_t),
    ATOMIC("mskor", "b64", MaskedOr, uint64_t),
    ATOMIC("pk_add", "f16", atomics::PkAddF16, uint32_t),
    ATOMIC("pk_add", "bf16", atomics::PkAddBf16, uint32_t),
    op("ds_wrap_rtn_b32", dsAtomic<Wrap, uint32_t, true>),
    op("ds_condxchg32_rtn_b64", dsAtomic<Exchange32, uint64_t, true>),
    op("ds_wrxchg_rtn_b32", dsAtomic<atomics::Swap, uint32_t, true>),
    op("ds_wrxchg_rtn_b64", dsAtomic<atomics::Swap, uint64_t, true>),
    op("ds_storexchg_rtn_b32", dsAtomic<atomics::Swap, uint32_t, true>),
    op("ds_storexchg_rtn_b64", dsAtomic<atomics::Swap, uint64_t, true>),
    op("ds_wrxchg2_rtn_b32", dsExchange2, movesPair(4, 4)),
    op("ds_wrxchg2_rtn_b64", dsExchange2, movesPair(8, 8)),
    op("ds_wrxchg2st64_rtn_b32", dsExchange2, movesPair(4, 256)),
    op("ds_wrxchg2st64_rtn_b64", dsExchange2, movesPair(8, 512)),

    op("ds_write_b8", dsWrite, moves(1)),
    op("ds_write_b8_d16_hi", dsWrite, moves(1).high()),
    op("ds_write_b16", dsWrite, moves(2)),
    op("ds_write_b16_d16_hi", dsWrite, moves(2).high()),
    op("ds_write_b32", dsWrite, moves(4)),
    op("ds_write_b64", dsWrite, moves(8)),
    op("ds_write_b96", dsWrite, moves(12)),
    op("ds_write_b128", dsWrite, moves(16)),
    op("ds_write2_b32", dsWrite2, movesPair(4, 4)),
    op("ds_write2_b64", dsWrite2, movesPair(8, 8)),
    op("ds_write2st64_b32", dsWrite2, movesPair(4, 256)),
    op("ds_write2st64_b64", dsWrite2, movesPair(8, 512)),
    op("ds_read_u8", dsRead, moves(1)),
    op("ds_read_i8", dsRead, moves(1).asSigned()),
    op("ds_read_u16", dsRead, moves(2)),
    op("ds_read_i16", dsRead, moves(2).asSigned()),
    op("ds_read_u8_d16", dsRead, moves(1).low()),
    op("ds_read_u8_d16_hi", dsRead, moves(1).high()),
    op("ds_read_i8_d16", dsRead, moves(1).asSigned().low()),
    op("ds_read_i8_d16_hi", dsRead, moves(1).asSigned().high()),
    op("ds_read_u16_d16", dsRead, moves(2).low()),
    op("ds_read_u16_d16_hi", dsRead, moves(2).high()),
    op("ds_read_b32", dsRead, moves(4)),
    op("ds_read_b64", dsRead, moves(8)),
    op("ds_read_b96", dsRead, moves(12)),
    op("ds_read_b128", dsRead, moves(16)),
    op("ds_read2_b32", dsRead2, movesPair(4, 4)),
    op("ds_read2_b64", dsRead2, movesPair(8, 8)),
    op("ds_read2st64_b32", dsRead2, movesPair(4, 256)),
    op("ds_read2st64_b64", dsRead2, movesPair(8, 512)),
    op("ds_read_addtid_b32", readAddTid).with(Trait::NoAddress),
    op("ds_write_addtid_b32", writeAddTid).with(Trait::NoAddress),
    op("ds_gws_barrier", gridBarrier).with({Trait::NoAddress, Trait::GlobalSync, Trait::Orders}),
    op("ds_append", appendConsume<1>),
    op("ds_consume", appendConsume<-1>),
    op("ds_permute_b32", permute).with(Trait::MovesLanes),
    op("ds_bpermute_b32", bpermute<false>).with(Trait::MovesLanes),
    op("ds_bpermute_fi_b32", bpermute<true>).with(Trait::MovesLanes),
    op("ds_swizzle_b32", swizzle).with({Trait::MovesLanes, Trait::AddressIsData}),
    op("ds_nop", [](Wave &, const Inst &) {}),
};
} // namespace

OpTable tableDs() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
