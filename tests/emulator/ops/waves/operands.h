// Operands at the edges of their types, and the comparison of an instruction with a reference
// function.
#pragma once

#include "wave_test.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

namespace flyemu::test {

inline float asF32(uint32_t x) { return __builtin_bit_cast(float, x); }
inline uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
inline double asF64(uint64_t x) { return __builtin_bit_cast(double, x); }
inline uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }

/// The value of a half, by arithmetic on its fields.
inline double halfValue(uint16_t h) {
  int e = h >> 10 & 31, f = h & 1023;
  double v = e == 31 ? (f ? std::nan("") : INFINITY)
             : e     ? std::ldexp(1024 + f, e - 25)
                     : std::ldexp(f, -24);
  return h & 0x8000 ? -v : v;
}
/// The half nearest to x, ties to even, by search.
inline uint16_t nearestHalf(double x) {
  if (x != x)
    return 0x7e00;
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  double a = std::fabs(x);
  if (a >= 65520)
    return static_cast<uint16_t>(sign | 0x7c00);
  uint16_t lo = 0, hi = 0x7bff; // monotonic in the bits
  while (lo < hi) {
    auto mid = static_cast<uint16_t>((lo + hi + 1) / 2);
    if (halfValue(mid) <= a)
      lo = mid;
    else
      hi = static_cast<uint16_t>(mid - 1);
  }
  double below = halfValue(lo),
         above = lo == 0x7bff ? 65536 : halfValue(static_cast<uint16_t>(lo + 1));
  bool up = a - below > above - a || (a - below == above - a && (lo & 1));
  return static_cast<uint16_t>(sign | (lo + up));
}

inline const std::vector<uint32_t> kIntEdges = {
    0,          1,          2,          31,         32,         0x7f,       0x80,       0xff,
    0x7fff,     0x8000,     0xffff,     0x7fffff,   0x800000,   0xffffff,   0x7fffffff, 0x80000000,
    0x80000001, 0xfffffffe, 0xffffffff, 0x12345678, 0xdeadbeef, 0x00010001, 0xff00ff00};
inline const std::vector<uint32_t> kFloatEdges = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001,
    0x7f800001, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000,
    0x3fc00000, 0x40200000, 0x40490fdb, 0x501502f9, 0xaedbe6ff, 0x4effffff, 0xcf000000,
    0x4f800000, 0x3eaaaaab, 0x477fe000, 0x33000000, 0x5f000001, 0xc0e00000};
inline const std::vector<uint32_t> kHalfEdges = {
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e01, 0x0001, 0x83ff, 0x0400, 0x7bff,
    0xfbff, 0x3800, 0x3e00, 0x4100, 0x4248, 0x6bff, 0x1234, 0xd5a7, 0x3555, 0x7801, 0x0203};

/// Lane values that pair every edge with many others; `salt` tells operands apart.
inline Lanes edgeLanes(const std::vector<uint32_t> &edges, unsigned salt) {
  Lanes l;
  static constexpr unsigned kStep[3] = {1, 7, 5};
  for (unsigned i = 0; i < 64; ++i)
    l[i] = edges[(i * kStep[salt % 3] + (salt ? i / edges.size() : 0) * (salt + 2) + salt * 3) %
                 edges.size()];
  return l;
}

constexpr uint64_t kPartialExec = 0xfffffff3a5c3ff0full;
constexpr uint32_t kPoison = 0xcdcdcdcd;

using Reference = uint32_t (*)(uint32_t, uint32_t, uint32_t);
using Same = bool (*)(uint32_t, uint32_t);

inline bool sameBits(uint32_t a, uint32_t b) { return a == b; }
/// Equal, or both NaN: payloads are not published.
inline bool sameFloat(uint32_t a, uint32_t b) {
  return a == b || (std::isnan(asF32(a)) && std::isnan(asF32(b)));
}
inline bool sameHalf(uint32_t a, uint32_t b) {
  auto nan = [](uint32_t x) { return (x & 0x7fff) > 0x7c00; };
  return a == b || (nan(a) && nan(b) && a >> 16 == b >> 16);
}

/// Runs `text`, which computes v4 from v1, v2, v3, on edge operands with EXEC partly off, and
/// compares each lane.
inline void checkLanes(const std::string &text, Reference ref, const std::vector<uint32_t> &edges,
                       Same same = sameBits, const std::string &cpu = "gfx942",
                       uint32_t mode = 0xf0) {
  WaveRun w(cpu);
  w.mode = mode;
  w.exec = kPartialExec;
  Lanes poison;
  poison.fill(kPoison);
  w.v = {{1, edgeLanes(edges, 0)}, {2, edgeLanes(edges, 1)}, {3, edgeLanes(edges, 2)}, {4, poison}};
  w.readV = {4};
  INFO(text);
  w.run(text);
  std::string wrong;
  const unsigned lanes = cpu.rfind("gfx9", 0) == 0 ? 64 : 32;
  for (unsigned i = 0; i < lanes; ++i) {
    uint32_t a = w.v[1][i], b = w.v[2][i], c = w.v[3][i];
    uint32_t want = w.exec >> i & 1 ? ref(a, b, c) : kPoison;
    if (same(w.outV[4][i], want))
      continue;
    char line[160];
    std::snprintf(line, sizeof line, "lane %u: (%08x, %08x, %08x) -> %08x, want %08x\n", i, a, b, c,
                  w.outV[4][i], want);
    wrong += line;
  }
  CHECK(wrong == "");
}

struct LaneCase {
  const char *text;
  Reference ref;
};

using Reference64 = uint64_t (*)(uint64_t, uint64_t, uint64_t);
/// As checkLanes, over v[2:3], v[4:5], v[6:7] to v[8:9]; the low dwords come from `edges` too.
inline void checkLanes64(const std::string &text, Reference64 ref,
                         const std::vector<uint64_t> &edges, bool asDouble = false) {
  WaveRun w;
  w.exec = kPartialExec;
  static constexpr unsigned kStep[3] = {1, 7, 5};
  uint64_t in[3][64];
  for (unsigned k = 0; k < 3; ++k)
    for (unsigned i = 0; i < 64; ++i) {
      in[k][i] =
          edges[(i * kStep[k] + (k ? i / edges.size() : 0) * (k + 2) + 3 * k) % edges.size()];
      w.v[2 + 2 * k][i] = static_cast<uint32_t>(in[k][i]);
      w.v[3 + 2 * k][i] = static_cast<uint32_t>(in[k][i] >> 32);
    }
  w.v[8].fill(kPoison);
  w.v[9].fill(kPoison);
  w.readV = {8, 9};
  INFO(text);
  w.run(text);
  std::string wrong;
  for (unsigned i = 0; i < 64; ++i) {
    uint64_t got = w.outV[8][i] | uint64_t(w.outV[9][i]) << 32;
    uint64_t want = w.exec >> i & 1 ? ref(in[0][i], in[1][i], in[2][i]) : 0xcdcdcdcdcdcdcdcdull;
    if (got == want || (asDouble && std::isnan(asF64(got)) && std::isnan(asF64(want))))
      continue;
    char line[200];
    std::snprintf(line, sizeof line,
                  "lane %u: (%016llx, %016llx, %016llx) -> %016llx, want %016llx\n", i,
                  (unsigned long long)in[0][i], (unsigned long long)in[1][i],
                  (unsigned long long)in[2][i], (unsigned long long)got, (unsigned long long)want);
    wrong += line;
  }
  CHECK(wrong == "");
}
struct LaneCase64 {
  const char *text;
  Reference64 ref;
};

} // namespace flyemu::test
