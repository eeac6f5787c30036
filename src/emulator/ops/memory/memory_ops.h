// Loads, stores and atomics over any way of addressing: the flat family, buffers. A policy `A` is
// made once for each instruction and gives each lane its pointer.
#pragma once

#include "emulator/core/probe.h"
#include "emulator/core/wave.h"
#include "emulator/isa/op.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

namespace flyemu {

/// The LDS address in M0: 16 bits, and as many more as an LDS of more than 64 KB needs.
inline uint32_t ldsBase(Wave &w) {
  return w.m0() & (w.target->processor->ldsBytes > 0x10000 ? 0x3ffffu : 0xffffu);
}

/// Bytes of a lane's scratch, which is kept lane by lane. Throws WaveFault past its end.
inline uint8_t *laneScratch(Wave &w, const Inst &i, unsigned lane, uint64_t offset, unsigned bytes,
                            bool write) {
  if (offset + bytes > w.scratchSize)
    throw WaveFault{"scratch access of " + std::to_string(bytes) + " bytes at offset " +
                        std::to_string(offset) + " of " + std::to_string(w.scratchSize),
                    static_cast<int>(lane), offset};
  if (w.probe)
    w.probe->access(w, i, lane, Space::Scratch, offset, bytes, write, false);
  return w.scratch + uint64_t(lane) * w.scratchSize + offset;
}

template <class F> void forLanes(uint64_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(static_cast<unsigned>(std::countr_zero(mask)));
}

/// A part of a dword as a register receives it.
inline uint32_t mergePart(const Transfer &transfer, const uint8_t *p, uint32_t old) {
  uint32_t x;
  if (transfer.bytes == 1) {
    x = *p;
    if (transfer.isSigned)
      x = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(x)));
  } else {
    uint16_t h;
    std::memcpy(&h, p, 2);
    x = h;
    if (transfer.isSigned)
      x = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(h)));
  }
  if (transfer.part == RegisterPart::Low)
    return (x & 0xffff) | (old & 0xffff0000);
  if (transfer.part == RegisterPart::High)
    return x << 16 | (old & 0xffff);
  return x;
}

/// True if one range of mapped memory holds [at[lane], at[lane] + bytes) of every active lane.
/// Inactive lanes' entries are replaced by an active one's.
inline bool inOneRange(Wave &w, uint64_t exec, uint64_t *at, uint32_t bytes, bool write) {
  const uint64_t some = at[std::countr_zero(exec)];
  if (exec != w.fullMask())
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      at[lane] = exec >> lane & 1 ? at[lane] : some;
  auto isFit = [&](const MemoryRange &r) {
    return r.contains(some, bytes) && (!write || r.writable);
  };
  if (std::none_of(std::begin(w.ranges), std::end(w.ranges), isFit) && !w.findRange(some))
    return false;
  for (const MemoryRange &r : w.ranges) {
    if (!isFit(r))
      continue;
    // A lane is beyond the range where its distance from the base, or the distance from it to the
    // last place, is negative. Signs are gathered, for which all hosts have vector instructions.
    const uint64_t last = r.size - bytes;
    uint64_t signs = 0;
    for (unsigned lane = 0; lane < w.lanes; ++lane) {
      const uint64_t distance = at[lane] - r.base;
      signs |= distance | (last - distance);
    }
    if (!(signs >> 63))
      return true;
  }
  return false;
}

/// Reports an access to the probe before it happens. The lanes' addresses are at[lane] - origin.
inline void reportLanes(Wave &w, const Inst &i, Space space, const uint64_t *at, uint64_t origin,
                        uint32_t bytes, bool write, bool atomic = false) {
  if (__builtin_expect(w.probe == nullptr, 1))
    return;
  w.probe->accessLanes(w, i, w.exec(), space, at, origin, bytes, write, atomic);
  w.probe->accessesDone(w, i);
}

/// Four lanes' 16 bytes to four rows, or back: a transposition of 4 x 4 dwords.
inline void transpose4(__m128i &a, __m128i &b, __m128i &c, __m128i &d) {
  const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
  const __m128i abHigh = _mm_unpackhi_epi32(a, b), cdHigh = _mm_unpackhi_epi32(c, d);
  a = _mm_unpacklo_epi64(ab, cd);
  b = _mm_unpackhi_epi64(ab, cd);
  c = _mm_unpacklo_epi64(abHigh, cdHigh);
  d = _mm_unpackhi_epi64(abHigh, cdHigh);
}

/// Whether each lane's dword stands behind the one of the lane before it.
inline bool areNeighbours(const uint64_t *at, unsigned lanes) {
  uint64_t different = 0;
  for (unsigned lane = 0; lane < lanes; ++lane)
    different |= at[lane] ^ (at[0] + 4 * lane);
  return !different;
}

// Two dwords of a lane are moved together: hardware accesses eight bytes at a multiple of eight at once, so
// that LLVM makes atomic loads and stores of 64 bits of them, and other threads access them meanwhile.

/// row[d][lane] = the dword d at `from`
inline void loadLane(const uint8_t *from, uint32_t *row, unsigned lane, unsigned dwords) {
  unsigned d = 0;
  for (; d + 2 <= dwords; d += 2) {
    uint64_t pair;
    std::memcpy(&pair, from + 4 * d, sizeof pair);
    row[d * kLanes + lane] = static_cast<uint32_t>(pair);
    row[(d + 1) * kLanes + lane] = static_cast<uint32_t>(pair >> 32);
  }
  if (d < dwords)
    std::memcpy(&row[d * kLanes + lane], from + 4 * d, 4);
}
/// The dword d at `to` = row[d][lane]
inline void storeLane(uint8_t *to, const uint32_t *row, unsigned lane, unsigned dwords) {
  unsigned d = 0;
  for (; d + 2 <= dwords; d += 2) {
    const uint64_t pair = row[d * kLanes + lane] | uint64_t(row[(d + 1) * kLanes + lane]) << 32;
    std::memcpy(to + 4 * d, &pair, sizeof pair);
  }
  if (d < dwords)
    std::memcpy(to + 4 * d, &row[d * kLanes + lane], 4);
}

/// row[d][lane] = the dword d at at[lane]
inline void gather(const Wave &w, uint64_t exec, const uint64_t *at, uint32_t *row,
                   unsigned dwords) {
  auto from = [&](unsigned lane) { return reinterpret_cast<const __m128i *>(at[lane]); };
  if (exec != w.fullMask()) {
    forLanes(exec, [&](unsigned lane) {
      loadLane(reinterpret_cast<const uint8_t *>(at[lane]), row, lane, dwords);
    });
  } else if (dwords == 4) {
    for (unsigned lane = 0; lane < w.lanes; lane += 4) {
      __m128i x[4];
      for (unsigned k = 0; k < 4; ++k)
        x[k] = _mm_loadu_si128(from(lane + k));
      transpose4(x[0], x[1], x[2], x[3]);
      for (unsigned d = 0; d < 4; ++d)
        _mm_store_si128(reinterpret_cast<__m128i *>(row + d * kLanes + lane), x[d]);
    }
  } else if (dwords == 2) {
    for (unsigned lane = 0; lane < w.lanes; lane += 4) {
      const __m128i a =
          _mm_unpacklo_epi32(_mm_loadl_epi64(from(lane)), _mm_loadl_epi64(from(lane + 1)));
      const __m128i b =
          _mm_unpacklo_epi32(_mm_loadl_epi64(from(lane + 2)), _mm_loadl_epi64(from(lane + 3)));
      _mm_store_si128(reinterpret_cast<__m128i *>(row + lane), _mm_unpacklo_epi64(a, b));
      _mm_store_si128(reinterpret_cast<__m128i *>(row + kLanes + lane), _mm_unpackhi_epi64(a, b));
    }
  } else if (dwords == 1 && areNeighbours(at, w.lanes)) {
    std::memcpy(row, reinterpret_cast<const uint8_t *>(at[0]), w.lanes * sizeof(uint32_t));
  } else {
    for (unsigned d = 0; d < dwords; ++d)
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        std::memcpy(&row[d * kLanes + lane], reinterpret_cast<const uint8_t *>(at[lane]) + 4 * d,
                    4);
  }
}
/// Lanes are stored in order, so that the last one wins where they overlap.
inline void scatter(const Wave &w, uint64_t exec, const uint64_t *at, const uint32_t *row,
                    unsigned dwords) {
  if (dwords == 4 && exec == w.fullMask()) {
    for (unsigned lane = 0; lane < w.lanes; lane += 4) {
      __m128i x[4];
      for (unsigned d = 0; d < 4; ++d)
        x[d] = _mm_load_si128(reinterpret_cast<const __m128i *>(row + d * kLanes + lane));
      transpose4(x[0], x[1], x[2], x[3]);
      for (unsigned k = 0; k < 4; ++k)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(at[lane + k]), x[k]);
    }
    return;
  }
  if (dwords == 2 && exec == w.fullMask()) {
    auto to = [&](unsigned lane) { return reinterpret_cast<__m128i *>(at[lane]); };
    for (unsigned lane = 0; lane < w.lanes; lane += 4) {
      const __m128i a = _mm_load_si128(reinterpret_cast<const __m128i *>(row + lane));
      const __m128i b = _mm_load_si128(reinterpret_cast<const __m128i *>(row + kLanes + lane));
      const __m128i low = _mm_unpacklo_epi32(a, b), high = _mm_unpackhi_epi32(a, b);
      _mm_storel_epi64(to(lane), low);
      _mm_storel_epi64(to(lane + 1), _mm_unpackhi_epi64(low, low));
      _mm_storel_epi64(to(lane + 2), high);
      _mm_storel_epi64(to(lane + 3), _mm_unpackhi_epi64(high, high));
    }
    return;
  }
  if (dwords == 1 && exec == w.fullMask() && areNeighbours(at, w.lanes)) {
    std::memcpy(reinterpret_cast<uint8_t *>(at[0]), row, w.lanes * sizeof(uint32_t));
    return;
  }
  if (dwords == 1 && exec == w.fullMask()) {
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      std::memcpy(reinterpret_cast<uint8_t *>(at[lane]), &row[lane], 4);
    return;
  }
  forLanes(exec, [&](unsigned lane) {
    storeLane(reinterpret_cast<uint8_t *>(at[lane]), row, lane, dwords);
  });
}

/// A policy's `bulk(exec, bytes, write, at)` finds the addresses of all active lanes at once, where
/// all of them are valid and one allocation holds them; else false, and the lanes are gone through
/// one by one with at().
///
/// A policy's `at(lane, skip, bytes, write)` is the place of the lane's bytes [skip, skip + bytes);
/// null: out of a buffer's range, so that loads give 0 and stores vanish.
template <class A> void loadOp(Wave &w, const Inst &i) {
  A address(w, i);
  const Transfer &transfer = i.op->transfer;
  const uint32_t bytes = transfer.bytes;
  uint32_t *row = w.row(i.dst.index);
  if (__builtin_expect(transfer.toLds || i.flags & kToLds, 0)) {
    uint32_t base = ldsBase(w) + static_cast<uint32_t>(i.offset), stride = bytes < 4 ? 4 : bytes;
    uint64_t from[kLanes];
    const bool isBulk = w.exec() && uint64_t(base) + uint64_t(w.lanes) * stride <= w.ldsSize &&
                        address.bulk(w.exec(), bytes, false, from);
    if (isBulk && w.probe) {
      uint64_t to[kLanes];
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        to[lane] = base + lane * stride;
      w.probe->accessLanes(w, i, w.exec(), Space::Global, from, 0, bytes, false, false);
      w.probe->accessLanes(w, i, w.exec(), Space::Lds, to, 0, stride, true, false);
    }
    forLanes(w.exec(), [&](unsigned lane) {
      const uint8_t *p = isBulk ? reinterpret_cast<const uint8_t *>(from[lane])
                                : address.at(lane, 0, bytes, false);
      uint64_t to = base + lane * stride;
      if (w.probe && !isBulk)
        w.probe->access(w, i, lane, Space::Lds, to, stride, true, false);
      if (to + stride > w.ldsSize)
        return;
      uint32_t part = 0;
      if (bytes < 4) {
        if (p)
          part = mergePart(transfer, p, 0);
        std::memcpy(w.lds + to, &part, 4);
      } else if (p) {
        std::memcpy(w.lds + to, p, bytes);
      } else {
        std::memset(w.lds + to, 0, bytes);
      }
    });
  } else if (bytes < 4) {
    uint64_t all[kLanes];
    const bool isBulk = w.exec() && address.bulk(w.exec(), bytes, false, all);
    if (isBulk)
      reportLanes(w, i, Space::Global, all, 0, bytes, false);
    forLanes(w.exec(), [&](unsigned lane) {
      const uint8_t *p =
          isBulk ? reinterpret_cast<const uint8_t *>(all[lane]) : address.at(lane, 0, bytes, false);
      static constexpr uint8_t kZero[4] = {};
      row[lane] = mergePart(transfer, p ? p : kZero, row[lane]);
    });
    if (isBulk)
      return;
  } else {
    const unsigned dwords = bytes / 4;
    uint64_t exec = w.exec(), all[kLanes];
    if (exec && address.bulk(exec, bytes, false, all)) {
      reportLanes(w, i, Space::Global, all, 0, bytes, false);
      gather(w, exec, all, row, dwords);
      return;
    }
    // The destination may overlap the address registers: read a lane's address before any of its
    // results is stored.
    forLanes(exec, [&](unsigned lane) {
      if (const uint8_t *p = address.at(lane, 0, bytes, false)) {
        loadLane(p, row, lane, dwords);
        return;
      }
      const uint8_t *parts[4];
      for (unsigned d = 0; d < dwords; ++d)
        parts[d] = address.at(lane, 4 * d, 4, false);
      for (unsigned d = 0; d < dwords; ++d) {
        uint32_t x = 0;
        if (parts[d])
          std::memcpy(&x, parts[d], 4);
        row[d * kLanes + lane] = x;
      }
    });
  }
  if (w.probe)
    w.probe->accessesDone(w, i);
}

/// Stores a lane's element.
inline void storeElement(const Transfer &transfer, const uint32_t *row, unsigned lane,
                         uint8_t *to) {
  const uint32_t bytes = transfer.bytes;
  if (bytes < 4) {
    const uint32_t x = transfer.part == RegisterPart::High ? row[lane] >> 16 : row[lane];
    std::memcpy(to, &x, bytes);
    return;
  }
  storeLane(to, row, lane, bytes / 4);
}
/// The same for all active lanes, each to at[lane].
inline void scatterElements(const Wave &w, const Transfer &transfer, const uint64_t *at,
                            const uint32_t *row) {
  const uint32_t bytes = transfer.bytes;
  if (bytes >= 4)
    return scatter(w, w.exec(), at, row, bytes / 4);
  const unsigned down = transfer.part == RegisterPart::High ? 16 : 0;
  forLanes(w.exec(), [&](unsigned lane) {
    const uint32_t x = row[lane] >> down;
    std::memcpy(reinterpret_cast<uint8_t *>(at[lane]), &x, bytes);
  });
}

template <class A> void storeOp(Wave &w, const Inst &i) {
  A address(w, i);
  const Transfer &transfer = i.op->transfer;
  const uint32_t bytes = transfer.bytes;
  const uint32_t *row = w.row(i.src[1].index);
  uint64_t all[kLanes];
  if (w.exec() && address.bulk(w.exec(), bytes, true, all)) {
    reportLanes(w, i, Space::Global, all, 0, bytes, true);
    return scatterElements(w, transfer, all, row);
  }
  forLanes(w.exec(), [&](unsigned lane) {
    if (uint8_t *p = address.at(lane, 0, bytes, true)) {
      storeElement(transfer, row, lane, p);
      return;
    }
    for (unsigned d = 0; d < bytes / 4; ++d)
      if (uint8_t *p = address.at(lane, 4 * d, 4, true))
        std::memcpy(p, &row[d * kLanes + lane], 4);
  });
  if (w.probe)
    w.probe->accessesDone(w, i);
}

/// Replaces *p by f(*p) atomically, and returns the old value.
template <class T, class F> T atomicUpdate(uint8_t *p, F f) {
  auto *q = reinterpret_cast<T *>(p);
  T old = __atomic_load_n(q, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(q, &old, f(old), true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    ;
  return old;
}

template <class T> T readLane(const uint32_t *row, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return row[lane] | T(row[kLanes + lane]) << 32;
  else
    return row[lane];
}
template <class T> void writeLane(uint32_t *row, unsigned lane, T x) {
  row[lane] = static_cast<uint32_t>(x);
  if constexpr (sizeof(T) == 8)
    row[kLanes + lane] = static_cast<uint32_t>(x >> 32);
}

/// new = F(old, data, compare); T is the unsigned type of the memory's width. Misaligned atomics
/// are faults.
template <class A, class F, class T> void atomicOp(Wave &w, const Inst &i) {
  A address(w, i);
  if constexpr (requires { address.unit; })
    if (i.flags & kScaleOffset)
      address.unit = sizeof(T);
  const uint32_t *data = w.row(i.src[1].index);
  uint32_t *out = w.row(i.dst.index);
  constexpr unsigned kDwords = sizeof(T) / 4;
  uint64_t all[kLanes];
  const bool isBulk = w.exec() && address.bulk(w.exec(), sizeof(T), true, all);
  if (isBulk)
    reportLanes(w, i, Space::Global, all, 0, sizeof(T), true, true);
  forLanes(w.exec(), [&](unsigned lane) {
    uint8_t *p =
        isBulk ? reinterpret_cast<uint8_t *>(all[lane]) : address.at(lane, 0, sizeof(T), true);
    T old = 0;
    if (p) {
      if (reinterpret_cast<uintptr_t>(p) % sizeof(T))
        throw WaveFault{"misaligned atomic", static_cast<int>(lane), reinterpret_cast<uint64_t>(p)};
      T x = readLane<T>(data, lane), compare = 0;
      if constexpr (F::kCompare)
        compare = readLane<T>(data + kDwords * kLanes, lane);
      old = atomicUpdate<T>(p, [&](T m) { return F::apply(m, x, compare); });
    }
    if (i.flags & kGlc)
      writeLane<T>(out, lane, old);
  });
  if (w.probe && !isBulk)
    w.probe->accessesDone(w, i);
}

} // namespace flyemu
