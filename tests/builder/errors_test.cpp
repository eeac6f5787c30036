// Mistakes in a kernel, and the messages for them.
#include "trace_text.h"

#include <catch2/catch.hpp>

#include <functional>
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
    CHECK(e.where().file.find("errors_test.cpp") != std::string::npos);
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
  CHECK_THAT(e, Catch::Contains("another kernel") && Catch::Contains("errors_test.cpp"));
  CHECK_THROWS_WITH(fx::make_layout({*kept, 2}, {2, 1}), Catch::Contains("outside of the kernel"));
}

TEST_CASE("a parameter that leaves its kernel is told by its number and its kernel") {
  std::optional<fx::Int32> kept;
  std::optional<fx::Tensor> tensor;
  traceText(
      [&](fx::Tensor t, fx::Int32 n) {
        tensor.emplace(t);
        kept.emplace(n);
      },
      {arrayArg(fx::f32, 4), scalarArg(fx::i32)});
  std::string e = errorOf([&](fx::Int32 n) { fx::Numeric x = n + *kept; }, {scalarArg(fx::i32)});
  CHECK_THAT(e, Catch::Contains("uses a value of another kernel, parameter 1 of kernel k;"));
  e = errorOf([&](fx::Int32 n) { fx::Numeric x = (*tensor)(n); }, {scalarArg(fx::i32)});
  CHECK_THAT(e, Catch::Contains("parameter 0 of kernel k"));
  CHECK_THROWS_WITH(fx::make_layout({*kept, 2}, {2, 1}),
                    Catch::Contains("a value, parameter 1 of kernel k, is used outside of the "
                                    "kernel that made it"));

  // A kernel object knows its own place too.
  std::optional<fx::Int32> first;
  traceSpec({"leaky",
             [&](fx::ParamReader &from) { first.emplace(fx::ArgTraits<fx::Int32>::make(from)); },
             {},
             std::source_location::current()},
            {scalarArg(fx::i32)}, {64, 1, 1}, false);
  e = errorOf([&](fx::Int32 n) { fx::Numeric x = n + *first; }, {scalarArg(fx::i32)});
  CHECK_THAT(e, Catch::Contains("parameter 0 of kernel leaky of ") &&
                    Catch::Contains("errors_test.cpp:" + std::to_string(__LINE__ - 4)));
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
    CHECK_THAT(e, Catch::Contains("copy from !fly.memref<f32") &&
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
  CHECK_THAT(e, Catch::Contains("differ in rank, 1 and 2") && Catch::Contains("errors_test.cpp"));
  e = errorOf(
      [](fx::Tensor a, fx::Int32 n) {
        auto part = fx::make_view(a.iter(), fx::make_layout(fx::make_shape(n), fx::make_stride(1)));
        auto b = fx::make_rmem_tensor(fx::make_shape(3), fx::f32);
        fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), part, b);
      },
      {arrayArg(fx::f32, 4), scalarArg(fx::i32)});
  CHECK_THAT(e, Catch::Contains("both shapes are known while tracing") &&
                    Catch::Contains("errors_test.cpp"));
}

TEST_CASE("a view reaches no further than its array") {
  auto body = [](auto layout) {
    return [layout] { fx::SharedAllocator().allocate<fx::Array<fx::Float32, 64>>().view(layout); };
  };
  std::string e = errorOf(body(fx::make_layout({8, 8}, {9, 1})));
  CHECK_THAT(e, Catch::Contains("(8,8):(9,1) reaches 71 elements") &&
                    Catch::Contains("the array has 64"));
  e = errorOf(body(fx::make_composed_layout(fx::Swizzle(2, 0, 3), fx::make_layout({8, 9}))));
  CHECK_THAT(e, Catch::Contains("reaches 72 elements"));
  CHECK(errorOf(body(fx::make_layout({8, 8}, {8, 1}))) == "no error");
}

TEST_CASE("a buffer copy without a buffer says how to make one") {
  std::string e = errorOf(
      [](fx::Tensor a) {
        auto b = fx::make_rmem_tensor(4, fx::f32);
        fx::copy(fx::make_copy_atom(fx::rocdl::BufferCopy128b(), fx::f32), a, b);
      },
      {arrayArg(fx::f32, 4)});
  CHECK_THAT(e, Catch::Contains("make_buffer_tensor"));
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
  CHECK(line.file.find("errors_test.cpp") != std::string::npos);
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

TEST_CASE("calls of any number of arguments name the user's line") {
  using Body = std::function<void(fx::Float32, fx::Int32, fx::Tensor)>;
  struct Row {
    unsigned line;
    Body body;
  };
#define HERE(call)                                                                                 \
  Row {                                                                                            \
    __LINE__, [](fx::Float32 x, fx::Int32 n, fx::Tensor a) { call; }                               \
  }
  const Row rows[] = {
      HERE(fx::make_coord(x, 1)),
      HERE(fx::make_coord(1, _, x)),
      HERE(fx::make_shape(4, x)),
      HERE(fx::make_stride(x)),
      HERE(fx::make_int_tuple(1, fx::make_coord(1, x))),
      HERE(fx::make_tile(8, fx::make_shape(n, 4))),
      HERE(a(0, x)),
      HERE(fx::make_layout({4, x}, {1, 4})),
      HERE(fx::printf("{} {}\n", x)),
      HERE(fx::max(x.to(fx::f8E4M3FN), 1)),
  };
#undef HERE
  for (const Row &row : rows) {
    try {
      traceText(
          [&](fx::Float32 x, fx::Int32 n, fx::Tensor a) {
            fx::math::exp(x); // an operation on another line
            row.body(x, n, a);
          },
          {scalarArg(fx::f32), scalarArg(fx::i32), matrixArg(fx::f32)});
      FAIL("no error for line " << row.line);
    } catch (const fx::TraceError &error) {
      INFO(error.what());
      CHECK(error.where().line == row.line);
      CHECK(error.where().file.find("errors_test.cpp") != std::string::npos);
    }
  }
}

TEST_CASE("an assignment between elements stands where the left one does") {
  const unsigned line = __LINE__ + 2;
  auto body = [](fx::Tensor a) {
    a(0) = a(1);
    fx::math::exp(a(2));
  };
  std::string text = traceText(body, {arrayArg(fx::f32, 4)}, /*locations=*/true);
  const std::size_t store = text.find("fly.memref.store"), loc = text.find("loc(", store);
  REQUIRE(loc != std::string::npos);
  const std::string name = text.substr(loc + 4, text.find(')', loc) - loc - 4); // #loc7
  CHECK_THAT(text, Catch::Contains(name + " = loc(") &&
                       Catch::Contains("errors_test.cpp\":" + std::to_string(line) + ":"));
}

TEST_CASE("messages speak of what the user wrote") {
  struct Row {
    std::function<void(fx::Tensor, fx::Int32)> body;
    const char *part;
  };
  auto vector = [](fx::Tensor a) { return a.load(); };
  const Row rows[] = {
      {[](fx::Tensor a, fx::Int32) { fx::flat_divide(a, {2, 2}); },
       ": flat_divide(!fly.memref<f32"},
      {[](fx::Tensor a, fx::Int32 n) { fx::rocdl::rcp(n); }, ": rcp takes a float, not i32"},
      {[&](fx::Tensor a, fx::Int32) { vector(a).at(4); }, "element 4 of a vector of 4"},
      {[&](fx::Tensor a, fx::Int32) { vector(a) + fx::Vector::splat(1, 8, fx::f32); },
       "vectors of different sizes, 4 and 8"},
      {[](fx::Tensor a, fx::Int32 n) { fx::IntTuple(2) * fx::make_int_tuple(1, n); }, ": mul("},
      {[](fx::Tensor a, fx::Int32 n) { fx::make_tile(n); }, "fx::Constexpr"},
      {[](fx::Tensor a, fx::Int32 n) { fx::make_rmem_tensor(fx::make_shape(n), fx::f32); },
       "known while tracing"},
      {[&](fx::Tensor a, fx::Int32 n) {
         fx::for_(0, 4, 1, fx::carry(vector(a)), [&](fx::Int32, auto v) { return v.to(fx::f16); });
       },
       "a loop carries value 0 as 4 of f32, its body yields 4 of f16; .to(fx::f32) converts"},
  };
  for (const Row &row : rows) {
    std::string e = errorOf([&](fx::Tensor a, fx::Int32 n) { row.body(a, n); },
                            {arrayArg(fx::f32, 4), scalarArg(fx::i32)});
    CHECK_THAT(e, Catch::Contains(row.part) && !Catch::Contains("' op "));
  }
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

TEST_CASE("operands of atoms are looked at where they are given") {
  auto copied = [](const fx::CopyOptions &options) {
    return [=](fx::Tensor a) {
      auto r = fx::make_rmem_tensor(4, fx::f32);
      auto buffer = fx::rocdl::make_buffer_tensor(a);
      auto atom = fx::make_copy_atom(fx::rocdl::BufferCopy128b(), fx::f32);
      fx::copy(atom, fx::make_view(buffer.iter(), fx::make_layout(4)), r, options);
    };
  };
  const std::vector<ArgType> array{arrayArg(fx::f32, 64)};
  auto error = [&](auto options) {
    return errorOf([&](fx::Tensor a) { copied(options())(a); }, array);
  };
  using Options = fx::CopyOptions;
  CHECK(error([] { return Options{.soffset = fx::Int32(4)}; }) == "no error");
  CHECK_THAT(error([] { return Options{.soffset = fx::Float32(4.0f)}; }),
             Catch::Contains("the operand 'soffset' is an integer, i32, not f32"));
  CHECK_THAT(error([] { return Options{.imm_offset = fx::Int32(4)}; }),
             Catch::Contains("has no operand 'imm_offset'") &&
                 !Catch::Contains("current operation"));
  // An optional would hide the line of its value.
  CHECK_THAT(error([] {
               auto some = fx::make_rmem_tensor(1, fx::boolean);
               some.fill(true);
               return Options{.pred = some, .other = fx::Int32(3)};
             }),
             Catch::Contains("errors_test.cpp") && Catch::Contains("a scalar of f32"));
}

TEST_CASE("numbers of shapes that 63 bits do not hold are refused") {
  const std::uint64_t most = std::uint64_t(1) << 63;
  CHECK_THAT(errorOf([&] { fx::make_layout(most); }),
             Catch::Contains("the number 9223372036854775808 of a shape"));
  CHECK_THAT(errorOf([&] { fx::make_tile(most); }), Catch::Contains("more than 63 bits hold"));
  CHECK_THAT(errorOf([&] { fx::IntTuple(4) * most; }), Catch::Contains("more than 63 bits hold"));
  CHECK_THAT(errorOf([&] { fx::make_shape(4, 8)[std::int64_t(1) << 32]; }),
             Catch::Contains("mode"));
}
