// Instructions that move data between lanes: readlane, permlane, DPP controls; relative moves;
// functions of a scalar; accumulation registers; dual instructions.
#include "machine.h"
#include "numbers.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>

namespace flyemu::test {

namespace {
using u64 = uint64_t;
constexpr u64 kExec = 0xfffffff3a5c3ff0full;
void number(Machine &m, unsigned r, uint32_t first) {
  for (unsigned lane = 0; lane < 64; ++lane)
    m.row(r)[lane] = first + lane;
}
} // namespace

TEST_CASE("opcodes: lanes to and from scalars match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const size_t first = m.add("v_readfirstlane_b32 s20, v2"),
                 read = m.add("v_readlane_b32 s20, v2, s8"),
                 write = m.add("s_mov_b32 m0, s8\nv_writelane_b32 v2, s9, m0"),
                 low = m.add("v_mbcnt_lo_u32_b32 v8, s10, v3"),
                 high = m.add("v_mbcnt_hi_u32_b32 v8, s10, v3");
    m.build();
    number(m, 2, 100);
    number(m, 3, 7);
    for (u64 exec : {u64(0xff00), u64(0), u64(1) << (m.lanes - 1)}) {
      m.setExec(exec);
      CHECK(m.run(first) == "");
      CHECK(m.s(20) == 100u + (exec ? unsigned(std::countr_zero(exec)) : 0));
    }
    m.setExec(1);
    for (unsigned lane : {0u, 5u, 31u, 63u, 70u}) {
      m.s(8) = lane;
      m.s(9) = 0xabc;
      number(m, 2, 100);
      CHECK(m.run(read) == "");
      CHECK(m.s(20) == 100 + lane % m.lanes);
      CHECK(m.run(write) == "");
      CHECK(m.row(2)[lane % m.lanes] == 0xabc);
    }
    m.setExec(kExec);
    m.s(10) = 0xdeadbeef;
    for (size_t id : {low, high}) {
      std::fill_n(m.row(8), 64, 0x55u);
      CHECK(m.run(id) == "");
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        const u64 below = (u64(1) << lane) - 1;
        const uint32_t part = static_cast<uint32_t>(id == low ? below : below >> 32);
        const uint32_t want = m.row(3)[lane] + std::popcount(m.s(10) & part);
        CHECK(m.row(8)[lane] == (kExec >> lane & 1 ? want : 0x55));
      }
    }
  }
}

TEST_CASE("opcodes: every control of DPP matches the reference") {
  struct Control {
    const char *text;
    int (*from)(int l, int lanes);
  };
  auto row = [](int l, int n) { return n < 0 || n > 15 ? -1 : (l & ~15) | n; };
  static const auto r = row;
  static const Control kControls[] = {
      {"quad_perm:[3,1,2,0]",
       [](int l, int) {
         constexpr int k[] = {3, 1, 2, 0};
         return (l & ~3) | k[l & 3];
       }},
      {"row_shl:5", [](int l, int) { return r(l, l % 16 + 5); }},
      {"row_shr:15", [](int l, int) { return r(l, l % 16 - 15); }},
      {"row_ror:7", [](int l, int) { return r(l, (l % 16 + 9) % 16); }},
      {"row_mirror", [](int l, int) { return r(l, 15 - l % 16); }},
      {"row_half_mirror", [](int l, int) { return l ^ 7; }},
      {"wave_shl:1", [](int l, int n) { return l + 1 < n ? l + 1 : -1; }},
      {"wave_shr:1", [](int l, int) { return l - 1; }},
      {"wave_rol:1", [](int l, int n) { return (l + 1) % n; }},
      {"wave_ror:1", [](int l, int n) { return (l + n - 1) % n; }},
      {"row_bcast:15", [](int l, int) { return l < 16 ? -1 : (l & ~15) - 1; }},
      {"row_bcast:31", [](int l, int) { return l < 32 ? -1 : 31; }},
      {"row_newbcast:6", [](int l, int) { return r(l, 6); }},
      {"row_share:6", [](int l, int) { return r(l, 6); }},
      {"row_xmask:10", [](int l, int) { return l ^ 10; }},
  };
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<std::array<size_t, 3>> ids;
    for (const Control &c : kControls) {
      const std::string text = std::string("v_mov_b32_dpp v8, v2 ") + c.text;
      ids.push_back({m.add(text + " row_mask:0xf bank_mask:0xf"),
                     m.add(text + " row_mask:0x7 bank_mask:0xe bound_ctrl:1"),
                     m.add(text + " row_mask:0xf bank_mask:0xf fi:1")});
    }
    m.build();
    for (size_t i = 0; i < ids.size(); ++i)
      for (unsigned form = 0; form < 3; ++form) {
        if (!m.accepted(ids[i][form]))
          continue;
        number(m, 2, 1000);
        std::fill_n(m.row(8), 64, 5u);
        m.setExec(kExec);
        INFO(target << ": " << m.text(ids[i][form]) << " " << m.run(ids[i][form]));
        for (unsigned lane = 0; lane < m.lanes; ++lane) {
          const int from = kControls[i].from(int(lane), int(m.lanes));
          const bool valid = from >= 0 && (form == 2 || kExec >> from & 1);
          bool on = kExec >> lane & 1;
          if (form == 1)
            on = on && lane / 16 != 3 && lane / 4 % 4 != 0;
          else
            on = on && valid;
          CHECK(m.row(8)[lane] == (on ? valid ? 1000u + unsigned(from) : 0 : 5));
        }
      }
  }
}

TEST_CASE("opcodes: permutes of rows match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const size_t row = m.add("v_permlane16_b32 v8, v2, s8, s9"),
                 rowBounded = m.add("v_permlane16_b32 v8, v2, s8, s9 op_sel:[0,1]"),
                 rowAll = m.add("v_permlane16_b32 v8, v2, s8, s9 op_sel:[1,0]"),
                 cross = m.add("v_permlanex16_b32 v8, v2, s8, s9"),
                 rowVar = m.add("v_permlane16_var_b32 v8, v2, v4"),
                 crossVar = m.add("v_permlanex16_var_b32 v8, v2, v4"),
                 halves = m.add("v_permlane64_b32 v8, v2"),
                 swap32 = m.add("v_permlane32_swap_b32 v2, v4"),
                 swap16 = m.add("v_permlane16_swap_b32 v2, v4"), swap = m.add("v_swap_b32 v2, v4");
    m.build();
    const u64 fields = 0xfedc0123a5b4c987;
    m.setS64(8, fields);
    for (unsigned lane = 0; lane < 64; ++lane)
      m.row(4)[lane] = static_cast<uint32_t>(fields >> 4 * (lane % 16)) | 0x30;
    for (auto [id, crosses, mode] : {std::tuple{row, false, 0},
                                     {rowBounded, false, 2},
                                     {rowAll, false, 1},
                                     {cross, true, 0},
                                     {rowVar, false, 0},
                                     {crossVar, true, 0}}) {
      if (!m.accepted(id))
        continue;
      number(m, 2, 50);
      std::fill_n(m.row(8), 64, 5u);
      m.setExec(kExec);
      INFO(target << ": " << m.text(id) << " " << m.run(id));
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        unsigned from = (lane & ~15u) | unsigned(fields >> 4 * (lane % 16) & 15);
        from ^= crosses ? 16 : 0;
        const bool valid = mode == 1 || kExec >> from & 1;
        const uint32_t want = valid ? 50 + from : mode == 2 ? 0 : 5;
        CHECK(m.row(8)[lane] == (kExec >> lane & 1 ? want : 5));
      }
    }
    if (m.accepted(halves)) {
      // In waves of 32 there is no other half, and nothing happens.
      std::fill_n(m.row(8), 64, 5u);
      CHECK(m.run(halves) == "");
      CHECK(m.row(8)[0] == 5);
    }
    for (auto [id, rows] : {std::pair{swap32, 32u}, {swap16, 16u}}) {
      if (!m.accepted(id))
        continue;
      number(m, 2, 1000);
      number(m, 4, 2000);
      m.setExec(~u64(0));
      CHECK(m.run(id) == "");
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        // The first register's upper rows and the second one's lower rows change places.
        CHECK(m.row(2)[lane] == (lane & rows ? 2000 + lane - rows : 1000 + lane));
        CHECK(m.row(4)[lane] == (lane & rows ? 2000 + lane : 1000 + lane + rows));
      }
    }
    number(m, 2, 1);
    number(m, 4, 500);
    m.setExec(kExec);
    CHECK(m.run(swap) == "");
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      CHECK(m.row(2)[lane] == (kExec >> lane & 1 ? 500 + lane : 1 + lane));
  }
}

TEST_CASE("opcodes: relative moves and swaps of registers match the reference") {
  for (const char *target : {"gfx1100", "gfx1201"}) {
    Machine m(target);
    struct Move {
      size_t id;
      uint32_t m0;
      unsigned from, to;
      bool swaps;
    };
    const Move moves[] = {{m.add("v_movrels_b32 v8, v2"), 3, 5, 8, false},
                          {m.add("v_movreld_b32 v8, v2"), 3, 2, 11, false},
                          {m.add("v_movrelsd_b32 v8, v2"), 3, 5, 11, false},
                          {m.add("v_movrelsd_2_b32 v8, v2"), 3 | 6 << 16, 5, 14, false},
                          {m.add("v_swaprel_b32 v8, v2"), 3 | 6 << 16, 5, 14, true}};
    const size_t halves = m.add("v_swap_b16 v2.l, v4.h");
    m.build();
    for (const Move &x : moves) {
      INFO(target << ": " << m.text(x.id));
      REQUIRE(m.accepted(x.id));
      for (unsigned r = 0; r < 32; ++r)
        number(m, r, 1000 * r);
      m.wave.m0() = x.m0;
      m.setExec(kExec);
      CHECK(m.run(x.id) == "");
      for (unsigned lane = 0; lane < 32; ++lane) {
        const bool on = kExec >> lane & 1;
        CHECK(m.row(x.to)[lane] == (on ? 1000 * x.from : 1000 * x.to) + lane);
        CHECK(m.row(x.from)[lane] == (on && x.swaps ? 1000 * x.to : 1000 * x.from) + lane);
      }
    }
    if (!m.accepted(halves))
      continue;
    std::fill_n(m.row(2), 64, 0x11112222u);
    std::fill_n(m.row(4), 64, 0x33334444u);
    CHECK(m.run(halves) == "");
    CHECK(m.row(2)[0] == 0x11113333);
    CHECK(m.row(4)[0] == 0x22224444);
  }
}

TEST_CASE("opcodes: gfx12: functions of a scalar match the reference") {
  struct Function {
    const char *name;
    double (*f)(double);
  };
  static const Function kFunctions[] = {
      {"exp", [](double x) { return std::exp2(x); }},
      {"log", [](double x) { return std::log2(x); }},
      {"rcp", [](double x) { return 1 / x; }},
      {"rsq", [](double x) { return 1 / std::sqrt(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
  };
  Machine m("gfx1201");
  std::vector<std::pair<size_t, size_t>> ids;
  for (const Function &f : kFunctions)
    ids.push_back({m.add(std::string("v_s_") + f.name + "_f32 s20, s8"),
                   m.add(std::string("v_s_") + f.name + "_f16 s20, s8")});
  const size_t modified = m.add("v_s_rcp_f32 s20, -|s8|");
  m.build();
  m.setMode(0x1f0);
  for (u64 exec : {u64(0), ~u64(0)})
    for (size_t i = 0; i < ids.size(); ++i)
      for (double x : {1.0, 0.25, 3.0, 10.5, 0.1}) {
        m.setExec(exec);
        for (auto [f, id] : {std::pair{kF32, ids[i].first}, {kF16, ids[i].second}}) {
          m.s(8) = static_cast<uint32_t>(roundTo(f, x));
          const double want = kFunctions[i].f(double(valueOf(f, m.s(8))));
          INFO(m.text(id) << " " << m.run(id));
          const int64_t got = m.s(20), code = int64_t(roundTo(f, want));
          CHECK(std::abs(got - code) <= 1);
        }
        CHECK(m.wave.exec() == m.mask(exec));
      }
  m.s(8) = static_cast<uint32_t>(roundTo(kF32, 4));
  CHECK(m.run(modified) == "");
  CHECK(m.s(20) == roundTo(kF32, -0.25));
}

TEST_CASE("opcodes: gfx9: accumulation registers, truth tables match the reference") {
  for (const char *target : {"gfx90a", "gfx942", "gfx950"}) {
    Machine m(target);
    const size_t write = m.add("v_accvgpr_write_b32 a3, v2"),
                 read = m.add("v_accvgpr_read_b32 v8, a3"),
                 move = m.add("v_accvgpr_mov_b32 a5, a3");
    std::vector<std::array<size_t, 2>> tables;
    for (unsigned t : {0x00u, 0x96u, 0xcau, 0x01u, 0xffu, 0x5au})
      tables.push_back({m.add("v_bitop3_b32 v8, v2, v4, v6 bitop3:" + std::to_string(t)),
                        m.add("v_bitop3_b16 v8, v2, v4, v6 bitop3:" + std::to_string(t))});
    m.build();
    number(m, 2, 77);
    m.setExec(kExec);
    for (size_t id : {write, read, move})
      CHECK(m.run(id) == "");
    for (unsigned lane = 0; lane < 64; ++lane)
      if (kExec >> lane & 1) {
        CHECK(m.row(256 + 3)[lane] == 77 + lane);
        CHECK(m.row(256 + 5)[lane] == 77 + lane);
        CHECK(m.row(8)[lane] == 77 + lane);
      }
    for (unsigned r = 2; r < 16; ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        m.row(r)[lane] = 0x9e3779b9 * (lane * 16 + r) & (lane % 3 ? ~0u : 0xff00ffff);
    const unsigned kTables[] = {0x00, 0x96, 0xca, 0x01, 0xff, 0x5a};
    for (size_t i = 0; i < tables.size(); ++i)
      for (unsigned form = 0; form < 2; ++form) {
        if (!m.accepted(tables[i][form]))
          continue;
        INFO(m.text(tables[i][form]) << " " << m.run(tables[i][form]));
        for (unsigned lane = 0; lane < 64; ++lane) {
          uint32_t want = 0;
          for (unsigned b = 0; b < 32; ++b)
            want |= (kTables[i] >> ((m.row(2)[lane] >> b & 1) << 2 |
                                    (m.row(4)[lane] >> b & 1) << 1 | (m.row(6)[lane] >> b & 1)) &
                     1)
                    << b;
          const uint32_t mask = form ? 0xffff : ~0u;
          if (kExec >> lane & 1)
            CHECK((m.row(8)[lane] & mask) == (want & mask));
        }
      }
  }
}

TEST_CASE("opcodes: four sums of differences match the reference") {
  for (const char *target : kTargets) {
    Machine m(target);
    const size_t sums = m.add("v_mqsad_u32_u8 v[8:11], v[2:3], v4, v[12:15]");
    m.build();
    for (unsigned r = 2; r < 16; ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        m.row(r)[lane] = 0x9e3779b9 * (lane * 16 + r) & (lane % 3 ? ~0u : 0xff00ffff);
    m.setExec(kExec);
    REQUIRE(m.accepted(sums));
    CHECK(m.run(sums) == "");
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      for (unsigned k = 0; kExec >> lane & 1 && k < 4; ++k) {
        const u64 window = (m.row(2)[lane] | u64(m.row(3)[lane]) << 32) >> 8 * k;
        uint32_t want = m.row(12 + k)[lane];
        for (unsigned b = 0; b < 4; ++b) {
          const int x = window >> 8 * b & 255, y = m.row(4)[lane] >> 8 * b & 255;
          want += y ? unsigned(std::abs(x - y)) : 0;
        }
        CHECK(m.row(8 + k)[lane] == want);
      }
  }
}

TEST_CASE("opcodes: bits of 2 / pi for the reduction of angles match the reference") {
  // The product with the operand, less multiples of 8, is what a reduction by parts gives.
  for (const char *target : kTargets) {
    Machine m(target);
    std::vector<size_t> ids;
    for (unsigned segment = 0; segment < 3; ++segment)
      ids.push_back(m.add("v_trig_preop_f64 v[8:9], v[2:3], " + std::to_string(segment)));
    m.build();
    m.setMode(0x1f0);
    m.setExec(1);
    for (double x : {1.0, 100.0, 12345.678}) {
      const u64 bits = __builtin_bit_cast(u64, x);
      m.row(2)[0] = static_cast<uint32_t>(bits);
      m.row(3)[0] = static_cast<uint32_t>(bits >> 32);
      Quad sum = 0;
      for (size_t id : ids) {
        INFO(target << ": " << m.text(id) << " " << m.run(id));
        sum += valueOf(kF64, m.row(8)[0] | u64(m.row(9)[0]) << 32);
      }
      // Two thirds of an hundred digits: 2 / pi as a sum of doubles.
      const Quad twoOverPi = Quad(0.63661977236758138) + Quad(-3.935735335036497e-17);
      const double error = std::fabs(double(sum - twoOverPi));
      CHECK(error < 1e-32);
    }
  }
}

TEST_CASE("opcodes: dual instructions: each half is the single instruction") {
  struct Half {
    const char *name;
    const char *single;
    bool literal = false, unary = false, vcc = false;
  };
  static const Half kHalves[] = {{"fmac_f32", "v_fmac_f32"},
                                 {"fmaak_f32", "v_fmaak_f32", true},
                                 {"fmamk_f32", "v_fmamk_f32", true},
                                 {"mul_f32", "v_mul_f32"},
                                 {"add_f32", "v_add_f32"},
                                 {"sub_f32", "v_sub_f32"},
                                 {"subrev_f32", "v_subrev_f32"},
                                 {"mul_dx9_zero_f32", "v_mul_dx9_zero_f32"},
                                 {"mov_b32", "v_mov_b32", false, true},
                                 {"cndmask_b32", "v_cndmask_b32", false, false, true},
                                 {"max_f32", "v_max_f32"},
                                 {"min_f32", "v_min_f32"},
                                 {"max_num_f32", "v_max_num_f32"},
                                 {"min_num_f32", "v_min_num_f32"},
                                 {"dot2acc_f32_f16", "v_dot2acc_f32_f16"},
                                 {"dot2acc_f32_bf16", "v_dot2acc_f32_bf16"},
                                 {"add_nc_u32", "v_add_nc_u32"},
                                 {"lshlrev_b32", "v_lshlrev_b32"},
                                 {"and_b32", "v_and_b32"}};
  for (const char *target : {"gfx1100", "gfx1201"}) {
    Machine m(target);
    auto operands = [](const Half &h, const std::string &d, const std::string &a,
                       const std::string &b) {
      if (h.unary)
        return " " + d + ", " + a;
      if (std::string(h.name) == "fmamk_f32")
        return " " + d + ", " + a + ", 0x40490fdb, " + b;
      return " " + d + ", " + a + ", " + b + (h.literal ? ", 0x40490fdb" : "");
    };
    std::vector<std::tuple<const Half *, size_t, size_t, size_t>> entries;
    for (const Half &h : kHalves) {
      const std::string vcc = h.vcc ? ", vcc_lo" : "";
      entries.emplace_back(&h,
                           m.add("v_dual_" + std::string(h.name) + operands(h, "v8", "v2", "v4") +
                                 " :: v_dual_mov_b32 v9, v3"),
                           m.add("v_dual_mov_b32 v9, v3 :: v_dual_" + std::string(h.name) +
                                 operands(h, "v8", "v2", "v4")),
                           m.add(std::string(h.single) + operands(h, "v8", "v2", "v4") + vcc));
    }
    m.build();
    unsigned tried = 0;
    for (auto &[h, x, y, single] : entries) {
      if (!m.accepted(single))
        continue;
      auto run = [&](size_t id) {
        for (unsigned lane = 0; lane < 64; ++lane) {
          m.row(2)[lane] = 0x3f800000 + lane * 0x12345;
          m.row(3)[lane] = lane;
          m.row(4)[lane] = 0xbf000000 + lane * 0x777;
          m.row(8)[lane] = 0x40000000 + lane;
          m.row(9)[lane] = 1;
        }
        m.setS64(106, 0x0f0f3355);
        m.setExec(kExec);
        INFO(target << ": " << m.text(id) << " " << m.run(id));
        return std::vector<uint32_t>(m.row(8), m.row(9));
      };
      const std::vector<uint32_t> want = run(single);
      for (size_t id : {x, y})
        if (m.accepted(id)) {
          INFO(target << ": " << m.text(id));
          CHECK(run(id) == want);
          CHECK(m.row(9)[1] == 1);
          ++tried;
        }
    }
    CHECK(tried > 20);
  }
}

} // namespace flyemu::test
