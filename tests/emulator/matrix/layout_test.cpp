// The places of elements in registers: single facts as AMD's matrix instruction calculator prints
// them.
#include "emulated_targets.h"
#include "emulator/matrix/matrix_op.h"
#include "layouts.h"
#include "processor.h"

#include <catch2/catch.hpp>

#include <iterator>
#include <set>
#include <tuple>
#include <vector>

using namespace flyemu::matrix;

namespace {

struct Place {
  unsigned reg, firstBit, lane;
  bool operator==(const Place &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Place &p) {
  return out << "v" << p.reg << "{" << p.lane << "}." << p.firstBit;
}
Place place(Slot slot) { return {slot.bit / 32u, slot.bit % 32u, slot.lane}; }

struct Mapped {
  MatrixOp op;
  OperandMaps maps;
  Mapped(const char *mnemonic, const char *target)
      : op(parseMatrixOp(mnemonic, processor(target)).value()), maps(mapOperands(op)) {}
  Place a(unsigned row, unsigned k, unsigned block = 0) const {
    return place(maps.a[(block * op.m + row) * maps.storedK + k]);
  }
  Place b(unsigned k, unsigned column, unsigned block = 0) const {
    return place(maps.b[(block * op.n + column) * op.k + k]);
  }
  Place d(unsigned row, unsigned column, unsigned block = 0) const {
    return place(maps.d[(block * op.m + row) * op.n + column]);
  }
};

} // namespace

TEST_CASE("registers of CDNA3's 32x32x8 f16 hold the published elements") {
  Mapped m("v_mfma_f32_32x32x8_f16", "gfx942");
  CHECK(m.maps.regsA == 2);
  CHECK(m.maps.regsD == 16);
  CHECK(m.a(5, 0) == Place{0, 0, 5});
  CHECK(m.a(5, 3) == Place{1, 16, 5});
  CHECK(m.a(5, 4) == Place{0, 0, 37});
  CHECK(m.b(7, 31) == Place{1, 16, 63});
  CHECK(m.d(0, 9) == Place{0, 0, 9});
  CHECK(m.d(4, 9) == Place{0, 0, 41});
  CHECK(m.d(8, 9) == Place{4, 0, 9});
  CHECK(m.d(31, 31) == Place{15, 0, 63});
}

TEST_CASE("registers of CDNA3's 16x16 shapes hold the published elements") {
  Mapped f16("v_mfma_f32_16x16x16_f16", "gfx942");
  CHECK(f16.a(3, 5) == Place{0, 16, 19});
  CHECK(f16.d(6, 2) == Place{2, 0, 18});
  Mapped blocks("v_mfma_f32_16x16x4_4b_f16", "gfx942");
  CHECK(blocks.a(3, 2, 1) == Place{1, 0, 19});
  CHECK(blocks.d(6, 2, 3) == Place{14, 0, 18});
  Mapped fp8("v_mfma_f32_16x16x32_fp8_bf8", "gfx942");
  CHECK(fp8.op.a == Elem::FP8Fnuz);
  CHECK(fp8.op.b == Elem::BF8Fnuz);
  CHECK(fp8.a(1, 9) == Place{0, 8, 17});
  CHECK(fp8.maps.regsA == 2);
}

TEST_CASE("registers of CDNA3's 4x4 and f64 hold the published elements") {
  Mapped small("v_mfma_f32_4x4x4_16b_f16", "gfx942");
  CHECK(small.a(2, 3, 5) == Place{1, 16, 22});
  CHECK(small.d(3, 1, 5) == Place{3, 0, 21});
  Mapped f64("v_mfma_f64_16x16x4_f64", "gfx942");
  CHECK(f64.a(7, 2) == Place{0, 0, 39});
  CHECK(f64.d(1, 4) == Place{0, 0, 20});
  CHECK(f64.d(4, 4) == Place{2, 0, 4});
  CHECK(f64.maps.regsD == 8);
  Mapped f64small("v_mfma_f64_4x4x4_4b_f64", "gfx942");
  CHECK(f64small.a(1, 2, 3) == Place{0, 0, 45});
  CHECK(f64small.d(3, 2, 0) == Place{0, 0, 50});
}

TEST_CASE("registers of sparse products on CDNA3 and RDNA4 hold the published elements") {
  Mapped smfmac("v_smfmac_f32_16x16x32_f16", "gfx942");
  CHECK(smfmac.maps.storedK == 16);
  CHECK(smfmac.maps.regsA == 2);
  CHECK(smfmac.maps.regsB == 4);
  CHECK(smfmac.a(1, 2) == Place{1, 0, 1});  // dense k 4..7
  CHECK(smfmac.a(1, 4) == Place{0, 0, 17}); // dense k 8..11
  CHECK(smfmac.b(9, 2) == Place{0, 16, 18});
  Mapped swmmac("v_swmmac_f32_16x16x32_f16", "gfx1201");
  CHECK(swmmac.a(1, 2) == Place{1, 0, 1});  // dense k 4..7
  CHECK(swmmac.a(1, 4) == Place{0, 0, 17}); // dense k 8..11
  CHECK(swmmac.a(1, 8) == Place{2, 0, 1});  // dense k 16..19
}

TEST_CASE("registers of RDNA3's and RDNA4's WMMA hold the published elements") {
  Mapped three("v_wmma_f32_16x16x16_f16", "gfx1100");
  CHECK(three.a(1, 15) == Place{7, 16, 1});
  CHECK(three.maps.regsA == 8);
  CHECK(three.d(1, 4) == Place{0, 0, 20});
  CHECK(three.d(2, 4) == Place{1, 0, 4});
  Mapped threeHalf("v_wmma_f16_16x16x16_f16", "gfx1100");
  CHECK(threeHalf.d(2, 4) == Place{1, 0, 4});
  CHECK(threeHalf.maps.regsD == 8);
  Mapped four("v_wmma_f32_16x16x16_f16", "gfx1201");
  CHECK(four.a(1, 4) == Place{0, 0, 17});
  CHECK(four.a(1, 9) == Place{2, 16, 1});
  CHECK(four.d(8, 3) == Place{0, 0, 19});
  Mapped fourHalf("v_wmma_f16_16x16x16_f16", "gfx1201");
  CHECK(fourHalf.d(1, 3) == Place{0, 16, 3});
  Mapped iu4("v_wmma_i32_16x16x32_iu4", "gfx1201");
  CHECK(iu4.a(1, 15) == Place{1, 28, 1});
  CHECK(iu4.a(1, 16) == Place{0, 0, 17});
}

TEST_CASE("gfx90a's names imply the block count") {
  auto blocks = [](const char *name) {
    return parseMatrixOp(name, processor("gfx90a")).value().blocks;
  };
  CHECK(blocks("v_mfma_f32_32x32x1f32") == 2);
  CHECK(blocks("v_mfma_f32_32x32x2f32") == 1);
  CHECK(blocks("v_mfma_f32_16x16x4f32") == 1);
  CHECK(blocks("v_mfma_f32_32x32x4f16") == 2);
  CHECK(blocks("v_mfma_f32_32x32x8f16") == 1);
  CHECK(blocks("v_mfma_f32_4x4x4f16") == 16);
  CHECK(blocks("v_mfma_f32_32x32x4bf16") == 1);
  CHECK(blocks("v_mfma_f32_32x32x4bf16_1k") == 2);
  CHECK(blocks("v_mfma_f32_16x16x16bf16_1k") == 1);
  CHECK(blocks("v_mfma_i32_16x16x4i8") == 4);
  CHECK(blocks("v_mfma_f64_4x4x4f64") == 4);
  CHECK_FALSE(parseMatrixOp("v_add_f32", processor("gfx90a")));
  CHECK_FALSE(parseMatrixOp("v_mfma_f32_16x16", processor("gfx90a")));
}

namespace {

/// Elements of an operand that the emulator looks for elsewhere than the source says. `index` gives
/// an element's number in `slots` from its coordinates.
template <class Index>
unsigned differing(const matrix_layouts::Operand &from, const std::vector<Slot> &slots,
                   Index index) {
  unsigned wrong = 0;
  std::set<size_t> seen;
  for (unsigned lane = 0; lane < from.lanes(); ++lane)
    for (unsigned item = 0; item < from.items(); ++item) {
      const size_t at = index(from.at(lane, item));
      REQUIRE(at < slots.size());
      if (!seen.insert(at).second)
        continue; // RDNA3's copy in the other half of the wave
      wrong += slots[at].lane != lane || slots[at].bit != item * from.bits;
    }
  return wrong + static_cast<unsigned>(slots.size() - seen.size());
}

} // namespace

TEST_CASE("operands are where the sources outside say, of every instruction and element") {
  using matrix_layouts::Step;
  unsigned compared = 0;
  for (const char *target : kAllTargets)
    for (const matrix_layouts::Instruction &row : matrix_layouts::instructions())
      for (std::string_view name : row.names) {
        if (!matrix_layouts::has(row, target))
          continue;
        CAPTURE(target, name, row.a.bits);
        MatrixOp op = parseMatrixOp(name, processor(target)).value();
        if (op.anyFormat) { // cbsz and blgp: fp8, fp6, fp4
          const unsigned format = row.a.bits == 8 ? 0 : row.a.bits == 6 ? 2 : 4;
          op = withFormats(op, format, format).value();
        }
        const OperandMaps maps = mapOperands(op);
        CHECK(differing(row.a, maps.a, [&](Step at) {
                return (at.block * op.m + at.i) * maps.storedK + at.k;
              }) == 0);
        CHECK(differing(row.b, maps.b,
                        [&](Step at) { return (at.block * op.n + at.j) * op.k + at.k; }) == 0);
        CHECK(differing(row.d, maps.d,
                        [&](Step at) { return (at.block * op.m + at.i) * op.n + at.j; }) == 0);
        ++compared;
      }
  CHECK(compared > 150);
}

TEST_CASE("every operand element has a place of its own") {
  for (auto [name, target] : {std::pair("v_mfma_f32_32x32x4_2b_bf16", "gfx942"),
                              std::pair("v_mfma_i32_16x16x32_i8", "gfx942"),
                              std::pair("v_mfma_f32_16x16x128_f8f6f4", "gfx950"),
                              std::pair("v_mfma_f32_32x32x64_f8f6f4", "gfx950"),
                              std::pair("v_mfma_f32_16x16x32_f16", "gfx950"),
                              std::pair("v_swmmac_i32_16x16x64_iu4", "gfx1201"),
                              std::pair("v_wmma_f32_16x16x16_bf8_fp8", "gfx1201")}) {
    CAPTURE(name);
    Mapped mapped(name, target);
    for (const std::vector<Slot> *slots : {&mapped.maps.a, &mapped.maps.b, &mapped.maps.d}) {
      std::set<std::pair<unsigned, unsigned>> seen;
      for (Slot slot : *slots) {
        CHECK(slot.lane < mapped.op.lanes());
        seen.insert({slot.lane, slot.bit});
      }
      CHECK(seen.size() == slots->size());
    }
  }
}
