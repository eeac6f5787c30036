// && and || access memory on the right only where the left side does not decide, as in C++.
#include "run.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {

/// Runs `body(x, count, out, thread)` for 64 threads over 32 floats of 1. A read far behind them
/// ends the launch.
template <class F> std::vector<int> runHalves(F body) {
  const fx::Kernel kernel{"short_circuit", [body](fx::Tensor x, fx::Tensor count, fx::Tensor out) {
                            fx::Int32 tid = fx::thread_idx().x;
                            out(tid) = 0;
                            body(x, count, out, tid);
                          }};
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(32, 1), {32});
  auto count = fx::DeviceArray<int>::from_host(std::vector<int>(1, 0), {1});
  fx::DeviceArray<int> out({64});
  kernel(x, count, out).launch({.grid = 1, .block = 64});
  std::vector<int> result = out.to_host();
  result.push_back(count.to_host()[0]);
  return result;
}

/// 1 for the threads below 32, 0 for the others, and then `count`.
std::vector<int> half(int count = 0) {
  std::vector<int> expected(65, 0);
  std::fill(expected.begin(), expected.begin() + 32, 1);
  expected.back() = count;
  return expected;
}

constexpr int kFar = 1 << 28; // elements: past every allocation

} // namespace

TEST_CASE("the right side of && reads only where the left side holds") {
  CHECK(runHalves([](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
          fx::if_(i < 32 && x(i + (i / 32) * kFar) > 0, [&] { out(i) = 1; });
        }) == half());
}

TEST_CASE("the right side of || reads only where the left side does not hold") {
  CHECK(runHalves([](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
          fx::if_(i >= 32 || x(i + (i / 32) * kFar) < 0, [&] { out(i) = 0; }, [&] { out(i) = 1; });
        }) == half());
}

TEST_CASE("several sides are decided one after another") {
  CHECK(runHalves([](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
          fx::if_(i >= 0 && i < 32 && x(i + (i / 32) * kFar) > 0 &&
                      x((i / 32) * kFar) == x(i + (i / 32) * kFar),
                  [&] { out(i) = 1; });
        }) == half());
  CHECK(runHalves([](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
          fx::if_(i < 32 && (i < 0 || x(i + (i / 32) * kFar) > 0), [&] { out(i) = 1; });
        }) == half());
}

TEST_CASE("an atomic operation on the right happens only where the left side holds") {
  auto body = [](fx::Tensor, fx::Tensor count, fx::Tensor out, fx::Int32 i) {
    fx::if_(i < 32 && fx::atomic(fx::AtomicOp::add, count.iter(), 1) >= 0, [&] { out(i) = 1; });
  };
  CHECK(runHalves(body) == half(32));
}

TEST_CASE("what a function of the right side reads is guarded") {
  auto positive = [](fx::Tensor x, fx::Int32 i) {
    auto far = (i / 32) * kFar;
    fx::Numeric v = x(i + far);
    return v > 0;
  };
  CHECK(runHalves([&](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
          fx::if_(i < 32 && positive(x, i), [&] { out(i) = 1; });
        }) == half());
}

TEST_CASE("values that were read before stay where they were read") {
  CHECK(runHalves([](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
          fx::Boolean inside = i < 32;
          fx::Numeric v = x(i % 32);
          fx::if_(inside && v > 0, [&] { out(i) = v.to(fx::i32); });
          fx::if_(i < 32 && v > 0, [&] { out(i) = v.to(fx::i32); });
        }) == half());
}

TEST_CASE("what a condition read and the kernel uses later is read before the branch") {
  CHECK(runHalves([](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
          fx::Boolean kept = i < 32;
          auto inside = [&] { return kept; };
          fx::Numeric v = x(i % 32);
          fx::if_(inside() && v > 0, [&] { out(i) = v.to(fx::i32); });
        }) == half());
}

TEST_CASE("what was written before a condition is not drawn into it") {
  auto body = [](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
    fx::Boolean kept = i < 32;
    auto inside = [&] { return kept; };
    out(i) = 7;
    fx::if_(inside() && x(i % 32) > 0, [&] { out(i) = 1; });
  };
  std::vector<int> expected = half();
  std::fill(expected.begin() + 32, expected.end() - 1, 7);
  CHECK(runHalves(body) == expected);
}

TEST_CASE("a named left side guards what stands behind it on its line") {
  auto body = [](fx::Tensor x, fx::Tensor, fx::Tensor out, fx::Int32 i) {
    fx::Boolean inside = i < 32;
    auto far = (i / 32) * kFar;
    fx::if_(inside && x(i + far) > 0, [&] { out(i) = 1; });
  };
  CHECK(runHalves(body) == half());
}

TEST_CASE("two conditions on registers are one operation, and no branch") {
  const fx::Kernel kernel{"no_branch", [](fx::Tensor out, fx::Int32 n) {
                            fx::Int32 i = fx::thread_idx().x;
                            fx::Var v(n);
                            out(i) = (i < n && v > 3).to(fx::i32);
                          }};
  fx::DeviceArray<int> out({64});
  const std::string ir = kernel(out, 5).compile({.block = 64}).print_ir();
  CHECK(ir.find("arith.andi") != std::string::npos);
  CHECK(ir.find("scf.if") == std::string::npos);
}

TEST_CASE("a barrier in a branch that such a condition chooses is refused where threads differ") {
  const fx::Kernel kernel{"barrier", [](fx::Tensor x) {
                            fx::Int32 i = fx::thread_idx().x;
                            fx::if_(i < 32 && x(i) > 0, [&] { fx::gpu::barrier(); });
                          }};
  fx::DeviceArray<float> x({64});
  CHECK_THROWS_AS(kernel(x).compile({.block = 64}), fx::TraceError);
}
