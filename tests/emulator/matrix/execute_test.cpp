// Whole instructions over registers, against a plain matrix product of the same elements.
#include "emulator/matrix/execute.h"
#include "emulator/matrix/group_scalar.h"
#include "processor.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

using namespace flyemu::matrix;

namespace {

/// A wave's worth of registers for one operand.
struct RegisterBlock {
  std::vector<uint32_t> words;
  explicit RegisterBlock(unsigned registers) : words(registers * 64) {}
  void put(Slot slot, unsigned bits, uint64_t value) {
    for (unsigned bit = 0; bit < bits; ++bit) {
      unsigned at = slot.bit + bit;
      uint32_t &word = words[at / 32 * 64 + slot.lane];
      word = (word & ~(1u << at % 32)) | static_cast<uint32_t>((value >> bit) & 1) << at % 32;
    }
  }
  uint64_t get(Slot slot, unsigned bits) const {
    uint64_t value = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      unsigned at = slot.bit + bit;
      value |= static_cast<uint64_t>((words[at / 32 * 64 + slot.lane] >> at % 32) & 1) << bit;
    }
    return value;
  }
};

uint64_t smallRandom(Elem elem, std::mt19937 &rng) {
  int small = static_cast<int>(rng() % 9) - 4;
  switch (elem) {
  case Elem::F64:
    return std::bit_cast<uint64_t>(small * 0.5);
  case Elem::F32:
  case Elem::XF32:
    return std::bit_cast<uint32_t>(small * 0.5f);
  case Elem::F16:
    return toF16(small * 0.5);
  case Elem::BF16:
    return toBF16(small * 0.5);
  case Elem::I32:
    return static_cast<uint32_t>(small * 100);
  default: {
    uint64_t bits;
    do
      bits = rng() & ((1u << bitsOf(elem)) - 1);
    while (!isInteger(elem) &&
           !(std::fabs(value(elem, bits)) <= 8 && std::fmod(value(elem, bits), 0.125) == 0));
    return bits;
  }
  }
}

/// Fills A, B, C with values whose products and sums are exact in f32 (or in the accumulator), runs
/// the instruction, compares every element of D exactly.
void runDense(const char *mnemonic, const char *target, Elem a, Elem b, MatrixOp op, unsigned seed,
              Precision precision = Precision::Exact) {
  CAPTURE(mnemonic, target, int(a), int(b));
  MatrixPlan plan(op);
  OperandMaps maps = mapOperands(op);
  std::mt19937 rng(seed);
  RegisterBlock ra(maps.regsA), rb(maps.regsB), rc(maps.regsD), rd(maps.regsD);
  std::vector<double> va, vb, vc;
  for (Slot slot : maps.a) {
    uint64_t bits = smallRandom(a, rng);
    ra.put(slot, bitsOf(a), bits);
    if (op.core == MatrixCore::Rdna3)
      ra.put({slot.bit, static_cast<uint16_t>(slot.lane + 16)}, bitsOf(a), bits);
    va.push_back(value(a, bits));
  }
  for (Slot slot : maps.b) {
    uint64_t bits = smallRandom(b, rng);
    rb.put(slot, bitsOf(b), bits);
    vb.push_back(value(b, bits));
  }
  for (Slot slot : maps.d) {
    uint64_t bits = smallRandom(op.acc, rng);
    rc.put(slot, bitsOf(op.acc), bits);
    vc.push_back(value(op.acc, bits));
  }
  plan.execute(
      {}, {.a = ra.words.data(), .b = rb.words.data(), .c = rc.words.data(), .d = rd.words.data()},
      precision);
  for (unsigned block = 0; block < op.blocks; ++block)
    for (unsigned i = 0; i < op.m; ++i)
      for (unsigned j = 0; j < op.n; ++j) {
        size_t at = (block * op.m + i) * op.n + j;
        double expected = vc[at];
        for (unsigned k = 0; k < op.k; ++k)
          expected += va[(block * op.m + i) * op.k + k] * vb[(block * op.n + j) * op.k + k];
        if (op.acc == Elem::F16)
          expected = value(Elem::F16, toF16(expected));
        if (op.acc == Elem::BF16)
          expected = value(Elem::BF16, toBF16(expected));
        REQUIRE(value(op.acc, rd.get(maps.d[at], bitsOf(op.acc))) == expected);
      }
}

} // namespace

TEST_CASE("dense instructions multiply") {
  struct Case {
    const char *mnemonic, *target;
  };
  for (Case test :
       {Case{"v_mfma_f32_32x32x1_2b_f32", "gfx942"}, {"v_mfma_f32_16x16x1_4b_f32", "gfx942"},
        {"v_mfma_f32_4x4x1_16b_f32", "gfx942"},      {"v_mfma_f32_32x32x2_f32", "gfx942"},
        {"v_mfma_f32_16x16x4_f32", "gfx942"},        {"v_mfma_f32_16x16x8_xf32", "gfx942"},
        {"v_mfma_f32_32x32x4_xf32", "gfx942"},       {"v_mfma_f32_32x32x4_2b_f16", "gfx942"},
        {"v_mfma_f32_16x16x4_4b_f16", "gfx942"},     {"v_mfma_f32_4x4x4_16b_f16", "gfx942"},
        {"v_mfma_f32_32x32x8_f16", "gfx942"},        {"v_mfma_f32_16x16x16_f16", "gfx942"},
        {"v_mfma_f32_32x32x8_bf16", "gfx942"},       {"v_mfma_f32_16x16x16_bf16", "gfx942"},
        {"v_mfma_i32_32x32x4_2b_i8", "gfx942"},      {"v_mfma_i32_32x32x16_i8", "gfx942"},
        {"v_mfma_i32_16x16x32_i8", "gfx942"},        {"v_mfma_f64_16x16x4_f64", "gfx942"},
        {"v_mfma_f64_4x4x4_4b_f64", "gfx942"},       {"v_mfma_f32_16x16x32_fp8_fp8", "gfx942"},
        {"v_mfma_f32_32x32x16_bf8_fp8", "gfx942"},   {"v_mfma_f32_16x16x32_f16", "gfx950"},
        {"v_mfma_f32_32x32x16_bf16", "gfx950"},      {"v_mfma_i32_16x16x64_i8", "gfx950"},
        {"v_mfma_i32_32x32x32_i8", "gfx950"},        {"v_wmma_f32_16x16x16_f16", "gfx1100"},
        {"v_wmma_f16_16x16x16_f16", "gfx1100"},      {"v_wmma_i32_16x16x16_iu8", "gfx1100"},
        {"v_wmma_i32_16x16x16_iu4", "gfx1100"},      {"v_wmma_f32_16x16x16_bf16", "gfx1201"},
        {"v_wmma_bf16_16x16x16_bf16", "gfx1201"},    {"v_wmma_f32_16x16x16_fp8_bf8", "gfx1201"},
        {"v_wmma_i32_16x16x32_iu4", "gfx1201"}}) {
    MatrixOp op = parseMatrixOp(test.mnemonic, processor(test.target)).value();
    runDense(test.mnemonic, test.target, op.a, op.b, op, 11);
    runDense(test.mnemonic, test.target, op.a, op.b, op, 12, Precision::Fast);
  }
}

TEST_CASE("f8f6f4 multiplies in every pair of formats") {
  for (const char *mnemonic : {"v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"})
    for (unsigned cbsz = 0; cbsz < 5; ++cbsz)
      for (unsigned blgp = 0; blgp < 5; ++blgp) {
        MatrixOp op =
            withFormats(parseMatrixOp(mnemonic, processor("gfx950")).value(), cbsz, blgp).value();
        runDense(mnemonic, "gfx950", op.a, op.b, op, 100 + 5 * cbsz + blgp);
        runDense(mnemonic, "gfx950", op.a, op.b, op, 200 + 5 * cbsz + blgp, Precision::Fast);
      }
  CHECK_FALSE(
      withFormats(parseMatrixOp("v_mfma_f32_16x16x128_f8f6f4", processor("gfx950")).value(), 5, 0));
}

TEST_CASE("fast products are within rounding of exact ones") {
  struct Case {
    const char *mnemonic, *target;
  };
  for (Case test : {Case{"v_mfma_f32_32x32x8_f16", "gfx942"},
                    {"v_mfma_f32_16x16x16_bf16", "gfx942"},
                    {"v_mfma_f32_32x32x4_2b_f16", "gfx942"},
                    {"v_mfma_f32_32x32x4_xf32", "gfx942"},
                    {"v_mfma_f32_16x16x4_f32", "gfx942"},
                    {"v_mfma_f32_16x16x32_fp8_bf8", "gfx942"},
                    {"v_mfma_f32_32x32x16_bf8_fp8", "gfx950"},
                    {"v_wmma_f32_16x16x16_f16", "gfx1100"},
                    {"v_wmma_f32_16x16x16_fp8_bf8", "gfx1201"}}) {
    CAPTURE(test.mnemonic, test.target);
    const MatrixOp op = parseMatrixOp(test.mnemonic, processor(test.target)).value();
    const MatrixPlan plan(op);
    const OperandMaps maps = mapOperands(op);
    std::mt19937 rng(7);
    RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), exact(maps.regsD), fast(maps.regsD);
    auto fill = [&](RegisterBlock &to, const std::vector<Slot> &slots, Elem elem) {
      std::vector<double> values;
      for (Slot slot : slots) {
        uint64_t bits;
        do // of moderate size, so that sums do not overflow; denormals among them
          bits =
              elem == Elem::F32 || elem == Elem::XF32 ? rng() : rng() & ((1u << bitsOf(elem)) - 1);
        while (!(std::fabs(value(elem, bits)) < 1e5));
        to.put(slot, bitsOf(elem), bits);
        if (op.core == MatrixCore::Rdna3 && &slots != &maps.d)
          to.put({slot.bit, static_cast<uint16_t>(slot.lane + 16)}, bitsOf(elem), bits);
        values.push_back(value(elem, bits));
      }
      return values;
    };
    const std::vector<double> va = fill(a, maps.a, op.a), vb = fill(b, maps.b, op.b),
                              vc = fill(c, maps.d, op.acc);
    for (auto [to, precision] :
         {std::pair(&exact, Precision::Exact), std::pair(&fast, Precision::Fast)})
      plan.execute(
          {},
          {.a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = to->words.data()},
          precision);
    // Each of at most k + 1 roundings is half of the last bit of a sum that is no larger than the
    // sum of magnitudes; the exact ones truncate at most as much.
    for (unsigned block = 0; block < op.blocks; ++block)
      for (unsigned i = 0; i < op.m; ++i)
        for (unsigned j = 0; j < op.n; ++j) {
          const size_t at = (block * op.m + i) * op.n + j;
          double magnitude = std::fabs(vc[at]);
          for (unsigned k = 0; k < op.k; ++k)
            magnitude +=
                std::fabs(va[(block * op.m + i) * op.k + k] * vb[(block * op.n + j) * op.k + k]);
          const double x = value(Elem::F32, exact.get(maps.d[at], 32)),
                       y = value(Elem::F32, fast.get(maps.d[at], 32));
          REQUIRE(std::fabs(x - y) <= (op.k + 1) * std::ldexp(magnitude, -23) + 1e-38);
        }
  }
}

TEST_CASE("fast products keep NaN and infinities") {
  for (const char *mnemonic : {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_bf16",
                               "v_mfma_f32_16x16x32_bf8_bf8", "v_mfma_f32_16x16x32_fp8_fp8"})
    for (const char *target : {"gfx942", "gfx950"}) {
      CAPTURE(mnemonic, target);
      const MatrixOp op = parseMatrixOp(mnemonic, processor(target)).value();
      const MatrixPlan plan(op);
      const OperandMaps maps = mapOperands(op);
      const bool infinities = std::string_view(mnemonic).find("fp8") == std::string_view::npos &&
                              !(std::string_view(mnemonic).find("bf8") != std::string_view::npos &&
                                std::string_view(target) == "gfx942");
      // Row 0 of A has every pattern of the type in turn; B is 1 where k is 0, else 0.
      for (uint64_t pattern = 0; pattern < (uint64_t(1) << bitsOf(op.a));
           pattern += bitsOf(op.a) == 8 ? 1 : 61) {
        RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), d(maps.regsD);
        a.put(maps.a[0], bitsOf(op.a), pattern);
        uint64_t one = 0;
        while (value(op.b, one) != 1)
          ++one;
        for (unsigned j = 0; j < op.n; ++j)
          b.put(maps.b[j * op.k], bitsOf(op.b), one);
        plan.execute(
            {},
            {.a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = d.words.data()},
            Precision::Fast);
        const double expected = value(op.a, pattern), got = value(Elem::F32, d.get(maps.d[3], 32));
        CAPTURE(pattern, expected, got);
        REQUIRE((std::isnan(expected) ? std::isnan(got) : got == expected));
        REQUIRE((infinities || !std::isinf(got)));
      }
    }
}

TEST_CASE("block scales multiply their blocks") {
  MatrixOp op =
      withFormats(parseMatrixOp("v_mfma_scale_f32_16x16x128_f8f6f4", processor("gfx950")).value(),
                  4, 4)
          .value();
  REQUIRE(op.scaled);
  MatrixPlan plan(op);
  OperandMaps maps = mapOperands(op);
  RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), d(maps.regsD), sa(1), sb(1);
  for (Slot slot : maps.a)
    a.put(slot, 4, 0x2); // 1.0
  for (Slot slot : maps.b)
    b.put(slot, 4, 0x2);
  for (unsigned lane = 0; lane < 64; ++lane) {
    sa.words[lane] = (127 + lane / 16) << 8; // byte 1: 2^(block of 32 k)
    sb.words[lane] = 127 + lane % 16 % 3;    // byte 0: 2^(column mod 3)
  }
  Modifiers modifiers;
  modifiers.cbsz = modifiers.blgp = 4;
  modifiers.opselA = 1;
  plan.execute(modifiers, {.a = a.words.data(),
                           .b = b.words.data(),
                           .c = c.words.data(),
                           .d = d.words.data(),
                           .scaleA = sa.words.data(),
                           .scaleB = sb.words.data()});
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      float expected = 32.0f * (1 + 2 + 4 + 8) * static_cast<float>(1 << j % 3);
      REQUIRE(value(Elem::F32, d.get(maps.d[i * 16 + j], 32)) == expected);
    }
}

TEST_CASE("sparse: the index register says which k") {
  struct Case {
    const char *mnemonic, *target;
    unsigned sets; // index sets in a register
  };
  for (Case test : {Case{"v_smfmac_f32_16x16x32_f16", "gfx942", 4},
                    {"v_smfmac_f32_32x32x16_bf16", "gfx942", 4},
                    {"v_smfmac_i32_16x16x64_i8", "gfx942", 2},
                    {"v_smfmac_f32_32x32x32_fp8_bf8", "gfx942", 2},
                    {"v_swmmac_f32_16x16x32_f16", "gfx1201", 1}}) {
    CAPTURE(test.mnemonic);
    MatrixOp op = parseMatrixOp(test.mnemonic, processor(test.target)).value();
    MatrixPlan plan(op);
    OperandMaps maps = mapOperands(op);
    std::mt19937 rng(3);
    RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), index(1);
    for (unsigned abid = 0; abid < test.sets; ++abid) {
      static const unsigned pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
      std::vector<double> dense(op.m * op.k), vb, vc;
      std::fill(index.words.begin(), index.words.end(), 0);
      unsigned setBits = 2 * op.m * maps.storedK / op.lanes();
      for (unsigned i = 0; i < op.m; ++i)
        for (unsigned k = 0; k < maps.storedK; k += 2) {
          const unsigned *pair = pairs[rng() % 6];
          for (unsigned half = 0; half < 2; ++half) {
            Slot slot = maps.a[i * maps.storedK + k + half];
            uint64_t bits = smallRandom(op.a, rng);
            a.put(slot, bitsOf(op.a), bits);
            dense[i * op.k + (k / 2) * 4 + pair[half]] = value(op.a, bits);
            index.words[slot.lane] |= pair[half]
                                      << (abid * setBits + 2 * (slot.bit / bitsOf(op.a)));
          }
        }
      for (Slot slot : maps.b) {
        uint64_t bits = smallRandom(op.b, rng);
        b.put(slot, bitsOf(op.b), bits);
        vb.push_back(value(op.b, bits));
      }
      for (Slot slot : maps.d) {
        uint64_t bits = smallRandom(op.acc, rng);
        c.put(slot, bitsOf(op.acc), bits);
        vc.push_back(value(op.acc, bits));
      }
      Modifiers modifiers;
      modifiers.abid = static_cast<uint8_t>(abid);
      plan.execute(modifiers, {.a = a.words.data(),
                               .b = b.words.data(),
                               .c = c.words.data(),
                               .d = c.words.data(),
                               .index = index.words.data()});
      for (unsigned i = 0; i < op.m; ++i)
        for (unsigned j = 0; j < op.n; ++j) {
          double expected = vc[i * op.n + j];
          for (unsigned k = 0; k < op.k; ++k)
            expected += dense[i * op.k + k] * vb[j * op.k + k];
          REQUIRE(value(op.acc, c.get(maps.d[i * op.n + j], bitsOf(op.acc))) == expected);
        }
    }
  }
}

TEST_CASE("NaN stays in its row and column; infinities keep their sign") {
  MatrixOp op = parseMatrixOp("v_mfma_f32_16x16x16_f16", processor("gfx942")).value();
  MatrixPlan plan(op);
  OperandMaps maps = mapOperands(op);
  RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), d(maps.regsD);
  for (Slot slot : maps.a)
    a.put(slot, 16, toF16(1));
  for (Slot slot : maps.b)
    b.put(slot, 16, toF16(1));
  a.put(maps.a[3 * 16 + 5], 16, 0x7e01);
  b.put(maps.b[7 * 16 + 2], 16, 0xfc00);
  plan.execute(
      {}, {.a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = d.words.data()});
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      double result = value(Elem::F32, d.get(maps.d[i * 16 + j], 32));
      if (i == 3)
        CHECK(std::isnan(result));
      else if (j == 7)
        CHECK(result == -INFINITY);
      else
        CHECK(result == 16.0);
    }
}

TEST_CASE("products that are left out give their sums as they were") {
  for (const char *mnemonic : {"v_mfma_f32_16x16x16_f16", "v_mfma_i32_32x32x16_i8"}) {
    const MatrixOp op = *parseMatrixOp(mnemonic, processor("gfx942"));
    const MatrixPlan plan(op);
    const auto values = [](unsigned registers, uint32_t first) {
      std::vector<uint32_t> words(size_t(registers) * 64);
      std::iota(words.begin(), words.end(), first);
      return words;
    };
    const std::vector<uint32_t> a = values(plan.regsA(), 1), b = values(plan.regsB(), 7),
                                c = values(plan.regsD(), 100);
    std::vector<uint32_t> d(c.size()), sums = c;
    plan.execute({}, {.a = a.data(), .b = b.data(), .c = c.data(), .d = d.data()}, Precision::None);
    CHECK(d == c);
    plan.execute({}, {.a = a.data(), .b = b.data(), .c = sums.data(), .d = sums.data()},
                 Precision::None);
    CHECK(sums == c);
    plan.execute({}, {.a = a.data(), .b = b.data(), .c = c.data(), .d = d.data()}, Precision::Fast);
    CHECK(d != c);
  }
}

TEST_CASE("modifiers: broadcasts, lane permutations, f64 negation, saturation") {
  SECTION("CBSZ and ABID share a block of A") {
    MatrixOp op = parseMatrixOp("v_mfma_f32_4x4x4_16b_f16", processor("gfx942")).value();
    OperandMaps maps = mapOperands(op);
    RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), d(maps.regsD);
    for (unsigned block = 0; block < 16; ++block)
      for (unsigned i = 0; i < 16; ++i)
        a.put(maps.a[block * 16 + i], 16, toF16(block));
    for (Slot slot : maps.b)
      b.put(slot, 16, toF16(1));
    Modifiers modifiers;
    modifiers.cbsz = 2;
    modifiers.abid = 3;
    MatrixPlan(op).execute(
        modifiers,
        {.a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = d.words.data()});
    for (unsigned block = 0; block < 16; ++block)
      CHECK(value(Elem::F32, d.get(maps.d[block * 16], 32)) == 4.0 * (block / 4 * 4 + 3));
  }
  SECTION("BLGP 3 rotates the lanes of B by 16") {
    MatrixOp op = parseMatrixOp("v_mfma_f32_16x16x4_f32", processor("gfx942")).value();
    OperandMaps maps = mapOperands(op);
    RegisterBlock a(1), b(1), c(4), d(4);
    for (unsigned lane = 0; lane < 64; ++lane) {
      a.words[lane] = std::bit_cast<uint32_t>(lane / 16 == 1 ? 1.0f : 0.0f); // k = 1 only
      b.words[lane] = std::bit_cast<uint32_t>(static_cast<float>(lane));
    }
    Modifiers modifiers;
    modifiers.blgp = 3;
    MatrixPlan(op).execute(
        modifiers,
        {.a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = d.words.data()});
    CHECK(value(Elem::F32, d.get(maps.d[5], 32)) == 37.0); // lane 16 + 5, rotated: 32 + 5
  }
  SECTION("f64 negates by BLGP") {
    MatrixOp op = parseMatrixOp("v_mfma_f64_16x16x4_f64", processor("gfx942")).value();
    OperandMaps maps = mapOperands(op);
    RegisterBlock a(2), b(2), c(8), d(8);
    for (Slot slot : maps.a)
      a.put(slot, 64, std::bit_cast<uint64_t>(2.0));
    for (Slot slot : maps.b)
      b.put(slot, 64, std::bit_cast<uint64_t>(3.0));
    for (Slot slot : maps.d)
      c.put(slot, 64, std::bit_cast<uint64_t>(1.0));
    Modifiers modifiers;
    modifiers.blgp = 1 | 4;
    MatrixPlan(op).execute(
        modifiers,
        {.a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = d.words.data()});
    CHECK(value(Elem::F64, d.get(maps.d[17], 64)) == -25.0);
  }
  SECTION("integer results wrap, or saturate with CLAMP") {
    MatrixOp op = parseMatrixOp("v_mfma_i32_16x16x32_i8", processor("gfx942")).value();
    OperandMaps maps = mapOperands(op);
    RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), d(maps.regsD);
    std::fill(a.words.begin(), a.words.end(), 0x7f7f7f7fu);
    std::fill(b.words.begin(), b.words.end(), 0x7f7f7f7fu);
    std::fill(c.words.begin(), c.words.end(), 0x7fffffffu);
    WaveRegisters registers{
        .a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = d.words.data()};
    MatrixPlan(op).execute({}, registers);
    CHECK(d.words[0] == 0x7fffffffu + 32u * 127 * 127);
    Modifiers modifiers;
    modifiers.clamp = true;
    MatrixPlan(op).execute(modifiers, registers);
    CHECK(d.words[0] == 0x7fffffffu);
  }
  SECTION("iu8 is signed where NEG says so") {
    MatrixOp op = parseMatrixOp("v_wmma_i32_16x16x16_iu8", processor("gfx1201")).value();
    OperandMaps maps = mapOperands(op);
    RegisterBlock a(maps.regsA), b(maps.regsB), c(maps.regsD), d(maps.regsD);
    std::fill(a.words.begin(), a.words.end(), 0xffffffffu);
    std::fill(b.words.begin(), b.words.end(), 0x01010101u);
    WaveRegisters registers{
        .a = a.words.data(), .b = b.words.data(), .c = c.words.data(), .d = d.words.data()};
    MatrixPlan(op).execute({}, registers);
    CHECK(d.words[0] == 16 * 255);
    Modifiers modifiers;
    modifiers.negLo = 1;
    MatrixPlan(op).execute(modifiers, registers);
    CHECK(static_cast<int32_t>(d.words[0]) == -16);
  }
}
