// Scalar operations, with SCC.
#include "operands.h"

using namespace flyemu::test;
using u32 = uint32_t;
using u64 = uint64_t;

namespace {
struct Scalar {
  const char *text; // s20 (or s[20:21]) from s[8:9] and s[10:11]
  u64 (*result)(u64, u64);
  int (*scc)(u64, u64); // null: not looked at
};
u32 lo(u64 x) { return static_cast<u32>(x); }
int32_t si(u64 x) { return static_cast<int32_t>(x); }
constexpr u64 kValues[] = {
    0,          1,          0x1f,       0x7fffffff,         0x80000000,         0xffffffff,
    0x10203040, 0x00080004, 0x00200010, 0xffffffffffffffff, 0x8000000000000000, 0x123456789abcdef0};
} // namespace

TEST_CASE("scalar arithmetic and bits agree with the host") {
  static const Scalar kCases[] = {
      {"s_add_u32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(a + b)); },
       [](u64 a, u64 b) { return int(u64(lo(a)) + lo(b) > ~0u); }},
      {"s_sub_u32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(a - b)); },
       [](u64 a, u64 b) { return int(lo(a) < lo(b)); }},
      {"s_add_i32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(a + b)); },
       [](u64 a, u64 b) {
         int64_t r = int64_t(si(a)) + si(b);
         return int(r != int32_t(r));
       }},
      {"s_min_i32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(u64(std::min(si(a), si(b))))); },
       [](u64 a, u64 b) { return int(si(a) < si(b)); }},
      {"s_max_u32 s20, s8, s10", [](u64 a, u64 b) { return u64(std::max(lo(a), lo(b))); },
       [](u64 a, u64 b) { return int(lo(a) >= lo(b)); }},
      {"s_mul_i32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(a * b)); }, nullptr},
      {"s_mul_hi_u32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(a)) * lo(b) >> 32; }, nullptr},
      {"s_mul_hi_i32 s20, s8, s10",
       [](u64 a, u64 b) { return u64(lo(u64(int64_t(si(a)) * si(b) >> 32))); }, nullptr},
      {"s_and_b64 s[20:21], s[8:9], s[10:11]", [](u64 a, u64 b) { return a & b; },
       [](u64 a, u64 b) { return int((a & b) != 0); }},
      {"s_andn2_b64 s[20:21], s[8:9], s[10:11]", [](u64 a, u64 b) { return a & ~b; },
       [](u64 a, u64 b) { return int((a & ~b) != 0); }},
      {"s_xnor_b32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(~(a ^ b))); },
       [](u64 a, u64 b) { return int(lo(~(a ^ b)) != 0); }},
      {"s_lshl_b64 s[20:21], s[8:9], s10", [](u64 a, u64 b) { return a << b % 64; },
       [](u64 a, u64 b) { return int((a << b % 64) != 0); }},
      {"s_ashr_i32 s20, s8, s10", [](u64 a, u64 b) { return u64(lo(u64(si(a) >> b % 32))); },
       [](u64 a, u64 b) { return int((si(a) >> b % 32) != 0); }},
      {"s_ashr_i64 s[20:21], s[8:9], s10", [](u64 a, u64 b) { return u64(int64_t(a) >> b % 64); },
       nullptr},
      {"s_bfe_u32 s20, s8, 0x80004", [](u64 a, u64) { return a >> 4 & 255; },
       [](u64 a, u64) { return int((a >> 4 & 255) != 0); }},
      {"s_bfe_i32 s20, s8, 0x80018", [](u64 a, u64) { return u64(lo(u64(si(a) >> 24))); }, nullptr},
      {"s_bfe_i64 s[20:21], s[8:9], 0x100020",
       [](u64 a, u64) { return u64(int64_t(int16_t(a >> 32))); }, nullptr},
      {"s_bfm_b64 s[20:21], 40, 8", [](u64, u64) { return ((u64(1) << 40) - 1) << 8; }, nullptr},
      {"s_lshl3_add_u32 s20, s8, s10",
       [](u64 a, u64 b) { return u64(lo((u64(lo(a)) << 3) + lo(b))); },
       [](u64 a, u64 b) { return int(((u64(lo(a)) << 3) + lo(b)) >> 32 != 0); }},
      {"s_pack_lh_b32_b16 s20, s8, s10",
       [](u64 a, u64 b) { return (a & 0xffff) | (lo(b) & 0xffff0000); }, nullptr},
      {"s_absdiff_i32 s20, s8, s10",
       [](u64 a, u64 b) {
         u32 d = lo(a) - lo(b);
         return u64(int32_t(d) < 0 ? 0u - d : d);
       },
       nullptr},
      {"s_brev_b32 s20, s8",
       [](u64 a, u64) {
         u32 r = 0;
         for (int k = 0; k < 32; ++k)
           r = r << 1 | (a >> k & 1);
         return u64(r);
       },
       nullptr},
      {"s_bcnt1_i32_b64 s20, s[8:9]", [](u64 a, u64) { return u64(__builtin_popcountll(a)); },
       [](u64 a, u64) { return int(a != 0); }},
      {"s_ff1_i32_b32 s20, s8",
       [](u64 a, u64) { return lo(a) ? u64(__builtin_ctz(lo(a))) : 0xffffffff; }, nullptr},
      {"s_flbit_i32_b32 s20, s8",
       [](u64 a, u64) { return lo(a) ? u64(__builtin_clz(lo(a))) : 0xffffffff; }, nullptr},
      {"s_sext_i32_i8 s20, s8", [](u64 a, u64) { return u64(lo(u64(int8_t(a)))); }, nullptr},
      {"s_not_b64 s[20:21], s[8:9]", [](u64 a, u64) { return ~a; },
       [](u64 a, u64) { return int(~a != 0); }},
      {"s_mov_b64 s[20:21], 0x80000000", [](u64, u64) { return u64(0x80000000); }, nullptr},
      {"s_mov_b64 s[20:21], -5", [](u64, u64) { return ~u64(4); }, nullptr},
      {"s_cmp_lt_i32 s8, s10\ns_cselect_b32 s20, s8, s10",
       [](u64 a, u64 b) { return u64(si(a) < si(b) ? lo(a) : lo(b)); },
       [](u64 a, u64 b) { return int(si(a) < si(b)); }},
      {"s_cmp_lg_u64 s[8:9], s[10:11]\ns_mov_b32 s20, 1", [](u64, u64) { return u64(1); },
       [](u64 a, u64 b) { return int(a != b); }},
      {"s_mov_b32 s20, s8\ns_cmpk_gt_i32 s20, -3", [](u64 a, u64) { return u64(lo(a)); },
       [](u64 a, u64) { return int(si(a) > -3); }},
      {"s_mov_b32 s20, s8\ns_addk_i32 s20, 0x7fff", [](u64 a, u64) { return u64(lo(a + 0x7fff)); },
       nullptr},
      {"s_bitcmp1_b32 s8, s10\ns_mov_b32 s20, 0", [](u64, u64) { return u64(0); },
       [](u64 a, u64 b) { return int(a >> b % 32 & 1); }},
      {"s_quadmask_b32 s20, s8",
       [](u64 a, u64) {
         u64 r = 0;
         for (int k = 0; k < 8; ++k)
           r |= u64((a >> 4 * k & 15) != 0) << k;
         return r;
       },
       nullptr},
  };
  for (const Scalar &c : kCases) {
    const bool wide = std::string(c.text).find("s[20:21]") != std::string::npos;
    for (u64 a : {kValues[1], kValues[3], kValues[5], kValues[9], kValues[11]})
      for (u64 b : {kValues[0], kValues[2], kValues[4], kValues[8]}) {
        WaveRun w;
        w.s = {{8, lo(a)}, {9, lo(a >> 32)}, {10, lo(b)}, {11, lo(b >> 32)}};
        w.readS = {20, 21};
        INFO(c.text << " of " << std::hex << a << ", " << b);
        w.run(c.text);
        u64 got = w.outS[20] | (wide ? u64(w.outS[21]) << 32 : 0);
        CHECK(got == c.result(a, b));
        if (c.scc)
          CHECK(w.outScc == u32(c.scc(a, b)));
      }
  }
}

TEST_CASE("calls return to the instruction after them") {
  WaveRun w;
  w.readS = {20, 21};
  w.run("s_mov_b32 s20, 1\n"
        "s_getpc_b64 s[30:31]\n"
        "s_add_u32 s30, s30, function-tested-8\n"
        "s_addc_u32 s31, s31, 0\n"
        "s_swappc_b64 s[32:33], s[30:31]\n"
        "s_mov_b32 s21, 7\n"
        "s_branch past\n"
        "function:\n"
        "s_add_u32 s20, s20, 41\n"
        "s_setpc_b64 s[32:33]\n"
        "past:\n");
  CHECK(w.outS[20] == 42);
  CHECK(w.outS[21] == 7);
}

// Compilers load a uniform half as the aligned dword around it, the last of an allocation too.
TEST_CASE("a scalar load may end in the dword that holds the last byte") {
  WaveRun w;
  w.memory.assign(256, 7);
  w.memory.resize(254);
  w.readS = {20, 21};
  w.run("s_load_dword s20, s[2:3], 0xfc");
  CHECK((w.outS[20] & 0xffff) == 0x0707);
  w.run("s_load_dwordx2 s[20:21], s[2:3], 0xf8");
  CHECK(w.outS[20] == 0x07070707);
  CHECK((w.outS[21] & 0xffff) == 0x0707);
  for (const char *beyond :
       {"s_load_dword s20, s[2:3], 0x100", "s_load_dwordx2 s[20:21], s[2:3], 0xfc",
        "s_store_dword s20, s[2:3], 0xfc"}) {
    INFO(beyond);
    w.run(beyond, true);
    CHECK(!w.result.ok);
  }
}

TEST_CASE("scalar loads, and a jump out of the code is a fault") {
  WaveRun w;
  w.memory.resize(256);
  for (unsigned i = 0; i < 64; ++i)
    std::memcpy(&w.memory[4 * i], &i, 4);
  w.readS = {20, 21, 22, 23, 24};
  w.s = {{8, 64}};
  w.run("s_load_dwordx4 s[20:23], s[2:3], 0x10\ns_load_dword s24, s[2:3], s8");
  for (unsigned k = 0; k < 4; ++k)
    CHECK(w.outS[20 + k] == 4 + k);
  CHECK(w.outS[24] == 16);
  w.run("s_mov_b64 s[20:21], 64\ns_setpc_b64 s[20:21]", true);
  REQUIRE(!w.result.ok);
  CHECK(w.result.fault.message.find("outside") != std::string::npos);
}
