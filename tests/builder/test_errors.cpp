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

TEST_CASE("a copy converts nothing") {
  for (fx::DType other : {fx::f16, fx::i32, fx::bf16}) {
    std::string e = errorOf(
        [](fx::Tensor a, fx::Tensor b) {
          fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), a, b);
        },
        {arrayArg(fx::f32, 4), arrayArg(other, 4)});
    CHECK_THAT(e, Catch::Contains("fly.copy") &&
                      Catch::Contains("does not convert f32 to " + std::string(other.name())));
  }
}

TEST_CASE("a copy's sides agree in rank and are known in shape") {
  std::string e = errorOf(
      [](fx::Tensor a) {
        auto b = fx::make_rmem_tensor(fx::make_shape(2, 2), fx::f32);
        fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), a, b);
      },
      {arrayArg(fx::f32, 4)});
  CHECK_THAT(e, Catch::Contains("differ in rank, 1 and 2") && Catch::Contains("test_errors.cpp"));
  e = errorOf(
      [](fx::Tensor a, fx::Int32 n) {
        auto part = fx::make_view(a.iter(), fx::make_layout(fx::make_shape(n), fx::make_stride(1)));
        auto b = fx::make_rmem_tensor(fx::make_shape(3), fx::f32);
        fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), part, b);
      },
      {arrayArg(fx::f32, 4), scalarArg(fx::i32)});
  CHECK_THAT(e, Catch::Contains("both shapes are known while tracing") &&
                    Catch::Contains("test_errors.cpp"));
}

TEST_CASE("a wrong partition names the tiling and the tensor") {
  std::string e = errorOf(
      [](fx::Tensor a) {
        auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
        auto tiled = fx::make_tiled_copy_tv(atom, fx::make_layout({8, 8}, {8, 1}),
                                            fx::make_layout({1, 1}, {1, 1}));
        tiled.get_slice(0).partition_S(a);
      },
      {arrayArg(fx::f32, 64)});
  CHECK_THAT(e, Catch::Contains("partition_src") && Catch::Contains("f32, global, (64):(1)"));
}

TEST_CASE("what does not divide is refused with both sides") {
  std::string e =
      errorOf([] { fx::composition(fx::make_layout({4, 6}, {1, 10}), fx::make_layout(6, 1)); });
  CHECK_THAT(e, Catch::Contains("(4,6):(1,10)") && Catch::Contains("6:1"));
}

TEST_CASE("a binding of another rank is refused") {
  std::string e = errorOf([](fx::Tensor a) { auto [m, n, k] = fx::unpack<3>(a.shape()); },
                          {matrixArg(fx::f32)});
  CHECK_THAT(e, Catch::Contains("a tuple of 3 modes") && Catch::Contains("of 2"));
}

TEST_CASE("operators without room for a place name the user's line all the same") {
  auto [line, e] = [] {
    try {
      traceText(
          [](fx::Tensor a) {
            (void)a.shape()[5]; // the line that is named
          },
          {matrixArg(fx::f32)});
    } catch (const fx::TraceError &error) {
      return std::pair(error.where(), std::string(error.what()));
    }
    return std::pair(fx::SourceLocation(), std::string());
  }();
  INFO(e);
  CHECK(line.file.find("test_errors.cpp") != std::string::npos);
  errorOf([](fx::Tensor a) { (void)a.layout()[7]; }, {matrixArg(fx::f32)});
  errorOf([](fx::Tensor a) { (void)a.load()[2]; }, {arrayArg(fx::f32, 2)});
  errorOf([](fx::Tensor a) { (void)fx::make_tile(4, 4)[3]; }, {matrixArg(fx::f32)});
  errorOf(
      [](fx::Tensor a) {
        (void)a.iter().load().dtype();
        (void)fx::make_layout(4, 1).shape().at(2);
      },
      {matrixArg(fx::f32)});
}

TEST_CASE("a buffer of more than 4 GiB is refused") {
  std::string e = errorOf([](fx::Tensor a) { fx::rocdl::make_buffer_tensor(a); },
                          {arrayArg(fx::f32, std::int64_t(1) << 31)});
  CHECK_THAT(e, Catch::Contains("4 GiB") && Catch::Contains("2147483648 elements"));
  ArgType large = matrixArg(fx::f32);
  large.large = true;
  e = errorOf([](fx::Tensor a) { fx::rocdl::make_buffer_tensor(a); }, {large});
  CHECK_THAT(e, Catch::Contains("spans 4 GiB or more") && Catch::Contains("tile first"));
  // A part of it is measured when the kernel runs.
  auto part = [](fx::Tensor a) {
    fx::rocdl::make_buffer_tensor(fx::flat_divide(a, fx::make_tile(8, 8))(_, _, 0, 0));
  };
  CHECK_IR(traceText(part, {large}), "arith.cmpi sgt", "scf.if", "llvm.trap", "fly.make_ptr");
  CHECK(countOf(traceText(part, {matrixArg(fx::f32)}), "llvm.trap") == 0);
  e = errorOf(
      [](fx::Tensor a) {
        fx::rocdl::make_buffer_ptr(a.iter(),
                                   {.num_records_bytes = fx::Int64(std::int64_t(1) << 32)});
      },
      {matrixArg(fx::f32)});
  CHECK_THAT(e, Catch::Contains("bound has 32 bits"));
}

TEST_CASE("an exception of the user's passes through") {
  CHECK_THROWS_WITH(traceText([] { throw std::runtime_error("mine"); }), "mine");
  // ... and leaves nothing behind: the next trace works.
  CHECK_IR(traceText([] {}), "gpu.return");
}
