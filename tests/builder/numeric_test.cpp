// Scalars and vectors: constants, promotion, operators, conversions.
#include "errors_at.h"

#include <catch2/catch.hpp>

#include <limits>

namespace fx = flydsl;
using namespace trace_test;

TEST_CASE("arithmetic on integers traces to its operations") {
  std::string ir = traceText(
      [](fx::Tensor out, fx::Int32 a, fx::UInt32 u, fx::Int64 w) {
        out(0) = a + 1;
        out(1) = 7 - a * a / 3 % 5;
        out(2) = (a << 2) >> 1;
        out(3) = (u >> 1).to(fx::i32);
        out(4) = (w + a).to(fx::i32);
        out(5) = fx::select(a < 3 && u < 4, a, 9);
        out(6) = fx::min(a, 4) + fx::ceildiv(a, 8) + -a;
        out(7) = ~a & 0xff;
        out(8) = a;
        out(9) = 12;
      },
      {arrayArg(fx::i32, 10), scalarArg(fx::i32), scalarArg(fx::u32), scalarArg(fx::i64)});
  CHECK_IR(ir, "arith.addi", "arith.muli", "arith.divsi", "arith.remsi", "arith.subi", "arith.shli",
           "arith.shrsi", "arith.shrui", "arith.extsi", ": i32 to i64", "arith.trunci",
           "arith.cmpi slt", "arith.cmpi ult", "arith.andi", "arith.select", "arith.minsi",
           "arith.ceildivsi", "arith.subi", "arith.xori", "arith.andi", "gpu.return");
  CHECK_IR(ir, "arith.constant 12 : i32");
  CHECK(countOf(ir, "fly.memref.load") == 0);
}

TEST_CASE("arithmetic on floats traces to its operations") {
  std::string ir = traceText(
      [](fx::Tensor out, fx::Float32 a, fx::Float64 d, fx::Int32 i) {
        out(0) = a * 2 + 0.5;
        out(1) = (d + a).to(fx::f32);
        out(2) = (a + i) / 3.0f;
        out(3) = fx::max(a, -a);
        out(4) = fx::select(a != 1.0f, a, 2.0f);
        out(5) = a.to(fx::f16).to(fx::bf16).to(fx::f32);
        out(6) = i.bitcast(fx::f32);
        out(7) = a.to(fx::u8).to(fx::f32);
      },
      {arrayArg(fx::f32, 8), scalarArg(fx::f32), scalarArg(fx::f64), scalarArg(fx::i32)});
  CHECK_IR(ir, "arith.mulf", "arith.addf", "arith.extf", "f32 to f64", "arith.truncf",
           "arith.sitofp", "arith.divf", "arith.negf", "arith.maxnumf", "arith.cmpf une",
           "arith.truncf", "f32 to f16", "arith.extf", "f16 to f32", "arith.truncf", "f32 to bf16",
           "arith.bitcast", "arith.fptoui", "arith.uitofp");
}

TEST_CASE("arithmetic on vectors traces to its operations") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Tensor h) {
        fx::Vector v = a.load();
        CHECK(v.size() == 4);
        CHECK(v.dtype() == fx::f32);
        a.store(v * 2 + v[0]);
        a.fill(1);
        h.store(fx::max(v, 0).to(fx::f16));
        a(0) = v.reduce(fx::Reduction::add);
        fx::Vector bits = v.bitcast(fx::i16);
        CHECK(bits.size() == 8);
        a.store(fx::Vector::of({v[3], v[2], v[1], v[0]}));
        a.store(v.shuffle(v, {0, 4, 1, 5}));
        a.store(fx::select(v < 0, -v, v));
      },
      {arrayArg(fx::f32, 4), arrayArg(fx::f16, 4)});
  CHECK_IR(ir, "fly.memref.load_vec", "vector.broadcast", "arith.mulf", "vector<4xf32>",
           "vector.extract", "arith.addf", "fly.memref.store_vec", "vector.broadcast",
           "arith.maxnumf", "arith.truncf", "vector<4xf32> to vector<4xf16>",
           "vector.reduction <add>", "vector.bitcast", "vector<8xi16>", "vector.from_elements",
           "vector.shuffle", "[0, 4, 1, 5]", "arith.cmpf olt", "arith.select");
}

TEST_CASE("fast math is a hint of the kernel") {
  fx::KernelHints hints;
  hints.fast_math = true;
  auto body = [](fx::Tensor out, fx::Float32 a) { out(0) = a * a + 1; };
  std::vector<ArgType> types{arrayArg(fx::f32, 1), scalarArg(fx::f32)};
  CHECK_IR(traceText(body, types, false, {64, 1, 1}, hints), "arith.mulf", "fastmath<fast>",
           "arith.addf", "fastmath<fast>");
  CHECK(countOf(traceText(body, types), "fastmath") == 0);
}

TEST_CASE("fast math holds in its scope alone") {
  std::string ir = traceText(
      [](fx::Tensor out, fx::Float32 a) {
        fx::Numeric x = a + 1;
        {
          fx::FastMathScope scope(fx::FastMath::contract | fx::FastMath::nnan);
          out(0) = x * 2;
          {
            fx::FastMathScope exact(fx::FastMath::none);
            out(1) = a - 2;
          }
          out(2) = fx::math::exp(a);
        }
        out(3) = a / 3;
      },
      {arrayArg(fx::f32, 4), scalarArg(fx::f32)});
  CHECK_IR(ir, "arith.addf %arg1, %cst", "arith.mulf", "fastmath<nnan,contract>", "arith.subf",
           "math.exp", "fastmath<nnan,contract>", "arith.divf");
  CHECK(countOf(ir, "fastmath") == 2);
}

TEST_CASE("a scope of fast math adds to what is permitted around it; none takes all away") {
  fx::KernelHints hints;
  hints.fast_math = true;
  const auto body = [](fx::Tensor out, fx::Float32 a) {
    fx::FastMathScope contracted(fx::FastMath::contract);
    out(0) = a + 1;
    {
      fx::FastMathScope approximate(fx::FastMath::afn);
      out(1) = a * 2;
      {
        fx::FastMathScope exact(fx::FastMath::none);
        out(2) = a - 3;
        fx::FastMathScope reciprocal(fx::FastMath::arcp);
        out(3) = a / 3;
      }
    }
    out(4) = a + 5;
  };
  const std::vector<ArgType> types{arrayArg(fx::f32, 5), scalarArg(fx::f32)};
  const std::string ir = traceText(body, types);
  CHECK_IR(ir, "arith.addf", "fastmath<contract>", "arith.mulf", "fastmath<contract,afn>",
           "arith.subf", "arith.divf", "fastmath<arcp>", "arith.addf", "fastmath<contract>");
  CHECK(countOf(ir, "fastmath") == 4);
  CHECK_IR(traceText(body, types, false, {64, 1, 1}, hints), "arith.addf", "fastmath<fast>",
           "arith.mulf", "fastmath<fast>", "arith.subf", "arith.divf", "fastmath<arcp>",
           "arith.addf", "fastmath<fast>");
}

TEST_CASE("functions, classes and bits of floats trace to their operations") {
  std::string ir = traceText(
      [](fx::Tensor out, fx::Float32 a, fx::Int32 n) {
        fx::Vector v = out.load();
        out(0) = fx::math::cbrt(a) + fx::math::erfc(a) + fx::math::acosh(a);
        out.store(fx::math::atan2(v, a));
        out(1) = fx::math::fma(a, 2, n.to(fx::f32));
        out(2) = fx::select(fx::math::isnan(a) || fx::math::isinf(a), 0.0f, a);
        out(3) = (fx::math::ctlz(n) + fx::math::pow(n, 5) + fx::math::pow(n, n)).to(fx::f32);
        out(4) = fx::math::sin(a.to(fx::bf16)).to(fx::f32);
        out(5) = a.to(fx::f8E4M3FN).to(fx::f16).to(fx::f4E2M1FN).to(fx::f32);
      },
      {arrayArg(fx::f32, 8), scalarArg(fx::f32), scalarArg(fx::i32)});
  CHECK_IR(ir, "math.cbrt", "math.erfc", "math.acosh", "vector.broadcast", "math.atan2",
           "vector<8xf32>", "math.fma", "arith.cmpf uno", "math.absf", "arith.cmpf oeq",
           "arith.ori", "math.ctlz", "arith.muli", "arith.muli", "arith.muli", "scf.while",
           "arith.truncf", "f32 to bf16", "arith.extf", "bf16 to f32", "math.sin", "arith.truncf",
           "f32 to f8E4M3FN", "arith.extf", "f8E4M3FN to f32", "f32 to f16", "arith.extf",
           "f16 to f32", "f32 to f4E2M1FN");
}

TEST_CASE("&& and || of numbers ask whether they are not 0, as C++ does") {
  std::string ir = traceText(
      [](fx::Tensor out, fx::Int32 a, fx::Float32 f) {
        out(0) = fx::select(a && f, 1.0f, 2.0f);
        out(1) = fx::select(a > 1 || true, 1.0f, 2.0f);
      },
      {arrayArg(fx::f32, 2), scalarArg(fx::i32), scalarArg(fx::f32)});
  CHECK_IR(ir, "arith.cmpi ne", "arith.cmpf une", "arith.andi", ": i1", "arith.cmpi sgt",
           "arith.ori", ": i1");
}

TEST_CASE("an element changes in place, read once and written once") {
  std::string ir = traceText(
      [](fx::Tensor out, fx::Int32 i) {
        out(i) += 2;
        out(i) -= out(0);
        out(i) *= 1.5f;
      },
      {arrayArg(fx::f32, 4), scalarArg(fx::i32)});
  CHECK_IR(ir, "fly.memref.load", "arith.addf", "fly.memref.store", "arith.subf",
           "fly.memref.store", "arith.mulf", "fly.memref.store");
  CHECK(countOf(ir, "fly.memref.load") == 4);
  CHECK(countOf(ir, "fly.memref.store") == 3);
  ir = traceText(
      [](fx::Tensor out, fx::Int32 i) {
        out(i) /= 3;
        out(i) %= 5;
        out(i) &= 6;
        out(i) |= i;
        out(i) ^= 1;
        out(i) <<= 2;
        out(i) >>= 1;
      },
      {arrayArg(fx::i32, 4), scalarArg(fx::i32)});
  CHECK_IR(ir, "arith.divsi", "arith.remsi", "arith.andi", "arith.ori", "arith.xori", "arith.shli",
           "arith.shrsi");
  // The result has the element's type, or the way out is told.
  CHECK_THROWS_WITH(traceText([](fx::Tensor out, fx::Float32 f) { out(0) += f; },
                              {arrayArg(fx::f16, 4), scalarArg(fx::f32)}),
                    Catch::Contains("numeric_test.cpp:") &&
                        Catch::Contains("an element of f16 is given f32; .to(fx::f16) converts"));
  CHECK_THROWS_WITH(traceText([](fx::Tensor out) { out(0) |= 1; }, {arrayArg(fx::f32, 4)}),
                    Catch::Contains("operator | takes integers, not f32"));
}

TEST_CASE("wrong numbers are refused") {
  auto refuses = [](auto body, const char *what) {
    CHECK_THROWS_WITH(traceText(body, {arrayArg(fx::f32, 4), scalarArg(fx::i32)}),
                      Catch::Contains(what) && Catch::Contains("numeric_test.cpp:"));
  };
  refuses([](fx::Tensor out, fx::Int32 a) { out(0) = a; }, "an element of f32 is given i32");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float32 f = a; },
          "expected a scalar of f32, got i32");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Int8 b = 300; }, "300 does not fit i8");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float16 b = 70000; },
          "70000 does not fit f16; it would become infinite");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float16(1) * 1e6f; }, "does not fit f16");
  refuses([](fx::Tensor out, fx::Int32 a) { out.fill(-1e39); }, "does not fit f32");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float8E4M3FN b = 1000; },
          "1000 does not fit f8E4M3FN; it would become NaN");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float8E5M2 b = -1e6; },
          "does not fit f8E5M2; it would become infinite");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float4E2M1FN b = 7; },
          "7 does not fit f4E2M1FN, whose largest is 6");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float8E8M0FNU b = -1; },
          "-1 does not fit f8E8M0FNU, whose numbers are powers of two");
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  nan = std::numeric_limits<float>::quiet_NaN();
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float8E4M3FN b = infinity; },
          "inf does not fit f8E4M3FN; it would become NaN");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float4E2M1FN b = -infinity; },
          "-inf does not fit f4E2M1FN, whose largest is 6");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float4E2M1FN b = nan; },
          "nan does not fit f4E2M1FN, which has no NaN");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::Float32(1.0f) & 3; }, "takes integers");
  refuses([](fx::Tensor out, fx::Int32 a) { out.store(out.load().to(fx::f16)); }, "f16");
  refuses([](fx::Tensor out, fx::Int32 a) { out.load().at(4); }, "element 4");
  refuses([](fx::Tensor out, fx::Int32 a) { a.bitcast(fx::f64); }, "differ in width");
  refuses([](fx::Tensor out, fx::Int32 a) { out.load()[7]; }, "element 7");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::math::exp(a); }, "exp takes floats, not i32");
  refuses([](fx::Tensor out, fx::Int32 a) { fx::math::ctlz(out(0)); }, "ctlz takes integers");
  refuses([](fx::Tensor out, fx::Int32 a) { a.to(fx::f8E5M2) + 1; }, "for storage");
}

TEST_CASE("infinities and the largest numbers are numbers of a float's type") {
  std::string ir = traceText(
      [](fx::Tensor out) {
        out(0) = std::numeric_limits<float>::infinity();
        out(1) = 65504.0f;
        out(2) = 65519; // rounds to 65504
        out(3) = std::numeric_limits<double>::quiet_NaN();
      },
      {arrayArg(fx::f16, 4)});
  CHECK_IR(ir, "0x7C00 : f16", "6.550400e+04 : f16");
}

TEST_CASE("A right side for which an operator has no result is refused") {
  struct Row {
    std::function<void(const fx::Int32 &)> body;
    const char *part;
  };
  const Row rows[] = {
      {[](const fx::Int32 &n) { n / 0; }, "operator / of i32 by 0 has no result"},
      {[](const fx::Int32 &n) { n % 0; }, "operator % of i32 by 0 has no result"},
      {[](const fx::Int32 &n) { n / fx::Int32(0); }, "divided by any but 0"},
      {[](const fx::Int32 &n) { fx::floordiv(n, 0); }, "operator floordiv of i32 by 0"},
      {[](const fx::Int32 &n) { fx::ceildiv(n, 0); }, "has a positive divisor"},
      {[](const fx::Int32 &n) { fx::ceildiv(n, -2); }, "operator ceildiv of i32 by -2"},
      {[](const fx::Int32 &n) { n << 32; }, "32 bits are shifted by 0 to 31"},
      {[](const fx::Int32 &n) { n >> -1; }, "operator >> of i32 by -1 has no result"},
      {[](const fx::Int32 &n) { n.to(fx::i8) << 8; }, "8 bits are shifted by 0 to 7"},
      {[](const fx::Int32 &n) { fx::Vector::splat(n, 4) / 0; }, "operator / of i32 by 0"},
      {[](const fx::Int32 &n) { fx::Var<fx::Int32>(n) <<= 99; }, "operator << of i32 by 99"},
  };
  for (const Row &row : rows)
    CHECK_THAT(errorOf([&](fx::Int32 n) { row.body(n); }, {scalarArg(fx::i32)}),
               Catch::Contains(row.part));
  auto fine = [](fx::Int32 n) {
    n / -1, n % 7, n << 31, n.to(fx::i64) << 63, fx::floordiv(n, -2), 0 / n;
    n.to(fx::f32) / 0.0f; // an infinity, or a NaN
  };
  CHECK(errorOf(fine, {scalarArg(fx::i32)}) == "no error");
}
