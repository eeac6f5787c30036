// Inline constants of floating-point value: their bits depend on the operand.
#include "machine.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

namespace flyemu::test {

namespace {
/// The bits of a constant as an integer operand of 16 or 32 bits, as
/// a half and as a bfloat gets it.
struct Constant {
  const char *text;
  uint32_t integer, half, bfloat;
};
// LLVM, AMDGPUBaseInfo.cpp: getInlineEncodingV216 and getInlineEncodingV2BF16.
constexpr Constant kConstants[] = {{"0.5", 0x3f000000, 0x3800, 0x3f00},
                                   {"-1.0", 0xbf800000, 0xbc00, 0xbf80},
                                   {"4.0", 0x40800000, 0x4400, 0x4080},
                                   {"0.15915494", 0x3e22f983, 0x3118, 0x3e22}};

struct Use {
  const char *text; ///< X is the constant's place
  uint32_t Constant::*bits;
};
constexpr Use kUses[] = {
    {"v_pk_add_u16 v8, v2, X", &Constant::integer},
    {"v_pk_add_u16 v8, v2, X op_sel:[0,1]", &Constant::integer},
    {"v_pk_add_u16 v8, v2, X op_sel_hi:[1,0]", &Constant::integer},
    {"v_pk_mad_i16 v8, v2, v3, X op_sel:[0,0,1] op_sel_hi:[1,1,0]", &Constant::integer},
    {"v_pk_lshlrev_b16 v8, v2, X", &Constant::integer},
    {"v_pk_max_u16 v8, X, v3", &Constant::integer},
    {"v_add_u16_e64 v8, v2, X", &Constant::integer},
    {"v_add_nc_u16 v8, v2, X", &Constant::integer},
    {"v_mad_u16 v8, v2, v3, X", &Constant::integer},
    {"v_dot2_i32_i16 v8, v2, X, v3", &Constant::integer},
    {"v_pk_add_f16 v8, v2, X", &Constant::half},
    {"v_pk_fma_f16 v8, v2, v3, X op_sel_hi:[1,1,0]", &Constant::half},
    {"v_dot2_f32_f16 v8, v2, X, v3", &Constant::half},
    {"v_dot2_f32_f16 v8, v2, X, v3 op_sel_hi:[1,0,1]", &Constant::half},
    {"v_dot2_f16_f16 v8, v2, X, v3", &Constant::half},
    {"v_dot2_f16_f16 v8, v2, v3, X", &Constant::half},
    {"v_dot2_f32_bf16 v8, v2, X, v3", &Constant::bfloat},
    {"v_dot2_f32_bf16 v8, v2, X, v3 op_sel_hi:[1,0,1]", &Constant::bfloat},
    {"v_dot2_bf16_bf16 v8, v2, X, v3", &Constant::bfloat},
    {"v_dot2_bf16_bf16 v8, v2, v3, X", &Constant::bfloat},
    {"v_cvt_f32_bf16_e64 v8, X", &Constant::bfloat},
};
// A constant addend of 16 bits is every element. LLVM's SelectWMMAVISrc takes a splat for it.
constexpr Use kSplats[] = {
    {"v_wmma_f16_16x16x16_f16 v[32:39], v[8:15], v[16:23], X", &Constant::half},
    {"v_wmma_bf16_16x16x16_bf16 v[32:39], v[8:15], v[16:23], X", &Constant::bfloat},
    {"v_wmma_f16_16x16x16_f16 v[32:35], v[8:11], v[16:19], X", &Constant::half},
    {"v_wmma_bf16_16x16x16_bf16 v[32:35], v[8:11], v[16:19], X", &Constant::bfloat},
};

std::string with(std::string text, const std::string &operand) {
  return text.replace(text.find('X'), 1, operand);
}

/// Whether the snippets leave the same in rows `first` to `last` from the same beginning.
bool areSame(Machine &m, size_t one, size_t other, unsigned first, unsigned last) {
  std::vector<uint32_t> results[2];
  for (const size_t id : {one, other}) {
    for (unsigned r = 0; r < 2 * kLanes; ++r)
      m.row(2)[r] = 0x3a5c4233u * (r + 7);
    for (unsigned r = 8; r < 24; ++r)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        m.row(r)[lane] = (lane + r) % 3 ? 0x3c003c00 : 0x40003c00;
    std::fill_n(m.row(32), 8 * kLanes, 0x5a5a5a5au);
    m.setMode(0x1f0);
    m.setExec(~uint64_t(0));
    CHECK(m.run(id) == "");
    for (unsigned r = first; r <= last; ++r)
      results[id == other].insert(results[id == other].end(), m.row(r), m.row(r) + m.lanes);
  }
  return results[0] == results[1];
}
} // namespace

TEST_CASE("opcodes: an inline constant is a single, a half or a bfloat, as the operand is") {
  for (const char *target : kTargets) {
    Machine m(target);
    struct Entry {
      size_t constant, reg;
      uint32_t bits;
    };
    std::vector<Entry> entries;
    for (const Use &use : kUses)
      for (const Constant &c : kConstants)
        entries.push_back(
            {m.add(with(use.text, c.text)), m.add(with(use.text, "v4")), c.*use.bits});
    m.build();
    unsigned tried = 0;
    for (const Entry &e : entries) {
      if (!m.accepted(e.constant))
        continue;
      ++tried;
      std::fill_n(m.row(4), kLanes, e.bits);
      INFO(target << ": " << m.text(e.constant));
      CHECK(areSame(m, e.constant, e.reg, 8, 8));
    }
    CHECK(tried >= 10 * std::size(kConstants));
  }
}

TEST_CASE("opcodes: a constant addend of halves is in every element of a matrix") {
  for (const char *target : {"gfx1100", "gfx1201"}) {
    Machine m(target);
    std::vector<std::array<size_t, 2>> entries;
    std::vector<uint32_t> bits;
    for (const Use &use : kSplats)
      for (const Constant &c : kConstants) {
        const unsigned count = std::string(use.text).find("v[32:39]") == std::string::npos ? 4 : 8;
        entries.push_back({m.add(with(use.text, c.text)),
                           m.add(with(use.text, "v[64:" + std::to_string(63 + count) + "]"))});
        bits.push_back(c.*use.bits * 0x10001u);
      }
    m.build();
    unsigned tried = 0;
    for (size_t k = 0; k < entries.size(); ++k) {
      if (!m.accepted(entries[k][0]))
        continue;
      ++tried;
      std::fill_n(m.row(64), 8 * kLanes, bits[k]);
      INFO(target << ": " << m.text(entries[k][0]));
      CHECK(areSame(m, entries[k][0], entries[k][1], 32, 39));
    }
    CHECK(tried >= 6); // the assembler does not take 1 / (2 pi) for all of them
  }
}

} // namespace flyemu::test
