// Conversions from and to the small formats: fp8 and bf8 of both kinds, and gfx950's block-scaled
// fp8, bf8, fp6, bf6, fp4. The reference finds a code by searching all values of the format.
#include "machine.h"
#include "numbers.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
constexpr u64 kExec = 0xfffffff3a5c3ff0full;

struct Small {
  std::string name;
  int exponent, mantissa, bias;
  bool fnuz = false, finite = false;
  int bits() const { return 1 + exponent + mantissa; }
  bool infinite() const { return !fnuz && !finite && exponent == 5; }
};
const Small kFp8Fnuz{"fp8", 4, 3, 8, true}, kBf8Fnuz{"bf8", 5, 2, 16, true};
const Small kFp8{"fp8", 4, 3, 7}, kBf8{"bf8", 5, 2, 15};
const Small kFp6{"fp6", 2, 3, 1, false, true}, kBf6{"bf6", 3, 2, 3, false, true},
    kFp4{"fp4", 2, 1, 1, false, true};

double small(const Small &f, unsigned code) {
  const unsigned top = 1u << (f.bits() - 1), e = code >> f.mantissa & ((1u << f.exponent) - 1);
  const unsigned m = code & ((1u << f.mantissa) - 1), most = (1u << f.exponent) - 1;
  if (f.fnuz && code == top)
    return std::nan("");
  if (!f.fnuz && !f.finite && e == most) {
    if (f.infinite())
      return m ? std::nan("") : code & top ? -INFINITY : INFINITY;
    if (m == (1u << f.mantissa) - 1)
      return std::nan("");
  }
  const double v = e ? std::ldexp((1u << f.mantissa) + m, int(e) - f.bias - f.mantissa)
                     : std::ldexp(m, 1 - f.bias - f.mantissa);
  return code & top ? -v : v;
}
unsigned largest(const Small &f) {
  unsigned code = (1u << (f.bits() - 1)) - 1;
  while (!std::isfinite(small(f, code)))
    --code;
  return code;
}
/// The codes around |x|: the greatest not above, and whether the value after the largest is meant.
unsigned below(const Small &f, double x) {
  unsigned code = 0;
  for (unsigned c = 0; c <= largest(f); ++c)
    if (small(f, c) <= x)
      code = c;
  return code;
}
/// What an overflow gives.
unsigned overflow(const Small &f, bool negative, bool saturate) {
  const unsigned sign = negative ? 1u << (f.bits() - 1) : 0;
  if (saturate || f.finite)
    return sign | largest(f);
  return f.fnuz ? 0x80 : f.infinite() ? sign | 0x7c : sign | 0x7f;
}
/// The code of magnitude `code` (one past the largest: an overflow) with a sign.
unsigned finish(const Small &f, unsigned code, bool negative, bool saturate) {
  if (code > largest(f))
    return overflow(f, negative, saturate);
  if (code == 0 && f.fnuz)
    return 0;
  return code | (negative ? 1u << (f.bits() - 1) : 0);
}
double next(const Small &f, unsigned code) { // the value after `code`, also after the largest
  if (code < largest(f))
    return small(f, code + 1);
  return 2 * small(f, code) - small(f, code - 1);
}
unsigned nearest(const Small &f, double x, bool saturate) {
  const bool negative = std::signbit(x);
  if (std::isinf(x))
    return f.infinite() && !saturate ? (negative ? 0xfc : 0x7c) : overflow(f, negative, saturate);
  const double a = std::fabs(x);
  const unsigned code = below(f, a);
  const double down = a - small(f, code), up = next(f, code) - a;
  // Far beyond the largest the next value does not matter.
  return finish(f, code + (up < down || (up == down && (code & 1))), negative, saturate);
}

bool isNan(const Small &f, unsigned code) { return std::isnan(small(f, code)); }
bool sameCode(const Small &f, unsigned got, double x, bool saturate) {
  if (std::isnan(x))
    return f.finite || isNan(f, got);
  const unsigned want = nearest(f, x, saturate);
  return got == want || (isNan(f, got) && isNan(f, want));
}
/// A stochastic rounding without and with all of the random bits is the neighbour towards zero and,
/// unless x is a value of the format, the one away from it.
bool sameStochastic(const Small &f, unsigned got, double x, uint32_t random, bool saturate) {
  if (std::isnan(x) || std::isinf(x))
    return sameCode(f, got, x, saturate);
  const double a = std::fabs(x);
  const unsigned code = below(f, a);
  const bool exact = small(f, code) == a, negative = std::signbit(x);
  const unsigned down = finish(f, code, negative, saturate),
                 up = finish(f, code + 1, negative, saturate);
  auto same = [&](unsigned want) { return got == want || (isNan(f, got) && isNan(f, want)); };
  if (a >= next(f, largest(f)))
    return same(overflow(f, negative, saturate));
  if (exact || random == 0)
    return same(down);
  return random == ~0u && a > std::ldexp(small(f, 1), -20) ? same(up) : same(down) || same(up);
}

const double kInputs[] = {
    0.0,    -0.0,   1.0,      -1.5,      0.3,       448,        464,         465,    480,
    -240,   248,    247,      57344,     61440,     61439,      65536,       -1e9,   6.0,
    7.0,    7.5,    -28,      30,        0.0625,    0.03,       1e-3,        2e-5,   -3e-5,
    1.0625, 1.1875, 3.25,     -5.5,      0.0078125, 0.00390625, 0.001953125, 0.9375, 0.75,
    0.25,   1e-40,  INFINITY, -INFINITY, NAN,       17.3,       -100.7};
double input(unsigned at) { return kInputs[at % std::size(kInputs)]; }
uint32_t asBits(float x) { return __builtin_bit_cast(uint32_t, x); }
double asValue(uint32_t x) { return __builtin_bit_cast(float, x); }
} // namespace

TEST_CASE("opcodes: fp8 and bf8 match the reference") {
  for (const char *target : {"gfx942", "gfx950", "gfx1201"}) {
    Machine m(target);
    for (bool brain : {false, true}) {
      const bool fnuz = std::string(target) == "gfx942";
      const Small &f = brain ? (fnuz ? kBf8Fnuz : kBf8) : fnuz ? kFp8Fnuz : kFp8;
      const std::string n = f.name;
      const size_t pack = m.add("v_cvt_pk_" + n + "_f32 v8, v2, v4"),
                   packHigh = m.add("v_cvt_pk_" + n + "_f32 v8, v2, -v4 op_sel:[0,0,1]"),
                   unpack = m.add("v_cvt_pk_f32_" + n + " v[8:9], v2"),
                   unpackHigh =
                       m.add(m.gfx9 ? "v_cvt_pk_f32_" + n + "_sdwa v[8:9], v2 src0_sel:WORD_1"
                                    : "v_cvt_pk_f32_" + n + "_e64 v[8:9], v2 op_sel:[1,0]");
      std::vector<size_t> single, stochastic;
      for (unsigned byte = 0; byte < 4; ++byte) {
        const std::string b = std::to_string(byte);
        single.push_back(m.add(m.gfx9 ? "v_cvt_f32_" + n + "_sdwa v8, v2 src0_sel:BYTE_" + b
                               : byte ? "v_cvt_f32_" + n + "_e64 v8, v2 byte_sel:" + b
                                      : "v_cvt_f32_" + n + " v8, v2"));
        stochastic.push_back(
            m.add("v_cvt_sr_" + n + "_f32 v8, v2, v4" +
                  (m.gfx12 ? " byte_sel:" + b
                           : std::string(" op_sel:[0,0,") + (byte & 1 ? "1" : "0") + "," +
                                 (byte & 2 ? "1]" : "0]"))));
      }
      const size_t plain = m.add("v_cvt_f32_" + n + " v8, v2");
      m.build();
      m.setExec(kExec);
      for (bool saturate : {false, true}) {
        m.setMode(0x1f0 | (saturate ? 1u << 23 : 0));
        for (unsigned round = 0; round < 3; ++round) {
          auto fill = [&] {
            for (unsigned lane = 0; lane < 64; ++lane) {
              m.row(2)[lane] = asBits(float(input(lane + 5 * round)));
              m.row(4)[lane] = asBits(float(input(lane * 3 + 1 + round)));
              m.row(8)[lane] = 0xaabbccdd;
            }
          };
          for (size_t id : {pack, packHigh}) {
            fill();
            INFO(target << ": " << m.text(id) << " " << m.run(id));
            REQUIRE(m.accepted(id));
            bool ok = true;
            for (unsigned lane = 0; lane < m.lanes; ++lane) {
              if (!(kExec >> lane & 1))
                continue;
              const unsigned shift = id == packHigh ? 16 : 0, x = m.row(8)[lane] >> shift;
              const double second = asValue(m.row(4)[lane]) * (id == packHigh ? -1 : 1);
              ok = ok && sameCode(f, x & 255, asValue(m.row(2)[lane]), saturate) &&
                   sameCode(f, x >> 8 & 255, second, saturate) &&
                   (m.row(8)[lane] >> (16 - shift) & 0xffff) == (shift ? 0xccdd : 0xaabb);
            }
            CHECK(ok);
          }
          for (unsigned byte = 0; byte < 4; ++byte)
            for (uint32_t random : {0u, ~0u, 0x80000000u}) {
              fill();
              std::fill_n(m.row(4), 64, random);
              INFO(target << ": " << m.text(stochastic[byte]) << " " << m.run(stochastic[byte]));
              REQUIRE(m.accepted(stochastic[byte]));
              bool ok = true;
              for (unsigned lane = 0; lane < m.lanes; ++lane)
                if (kExec >> lane & 1) {
                  const uint32_t got = m.row(8)[lane], mask = 255u << 8 * byte;
                  ok = ok &&
                       sameStochastic(f, got >> 8 * byte & 255, asValue(m.row(2)[lane]), random,
                                      saturate) &&
                       (got & ~mask) == (0xaabbccdd & ~mask);
                }
              CHECK(ok);
            }
        }
      }
      // All codes back to float.
      auto value = [&](uint32_t got, unsigned code) {
        const double want = small(f, code);
        return std::isnan(want) ? std::isnan(asValue(got)) : asBits(float(want)) == got;
      };
      for (unsigned base = 0; base < 256; base += 64) {
        for (unsigned lane = 0; lane < 64; ++lane)
          m.row(2)[lane] = (base + lane) * 0x01010101 + 0x00010203;
        auto codeAt = [&](unsigned lane, unsigned byte) {
          return m.row(2)[lane] >> 8 * byte & 255;
        };
        auto check = [&](size_t id, unsigned first, unsigned count) {
          INFO(target << ": " << m.text(id) << " " << m.run(id));
          REQUIRE(m.accepted(id));
          bool ok = true;
          for (unsigned lane = 0; lane < m.lanes; ++lane)
            for (unsigned k = 0; kExec >> lane & 1 && k < count; ++k)
              ok = ok && value(m.row(8 + k)[lane], codeAt(lane, first + k));
          CHECK(ok);
        };
        check(plain, 0, 1);
        check(unpack, 0, 2);
        check(unpackHigh, 2, 2);
        for (unsigned byte = 0; byte < 4; ++byte)
          check(single[byte], byte, 1);
      }
    }
  }
}

TEST_CASE("opcodes: gfx950: block-scaled conversions match the reference") {
  const std::map<std::string, Small> smalls = {
      {"fp8", kFp8}, {"bf8", kBf8}, {"fp6", kFp6}, {"bf6", kBf6}, {"fp4", kFp4}};
  const std::map<std::string, Format> wides = {{"f32", kF32}, {"f16", kF16}, {"bf16", kBf16}};
  struct Conversion {
    std::string name, packing;
    bool stochastic, narrows;
    Small small;
    Format wide;
    unsigned count;
    size_t id;
  };
  Machine m("gfx950");
  auto registers = [](unsigned first, unsigned bits) {
    return bits <= 32
               ? "v" + std::to_string(first)
               : "v[" + std::to_string(first) + ":" + std::to_string(first + bits / 32 - 1) + "]";
  };
  std::vector<Conversion> all;
  for (auto &[smallName, s] : smalls)
    for (auto &[wideName, w] : wides)
      for (const char *packing : {"", "pk_", "pk32_", "2xpk16_"})
        for (bool narrows : {false, true})
          for (bool stochastic : {false, true}) {
            const std::string p = packing;
            Conversion c{"v_cvt_scalef32_" + std::string(stochastic ? "sr_" : "") + p +
                             (narrows ? smallName + "_" + wideName : wideName + "_" + smallName),
                         p,
                         stochastic,
                         narrows,
                         s,
                         w,
                         p.empty()    ? 1u
                         : p == "pk_" ? 2u
                                      : 32u,
                         0};
            if (stochastic && !narrows)
              continue;
            const unsigned smallBits = unsigned(s.bits()) * c.count,
                           wideBits = unsigned(width(w)) * c.count;
            std::string text = c.name + " ";
            if (!narrows)
              text += registers(8, wideBits) + ", " + registers(48, smallBits) + ", v4";
            else if (p == "2xpk16_")
              text += registers(8, smallBits) + ", v[48:63], v[64:79], v4";
            else if (stochastic)
              text += registers(8, smallBits) + ", " + registers(48, wideBits) + ", v6, v4";
            else if (p == "pk_" && wideName == "f32")
              text += registers(8, smallBits) + ", v48, v49, v4";
            else
              text += registers(8, smallBits) + ", " + registers(48, wideBits) + ", v4";
            c.id = m.add(text);
            all.push_back(c);
          }
  m.build();
  m.setMode(0x1f0);
  m.setExec(~u64(0));
  unsigned tried = 0;
  for (const Conversion &c : all) {
    if (!m.accepted(c.id))
      continue;
    ++tried;
    const unsigned smallBits = unsigned(c.small.bits()), wideBits = unsigned(width(c.wide));
    for (int scale : {127, 129, 122})
      for (uint32_t random : {0u, ~0u}) {
        u64 seed = 77;
        for (unsigned lane = 0; lane < 64; ++lane) {
          m.row(4)[lane] = unsigned(scale) << 23 | 0x123; // only the exponent counts
          m.row(6)[lane] = random;
          for (unsigned r = 8; r < 40; ++r)
            m.row(r)[lane] = 0;
          for (unsigned r = 0; r < 32; ++r) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            m.row(48 + r)[lane] = static_cast<uint32_t>(seed >> 32);
            if (c.narrows && wideBits == 32)
              m.row(48 + r)[lane] = asBits(float(input(lane * 7 + r)));
            if (c.narrows && wideBits == 16)
              m.row(48 + r)[lane] =
                  static_cast<uint32_t>(roundTo(c.wide, input(lane * 7 + 2 * r)) |
                                        roundTo(c.wide, input(lane * 7 + 2 * r + 1)) << 16);
          }
        }
        INFO(m.text(c.id) << " scale " << scale << " " << m.run(c.id));
        auto bitsAt = [&](unsigned r, unsigned lane, unsigned at, unsigned count) {
          u64 x = m.row(r + at / 32)[lane] | u64(m.row(r + at / 32 + 1)[lane]) << 32;
          return x >> at % 32 & ((u64(1) << count) - 1);
        };
        bool ok = true;
        for (unsigned lane = 0; lane < 64; ++lane)
          for (unsigned k = 0; k < c.count; ++k) {
            const int shift = scale - 127;
            if (!c.narrows) {
              const unsigned code = unsigned(bitsAt(48, lane, k * smallBits, smallBits));
              const double x = std::ldexp(small(c.small, code), shift);
              const u64 want = roundTo(c.wide, x), got = bitsAt(8, lane, k * wideBits, wideBits);
              ok = ok && (got == want || (isNan(c.wide, got) && std::isnan(x)));
              continue;
            }
            const unsigned from = c.packing == "2xpk16_" ? k % 2 * 16 + k / 2 : k;
            const u64 raw = bitsAt(48, lane, from * wideBits, wideBits);
            const double x = std::ldexp(double(valueOf(c.wide, raw)), -shift);
            const unsigned got = unsigned(bitsAt(8, lane, k * smallBits, smallBits));
            // Later elements' random values are derived from the first one's.
            ok = ok && (c.stochastic ? sameStochastic(c.small, got, x, k == 0 ? random : 1, false)
                                     : sameCode(c.small, got, x, false));
          }
        CHECK(ok);
      }
  }
  CHECK(tried >= 49);
}

TEST_CASE("opcodes: gfx12: dot products of fp8 and bf8 match the reference") {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      const Small &fa = a ? kBf8 : kFp8, &fb = b ? kBf8 : kFp8;
      Machine own("gfx1201");
      const size_t id = own.add("v_dot4_f32_" + fa.name + "_" + fb.name + " v8, v2, v4, v6");
      own.build();
      own.setMode(0x1f0);
      own.setExec(kExec);
      for (unsigned lane = 0; lane < 64; ++lane) { // small numbers: the sums are exact
        own.row(2)[lane] = (0x30 + lane % 8) * 0x01000100 + 0x00b40038;
        own.row(4)[lane] = (0x34 + lane % 5) * 0x00010001 + 0x38003a00;
        own.row(6)[lane] = asBits(float(lane) / 4);
      }
      INFO(own.text(id) << " " << own.run(id));
      for (unsigned lane = 0; lane < 32; ++lane) {
        double sum = lane / 4.0;
        for (unsigned at = 0; at < 32; at += 8)
          sum += small(fa, own.row(2)[lane] >> at & 255) * small(fb, own.row(4)[lane] >> at & 255);
        if (kExec >> lane & 1)
          CHECK(asValue(own.row(8)[lane]) == float(sum));
      }
    }
}

TEST_CASE("opcodes: stochastic rounding to 16 bits matches the reference") {
  Machine m("gfx950");
  const size_t half = m.add("v_cvt_sr_f16_f32 v8, v2, v4"),
               bfloat = m.add("v_cvt_sr_bf16_f32 v8, v2, v4"),
               halfHigh = m.add("v_cvt_sr_f16_f32 v8, v2, v4 op_sel:[0,0,1]"),
               bfloatHigh = m.add("v_cvt_sr_bf16_f32 v8, v2, v4 op_sel:[0,0,1]");
  m.build();
  m.setMode(0x1f0);
  m.setExec(~u64(0));
  for (auto [id, f, shift] : {std::tuple{half, kF16, 0u},
                              {bfloat, kBf16, 0u},
                              {halfHigh, kF16, 16u},
                              {bfloatHigh, kBf16, 16u}})
    for (uint32_t random : {0u, ~0u}) {
      for (unsigned lane = 0; lane < 64; ++lane) {
        m.row(2)[lane] = asBits(float((lane + 1) * 1.2345 * (lane % 2 ? -1 : 1)));
        m.row(4)[lane] = random;
        m.row(8)[lane] = 0x12345678;
      }
      INFO(m.text(id) << " " << m.run(id));
      for (unsigned lane = 0; lane < 64; ++lane) {
        const double x = asValue(m.row(2)[lane]);
        const Rounding away = x < 0 ? kDown : kUp;
        CHECK((m.row(8)[lane] >> shift & 0xffff) == roundTo(f, x, random ? away : kToZero));
        CHECK((m.row(8)[lane] >> (16 - shift) & 0xffff) == (shift ? 0x5678 : 0x1234));
      }
    }
}

TEST_CASE("opcodes: what a subnormal result can't hold is cut off before random bits are added") {
  // As many random bits are added as a normal result loses; of a half of the smallest number and
  // something less than the last of those, nothing but the half counts.
  struct Rounding {
    std::string instruction;
    double smallest;
    int lost;
  };
  for (const char *target : {"gfx942", "gfx950", "gfx1201"}) {
    const bool fnuz = std::string(target) == "gfx942";
    std::vector<Rounding> all = {{"v_cvt_sr_fp8_f32", small(fnuz ? kFp8Fnuz : kFp8, 1), 20},
                                 {"v_cvt_sr_bf8_f32", small(fnuz ? kBf8Fnuz : kBf8, 1), 21}};
    if (std::string(target) == "gfx950")
      all.push_back({"v_cvt_sr_f16_f32", std::ldexp(1.0, -24), 13});
    Machine m(target);
    std::vector<size_t> ids;
    for (const Rounding &r : all)
      ids.push_back(m.add(r.instruction + " v8, v2, v4"));
    m.build();
    m.setMode(0x1f0);
    m.setExec(~u64(0));
    for (size_t k = 0; k < all.size(); ++k)
      for (uint32_t random : {0x7fffffffu, 0x80000000u}) {
        const double half = 0.5 + std::ldexp(1.0, -all[k].lost - 1);
        for (unsigned lane = 0; lane < 64; ++lane) {
          m.row(2)[lane] = asBits(float(half * all[k].smallest));
          m.row(4)[lane] = random;
          m.row(8)[lane] = 0;
        }
        INFO(target << ": " << m.text(ids[k]) << " " << m.run(ids[k]));
        CHECK(m.row(8)[0] == (random >> 31));
      }
  }
}

} // namespace flyemu::test
