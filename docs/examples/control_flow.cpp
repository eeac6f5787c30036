// Examples of docs/control-flow.md.
#include "example.h"

#include <algorithm>
#include <cmath>

namespace {

// region: unrolled
const fx::Kernel sum_of_four{"sum_of_four", [](fx::Tensor x, fx::Tensor y) {
  auto i = fx::thread_idx().x;
  fx::Var<fx::Float32> sum(0.0f);
  for (int k = 0; k < 4; ++k) // the C++ loop runs while tracing: four additions
    sum += x(i * 4 + k);
  y(i) = sum;
}};
// endregion

// region: range
const fx::Kernel row_sums{"row_sums", [](fx::Tensor x, fx::Tensor y) {
  auto row = fx::block_idx().x, lane = fx::thread_idx().x;
  fx::Var<fx::Float32> sum(0.0f);
  for (fx::Int32 k : fx::range(lane, x.shape()[1], 64)) // traced once, runs N / 64 times
    sum += x(row, k);
  y(row, lane) = sum;
}};
// endregion

// region: carried
const fx::Kernel fibonacci{"fibonacci", [](fx::Tensor out) {
  fx::Int32 n = fx::thread_idx().x;
  auto [a, b] = fx::for_(0, n, 1, fx::carry(0, 1), [](fx::Int32, auto a, auto b) {
    return fx::yield(b, a + b); // what the next round gets
  });
  out(n) = a;
}};
// endregion

// region: if
const fx::Kernel clip{"clip", [](fx::Tensor x, fx::Tensor y, fx::Int32 n) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  fx::if_(i < n, [&] {
    fx::Numeric value = x(i);
    fx::Numeric root = fx::if_(value > 0, [&] { return fx::math::sqrt(value); },
                               [&] { return fx::Float32(0.0f); });
    y(i) = root;
  });
}};
// endregion

// region: exit
const fx::Kernel roots{"roots", [](fx::Tensor x, fx::Tensor y, fx::Int32 n) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  fx::exit_if(i >= n); // the last block may reach past the end
  y(i) = fx::math::sqrt(x(i));
}};
// endregion

// region: wait
// Block 0 makes something, and says so; block 1 waits for it.
const fx::Kernel hand_over{"hand_over", [](fx::Tensor data, fx::Tensor ready, fx::Tensor out) {
  auto i = fx::thread_idx().x;
  fx::if_(fx::block_idx().x == 0, [&] {
    data(i) = i * i;
    fx::gpu::barrier();
    fx::if_(i == 0, [&] { fx::atomic_store(ready.iter(), 1); }); // a release
  }, [&] {
    fx::while_([&] { return fx::atomic_load(ready.iter()) == 0; }, [] {}); // an acquire
    out(i) = data(i);
  });
}};
// endregion

// region: select
const fx::Kernel leaky{"leaky", [](fx::Tensor x, fx::Tensor y) {
  auto i = fx::thread_idx().x;
  fx::Numeric value = x(i);
  y(i) = fx::select(value > 0, value, value * 0.1f);
}};
// endregion

// region: while
const fx::Kernel steps_to_one{"steps_to_one", [](fx::Tensor out) {
  auto start = fx::thread_idx().x + 1;
  auto [n, steps] =
      fx::while_(fx::carry(start, 0), [](auto n, auto) { return n != 1; }, [](auto n, auto steps) {
    return fx::yield(fx::select(n % 2 == 0, n / 2, n * 3 + 1), steps + 1);
  });
  out(start - 1) = steps;
}};
// endregion

// region: search
// The first place where `x` is above the limit, or N: a loop that ends early.
const fx::Kernel first_above{"first_above", [](fx::Tensor x, fx::Tensor out, fx::Float32 limit) {
  auto row = fx::thread_idx().x;
  fx::Int32 N(x.shape()[1]);
  fx::Var<fx::Int32> k(fx::Int32(0));
  fx::Var<fx::Boolean> going(N > 0);
  fx::while_([&] { return going.get(); }, [&] {
    fx::Boolean above = x(row, k.get()) > limit;
    k += fx::select(above, 0, 1).to(fx::i32);
    going = !above && k < N;
  });
  out(row) = k;
}};
// endregion

template <class Body> std::string traceError(Body body) {
  const fx::Kernel wrong{"wrong", body};
  float *unknown = nullptr;
  auto x = fx::tensor(unknown, {64});
  return example::messageOf<fx::TraceError>([&] { wrong(x).compile({.arch = "gfx942"}); });
}

} // namespace

TEST_CASE("control flow: unrolled and runtime loops", "[control-flow]") {
  auto x = fx::DeviceArray<float>::random({2, 256}, 1);
  fx::DeviceArray<float> four({64}), sums({2, 64});
  const auto in = x.to_host();
  sum_of_four(fx::tensor(x.data(), {256}), four).launch({.block = 64});
  const auto f = four.to_host();
  for (std::size_t i = 0; i < 64; ++i)
    CHECK(std::fabs(f[i] - (double(in[4 * i]) + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3])) <
          1e-6);
  for (std::int64_t N : {1, 100, 256}) {
    sums.poison();
    row_sums(fx::tensor(x.data(), {2, N}, {256, 1}), sums).launch({.grid = 2, .block = 64});
    const auto s = sums.to_host();
    double worst = 0;
    for (std::size_t row = 0; row < 2; ++row)
      for (std::size_t lane = 0; lane < 64; ++lane) {
        double sum = 0;
        for (std::size_t k = lane; k < std::size_t(N); k += 64)
          sum += in[row * 256 + k];
        worst = std::max(worst, std::fabs(s[row * 64 + lane] - sum));
      }
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("control flow: carried values", "[control-flow]") {
  fx::DeviceArray<int> out({16});
  fibonacci(out).launch({.block = 16});
  auto h = out.to_host();
  for (std::size_t n = 2; n < 16; ++n)
    CHECK(h[n] == h[n - 1] + h[n - 2]);
  CHECK(h[0] == 0);
  CHECK(h[1] == 1);

  steps_to_one(out).launch({.block = 16});
  h = out.to_host();
  for (int n = 1; n <= 16; ++n) {
    int steps = 0;
    for (int v = n; v != 1; ++steps)
      v = v % 2 ? v * 3 + 1 : v / 2;
    CHECK(h[std::size_t(n - 1)] == steps);
  }
}

TEST_CASE("control flow: branches", "[control-flow]") {
  auto x = fx::DeviceArray<float>::random({128}, 2);
  fx::DeviceArray<float> y({128});
  y.poison();
  clip(x, y, 100).launch({.grid = 2, .block = 64});
  const auto in = x.to_host();
  auto out = y.to_host();
  for (std::size_t i = 0; i < 100; ++i)
    CHECK(std::fabs(out[i] - std::sqrt(std::max(in[i], 0.0f))) < 1e-6);
  CHECK(std::isnan(out[100]));
  leaky(x, y).launch({.block = 128});
  out = y.to_host();
  for (std::size_t i = 0; i < 128; ++i)
    CHECK(out[i] == (in[i] > 0 ? in[i] : in[i] * 0.1f));
}

TEST_CASE("control flow: a loop that ends early", "[control-flow]") {
  auto x = fx::DeviceArray<float>::random({64, 20}, 3);
  fx::DeviceArray<int> out({64});
  const auto in = x.to_host();
  for (float limit : {-2.0f, 0.0f, 0.9f, 2.0f}) {
    first_above(x, out, limit).launch({.block = 64});
    const auto h = out.to_host();
    for (std::size_t row = 0; row < 64; ++row) {
      auto begin = in.begin() + std::ptrdiff_t(row * 20);
      auto found = std::find_if(begin, begin + 20, [&](float v) { return v > limit; });
      CHECK(h[row] == found - begin);
    }
  }
}

TEST_CASE("control flow: an early end, and a wait", "[control-flow]") {
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(128, 4.0f), {128});
  fx::DeviceArray<float> y({128});
  y.fill(-1);
  roots(x, y, 100).launch({.grid = 2, .block = 64});
  const auto h = y.to_host();
  for (std::size_t i = 0; i < 128; ++i)
    CHECK(h[i] == (i < 100 ? 2 : -1));

  fx::DeviceArray<int> data({64}), ready({1}), out({64});
  ready.fill(0);
  hand_over(data, ready, out).launch({.grid = 2, .block = 64});
  const auto squares = out.to_host();
  for (int i = 0; i < 64; ++i)
    CHECK(squares[std::size_t(i)] == i * i);
}

TEST_CASE("control flow: what goes wrong", "[control-flow]") {
  // region: break
  auto leaves = [](fx::Tensor x) {
    for (fx::Int32 k : fx::range(64)) {
      x(k) = 0;
      break;
    }
  };
  // endregion
  example::expectOutput("control-flow-break.txt", traceError(leaves));
  // region: escaped
  auto escapes = [](fx::Tensor x) {
    std::vector<fx::Numeric> values;
    for (fx::Int32 k : fx::range(64))
      values.push_back(x(k) * 2);
    x(0) = values.back(); // belongs to a round of the loop
  };
  // endregion
  example::expectOutput("control-flow-escaped.txt", traceError(escapes));
  // region: yield-type
  auto changes = [](fx::Tensor x) {
    x(0) = fx::for_(0, 8, 1, fx::carry(0.0f), [](fx::Int32 k, auto) { return k + 1; });
  };
  // endregion
  example::expectOutput("control-flow-yield.txt", traceError(changes));
  // region: exit-barrier
  auto parts = [](fx::Tensor x) {
    fx::exit_if(fx::thread_idx().x >= 50);
    fx::gpu::barrier(); // where 14 threads of the last wave never arrive
    x(fx::thread_idx().x) = 1;
  };
  // endregion
  example::expectOutput("control-flow-exit.txt", traceError(parts));
}

namespace {

// region: short-circuit
const fx::Kernel count_positive{"count_positive", [](fx::Tensor x, fx::Tensor count, fx::Int32 n) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  fx::if_(i < n && x(i) > 0, [&] { fx::atomic(fx::AtomicOp::add, count.iter(), 1); });
}};
// endregion

} // namespace

TEST_CASE("control flow: the right side of a condition", "[control]") {
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(100, 1), {100});
  auto count = fx::DeviceArray<int>::from_host(std::vector<int>(1, 0), {1});
  count_positive(x, count, 100).launch({.grid = 2, .block = 64}); // 128 threads
  CHECK(count.to_host()[0] == 100);
}
