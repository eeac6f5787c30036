// What the author of a kernel reads of a wrong call.
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
using Catch::Contains;

namespace {
/// The message of the TraceError, which stands in this file; "no error" where there is none.
template <class F> std::string errorOf(F call) {
  try {
    call();
  } catch (const fx::TraceError &e) {
    CHECK(e.where().file.ends_with("misuse_test.cpp"));
    CHECK(e.where().line > 0);
    return e.what();
  }
  return "no error";
}
/// The same of a kernel's body, which is given a number.
template <class F> std::string errorIn(F body) {
  const fx::Kernel kernel{"misuse", [body](fx::Int32 x) { body(x); }};
  return errorOf([&] { kernel(1).compile({.block = 64, .arch = "gfx942"}); });
}
} // namespace

TEST_CASE("a seed and an offset are integers of 32 or 64 bits", "[any]") {
  CHECK_THAT(errorIn([](fx::Int32 x) { fx::random::randint(x.to(fx::f32), x); }),
             Contains("a seed is an integer of 32 or 64 bits, not f32; .to(fx::u32) or "
                      ".to(fx::u64) converts"));
  CHECK_THAT(errorIn([](fx::Int32 x) { fx::random::rand4x(7, x.to(fx::f64)); }),
             Contains("an offset is an integer of 32 or 64 bits, not f64"));
  CHECK_THAT(errorIn([](fx::Int32 x) { fx::random::randn(1.5, x); }),
             Contains("a seed is an integer of 32 or 64 bits, not f64"));
  CHECK_THAT(errorIn([](fx::Int32 x) { fx::random::randn4x(x, x.to(fx::i16)); }),
             Contains("an offset is an integer of 32 or 64 bits, not i16"));
  CHECK_THAT(errorIn([](fx::Int32 x) { fx::random::rand(x > 0, x); }),
             Contains("a seed is an integer of 32 or 64 bits, not boolean"));
  CHECK_THAT(
      errorIn([](fx::Int32 x) { fx::random::randint4x(1, fx::Vector::splat(x, 4).to(fx::f16)); }),
      Contains("an offset is an integer of 32 or 64 bits, not f16"));
}

TEST_CASE("Philox's words are all of one unsigned type", "[any]") {
  CHECK_THAT(
      errorIn([](fx::Int32 x) { fx::random::philox(std::array{x, x, x, x}, std::array{x, x}); }),
      Contains("Philox's counter and key are all of u32 or all of u64, not of i32"));
  CHECK_THAT(errorIn([](fx::Int32 x) {
               auto narrow = x.to<fx::UInt32>();
               auto wide = x.to<fx::UInt64>();
               fx::random::philox(std::array{narrow, narrow, narrow, narrow},
                                  std::array{wide, wide});
             }),
             Contains("Philox's counter and key are all of u32 or all of u64, not of u32 and u64"));
}

TEST_CASE("Philox takes a round or more", "[any]") {
  const std::string text = "Philox takes 1 round or more, 10 as a rule, not ";
  CHECK_THAT(errorIn([](fx::Int32 x) { fx::random::randint(1, x, 0); }), Contains(text + "0"));
  CHECK_THAT(errorOf([] { fx::random::randint(1, 2, -3); }), Contains(text + "-3"));
  CHECK_THAT(errorOf([] {
               fx::random::philox(std::array<std::uint64_t, 4>(), std::array<std::uint64_t, 2>(),
                                  0);
             }),
             Contains(text + "0"));
}

TEST_CASE("stochastic rounding says which types and bits it takes", "[any]") {
  auto round = [](auto value, auto bits, fx::DType type) {
    return errorIn([=](fx::Int32 x) { fx::random::round_stochastic(value(x), bits(x), type); });
  };
  auto number = [](fx::Int32 x) { return x.to(fx::f32); };
  auto word = [](fx::Int32 x) { return x; };
  auto four = [](fx::Int32 x) { return fx::Vector::splat(x, 4); };
  auto fourNumbers = [](fx::Int32 x) { return fx::Vector::splat(x, 4).to(fx::f32); };
  CHECK_THAT(round(number, word, fx::f32),
             Contains("round_stochastic rounds to f16, bf16, f8E4M3FN, f8E5M2, f8E4M3FNUZ or "
                      "f8E5M2FNUZ, not to f32"));
  CHECK_THAT(round(number, word, fx::i8), Contains("not to i8"));
  CHECK_THAT(round(number, word, fx::f4E2M1FN), Contains("not to f4E2M1FN"));
  CHECK_THAT(round(word, word, fx::bf16),
             Contains("round_stochastic takes a value of f32, f16 or bf16, not of i32; "
                      ".to(fx::f32) converts"));
  CHECK_THAT(round([](fx::Int32 x) { return x.to(fx::f64); }, word, fx::bf16),
             Contains("not of f64"));
  CHECK_THAT(round(number, number, fx::bf16),
             Contains("round_stochastic takes random bits as integers of 32 bits, not as f32; "
                      "fx::random::randint4x gives such"));
  CHECK_THAT(
      round(number, [](fx::Int32 x) { return x.to(fx::u64); }, fx::bf16), Contains("not as u64"));
  CHECK_THAT(round(fourNumbers, word, fx::bf16),
             Contains("round_stochastic takes one word of random bits for each element: the value "
                      "is of 4 elements, the bits are of a scalar"));
  CHECK_THAT(round(number, four, fx::bf16),
             Contains("the value is of a scalar, the bits are of 4 elements"));
  CHECK_THAT(round(
                 fourNumbers, [](fx::Int32 x) { return fx::Vector::splat(x, 3); }, fx::bf16),
             Contains("the value is of 4 elements, the bits are of 3 elements"));
}
