// FlyDSL's preshuffle GEMM: C (m, n) of A (m, k) and preshuffled B (n, k), with a number for each
// row and each column where the elements are of 8 bits; m is no multiple of the tile.
#include "call.h"

using namespace flydsl_programs;

namespace {
constexpr std::int64_t kM = 20, kPaddedM = 32, kN = 64;

void check(const std::string &name, fx::DType dtype, std::int64_t k, const Numbers &x,
           const Numbers &y, fx::DType passedAs) {
  const bool isScaled = dtype.bits() == 8;
  // FlyDSL's kernel reads the factors of a whole tile of rows, past those of the matrix.
  const Numbers rows = isScaled ? uniform(fx::f32, kPaddedM, 13) : Numbers(kPaddedM, 1.0),
                columns = isScaled ? uniform(fx::f32, kN, 14) : Numbers(kN, 1.0);
  const Operand a = Operand::input(dtype, 1, kM * k, x),
                b = Operand::input(dtype, 1, kN * k,
                                   preshuffled(y, kN, static_cast<std::size_t>(k),
                                               static_cast<std::size_t>(dtype.bytes()))),
                scaleA = Operand::input(fx::f32, 1, kPaddedM, rows),
                scaleB = Operand::input(fx::f32, 1, kN, columns),
                c = Operand::output(fx::bf16, 1, kM * kN);
  const fx::TensorArg none = fx::tensor(nullptr, fx::f32, {0}),
                      noBias = fx::tensor(nullptr, fx::bf16, {0});
  call(name, c.vector(), shapedAs(passedAs, a, {kM * k}), shapedAs(passedAs, b, {kN * k}),
       isScaled ? shaped(scaleA, {kM}) : none, isScaled ? scaleB.vector() : none, noBias, kM, kN);
  Numbers expected = product(x, y, kM, kN, static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] *= rows[i / kN] * columns[i % kN];
  expectNear(c.values(), expected, kBf16, static_cast<double>(k) * 0x1p-20);
}
} // namespace

TEST_CASE("preshuffle GEMM of f16") {
  check("gemm_f16", fx::f16, 256, uniform(fx::f16, kM * 256, 1), uniform(fx::f16, kN * 256, 2),
        fx::f16);
}
TEST_CASE("preshuffle GEMM of bf16") {
  check("gemm_bf16", fx::bf16, 256, uniform(fx::bf16, kM * 256, 3), uniform(fx::bf16, kN * 256, 4),
        fx::bf16);
}
TEST_CASE("preshuffle GEMM of fp8") {
  check("gemm_fp8", fp8(), 512, uniform(fp8(), kM * 512, 5), uniform(fp8(), kN * 512, 6), fx::i8);
}
TEST_CASE("preshuffle GEMM of int8") {
  check("gemm_int8", fx::i8, 512, integers(kM * 512, 7, -128, 127),
        integers(kN * 512, 8, -128, 127), fx::i8);
}
