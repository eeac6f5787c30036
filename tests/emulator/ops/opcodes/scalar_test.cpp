// Scalar arithmetic, bits, comparisons, moves, masks, and scalar floating point.
#include "machine.h"
#include "vector_table.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
using i64 = int64_t;

/// A scalar operation: s[20:21] (or s20) = result(s[8:9], s[10:11], what was in s[20:21], SCC), and
/// SCC = scc(a, b, result); null: unchanged.
struct ScalarOp {
  const char *names;
  const char *signature; ///< u, U as in a vector table; k: a 16-bit constant, 0xfff3
  u64 (*result)(u64 a, u64 b, u64 d, bool scc);
  bool (*scc)(u64 a, u64 b, u64 r);
  bool exact = true;
};
u64 lo(u64 x) { return x & 0xffffffff; }
i64 si(u64 x) { return static_cast<int32_t>(x); }
constexpr u64 kConstant = 0xfff3;
constexpr i64 kSigned = -13;
bool nonzero(u64, u64, u64 r) { return r != 0; }
template <class F> u64 bitsReversed(u64 x, int n, F) {
  u64 r = 0;
  for (int k = 0; k < n; ++k)
    r |= (x >> k & 1) << (n - 1 - k);
  return r;
}
u64 reversed(u64 x, int n) { return bitsReversed(x, n, 0); }
u64 findFirst(u64 x, int n) {
  for (int k = 0; k < n; ++k)
    if (x >> k & 1)
      return u64(k);
  return 0xffffffff;
}
u64 findLast(u64 x, int n) {
  for (int k = 0; k < n; ++k)
    if (x >> (n - 1 - k) & 1)
      return u64(k);
  return 0xffffffff;
}
u64 signRun(u64 x, int n) {
  for (int k = 1; k < n; ++k)
    if ((x >> (n - 1 - k) & 1) != (x >> (n - 1) & 1))
      return u64(k);
  return 0xffffffff;
}
u64 quads(u64 x, int n, bool spread) {
  u64 r = 0;
  for (int k = 0; k < n; k += 4)
    if (x >> k & 15)
      r |= spread ? u64(15) << k : u64(1) << k / 4;
  return r;
}
u64 fieldOf(u64 x, u64 b, unsigned bits, bool isSigned) {
  const u64 offset = b & (bits - 1), width = b >> 16 & 127;
  if (bits == 32)
    x = isSigned ? u64(si(x)) : lo(x);
  const u64 shifted = isSigned ? u64(i64(x) >> offset) : x >> offset;
  const u64 w = std::min<u64>(width, bits);
  if (w == 0)
    return 0;
  u64 r = w == 64 ? shifted : shifted & ((u64(1) << w) - 1);
  if (isSigned && w < 64)
    r = u64(i64(r << (64 - w)) >> (64 - w));
  return bits == 32 ? lo(r) : r;
}
u64 replicated(u64 x) {
  u64 r = 0;
  for (int k = 0; k < 32; ++k)
    r |= (x >> k & 1) * 3 << 2 * k;
  return r;
}
bool overflowsAdd(i64 a, i64 b) { return a + b != si(u64(a + b)); }

#define LOGIC(NAME, EXPR)                                                                          \
  {"s_" NAME "_b32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(EXPR); }, nonzero}, {         \
    "s_" NAME "_b64", "U:UU", [](u64 a, u64 b, u64, bool) { return u64(EXPR); }, nonzero           \
  }
#define LSHL_ADD(N)                                                                                \
  {"s_lshl" #N "_add_u32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo((a << N) + b); },       \
   [](u64 a, u64 b, u64) { return (a << N) + b > 0xffffffff; }}
const ScalarOp kOps[] = {
    {"s_add_u32 s_add_co_u32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(a + b); },
     [](u64 a, u64 b, u64) { return a + b > 0xffffffff; }},
    {"s_sub_u32 s_sub_co_u32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(a - b); },
     [](u64 a, u64 b, u64) { return a < b; }},
    {"s_add_i32 s_add_co_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(a + b); },
     [](u64 a, u64 b, u64) { return overflowsAdd(si(a), si(b)); }},
    {"s_sub_i32 s_sub_co_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(a - b); },
     [](u64 a, u64 b, u64) { return overflowsAdd(si(a), -si(b)); }},
    {"s_addc_u32 s_add_co_ci_u32", "u:uu", [](u64 a, u64 b, u64, bool c) { return lo(a + b + c); },
     nullptr},
    {"s_subb_u32 s_sub_co_ci_u32", "u:uu", [](u64 a, u64 b, u64, bool c) { return lo(a - b - c); },
     nullptr},
    {"s_add_u64 s_add_nc_u64", "U:UU", [](u64 a, u64 b, u64, bool) { return a + b; }, nullptr},
    {"s_sub_u64 s_sub_nc_u64", "U:UU", [](u64 a, u64 b, u64, bool) { return a - b; }, nullptr},
    {"s_mul_u64", "U:UU", [](u64 a, u64 b, u64, bool) { return a * b; }, nullptr},
    {"s_min_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(u64(std::min(si(a), si(b)))); },
     [](u64 a, u64 b, u64) { return si(a) < si(b); }},
    {"s_min_u32", "u:uu", [](u64 a, u64 b, u64, bool) { return std::min(a, b); },
     [](u64 a, u64 b, u64) { return a < b; }},
    {"s_max_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(u64(std::max(si(a), si(b)))); },
     [](u64 a, u64 b, u64) { return si(a) >= si(b); }},
    {"s_max_u32", "u:uu", [](u64 a, u64 b, u64, bool) { return std::max(a, b); },
     [](u64 a, u64 b, u64) { return a >= b; }},
    {"s_mul_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(a * b); }, nullptr},
    {"s_mul_hi_u32", "u:uu", [](u64 a, u64 b, u64, bool) { return a * b >> 32; }, nullptr},
    {"s_mul_hi_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(u64(si(a) * si(b) >> 32)); },
     nullptr},
    {"s_absdiff_i32", "u:uu",
     [](u64 a, u64 b, u64, bool) {
       const u64 d = lo(a - b);
       return d >> 31 ? lo(0 - d) : d;
     },
     nonzero},
    {"s_abs_i32", "u:u", [](u64 a, u64, u64, bool) { return a >> 31 ? lo(0 - a) : a; }, nonzero},
    LOGIC("and", a &b),
    LOGIC("or", a | b),
    LOGIC("xor", a ^ b),
    LOGIC("andn2", a & ~b),
    LOGIC("orn2", a | ~b),
    LOGIC("nand", ~(a &b)),
    LOGIC("nor", ~(a | b)),
    LOGIC("xnor", ~(a ^ b)),
    LOGIC("and_not1", a & ~b),
    LOGIC("or_not1", a | ~b),
    {"s_lshl_b32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(a << b % 32); }, nonzero},
    {"s_lshr_b32", "u:uu", [](u64 a, u64 b, u64, bool) { return a >> b % 32; }, nonzero},
    {"s_ashr_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return lo(u64(si(a) >> b % 32)); },
     nonzero},
    {"s_lshl_b64", "U:Uu", [](u64 a, u64 b, u64, bool) { return a << b % 64; }, nonzero},
    {"s_lshr_b64", "U:Uu", [](u64 a, u64 b, u64, bool) { return a >> b % 64; }, nonzero},
    {"s_ashr_i64", "U:Uu", [](u64 a, u64 b, u64, bool) { return u64(i64(a) >> b % 64); }, nonzero},
    LSHL_ADD(1),
    LSHL_ADD(2),
    LSHL_ADD(3),
    LSHL_ADD(4),
    {"s_bfm_b32", "u:uu",
     [](u64 a, u64 b, u64, bool) { return lo(((u64(1) << a % 32) - 1) << b % 32); }, nullptr},
    {"s_bfm_b64", "U:uu",
     [](u64 a, u64 b, u64, bool) { return ((u64(1) << a % 64) - 1) << b % 64; }, nullptr},
    {"s_bfe_u32", "u:uu", [](u64 a, u64 b, u64, bool) { return fieldOf(a, b, 32, false); },
     nonzero},
    {"s_bfe_i32", "u:uu", [](u64 a, u64 b, u64, bool) { return fieldOf(a, b, 32, true); }, nonzero},
    {"s_bfe_u64", "U:Uu", [](u64 a, u64 b, u64, bool) { return fieldOf(a, b, 64, false); },
     nonzero},
    {"s_bfe_i64", "U:Uu", [](u64 a, u64 b, u64, bool) { return fieldOf(a, b, 64, true); }, nonzero},
    {"s_pack_ll_b32_b16", "u:uu",
     [](u64 a, u64 b, u64, bool) { return (a & 0xffff) | lo(b << 16); }, nullptr},
    {"s_pack_lh_b32_b16", "u:uu",
     [](u64 a, u64 b, u64, bool) { return (a & 0xffff) | (b & 0xffff0000); }, nullptr},
    {"s_pack_hh_b32_b16", "u:uu",
     [](u64 a, u64 b, u64, bool) { return a >> 16 | (b & 0xffff0000); }, nullptr},
    {"s_pack_hl_b32_b16", "u:uu", [](u64 a, u64 b, u64, bool) { return a >> 16 | lo(b << 16); },
     nullptr},
    {"s_cselect_b32", "u:uu", [](u64 a, u64 b, u64, bool c) { return c ? a : b; }, nullptr},
    {"s_cselect_b64", "U:UU", [](u64 a, u64 b, u64, bool c) { return c ? a : b; }, nullptr},
    {"s_mov_b32", "u:u", [](u64 a, u64, u64, bool) { return a; }, nullptr},
    {"s_mov_b64", "U:U", [](u64 a, u64, u64, bool) { return a; }, nullptr},
    {"s_cmov_b32", "u:u", [](u64 a, u64, u64 d, bool c) { return c ? a : lo(d); }, nullptr},
    {"s_cmov_b64", "U:U", [](u64 a, u64, u64 d, bool c) { return c ? a : d; }, nullptr},
    {"s_not_b32", "u:u", [](u64 a, u64, u64, bool) { return lo(~a); }, nonzero},
    {"s_not_b64", "U:U", [](u64 a, u64, u64, bool) { return ~a; }, nonzero},
    {"s_wqm_b32", "u:u", [](u64 a, u64, u64, bool) { return quads(a, 32, true); }, nonzero},
    {"s_wqm_b64", "U:U", [](u64 a, u64, u64, bool) { return quads(a, 64, true); }, nonzero},
    {"s_quadmask_b32", "u:u", [](u64 a, u64, u64, bool) { return quads(a, 32, false); }, nonzero},
    {"s_quadmask_b64", "U:U", [](u64 a, u64, u64, bool) { return quads(a, 64, false); }, nonzero},
    {"s_brev_b32", "u:u", [](u64 a, u64, u64, bool) { return reversed(a, 32); }, nullptr},
    {"s_brev_b64", "U:U", [](u64 a, u64, u64, bool) { return reversed(a, 64); }, nullptr},
    {"s_bcnt0_i32_b32", "u:u", [](u64 a, u64, u64, bool) { return u64(32 - std::popcount(a)); },
     nonzero},
    {"s_bcnt0_i32_b64", "u:U", [](u64 a, u64, u64, bool) { return u64(64 - std::popcount(a)); },
     nonzero},
    {"s_bcnt1_i32_b32", "u:u", [](u64 a, u64, u64, bool) { return u64(std::popcount(a)); },
     nonzero},
    {"s_bcnt1_i32_b64", "u:U", [](u64 a, u64, u64, bool) { return u64(std::popcount(a)); },
     nonzero},
    {"s_ff0_i32_b32", "u:u", [](u64 a, u64, u64, bool) { return findFirst(~a, 32); }, nullptr},
    {"s_ff0_i32_b64", "u:U", [](u64 a, u64, u64, bool) { return findFirst(~a, 64); }, nullptr},
    {"s_ff1_i32_b32 s_ctz_i32_b32", "u:u", [](u64 a, u64, u64, bool) { return findFirst(a, 32); },
     nullptr},
    {"s_ff1_i32_b64 s_ctz_i32_b64", "u:U", [](u64 a, u64, u64, bool) { return findFirst(a, 64); },
     nullptr},
    {"s_flbit_i32_b32 s_clz_i32_u32", "u:u", [](u64 a, u64, u64, bool) { return findLast(a, 32); },
     nullptr},
    {"s_flbit_i32_b64 s_clz_i32_u64", "u:U", [](u64 a, u64, u64, bool) { return findLast(a, 64); },
     nullptr},
    {"s_flbit_i32 s_cls_i32", "u:u", [](u64 a, u64, u64, bool) { return signRun(a, 32); }, nullptr},
    {"s_flbit_i32_i64 s_cls_i32_i64", "u:U", [](u64 a, u64, u64, bool) { return signRun(a, 64); },
     nullptr},
    {"s_sext_i32_i8", "u:u", [](u64 a, u64, u64, bool) { return lo(u64(int8_t(a))); }, nullptr},
    {"s_sext_i32_i16", "u:u", [](u64 a, u64, u64, bool) { return lo(u64(int16_t(a))); }, nullptr},
    {"s_bitset0_b32", "u:u", [](u64 a, u64, u64 d, bool) { return lo(d & ~(u64(1) << a % 32)); },
     nullptr},
    {"s_bitset1_b32", "u:u", [](u64 a, u64, u64 d, bool) { return lo(d | u64(1) << a % 32); },
     nullptr},
    {"s_bitset0_b64", "U:u", [](u64 a, u64, u64 d, bool) { return d & ~(u64(1) << a % 64); },
     nullptr},
    {"s_bitset1_b64", "U:u", [](u64 a, u64, u64 d, bool) { return d | u64(1) << a % 64; }, nullptr},
    {"s_bitreplicate_b64_b32", "U:u", [](u64 a, u64, u64, bool) { return replicated(a); }, nullptr},
    {"s_movk_i32", "u:k", [](u64, u64, u64, bool) { return lo(u64(kSigned)); }, nullptr},
    {"s_cmovk_i32", "u:k", [](u64, u64, u64 d, bool c) { return c ? lo(u64(kSigned)) : lo(d); },
     nullptr},
    {"s_mulk_i32", "u:k", [](u64, u64, u64 d, bool) { return lo(d * u64(kSigned)); }, nullptr},
    {"s_addk_i32 s_addk_co_i32", "u:k", [](u64, u64, u64 d, bool) { return lo(d + u64(kSigned)); },
     nullptr},
};

const u64 kValues[] = {0,
                       1,
                       2,
                       0x1f,
                       0x20,
                       0x7fffffff,
                       0x80000000,
                       0xffffffff,
                       0x10203040,
                       0x00080004,
                       0x00200010,
                       0x00400008,
                       0xdeadbeef,
                       0xffff8000,
                       ~u64(0),
                       u64(1) << 63,
                       0x123456789abcdef0,
                       0x7fffffffffffffff,
                       0x00000001ffffffff,
                       0xfffffffe00000000};
std::string registers(unsigned r, char kind) {
  return kind == 'U' ? "s[" + std::to_string(r) + ":" + std::to_string(r + 1) + "]"
                     : "s" + std::to_string(r);
}
} // namespace

TEST_CASE("opcodes: scalar arithmetic and bits match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<std::pair<const ScalarOp *, size_t>> entries;
    for (const ScalarOp &op : kOps) {
      std::istringstream names(op.names);
      for (std::string name; names >> name;) {
        std::string text = name + " " + registers(20, op.signature[0]);
        for (const char *k = op.signature + 2; *k; ++k)
          text += ", " + (*k == 'k' ? "0xfff3" : registers(k == op.signature + 2 ? 8 : 10, *k));
        entries.emplace_back(&op, m.add(text));
      }
    }
    m.build();
    for (auto &[op, id] : entries) {
      if (!m.accepted(id))
        continue;
      std::string wrong;
      for (u64 a : kValues)
        for (u64 b : kValues)
          for (bool scc : {false, true}) {
            const u64 d = 0x8765432112345678;
            m.setS64(8, a);
            m.setS64(10, b);
            m.setS64(20, d);
            m.wave.scc = scc;
            const std::string fault = m.run(id);
            const u64 x = op->signature[2] == 'u' ? lo(a) : a;
            const u64 y = op->signature[2] && op->signature[3] == 'u' ? lo(b) : b;
            u64 want = op->result(x, y, d, scc);
            u64 got = m.s64(20);
            if (op->signature[0] == 'u')
              want |= d & 0xffffffff00000000;
            const u64 r = op->signature[0] == 'u' ? lo(want) : want;
            std::string name = m.text(id);
            bool wantScc = op->scc ? op->scc(x, y, r) : scc;
            if (name.rfind("s_addc", 0) == 0 || name.rfind("s_add_co_ci", 0) == 0)
              wantScc = x + y + scc > 0xffffffff;
            if (name.rfind("s_subb", 0) == 0 || name.rfind("s_sub_co_ci", 0) == 0)
              wantScc = x < y + scc;
            if (name.rfind("s_addk", 0) == 0)
              wantScc = overflowsAdd(si(d), kSigned);
            if (!fault.empty() || got != want || m.wave.scc != wantScc) {
              std::ostringstream o;
              o << target << ": " << name << std::hex << " of " << x << ", " << y << " gave " << got
                << " scc " << m.wave.scc << ", want " << want << " scc " << wantScc << " " << fault;
              wrong = o.str();
            }
          }
      INFO(wrong);
      CHECK(wrong.empty());
    }
  }
}

TEST_CASE("opcodes: scalar comparisons match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    struct Compare {
      std::string name;
      int kind; ///< 0 signed, 1 unsigned, 2 64-bit, 3 bit test
      size_t id;
      bool constant;
    };
    std::vector<Compare> all;
    for (const char *c : {"eq", "lg", "gt", "ge", "lt", "le"})
      for (bool isUnsigned : {false, true}) {
        const std::string name = std::string(c) + (isUnsigned ? "_u32" : "_i32");
        all.push_back({name, isUnsigned, m.add("s_cmp_" + name + " s8, s10"), false});
        all.push_back({name, isUnsigned,
                       m.add("s_cmpk_" + name + " s8, " + (isUnsigned ? "0xfff3" : "-13")), true});
      }
    for (const char *c : {"eq", "lg"})
      all.push_back({std::string(c) + "_u64", 2,
                     m.add(std::string("s_cmp_") + c + "_u64 s[8:9], s[10:11]"), false});
    for (const char *text : {"s_bitcmp0_b32 s8, s10", "s_bitcmp1_b32 s8, s10",
                             "s_bitcmp0_b64 s[8:9], s10", "s_bitcmp1_b64 s[8:9], s10"})
      all.push_back({text, 3, m.add(text), false});
    m.build();
    for (const Compare &c : all) {
      if (!m.accepted(c.id))
        continue;
      bool ok = true;
      for (u64 a : kValues)
        for (u64 b : kValues) {
          m.setS64(8, a);
          m.setS64(10, b);
          INFO(target << ": " << m.text(c.id) << " " << m.run(c.id));
          bool want;
          if (c.kind == 3) {
            const unsigned bits = c.name.find("b64") == std::string::npos ? 32 : 64;
            want = (a >> b % bits & 1) == u64(c.name[8] - '0');
          } else {
            u64 x = c.kind == 2 ? a : lo(a), y = c.kind == 2 ? b : lo(b);
            if (c.constant)
              y = c.kind == 1 ? kConstant : lo(u64(kSigned));
            const bool less = c.kind ? x < y : si(x) < si(y);
            const std::string op = c.name.substr(0, 2);
            want = op == "eq"   ? x == y
                   : op == "lg" ? x != y
                   : op == "lt" ? less
                   : op == "le" ? less || x == y
                   : op == "gt" ? !less && x != y
                                : !less;
          }
          ok = ok && m.wave.scc == want;
        }
      INFO(target << ": " << m.text(c.id));
      CHECK(ok);
    }
  }
}

TEST_CASE("opcodes: saving and changing EXEC matches the reference") {
  struct Save {
    const char *names;
    u64 (*f)(u64 source, u64 exec);
    bool writes = false; ///< the result goes to the destination, too
  };
  static const Save kSaves[] = {
      {"and", [](u64 s, u64 e) { return s & e; }},
      {"or", [](u64 s, u64 e) { return s | e; }},
      {"xor", [](u64 s, u64 e) { return s ^ e; }},
      {"nand", [](u64 s, u64 e) { return ~(s & e); }},
      {"nor", [](u64 s, u64 e) { return ~(s | e); }},
      {"xnor", [](u64 s, u64 e) { return ~(s ^ e); }},
      {"andn2 and_not1", [](u64 s, u64 e) { return s & ~e; }},
      {"orn2 or_not1", [](u64 s, u64 e) { return s | ~e; }},
      {"andn1 and_not0", [](u64 s, u64 e) { return ~s & e; }},
      {"orn1 or_not0", [](u64 s, u64 e) { return ~s | e; }},
      {"andn1_wr and_not0_wr", [](u64 s, u64 e) { return ~s & e; }, true},
      {"andn2_wr and_not1_wr", [](u64 s, u64 e) { return s & ~e; }, true},
  };
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<std::tuple<const Save *, size_t, unsigned>> entries;
    for (const Save &s : kSaves) {
      std::istringstream names(s.names);
      for (std::string name; names >> name;) {
        const bool write = name.size() > 3 && name.substr(name.size() - 3) == "_wr";
        const std::string op =
            write ? name.substr(0, name.size() - 3) + "_wrexec" : name + "_saveexec";
        entries.emplace_back(&s, m.add("s_" + op + "_b64 s[20:21], s[8:9]"), 64);
        entries.emplace_back(&s, m.add("s_" + op + "_b32 s20, s8"), 32);
      }
    }
    m.build();
    for (auto &[s, id, bits] : entries) {
      if (!m.accepted(id) || (bits < m.lanes))
        continue;
      // Masks of 64 bits in waves of 64 lanes, which gfx11 and gfx12 have too.
      m.wave.lanes = bits;
      const u64 all = bits == 64 ? ~u64(0) : 0xffffffff;
      for (u64 source : {u64(0), ~u64(0), u64(0x00ff00ff12345678), u64(0x8000000180000001)})
        for (u64 exec : {u64(0xfffffff3a5c3ff0f), ~u64(0), u64(1)}) {
          m.setS64(8, source);
          m.setExec(exec);
          INFO(target << ": " << m.text(id) << " " << m.run(id));
          const u64 want = s->f(source, exec & all) & all;
          CHECK((m.wave.exec() & all) == want);
          CHECK((bits == 64 ? m.s64(20) : m.s(20)) == (s->writes ? want : exec & all));
          CHECK(m.wave.scc == (want != 0));
        }
    }
  }
}

TEST_CASE("opcodes: relative moves of scalars match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const size_t from = m.add("s_movrels_b32 s20, s8"),
                 from2 = m.add("s_movrels_b64 s[22:23], s[8:9]"),
                 to = m.add("s_movreld_b32 s24, s8"), to2 = m.add("s_movreld_b64 s[26:27], s[8:9]"),
                 both = m.add("s_movrelsd_2_b32 s40, s8");
    m.build();
    for (unsigned r = 0; r < 100; ++r)
      m.s(r) = 1000 + r;
    m.wave.m0() = 4;
    for (size_t id : {from, from2, to, to2})
      CHECK(m.run(id) == "");
    CHECK(m.s(20) == 1012);
    CHECK(m.s64(22) == (1012 | u64(1013) << 32));
    CHECK(m.s(28) == 1008);
    CHECK(m.s64(30) == (1008 | u64(1009) << 32));
    if (m.accepted(both)) {
      m.wave.m0() = 3 | 5 << 16;
      CHECK(m.run(both) == "");
      CHECK(m.s(45) == 1011);
    }
  }
}

namespace {
Quad v32(u64 x) { return valueOf(kF32, lo(x)); }
Quad v16(u64 x) { return valueOf(kF16, x & 0xffff); }
/// Floating-point operations of scalars: as of vectors, in round to nearest even.
struct FloatOp {
  const char *name;
  Quad (*f)(Quad a, Quad b, Quad d);
  unsigned sources;
};
Quad rounded(Quad x, double (*f)(double)) {
  return x - x == 0 ? withSign(f(double(x)), signOf(x)) : x;
}
template <bool Max, bool Strict> Quad extreme(Quad a, Quad b, Quad) {
  if (a != a || b != b)
    return Strict || (a != a && b != b) ? Quad(std::nan("")) : a != a ? b : a;
  const bool less = a < b || (a == b && signOf(a) && !signOf(b));
  return less == Max ? b : a;
}
const FloatOp kFloats[] = {
    {"s_add", [](Quad a, Quad b, Quad) { return sumToOdd(a, b); }, 2},
    {"s_sub", [](Quad a, Quad b, Quad) { return sumToOdd(a, -b); }, 2},
    {"s_mul", [](Quad a, Quad b, Quad) { return a * b; }, 2},
    {"s_fmac", [](Quad a, Quad b, Quad d) { return sumToOdd(a * b, d); }, 2},
    {"s_min_num", extreme<false, false>, 2},
    {"s_max_num", extreme<true, false>, 2},
    {"s_minimum", extreme<false, true>, 2},
    {"s_maximum", extreme<true, true>, 2},
    {"s_ceil", [](Quad a, Quad, Quad) { return rounded(a, std::ceil); }, 1},
    {"s_floor", [](Quad a, Quad, Quad) { return rounded(a, std::floor); }, 1},
    {"s_trunc", [](Quad a, Quad, Quad) { return rounded(a, std::trunc); }, 1},
    {"s_rndne", [](Quad a, Quad, Quad) { return rounded(a, std::nearbyint); }, 1},
};
u64 toInteger(Quad x, double low, double high) {
  if (x != x)
    return 0;
  return lo(u64(i64(x < low ? Quad(low) : x > high ? Quad(high) : x)));
}
} // namespace

TEST_CASE("opcodes: gfx12: scalar floating point matches the reference") {
  Machine m("gfx1201");
  struct Entry {
    const FloatOp *op;
    Format f;
    size_t id;
  };
  std::vector<Entry> entries;
  for (const FloatOp &op : kFloats)
    for (Format f : {kF32, kF16})
      entries.push_back({&op, f,
                         m.add(std::string(op.name) + (f.mantissa == 10 ? "_f16" : "_f32") +
                               " s20, s8" + (op.sources == 2 ? ", s10" : ""))});
  const size_t fmaak = m.add("s_fmaak_f32 s20, s8, s10, 0x40490fdb"),
               fmamk = m.add("s_fmamk_f32 s20, s8, 0x40490fdb, s10"),
               fromI = m.add("s_cvt_f32_i32 s20, s8"), fromU = m.add("s_cvt_f32_u32 s20, s8"),
               toI = m.add("s_cvt_i32_f32 s20, s8"), toU = m.add("s_cvt_u32_f32 s20, s8"),
               narrow = m.add("s_cvt_f16_f32 s20, s8"), widen = m.add("s_cvt_f32_f16 s20, s8"),
               widenHigh = m.add("s_cvt_hi_f32_f16 s20, s8"),
               pack = m.add("s_cvt_pk_rtz_f16_f32 s20, s8, s10");
  struct Compare {
    std::string name;
    Format f;
    size_t id;
  };
  std::vector<Compare> compares;
  for (const char *c :
       {"lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"})
    for (Format f : {kF32, kF16})
      compares.push_back(
          {c, f,
           m.add(std::string("s_cmp_") + c + (f.mantissa == 10 ? "_f16" : "_f32") + " s8, s10")});
  m.build();
  m.setMode(0xf0);
  const auto &singles = edgesOf('f');
  const auto &halves = edgesOf('h');
  auto same = [](Format f, u64 a, u64 b) { return a == b || (isNan(f, a) && isNan(f, b)); };
  for (size_t i = 0; i < singles.size(); ++i)
    for (size_t j = 0; j < singles.size(); j += 1 + i % 2) {
      for (const Entry &e : entries) {
        const auto &edges = e.f.mantissa == 10 ? halves : singles;
        const u64 a = edges[i % edges.size()], b = edges[j % edges.size()],
                  d = edges[(i + j) % edges.size()];
        m.s(8) = static_cast<uint32_t>(a);
        m.s(10) = static_cast<uint32_t>(b);
        m.s(20) = static_cast<uint32_t>(d);
        const std::string fault = m.run(e.id);
        const u64 want = roundTo(e.f, e.op->f(valueOf(e.f, a), valueOf(e.f, b), valueOf(e.f, d)));
        if (!fault.empty() || !same(e.f, m.s(20), want))
          FAIL(m.text(e.id) << " of " << std::hex << a << ", " << b << ", " << d << " gave "
                            << m.s(20) << ", want " << want << " " << fault);
      }
      const u64 a = singles[i], b = singles[j];
      auto run = [&](size_t id) {
        m.s(8) = static_cast<uint32_t>(a);
        m.s(10) = static_cast<uint32_t>(b);
        INFO(m.text(id) << std::hex << " of " << a << ", " << b);
        CHECK(m.run(id) == "");
        return u64(m.s(20));
      };
      const Quad pi = v32(0x40490fdb);
      CHECK(same(kF32, run(fmaak), roundTo(kF32, sumToOdd(v32(a) * v32(b), pi))));
      CHECK(same(kF32, run(fmamk), roundTo(kF32, sumToOdd(v32(a) * pi, v32(b)))));
      CHECK(run(fromI) == roundTo(kF32, si(a)));
      CHECK(run(fromU) == roundTo(kF32, a));
      CHECK(run(toI) == toInteger(v32(a), -2147483648.0, 2147483647.0));
      CHECK(run(toU) == toInteger(v32(a), 0, 4294967295.0));
      CHECK(same(kF16, run(narrow), roundTo(kF16, v32(a))));
      CHECK(same(kF32, run(widen), roundTo(kF32, v16(a))));
      CHECK(same(kF32, run(widenHigh), roundTo(kF32, v16(a >> 16))));
      const u64 packed = run(pack);
      CHECK(same(kF16, packed & 0xffff, roundTo(kF16, v32(a), kToZero)));
      CHECK(same(kF16, packed >> 16, roundTo(kF16, v32(b), kToZero)));
      for (const Compare &c : compares) {
        const auto &edges = c.f.mantissa == 10 ? halves : singles;
        m.s(8) = static_cast<uint32_t>(edges[i % edges.size()]);
        m.s(10) = static_cast<uint32_t>(edges[j % edges.size()]);
        const Quad x = valueOf(c.f, m.s(8)), y = valueOf(c.f, m.s(10));
        const bool unordered = x != x || y != y;
        const bool holds = c.name == "lt"    ? x < y
                           : c.name == "eq"  ? x == y
                           : c.name == "le"  ? x <= y
                           : c.name == "gt"  ? x > y
                           : c.name == "lg"  ? x < y || x > y
                           : c.name == "ge"  ? x >= y
                           : c.name == "o"   ? !unordered
                           : c.name == "u"   ? unordered
                           : c.name == "nge" ? !(x >= y)
                           : c.name == "nlg" ? !(x < y || x > y)
                           : c.name == "ngt" ? !(x > y)
                           : c.name == "nle" ? !(x <= y)
                           : c.name == "neq" ? !(x == y)
                                             : !(x < y);
        const std::string fault = m.run(c.id);
        if (!fault.empty() || m.wave.scc != holds)
          FAIL(m.text(c.id) << " " << fault);
      }
    }
}

TEST_CASE("opcodes: gfx12: scalar floating point follows MODE") {
  Machine m("gfx1201");
  const size_t add = m.add("s_add_f32 s20, s8, s9"), fmac = m.add("s_fmac_f16 s20, s8, s9"),
               convert = m.add("s_cvt_f16_f32 s20, s8"), high = m.add("s_cvt_hi_f32_f16 s20, s8"),
               compare = m.add("s_cmp_eq_f32 s8, s9"),
               fmamk = m.add("s_fmamk_f32 s20, s8, 0x40490fdb, s9"),
               fmaak = m.add("s_fmaak_f32 s20, s8, s9, 0x40490fdb");
  m.build();
  m.setMode(0xf5); // upwards
  m.s(8) = 0x3f800000;
  m.s(9) = 0x33000000; // 2^-25
  CHECK(m.run(add) == "");
  CHECK(m.s(20) == 0x3f800001);
  m.s(8) = 0x40000000;
  CHECK(m.run(fmamk) == ""); // 2 pi and 2^-25
  CHECK(m.s(20) == 0x40c90fdc);
  CHECK(m.run(fmaak) == ""); // 2^-24 and pi
  CHECK(m.s(20) == 0x40490fdc);
  m.s(8) = 0x3f800001;
  CHECK(m.run(convert) == "");
  CHECK(m.s(20) == 0x3c01);
  m.s(8) = 0x3c01;
  m.s(9) = 0x3c01;
  m.s(20) = 0;
  CHECK(m.run(fmac) == "");
  CHECK(m.s(20) == 0x3c03);
  m.s(8) = 0x40001234;
  CHECK(m.run(high) == "");
  CHECK(m.s(20) == 0x40000000);
  m.setMode(0xc0); // floats without denormals
  m.s(8) = 0x00400000;
  m.s(9) = 0;
  CHECK(m.run(add) == "");
  CHECK(m.s(20) == 0);
  CHECK(m.run(compare) == "");
  CHECK(m.wave.scc == 1);
}

} // namespace flyemu::test
