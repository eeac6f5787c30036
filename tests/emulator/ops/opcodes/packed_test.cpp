// VOP3P: packed operations with their element selectors and signs, mixed precision, dot products.
#include "machine.h"
#include "vector_table.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
using i64 = int64_t;
constexpr u64 kExec = 0xfffffff3a5c3ff0full;

/// An operation on elements; `clamp` asks integers to saturate.
struct PackedOp {
  const char *names;
  unsigned sources;
  bool isFloat;
  u64 (*element)(u64 a, u64 b, u64 c, bool clamp);
};
Quad h(u64 x) { return valueOf(kF16, x); }
u64 r16(Quad x) { return roundTo(kF16, x); }
i64 s16(u64 x) { return static_cast<int16_t>(x); }
u64 wrap(i64 x, i64 low, i64 high, bool clamp) {
  return u64(clamp ? std::clamp(x, low, high) : x) & 0xffff;
}
u64 wrapU(i64 x, bool clamp) { return wrap(x, 0, 65535, clamp); }
u64 wrapS(i64 x, bool clamp) { return wrap(x, -32768, 32767, clamp); }
template <bool Max> u64 extreme(u64 a, u64 b, u64, bool) {
  if (isNan(kF16, a))
    return b;
  if (isNan(kF16, b))
    return a;
  const Quad x = h(a), y = h(b);
  const bool less = x < y || (x == y && signOf(x) && !signOf(y));
  return less == Max ? b : a;
}
template <bool Max> u64 strict(u64 a, u64 b, u64, bool) {
  return isNan(kF16, a) || isNan(kF16, b) ? quietNan(kF16) : extreme<Max>(a, b, 0, false);
}
template <bool Max> u64 strict3(u64 a, u64 b, u64 c, bool) {
  return strict<Max>(strict<Max>(a, b, 0, false), c, 0, false);
}
const PackedOp kPacked[] = {
    {"v_pk_add_f16", 2, true, [](u64 a, u64 b, u64, bool) { return r16(sumToOdd(h(a), h(b))); }},
    {"v_pk_mul_f16", 2, true, [](u64 a, u64 b, u64, bool) { return r16(h(a) * h(b)); }},
    {"v_pk_fma_f16", 3, true,
     [](u64 a, u64 b, u64 c, bool) { return r16(sumToOdd(h(a) * h(b), h(c))); }},
    {"v_pk_min_f16 v_pk_min_num_f16", 2, true, extreme<false>},
    {"v_pk_max_f16 v_pk_max_num_f16", 2, true, extreme<true>},
    {"v_pk_minimum_f16", 2, true, strict<false>},
    {"v_pk_maximum_f16", 2, true, strict<true>},
    {"v_pk_minimum3_f16", 3, true, strict3<false>},
    {"v_pk_maximum3_f16", 3, true, strict3<true>},
    {"v_pk_add_u16", 2, false, [](u64 a, u64 b, u64, bool k) { return wrapU(i64(a + b), k); }},
    {"v_pk_sub_u16", 2, false, [](u64 a, u64 b, u64, bool k) { return wrapU(i64(a - b), k); }},
    {"v_pk_add_i16", 2, false, [](u64 a, u64 b, u64, bool k) { return wrapS(s16(a) + s16(b), k); }},
    {"v_pk_sub_i16", 2, false, [](u64 a, u64 b, u64, bool k) { return wrapS(s16(a) - s16(b), k); }},
    {"v_pk_mul_lo_u16", 2, false, [](u64 a, u64 b, u64, bool) { return a * b & 0xffff; }},
    {"v_pk_mad_u16", 3, false,
     [](u64 a, u64 b, u64 c, bool k) { return wrapU(i64(a * b + c), k); }},
    {"v_pk_mad_i16", 3, false,
     [](u64 a, u64 b, u64 c, bool k) { return wrapS(s16(a) * s16(b) + s16(c), k); }},
    {"v_pk_max_u16", 2, false, [](u64 a, u64 b, u64, bool) { return std::max(a, b); }},
    {"v_pk_min_u16", 2, false, [](u64 a, u64 b, u64, bool) { return std::min(a, b); }},
    {"v_pk_max_i16", 2, false,
     [](u64 a, u64 b, u64, bool) { return u64(std::max(s16(a), s16(b))) & 0xffff; }},
    {"v_pk_min_i16", 2, false,
     [](u64 a, u64 b, u64, bool) { return u64(std::min(s16(a), s16(b))) & 0xffff; }},
    {"v_pk_lshlrev_b16", 2, false, [](u64 a, u64 b, u64, bool) { return b << a % 16 & 0xffff; }},
    {"v_pk_lshrrev_b16", 2, false, [](u64 a, u64 b, u64, bool) { return b >> a % 16; }},
    {"v_pk_ashrrev_i16", 2, false,
     [](u64 a, u64 b, u64, bool) { return u64(s16(b) >> a % 16) & 0xffff; }},
};

/// op_sel, op_sel_hi, neg_lo, neg_hi as bits of the sources.
struct Selectors {
  unsigned low = 0, high = 7, negLow = 0, negHigh = 0;
  bool clamp = false;
  std::string text(unsigned sources) const {
    auto list = [&](const char *name, unsigned bits, unsigned usual) {
      if (bits == usual)
        return std::string();
      std::string s = std::string(" ") + name + ":[";
      for (unsigned k = 0; k < sources; ++k)
        s += std::string(k ? "," : "") + (bits >> k & 1 ? "1" : "0");
      return s + "]";
    };
    const unsigned all = (1u << sources) - 1;
    return list("op_sel", low & all, 0) + list("op_sel_hi", high & all, all) +
           list("neg_lo", negLow & all, 0) + list("neg_hi", negHigh & all, 0) +
           (clamp ? " clamp" : "");
  }
};
const Selectors kSelectors[] = {{},           {1, 6, 0, 0},      {6, 1, 0, 0}, {7, 0, 0, 0},
                                {0, 7, 5, 2}, {0, 7, 2, 5},      {5, 3, 7, 0}, {0, 7, 0, 0, true},
                                {2, 4, 1, 6}, {0, 0, 0, 0, true}};

void fill(Machine &m, char kind, unsigned round) {
  const auto &e = edgesOf(kind);
  static u64 seed = 99;
  for (unsigned k = 0; k < 3; ++k)
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned d = 0; d < 2; ++d) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const u64 at = round * 64 + lane + d * 7;
        const u64 low = e[(k ? at * (k + 2) + round : at) % e.size()],
                  high = e[(seed >> 33) % e.size()];
        m.row(2 + 2 * k + d)[lane] =
            static_cast<uint32_t>(widthOf(kind) == 16 ? low | high << 16 : low);
      }
}
bool sameHalf(u64 a, u64 b) { return a == b || (isNan(kF16, a) && isNan(kF16, b)); }
std::vector<std::string> words(const std::string &s) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= s.size();) {
    const size_t end = std::min(s.find(' ', at), s.size());
    all.push_back(s.substr(at, end - at));
    at = end + 1;
  }
  return all;
}
u64 clampHalf(u64 x) { return isNan(kF16, x) || h(x) <= 0 ? 0 : h(x) >= 1 ? 0x3c00 : x; }
} // namespace

TEST_CASE("opcodes: packed halves and 16-bit integers match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    struct Entry {
      const PackedOp *op;
      const Selectors *s;
      size_t id;
    };
    std::vector<Entry> entries;
    for (const PackedOp &op : kPacked)
      for (const std::string &name : words(op.names))
        for (const Selectors &s : kSelectors)
          entries.push_back(
              {&op, &s,
               m.add(name + " v8, v2, v4" + (op.sources == 3 ? ", v6" : "") + s.text(op.sources))});
    m.build();
    for (const Entry &e : entries) {
      if (!m.accepted(e.id))
        continue;
      for (unsigned round = 0; round < 5; ++round) {
        fill(m, e.op->isFloat ? 'h' : 's', round);
        std::fill_n(m.row(8), 64, 0x5a5a5a5au);
        m.setMode(0x1f0);
        m.setExec(kExec);
        const std::string fault = m.run(e.id);
        std::string wrong = fault;
        for (unsigned lane = 0; lane < m.lanes && wrong.empty(); ++lane) {
          if (!(kExec >> lane & 1)) {
            if (m.row(8)[lane] != 0x5a5a5a5a)
              wrong = "an inactive lane was written";
            continue;
          }
          for (unsigned part = 0; part < 2; ++part) {
            u64 x[3] = {};
            for (unsigned k = 0; k < e.op->sources; ++k) {
              const bool upper = (part ? e.s->high : e.s->low) >> k & 1;
              x[k] = m.row(2 + 2 * k)[lane] >> (upper ? 16 : 0) & 0xffff;
              if ((part ? e.s->negHigh : e.s->negLow) >> k & 1)
                x[k] ^= 0x8000;
            }
            u64 want = e.op->element(x[0], x[1], x[2], e.s->clamp);
            if (e.op->isFloat && e.s->clamp)
              want = clampHalf(want);
            const u64 got = m.row(8)[lane] >> 16 * part & 0xffff;
            if (got != want && !(e.op->isFloat && sameHalf(got, want))) {
              char text[120];
              std::snprintf(
                  text, sizeof text, "lane %u part %u (%llx, %llx, %llx) -> %llx, want %llx", lane,
                  part, (unsigned long long)x[0], (unsigned long long)x[1],
                  (unsigned long long)x[2], (unsigned long long)got, (unsigned long long)want);
              wrong = text;
            }
          }
        }
        INFO(target << ": " << m.text(e.id) << ": " << wrong);
        CHECK(wrong.empty());
      }
    }
  }
}

TEST_CASE("opcodes: pairs of floats match the reference") {
  struct PairOp {
    const char *name;
    unsigned sources;
    u64 (*element)(u64, u64, u64);
  };
  static const PairOp kOps[] = {
      {"v_pk_add_f32", 2,
       [](u64 a, u64 b, u64) {
         return roundTo(kF32, sumToOdd(valueOf(kF32, a), valueOf(kF32, b)));
       }},
      {"v_pk_mul_f32", 2,
       [](u64 a, u64 b, u64) { return roundTo(kF32, valueOf(kF32, a) * valueOf(kF32, b)); }},
      {"v_pk_fma_f32", 3,
       [](u64 a, u64 b, u64 c) {
         return roundTo(kF32, sumToOdd(valueOf(kF32, a) * valueOf(kF32, b), valueOf(kF32, c)));
       }},
      {"v_pk_mov_b32", 2, nullptr},
  };
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    Machine m(target);
    std::vector<std::tuple<const PairOp *, const Selectors *, size_t>> entries;
    for (const PairOp &op : kOps)
      for (const Selectors &s : kSelectors) {
        if (!op.element && (s.negLow || s.negHigh || s.clamp))
          continue;
        entries.emplace_back(&op, &s,
                             m.add(std::string(op.name) + " v[8:9], v[2:3], v[4:5]" +
                                   (op.sources == 3 ? ", v[6:7]" : "") + s.text(op.sources)));
      }
    m.build();
    for (auto &[op, s, id] : entries) {
      INFO(target << ": " << m.text(id));
      REQUIRE(m.accepted(id));
      for (unsigned round = 0; round < 5; ++round) {
        fill(m, 'f', round);
        m.setMode(0x1f0);
        m.setExec(kExec);
        CHECK(m.run(id) == "");
        bool ok = true;
        for (unsigned lane = 0; lane < 64; ++lane)
          for (unsigned part = 0; kExec >> lane & 1 && part < 2; ++part) {
            u64 x[3] = {};
            for (unsigned k = 0; k < op->sources; ++k) {
              const bool upper = (part ? s->high : s->low) >> k & 1;
              x[k] = m.row(2 + 2 * k + upper)[lane];
              if ((part ? s->negHigh : s->negLow) >> k & 1)
                x[k] ^= 0x80000000;
            }
            const u64 got = m.row(8 + part)[lane];
            if (!op->element) { // a move takes one dword of each source, by op_sel
              ok = ok && got == m.row(2 + 2 * part + (s->low >> part & 1))[lane];
              continue;
            }
            u64 want = op->element(x[0], x[1], x[2]);
            if (s->clamp)
              want = isNan(kF32, want) || valueOf(kF32, want) <= 0 ? 0
                     : valueOf(kF32, want) >= 1                    ? 0x3f800000
                                                                   : want;
            ok = ok && (got == want || (isNan(kF32, got) && isNan(kF32, want)));
          }
        CHECK(ok);
      }
    }
  }
}

TEST_CASE("opcodes: mixed precision and dot products of floats match the reference") {
  // op_sel_hi makes a source a half, of the part that op_sel tells; neg_hi is its absolute value.
  struct Mix {
    unsigned half, part, negate, absolute;
  };
  static const Mix kMixes[] = {
      {0, 0, 0, 0}, {7, 0, 0, 0}, {3, 2, 1, 0}, {5, 5, 4, 1}, {2, 2, 2, 5}};
  auto source = [](Machine &m, const Mix &x, unsigned k, unsigned lane) {
    u64 bits = m.row(2 + 2 * k)[lane];
    Format f = kF32;
    if (x.half >> k & 1) {
      bits = bits >> (x.part >> k & 1 ? 16 : 0) & 0xffff;
      f = kF16;
    }
    const u64 sign = u64(1) << (width(f) - 1);
    bits = x.absolute >> k & 1 ? bits & ~sign : bits;
    bits = x.negate >> k & 1 ? bits ^ sign : bits;
    return valueOf(f, bits);
  };
  for (const char *target : kTargets) {
    Machine m(target);
    struct Entry {
      size_t id;
      int result; ///< 0 float, 1 low half, 2 high half
      const Mix *mix;
      bool shifted;
    };
    std::vector<Entry> entries;
    int kind = 0;
    for (const char *name : {"v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"}) {
      for (const Mix &x : kMixes) {
        Selectors s{x.part, x.half, x.negate, x.absolute};
        std::string text = s.text(3);
        if (x.half == 7)
          text += " op_sel_hi:[1,1,1]";
        if (x.half == 0)
          text = text.empty() ? "" : text;
        entries.push_back({m.add(std::string(name) + " v8, v2, v4, v6" + text), kind, &x, false});
        entries.push_back({m.add(std::string(name) + "_e64_dpp v8, v2, v4, v6" + text +
                                 " row_ror:1 row_mask:0xf bank_mask:0xf"),
                           kind, &x, true});
      }
      ++kind;
    }
    m.build();
    for (const Entry &e : entries)
      for (unsigned round = 0; m.accepted(e.id) && round < 6; ++round) {
        fill(m, round % 2 ? 'h' : 'f', round);
        std::fill_n(m.row(8), 64, 0x5a5a5a5au);
        m.setMode(0x1f0);
        m.setExec(~u64(0));
        INFO(target << ": " << m.text(e.id) << " " << m.run(e.id));
        bool ok = true;
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          const unsigned from = e.shifted ? (lane & ~15u) | ((lane + 15) & 15) : lane;
          const Quad exact = sumToOdd(source(m, *e.mix, 0, from) * source(m, *e.mix, 1, lane),
                                      source(m, *e.mix, 2, lane));
          u64 got = m.row(8)[lane];
          const Format f = e.result ? kF16 : kF32;
          if (e.result) {
            ok = ok && (e.result == 1 ? got >> 16 : got & 0xffff) == 0x5a5a;
            got = e.result == 1 ? got & 0xffff : got >> 16;
          }
          const u64 want = roundTo(f, exact);
          ok = ok && (got == want || (isNan(f, got) && isNan(f, want)));
        }
        CHECK(ok);
      }
  }
}

TEST_CASE("opcodes: dot products of halves and bfloats, of chosen signedness match the reference") {
  // The rounding inside of float dot products is not published: small integers, whose sums are
  // exact, are looked at exactly, and others within the error of two roundings.
  struct Dot {
    const char *names;
    Format element;
    Format result;
    bool accumulates;
  };
  static const Dot kDots[] = {{"v_dot2_f32_f16", kF16, kF32, false},
                              {"v_dot2_f32_bf16", kBf16, kF32, false},
                              {"v_dot2c_f32_f16 v_dot2acc_f32_f16", kF16, kF32, true},
                              {"v_dot2c_f32_bf16", kBf16, kF32, true},
                              {"v_dot2_f16_f16", kF16, kF16, false},
                              {"v_dot2_bf16_bf16", kBf16, kBf16, false}};
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<std::pair<const Dot *, size_t>> entries;
    for (const Dot &d : kDots)
      for (const std::string &name : words(d.names))
        entries.emplace_back(&d, m.add(name + " v8, v2, v4" + (d.accumulates ? "" : ", v6")));
    const size_t bytes[] = {m.add("v_dot4_i32_iu8 v8, v2, v4, v6 neg_lo:[1,0,0]"),
                            m.add("v_dot4_i32_iu8 v8, v2, v4, v6 neg_lo:[0,1,0] clamp"),
                            m.add("v_dot4_i32_iu8 v8, v2, v4, v6 neg_lo:[1,1,0] clamp")};
    const size_t nibbles[] = {m.add("v_dot8_i32_iu4 v8, v2, v4, v6 neg_lo:[1,0,0]"),
                              m.add("v_dot8_i32_iu4 v8, v2, v4, v6 neg_lo:[0,1,0] clamp"),
                              m.add("v_dot8_i32_iu4 v8, v2, v4, v6 neg_lo:[1,1,0] clamp")};
    m.build();
    m.setMode(0x1f0);
    m.setExec(~u64(0));
    for (auto &[d, id] : entries)
      for (unsigned round = 0; m.accepted(id) && round < 4; ++round) {
        for (unsigned lane = 0; lane < 64; ++lane) {
          auto value = [&](unsigned k) {
            const int n = int((lane * 7 + k * 13 + round * 5) % 33) - 16;
            return round < 2 ? double(n) : n * 1.37;
          };
          for (unsigned k = 0; k < 2; ++k)
            m.row(2 + 2 * k)[lane] = static_cast<uint32_t>(
                roundTo(d->element, value(2 * k)) | roundTo(d->element, value(2 * k + 1)) << 16);
          m.row(6)[lane] = static_cast<uint32_t>(roundTo(d->result, value(5)));
          m.row(8)[lane] = m.row(6)[lane];
        }
        INFO(target << ": " << m.text(id) << " " << m.run(id));
        bool ok = true;
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          Quad exact = valueOf(d->result, m.row(6)[lane]), size = exact < 0 ? -exact : exact;
          for (unsigned part : {0u, 16u}) {
            const Quad p = valueOf(d->element, m.row(2)[lane] >> part & 0xffff) *
                           valueOf(d->element, m.row(4)[lane] >> part & 0xffff);
            exact += p;
            size += p < 0 ? -p : p;
          }
          const u64 got = width(d->result) == 16 ? m.row(8)[lane] & 0xffff : m.row(8)[lane];
          const Quad error = valueOf(d->result, got) - exact;
          const bool isExact = round < 2 && d->result.mantissa >= 10;
          const Quad bound =
              isExact ? Quad(0) : 2 * size * Quad(std::ldexp(1, -d->result.mantissa));
          ok = ok && error <= bound && -error <= bound;
        }
        CHECK(ok);
      }
    for (unsigned form = 0; form < 3; ++form)
      for (unsigned bits : {8u, 4u}) {
        const size_t id = bits == 8 ? bytes[form] : nibbles[form];
        for (unsigned round = 0; m.accepted(id) && round < 4; ++round) {
          fill(m, 'u', round);
          INFO(target << ": " << m.text(id) << " " << m.run(id));
          bool ok = true;
          for (unsigned lane = 0; lane < m.lanes; ++lane) {
            auto element = [&](unsigned k, unsigned at, bool isSigned) {
              const u64 x = m.row(2 + 2 * k)[lane] >> at & ((1u << bits) - 1);
              return isSigned ? i64(x << (64 - bits)) >> (64 - bits) : i64(x);
            };
            i64 sum = static_cast<int32_t>(m.row(6)[lane]);
            for (unsigned at = 0; at < 32; at += bits)
              sum += element(0, at, form != 1) * element(1, at, form != 0);
            if (form)
              sum = std::clamp<i64>(sum, INT32_MIN, INT32_MAX);
            ok = ok && m.row(8)[lane] == static_cast<uint32_t>(sum);
          }
          CHECK(ok);
        }
      }
  }
}

TEST_CASE("opcodes: packed accumulation of halves matches the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const size_t id = m.add("v_pk_fmac_f16 v8, v2, v4");
    m.build();
    if (!m.accepted(id))
      continue;
    fill(m, 'h', 1);
    std::copy_n(m.row(6), 64, m.row(8));
    m.setMode(0x1f0);
    m.setExec(~u64(0));
    CHECK(m.run(id) == "");
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      for (unsigned part : {0u, 16u}) {
        auto x = [&](unsigned r) { return m.row(r)[lane] >> part & 0xffff; };
        CHECK(sameHalf(x(8), r16(sumToOdd(h(x(2)) * h(x(4)), h(x(6))))));
      }
  }
}

} // namespace flyemu::test
