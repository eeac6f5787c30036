// Comparisons and other instructions that write masks: every condition of every type, to VCC, to
// scalars, to EXEC; carries.
#include "machine.h"
#include "vector_table.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
constexpr u64 kExec = 0xfffffff3a5c3ff0full, kVcc = 0x123456789abcdef0ull;

struct TypeOf {
  const char *name;
  char kind; ///< as in a table's signature
};
constexpr TypeOf kTypes[] = {{"f16", 'h'}, {"f32", 'f'}, {"f64", 'd'}, {"i16", 's'}, {"u16", 's'},
                             {"i32", 'u'}, {"u32", 'u'}, {"i64", 'U'}, {"u64", 'U'}};

/// True if the named condition holds.
bool compared(const std::string &condition, const TypeOf &t, u64 a, u64 b) {
  bool less, equal, unordered = false;
  if (isFloatKind(t.kind)) {
    const Format f = formatOf(t.kind);
    const Quad x = in(f, a), y = in(f, b);
    unordered = isNan(f, a) || isNan(f, b);
    less = x < y;
    equal = x == y;
  } else {
    const unsigned up = 64 - widthOf(t.kind);
    equal = a == b;
    less = t.name[0] == 'i' ? int64_t(a << up) < int64_t(b << up) : a < b;
  }
  const bool greater = !less && !equal && !unordered;
  if (condition == "f")
    return false;
  if (condition == "t" || condition == "tru")
    return true;
  if (condition == "o")
    return !unordered;
  if (condition == "u")
    return unordered;
  const bool negated = condition.size() == 3 || (condition == "ne" && !isFloatKind(t.kind));
  const std::string base = condition == "ne" || condition == "neq" ? "eq"
                           : negated                               ? condition.substr(1)
                                                                   : condition;
  const bool holds = base == "lt"   ? less
                     : base == "eq" ? equal
                     : base == "le" ? less || equal
                     : base == "gt" ? greater
                     : base == "lg" ? less || greater
                                    : greater || equal;
  return holds != negated;
}
/// The classes of the manuals' tables, as the bit of each.
bool classed(Format f, u64 x, u64 classes) {
  const bool negative = isNegative(f, x);
  const Quad v = valueOf(f, x);
  const int bit = isNan(f, x)        ? isSignalling(f, x) ? 0 : 1
                  : isInf(f, x)      ? negative ? 2 : 9
                  : v == 0           ? negative ? 5 : 6
                  : isDenormal(f, x) ? negative ? 4 : 7
                  : negative         ? 3
                                     : 8;
  return classes >> bit & 1;
}

struct Form {
  std::string text;
  bool negateA = false, absoluteB = false, toScalar = false, highA = false, highB = false;
};

u64 lanesOf(Machine &m, unsigned r, unsigned lane, char kind) {
  u64 x = m.row(r)[lane];
  if (widthOf(kind) == 64)
    x |= u64(m.row(r + 1)[lane]) << 32;
  return widthOf(kind) == 16 ? x & 0xffff : x;
}
void fill(Machine &m, char a, char b, unsigned round) {
  const auto &x = edgesOf(a), &y = edgesOf(b);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 at = round * 64 + lane;
    u64 first = x[at % x.size()], second = y[(at / x.size() + at * 3 * (round % 3)) % y.size()];
    // The other halves of 16-bit operands are other values.
    if (widthOf(a) == 16)
      first |= x[(at * 5 + 1) % x.size()] << 16;
    if (widthOf(b) == 16)
      second |= y[(at * 7 + 3) % y.size()] << 16;
    for (unsigned d = 0; d < 2; ++d) {
      m.row(2 + d)[lane] = static_cast<uint32_t>(first >> 32 * d);
      m.row(4 + d)[lane] = static_cast<uint32_t>(second >> 32 * d);
    }
  }
}
std::string vector(unsigned r, char kind) {
  const std::string n = std::to_string(r);
  return widthOf(kind) == 64 ? "v[" + n + ":" + std::to_string(r + 1) + "]" : "v" + n;
}

void runComparisons(Machine &m, const TypeOf &t, const std::string &condition, bool toExec) {
  const std::string name = std::string(toExec ? "v_cmpx_" : "v_cmp_") + condition + "_" + t.name;
  const bool isClass = condition == "class";
  const char second = !isClass ? t.kind : widthOf(t.kind) == 16 ? 's' : 'u';
  const std::string vcc = m.lanes == 64 ? "vcc" : "vcc_lo",
                    pair = m.lanes == 64 ? "s[30:31]" : "s30";
  const bool toMask = m.gfx9 || !toExec;
  const std::string a = vector(2, t.kind), b = vector(4, second);
  std::vector<Form> forms = {{name + " " + (toMask ? vcc + ", " : "") + a + ", " + b},
                             {name + "_e64 " + (toMask ? pair + ", " : "") + a + ", " + b}};
  forms[1].toScalar = true;
  if (isFloatKind(t.kind)) {
    forms.push_back(forms[1]);
    forms[2].text = name + "_e64 " + (toMask ? pair + ", " : "") + "-" + a + ", " +
                    (isClass ? b : "|" + b + "|");
    forms[2].negateA = true;
    forms[2].absoluteB = !isClass;
  }
  if (!m.gfx9 && widthOf(t.kind) == 16)
    for (unsigned high = 0; high < 4; ++high) {
      const std::string x = a + (high & 1 ? ".h" : ".l"), y = b + (high & 2 ? ".h" : ".l");
      Form e32{name + " " + (toMask ? vcc + ", " : "") + x + ", " + y},
          e64{name + "_e64 " + (toMask ? pair + ", " : "") + x + ", " + y};
      e64.toScalar = true;
      for (Form *f : {&e32, &e64}) {
        f->highA = high & 1;
        f->highB = high & 2;
        forms.push_back(*f);
      }
    }
  if (m.gfx9 && widthOf(t.kind) < 64)
    forms.push_back({name + "_sdwa " + vcc + ", " + a + ", " + b +
                     " src0_sel:" + (widthOf(t.kind) == 16 ? "WORD_0" : "DWORD") +
                     " src1_sel:" + (widthOf(second) == 16 ? "WORD_0" : "DWORD")});
  std::vector<size_t> ids;
  for (const Form &f : forms)
    ids.push_back(m.add(f.text));
  m.build();
  std::string wrong;
  for (size_t i = 0; i < forms.size(); ++i)
    for (uint32_t mode : {0x1f0u, 0x100u})
      for (unsigned round = 0; m.accepted(ids[i]) && round < 6; ++round) {
        fill(m, t.kind, second, round);
        m.setMode(mode);
        env.denorm32 = env.denorm64 = mode == 0x100 ? 0 : 3;
        m.setExec(kExec);
        m.setS64(106, kVcc);
        m.setS64(30, kVcc);
        const std::string fault = m.run(ids[i]);
        u64 want = 0;
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          u64 x = lanesOf(m, 2, lane, t.kind), y = lanesOf(m, 4, lane, second);
          if (forms[i].highA)
            x = m.row(2)[lane] >> 16;
          if (forms[i].highB)
            y = m.row(4)[lane] >> 16;
          const u64 sign = u64(1) << (widthOf(t.kind) - 1);
          x = forms[i].negateA ? x ^ sign : x;
          y = forms[i].absoluteB ? y & ~sign : y;
          const bool holds =
              isClass ? classed(formatOf(t.kind), x, y) : compared(condition, t, x, y);
          want |= u64(holds && kExec >> lane & 1) << lane;
        }
        const u64 mask = m.mask(forms[i].toScalar ? m.s64(30) : m.s64(106));
        if (!fault.empty() || (toMask && mask != want) ||
            m.mask(m.wave.exec()) != (toExec ? want : m.mask(kExec)))
          wrong += m.target + ": " + forms[i].text + ": " + fault + "\n";
      }
  INFO(wrong);
  CHECK(wrong.empty());
}
} // namespace

TEST_CASE("opcodes: comparisons match the reference") {
  for (const char *target : kTargets)
    for (const TypeOf &t : kTypes) {
      std::vector<std::string> conditions = {"f", "lt", "eq", "le", "gt", "ge", "t"};
      if (isFloatKind(t.kind))
        conditions.insert(conditions.end(), {"lg", "o", "u", "nge", "nlg", "ngt", "nle", "neq",
                                             "nlt", "tru", "class"});
      else
        conditions.push_back("ne");
      for (const std::string &c : conditions)
        for (bool toExec : {false, true}) {
          Machine m(target);
          runComparisons(m, t, c, toExec);
        }
    }
}

namespace {
/// d, mask = f(a, b, carry in), and what the carry out is.
struct Carry {
  const char *names;
  u64 (*sum)(u64 a, u64 b, u64 c);
  bool (*out)(u64 a, u64 b, u64 c);
  bool in;
};
constexpr u64 kTop = 0xffffffff;
const Carry kCarries[] = {
    {"v_add_co_u32", [](u64 a, u64 b, u64) { return a + b; },
     [](u64 a, u64 b, u64) { return a + b > kTop; }, false},
    {"v_sub_co_u32", [](u64 a, u64 b, u64) { return a - b; },
     [](u64 a, u64 b, u64) { return a < b; }, false},
    {"v_subrev_co_u32", [](u64 a, u64 b, u64) { return b - a; },
     [](u64 a, u64 b, u64) { return b < a; }, false},
    {"v_addc_co_u32 v_add_co_ci_u32", [](u64 a, u64 b, u64 c) { return a + b + c; },
     [](u64 a, u64 b, u64 c) { return a + b + c > kTop; }, true},
    {"v_subb_co_u32 v_sub_co_ci_u32", [](u64 a, u64 b, u64 c) { return a - b - c; },
     [](u64 a, u64 b, u64 c) { return a < b + c; }, true},
    {"v_subbrev_co_u32 v_subrev_co_ci_u32", [](u64 a, u64 b, u64 c) { return b - a - c; },
     [](u64 a, u64 b, u64 c) { return b < a + c; }, true},
};
} // namespace

TEST_CASE("opcodes: carries match the reference") {
  for (const char *target : kTargets)
    for (const Carry &c : kCarries) {
      std::string names = c.names;
      for (size_t at = 0; at != std::string::npos;) {
        const size_t end = names.find(' ', at);
        const std::string name = names.substr(at, end - at);
        at = end == std::string::npos ? end : end + 1;
        Machine m(target);
        const std::string vcc = m.lanes == 64 ? "vcc" : "vcc_lo",
                          pair = m.lanes == 64 ? "s[30:31]" : "s30",
                          from = m.lanes == 64 ? "s[34:35]" : "s34";
        struct Form {
          std::string text;
          bool scalar, clamp;
        };
        std::vector<Form> forms;
        forms.push_back(
            {name + " v8, " + vcc + ", v2, v4" + (c.in ? ", " + vcc : ""), false, false});
        forms.push_back(
            {name + "_e64 v8, " + pair + ", v2, v4" + (c.in ? ", " + from : ""), true, false});
        forms.push_back({forms[1].text + " clamp", true, true});
        if (m.gfx9)
          forms.push_back({name + "_sdwa v8, vcc, v2, v4" + (c.in ? ", vcc" : "") +
                               " dst_sel:DWORD src0_sel:DWORD src1_sel:DWORD",
                           false, false});
        std::vector<size_t> ids;
        for (const Form &f : forms)
          ids.push_back(m.add(f.text));
        m.build();
        for (size_t i = 0; i < forms.size(); ++i)
          for (unsigned round = 0; m.accepted(ids[i]) && round < 6; ++round) {
            fill(m, 'u', 'u', round);
            for (unsigned lane = 0; lane < 64; ++lane)
              m.row(8)[lane] = 0xabcdabcd;
            m.setMode(0x1f0);
            m.setExec(kExec);
            m.setS64(106, kVcc);
            m.setS64(34, kVcc);
            const std::string fault = m.run(ids[i]);
            u64 want = 0;
            bool ok = fault.empty();
            for (unsigned lane = 0; lane < m.lanes; ++lane) {
              const u64 a = m.row(2)[lane], b = m.row(4)[lane], in = kVcc >> lane & 1;
              u64 r = c.sum(a, b, in) & kTop;
              const bool out = c.out(a, b, in), on = kExec >> lane & 1;
              if (forms[i].clamp && out)
                r = name.find("add") != std::string::npos ? kTop : 0;
              want |= u64(out && on) << lane;
              ok = ok && m.row(8)[lane] == (on ? r : 0xabcdabcd);
            }
            INFO(target << ": " << forms[i].text << " " << fault);
            CHECK(ok);
            CHECK(m.mask(forms[i].scalar ? m.s64(30) : m.s64(106)) == want);
          }
      }
    }
}

TEST_CASE("opcodes: wide multiply-adds match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const std::string pair = m.lanes == 64 ? "s[30:31]" : "s30";
    struct Form {
      const char *name;
      bool isSigned;
    };
    static const Form kForms[] = {{"v_mad_u64_u32", false},
                                  {"v_mad_i64_i32", true},
                                  {"v_mad_co_u64_u32", false},
                                  {"v_mad_co_i64_i32", true}};
    std::vector<size_t> ids;
    for (const Form &f : kForms)
      ids.push_back(m.add(std::string(f.name) + " v[8:9], " + pair + ", v2, v4, v[6:7]"));
    m.build();
    for (size_t i = 0; i < 4; ++i)
      for (unsigned round = 0; m.accepted(ids[i]) && round < 8; ++round) {
        fill(m, 'u', 'u', round);
        const auto &wide = edgesOf('U');
        for (unsigned lane = 0; lane < 64; ++lane)
          for (unsigned d = 0; d < 2; ++d)
            m.row(6 + d)[lane] =
                static_cast<uint32_t>(wide[(lane * 5 + round) % wide.size()] >> 32 * d);
        m.setMode(0x1f0);
        m.setExec(kExec);
        INFO(target << ": " << kForms[i].name << " " << m.run(ids[i]));
        u64 carries = 0;
        bool ok = true;
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          if (!(kExec >> lane & 1))
            continue;
          const uint32_t a = m.row(2)[lane], b = m.row(4)[lane];
          const u64 c = lanesOf(m, 6, lane, 'U');
          const __int128 exact =
              kForms[i].isSigned
                  ? __int128(int64_t(int32_t(a))) * int32_t(b) + int64_t(c)
                  : static_cast<__int128>(static_cast<unsigned __int128>(u64(a) * b) + c);
          ok = ok && lanesOf(m, 8, lane, 'U') == static_cast<u64>(exact);
          const bool over = kForms[i].isSigned ? exact != int64_t(exact) : exact >> 64 != 0;
          carries |= u64(over) << lane;
        }
        CHECK(ok);
        CHECK(m.mask(m.s64(30)) == carries);
      }
  }
}

TEST_CASE("opcodes: scaling around divisions matches the reference") {
  // Scale, refine and fix up as compilers do; the quotient is the correctly rounded one. In double
  // the refinement is an ulp off where the denominator's significand is (nearly) all ones.
  for (const char *target : kTargets) {
    Machine m(target);
    const std::string vcc = m.lanes == 64 ? "vcc" : "vcc_lo",
                      pair = m.lanes == 64 ? "s[30:31]" : "s30";
    const size_t single = m.add(
        "v_div_scale_f32 v10, " + pair + ", v4, v4, v2\nv_div_scale_f32 v11, " + vcc +
        ", v2, v4, v2\nv_rcp_f32 v12, v10\nv_fma_f32 v13, -v10, v12, 1.0\n"
        "v_fma_f32 v12, v13, v12, v12\nv_mul_f32 v14, v11, v12\nv_fma_f32 v15, -v10, v14, v11\n"
        "v_fma_f32 v14, v15, v12, v14\nv_fma_f32 v15, -v10, v14, v11\n"
        "v_div_fmas_f32 v15, v15, v12, v14\nv_div_fixup_f32 v8, v15, v4, v2");
    const size_t wide =
        m.add("v_div_scale_f64 v[10:11], " + pair +
              ", v[4:5], v[4:5], v[2:3]\n"
              "v_rcp_f64 v[12:13], v[10:11]\nv_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n"
              "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\n"
              "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n"
              "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\n"
              "v_div_scale_f64 v[14:15], " +
              vcc +
              ", v[2:3], v[4:5], v[2:3]\n"
              "v_mul_f64 v[16:17], v[14:15], v[12:13]\n"
              "v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]\n"
              "v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]\n"
              "v_div_fixup_f64 v[8:9], v[10:11], v[4:5], v[2:3]");
    m.build();
    for (auto [id, f, kind] : {std::tuple{single, kF32, 'f'}, std::tuple{wide, kF64, 'd'}}) {
      REQUIRE(m.accepted(id));
      for (unsigned round = 0; round < 40; ++round) {
        fill(m, kind, kind, round);
        m.setMode(0x1f0);
        m.setExec(~u64(0));
        CHECK(m.run(id) == "");
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          const u64 a = lanesOf(m, 2, lane, kind), b = lanesOf(m, 4, lane, kind);
          const u64 got = lanesOf(m, 8, lane, kind);
          const u64 want = roundTo(f, valueOf(f, a) / valueOf(f, b));
          INFO(target << " " << std::hex << a << " / " << b << " gave " << got << ", want "
                      << want);
          const u64 off = got > want ? got - want : want - got;
          CHECK((off <= (kind == 'd') || (isNan(f, got) && isNan(f, want))));
        }
      }
    }
  }
}

} // namespace flyemu::test
