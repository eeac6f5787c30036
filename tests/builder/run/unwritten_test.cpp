// Registers that nothing has written are refused where they are read, with the line of the read and
// that of the declaration. Kernels that write first, or may have written, run.
#include "run.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using Catch::Contains;

namespace {

/// The error of compiling a kernel over 64 floats, or "no error".
template <class F> std::string errorOf(F body) {
  fx::DeviceArray<float> x({64});
  try {
    const fx::Kernel kernel{"unwritten", [body](fx::Tensor x) { body(x, fx::thread_idx().x); }};
    kernel(x).compile({.block = 64});
  } catch (const fx::TraceError &error) {
    CHECK(Contains("unwritten_test.cpp").match(error.where().file));
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("a fragment that is read before it is filled is refused with both lines") {
  unsigned made = 0, read = 0;
  const std::string error = errorOf([&](fx::Tensor x, fx::Int32 tid) {
    made = __LINE__ + 1;
    auto f = fx::make_rmem_tensor(4, fx::f32);
    read = __LINE__ + 1;
    x(tid) = f(2);
  });
  CHECK_THAT(error, Contains("unwritten_test.cpp:" + std::to_string(read) + ": ") &&
                        Contains("unwritten_test.cpp:" + std::to_string(made) + ",") &&
                        Contains("before anything has written its element 2"));
}

TEST_CASE("an accumulator that is not zeroed is refused, in a loop too") {
  auto product = [](fx::Tensor x, fx::Int32 tid, bool loop, bool zeroed) {
    auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::UniversalFMA(fx::f32)),
                                  fx::make_layout({1, 1, 1}));
    auto a = fx::make_rmem_tensor(fx::make_shape(1, 2, 2), fx::f32);
    auto b = fx::make_rmem_tensor(fx::make_shape(1, 2, 2), fx::f32);
    auto c = fx::make_rmem_tensor(fx::make_shape(1, 2, 2), fx::f32);
    a.fill(1);
    b.fill(1);
    if (zeroed)
      c.fill(0);
    if (loop)
      for (fx::Int32 k : fx::range(tid))
        fx::gemm(mma, c, a, b, c);
    else
      fx::gemm(mma, c, a, b, c);
    x(tid) = c(0, 0, 0);
  };
  for (bool loop : {false, true}) {
    CHECK_THAT(errorOf([&](fx::Tensor x, fx::Int32 tid) { product(x, tid, loop, false); }),
               Contains("the accumulator of 4 elements of 'f32'") &&
                   Contains(".fill(0) zeroes it"));
    CHECK(errorOf([&](fx::Tensor x, fx::Int32 tid) { product(x, tid, loop, true); }) == "no error");
  }
}

TEST_CASE("elements that were filled may be read beside others that were not") {
  CHECK(errorOf([](fx::Tensor x, fx::Int32 tid) {
          auto f = fx::make_rmem_tensor({2, 4}, fx::f32);
          f(1, 3) = x(tid);
          x(tid) = f(1, 3) * 2;
        }) == "no error");
  CHECK_THAT(errorOf([](fx::Tensor x, fx::Int32 tid) {
               auto f = fx::make_rmem_tensor({2, 4}, fx::f32);
               f(1, 3) = x(tid);
               x(tid) = f(0, 3) * 2;
             }),
             Contains("its element 6"));
  CHECK_THAT(errorOf([](fx::Tensor x, fx::Int32 tid) {
               auto f = fx::make_rmem_tensor({2, 4}, fx::f32);
               fx::slice(f, {0, fx::_}).fill(1);
               x(tid) = f.load().reduce(fx::Reduction::add);
             }),
             Contains("4 of its elements, the first is 1"));
}

TEST_CASE("a copy reads its source and writes its destination") {
  auto through = [](fx::Tensor x, fx::Int32 tid, bool filled) {
    auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
    auto from = fx::make_rmem_tensor(4, fx::f32), to = fx::make_fragment_like(from);
    if (filled)
      from.fill(1);
    fx::copy(atom, from, to);
    x(tid) = to(3);
  };
  CHECK(errorOf([&](fx::Tensor x, fx::Int32 tid) { through(x, tid, true); }) == "no error");
  CHECK_THAT(errorOf([&](fx::Tensor x, fx::Int32 tid) { through(x, tid, false); }),
             Contains("a fragment of 4 elements"));
}

TEST_CASE("what only some paths write is not refused") {
  // A copy with a predicate, a branch, a loop that may have no round, the rounds after the first, and
  // a place that the launch knows.
  CHECK(errorOf([](fx::Tensor x, fx::Int32 tid) {
          auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
          auto f = fx::make_rmem_tensor(1, fx::f32), pred = fx::make_rmem_tensor(1, fx::boolean);
          pred(0) = tid < 32;
          fx::copy(atom, fx::make_view(x.iter() + tid, fx::make_layout(1)), f, {.pred = pred});
          fx::if_(tid < 32, [&] { x(tid) = f(0); });
        }) == "no error");
  CHECK(errorOf([](fx::Tensor x, fx::Int32 tid) {
          auto f = fx::make_rmem_tensor(1, fx::f32);
          fx::if_(tid < 32, [&] { f(0) = 1; });
          fx::if_(tid < 16, [&] { x(tid) = f(0); });
        }) == "no error");
  CHECK(errorOf([](fx::Tensor x, fx::Int32 tid) {
          auto f = fx::make_rmem_tensor(1, fx::f32);
          for (fx::Int32 i : fx::range(tid)) {
            fx::if_(i > 0, [&] { x(i) = f(0); });
            f(0) = 1;
          }
          x(tid) = f(0);
        }) == "no error");
  CHECK(errorOf([](fx::Tensor x, fx::Int32 tid) {
          auto f = fx::make_rmem_tensor(4, fx::f32);
          for (fx::Int32 i : fx::range(4))
            f(i) = 1;
          x(tid) = f(3);
        }) == "no error");
}
