// What programs ask about matrix instructions, without a compiler. That the layouts are the
// hardware's is tested where the dialect's atoms are compared with sources outside
// (tests/dialect/atoms); here a few places are, and that each layout is one.
#include "target/matrix_instructions.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <vector>

using namespace flydsl;
using rocdl::MatrixProduct;
using rocdl::ThreadValues;

namespace {

/// The first product of 16 x 16 of these types and sums in `acc`.
MatrixProduct square(const char *target, DType a, DType b, DType acc) {
  for (const MatrixProduct &product : rocdl::matrix_products(Target::parse(target), a, b))
    if (product.m == 16 && product.n == 16 && product.acc == acc)
      return product;
  FAIL("no product on " << target);
  return {};
}

struct Place {
  int row, column;
  friend bool operator==(const Place &, const Place &) = default;
};
Place placeOf(const ThreadValues &layout, int rows, int lane, int value) {
  const int element = layout(lane, value);
  return {element % rows, element / rows};
}

} // namespace

TEST_CASE("the lanes of each instruction hold each element as often as its layout says") {
  int known = 0;
  for (const Target &target : Target::all())
    for (const detail::MatrixInstruction &row : detail::matrixInstructions())
      for (const MatrixProduct &product : rocdl::matrix_products(target, row.a, row.b)) {
        INFO(target.name() << ": " << product.name);
        CHECK(target.has(product.feature));
        const auto expectCovered = [&](const ThreadValues &layout, int elements) {
          if (!layout.is_known())
            return;
          ++known;
          REQUIRE(layout.lane_count() == product.lanes);
          std::vector<int> holders(static_cast<std::size_t>(elements));
          for (int lane = 0; lane < layout.lane_count(); ++lane)
            for (int value = 0; value < layout.value_count(); ++value)
              ++holders.at(static_cast<std::size_t>(layout(lane, value)));
          CHECK(holders == std::vector<int>(holders.size(), layout.copies()));
        };
        expectCovered(product.layout_a, product.m * product.k);
        expectCovered(product.layout_b, product.n * product.k);
        expectCovered(product.layout_c, product.m * product.n);
      }
  CHECK(known > 1000);
}

TEST_CASE("a program finds an instruction, and which lane holds what") {
  // AMD's matrix instruction calculator, v_mfma_f32_16x16x16_f16: A[i][k] is with lane
  // i + 16 * (k / 4) as value k % 4; D[i][j] with lane j + 16 * (i / 4) as value i % 4.
  const MatrixProduct cdna = square("gfx942", f16, f16, f32);
  CHECK(cdna.name == "mfma.f32.16x16x16f16");
  CHECK(cdna.k == 16);
  CHECK(cdna.lanes == 64);
  CHECK(cdna.lanes_of_row() == 4);
  CHECK(cdna.registers_a == 2);
  CHECK(cdna.registers_c == 4);
  CHECK_FALSE(cdna.is_scaled());
  CHECK(placeOf(cdna.layout_a, 16, 35, 1) == Place{3, 9});
  CHECK(placeOf(cdna.layout_c, 16, 35, 1) == Place{9, 3});
  CHECK(cdna.layout_c.run(1) == 4);
  // RDNA 3's manual, "WMMA": both halves of the wave hold all of A and B, and take the even and the
  // odd rows of D.
  const MatrixProduct rdna3 = square("gfx1100", f16, f16, f32);
  CHECK(rdna3.lanes_of_row() == 1);
  CHECK(rdna3.layout_a.copies() == 2);
  CHECK(rdna3.registers_a == 8);
  CHECK(placeOf(rdna3.layout_a, 16, 19, 5) == Place{3, 5});
  CHECK(placeOf(rdna3.layout_c, 16, 19, 5) == Place{11, 3});
  CHECK(rdna3.layout_c.run(1) == 1);
  CHECK(rdna3.layout_c.run(2) == 8);
  // RDNA 4's manual: lanes 16 to 31 hold rows 8 to 15 of D.
  const MatrixProduct rdna4 = square("gfx1201", i8, i8, i32);
  CHECK(rdna4.lanes_of_row() == 2);
  CHECK(rdna4.layout_a.copies() == 1);
  CHECK(placeOf(rdna4.layout_c, 16, 19, 5) == Place{13, 3});
  CHECK(rdna4.layout_c.run(1) == 8);
}

TEST_CASE("products of a target come with the largest k first, of its formats alone") {
  const Target gfx950 = Target::parse("gfx950");
  const std::vector<MatrixProduct> all = rocdl::matrix_products(gfx950, f8E4M3FN, f8E5M2);
  REQUIRE(all.size() == 4);
  CHECK(all[0].k == 128);
  CHECK(all[0].is_scaled());
  CHECK(all[0].scale_block == 32);
  for (std::size_t i = 1; i < all.size(); ++i)
    CHECK(all[i - 1].k >= all[i].k);
  CHECK(rocdl::matrix_products(gfx950, f8E4M3FNUZ, f8E4M3FNUZ).empty());
  CHECK(rocdl::matrix_products(gfx950, f16, bf16).empty());
  CHECK(rocdl::matrix_products(Target::parse("gfx1100"), f8E4M3FN, f8E4M3FN).empty());
  // The instructions of several blocks count the columns of all; those of f64 are no atoms.
  bool wide = false;
  for (const MatrixProduct &product : rocdl::matrix_products(gfx950, f16, f16))
    wide |= product.m == 4 && product.n == 64 && product.k == 4;
  CHECK(wide);
  CHECK(rocdl::matrix_products(gfx950, f64, f64).size() == 1);
  // What is not published is not made up.
  bool tall = false;
  for (const MatrixProduct &product :
       rocdl::matrix_products(Target::parse("gfx1250"), f4E2M1FN, f4E2M1FN))
    if (product.m == 32) {
      tall = true;
      CHECK_FALSE(product.layout_a.is_known());
      CHECK(product.layout_a.value_count() == 0);
      CHECK(product.lanes_of_row() == 0);
    }
  CHECK(tall);
  CHECK_THROWS_WITH(rocdl::matrix_products(Target(), f16, f16),
                    Catch::Contains("no target is given"));
}
