// Mistakes in a kernel, and what their author reads.
#include "trace_text.h"

#include <catch2/catch.hpp>

#include <optional>

namespace fx = flydsl;
using fx::_;
using namespace trace_test;

namespace {
/// The error of tracing `body`; its line is that of the body's only statement of interest.
template <class F> std::string errorOf(F body, std::vector<ArgType> types = {}) {
  try {
    traceText(body, types);
  } catch (const fx::TraceError &e) {
    CHECK(e.where().file.find("test_errors.cpp") != std::string::npos);
    CHECK(e.where().line > 0);
    return e.what();
  }
  return "no error";
}
} // namespace

TEST_CASE("a tile of another rank names the operation and both operands") {
  std::string e = errorOf([](fx::Tensor a) { fx::flat_divide(a, fx::make_tile(8, 8, 8)); },
                          {matrixArg(fx::f32)});
  CHECK_THAT(e, Catch::Contains("flat_divide") && Catch::Contains("[8|8|8]") &&
                    Catch::Contains("(?,?):(?{i64},1)"));
}

TEST_CASE("a coordinate of another profile is refused") {
  std::string e = errorOf([](fx::Tensor a) { fx::Numeric x = a(1, 2, 3); }, {matrixArg(fx::f32)});
  CHECK_THAT(e, Catch::Contains("(1,2,3)"));
}

TEST_CASE("what has no number known while tracing has no value()") {
  std::string e = errorOf([](fx::Tensor a) { fx::size(a).value(); }, {matrixArg(fx::f32)});
  CHECK_THAT(e, Catch::Contains("value()") && Catch::Contains("!fly.int_tuple<?>"));
}

TEST_CASE("a value of one kernel is refused in another and on the host") {
  std::optional<fx::Int32> kept;
  traceText([&](fx::Int32 n) { kept.emplace(n + 1); }, {scalarArg(fx::i32)});
  std::string e = errorOf([&](fx::Int32 n) { fx::Numeric x = n + *kept; }, {scalarArg(fx::i32)});
  CHECK_THAT(e, Catch::Contains("another kernel") && Catch::Contains("test_errors.cpp"));
  CHECK_THROWS_WITH(fx::make_layout({*kept, 2}, {2, 1}), Catch::Contains("outside of the kernel"));
}

TEST_CASE("a static argument with a kernel's value in it is refused") {
  std::string e = errorOf([](fx::Int32 n) { fx::make_layout({n, 2}, {2, 1}).static_arg(); },
                          {scalarArg(fx::i32)});
  CHECK_THAT(e, Catch::Contains("static argument"));
}

TEST_CASE("the verifier's word comes with the user's line") {
  std::string e = errorOf(
      [](fx::Tensor a, fx::Tensor b) {
        fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), a, b);
      },
      {arrayArg(fx::f32, 4), arrayArg(fx::f16, 4)});
  CHECK_THAT(e, Catch::Contains("fly.copy"));
}

TEST_CASE("an exception of the user's passes through") {
  CHECK_THROWS_WITH(traceText([] { throw std::runtime_error("mine"); }), "mine");
  // ... and leaves nothing behind: the next trace works.
  CHECK_IR(traceText([] {}), "gpu.return");
}
