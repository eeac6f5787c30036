// Examples of docs/gather-and-reduce.md.
#include "example.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

// region: permute
const fx::Kernel permute{"permute", [](fx::Tensor x, fx::Tensor index, fx::Tensor y) {
  auto i = fx::thread_idx().x;
  y(i) = x(index(i)); // an element as a coordinate
}};
// endregion

// region: embedding
/// y[t, :] = table[token[t], :] for rows that 256 divides: a block per token, 4 floats a copy.
const fx::Kernel embedding{"embedding", [](fx::Tensor table, fx::Tensor token, fx::Tensor y) {
  auto t = fx::block_idx().x;
  auto lane = fx::thread_idx().x;
  auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
  auto row = fx::logical_divide(y(t, _), fx::make_layout(4, 1)); // (4, N / 4)
  auto first = token(t) * fx::Int64(table.stride()[0]);

  for (fx::Int32 i : fx::range(lane, fx::size(row, 1), 64)) {
    auto offsets = fx::make_rmem_tensor(1, fx::i64); // (1): where the copy's elements begin
    offsets(0) = first + i * 4;
    auto values = fx::make_rmem_tensor({4, 1}, fx::f32); // ((values of a copy), copies)
    fx::gather(atom, table.iter(), offsets, values);
    fx::copy(atom, values(_, 0), row(_, i));
  }
}};
// endregion

// region: scatter-add
/// y[index[i]] += x[i], wherever the indices fall together.
const fx::Kernel scatter_add{"scatter_add", [](fx::Tensor x, fx::Tensor index, fx::Tensor y) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  fx::atomic(fx::AtomicOp::add, y.iter() + index(i), x(i));
}};
// endregion

// region: wave
const fx::Kernel waves{"waves", [](fx::Tensor x, fx::Tensor out) {
  auto i = fx::thread_idx().x;
  fx::Numeric v = x(i);
  out(i, 0) = fx::gpu::warp_reduce(v, fx::Reduction::add);             // of the wave, in all lanes
  out(i, 1) = fx::gpu::warp_reduce(v, fx::Reduction::max, 16);         // of 16 lanes
  out(i, 2) = fx::gpu::warp_inclusive_scan(v, fx::Reduction::add, 16); // of those up to this one
  out(i, 3) = fx::gpu::shuffle_xor(v, 1);                              // the neighbour's
}};
// endregion

// region: block
/// The largest magnitude of each row: a thread's elements, then the block's threads.
const fx::Kernel row_absmax{"row_absmax", [](fx::Tensor x, fx::Tensor y) {
  auto row = fx::block_idx().x;
  auto lane = fx::thread_idx().x;
  fx::Var<fx::Float32> largest(0.0f);
  for (fx::Int32 k : fx::range(lane, x.shape()[1], 256))
    largest = fx::max(largest.get(), fx::math::abs(x(row, k)));
  fx::SharedAllocator shared;
  auto all = fx::gpu::block_reduce(largest.get(), fx::Reduction::max, shared);
  fx::if_(lane == 0, [&] { y(row) = all; });
}};
// endregion

// region: grid
/// The sum of all elements: a block's part by block_reduce, the blocks' by one atomic each.
const fx::Kernel total{"total", [](fx::Tensor x, fx::Tensor sum) {
  auto i = fx::block_idx().x * 256 + fx::thread_idx().x;
  fx::Int32 n(x.shape()[0]);
  fx::Numeric own = fx::if_(i < n, [&] { return x(i); }, [&] { return fx::Float32(0.0f); });
  fx::SharedAllocator shared;
  auto part = fx::gpu::block_reduce(own, fx::Reduction::add, shared);
  fx::if_(fx::thread_idx().x == 0, [&] { fx::atomic(fx::AtomicOp::add, sum.iter(), part); });
}};
// endregion

std::vector<int> pseudoRandom(std::size_t count, int below) {
  std::vector<int> values(count);
  std::uint32_t state = 7;
  for (int &v : values)
    v = int((state = state * 1664525u + 1013904223u) >> 8) % below;
  return values;
}

} // namespace

TEST_CASE("gather and reduce: elements by number", "[gather]") {
  auto x = fx::DeviceArray<float>::random({64}, 1);
  std::vector<int> order(64);
  std::iota(order.rbegin(), order.rend(), 0);
  fx::DeviceArray<float> y({64});
  permute(x, fx::DeviceArray<int>::from_host(order, {64}), y).launch({.block = 64});
  auto expected = x.to_host();
  std::reverse(expected.begin(), expected.end());
  CHECK(y.to_host() == expected);
}

TEST_CASE("gather and reduce: rows by number", "[gather]") {
  constexpr std::int64_t N = 512, T = 5;
  auto table = fx::DeviceArray<float>::random({10, N}, 2);
  const std::vector<int> tokens{3, 9, 0, 3, 7};
  auto token = fx::DeviceArray<int>::from_host(tokens, {T});
  fx::DeviceArray<float> y({T, N});
  y.poison();
  embedding(table, token, y.mark_layout_dynamic(1, 4)).launch({.grid = T, .block = 64});
  const auto in = table.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < out.size(); ++i)
    REQUIRE(out[i] == in[std::size_t(tokens[i / N]) * N + i % N]);
}

TEST_CASE("gather and reduce: atomics", "[gather]") {
  auto x = fx::DeviceArray<float>::random({256}, 3);
  const auto places = pseudoRandom(256, 10);
  fx::DeviceArray<float> y({10});
  y.fill(0);
  scatter_add(x, fx::DeviceArray<int>::from_host(places, {256}), y)
      .launch({.grid = 4, .block = 64});
  std::vector<double> expected(10);
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < 256; ++i)
    expected[std::size_t(places[i])] += in[i];
  for (std::size_t i = 0; i < 10; ++i)
    CHECK(std::fabs(out[i] - expected[i]) < 1e-5);
}

TEST_CASE("gather and reduce: lanes of a wave", "[gather]") {
  auto x = fx::DeviceArray<float>::random({64}, 4);
  fx::DeviceArray<float> out({64, 4});
  waves(x, out).launch({.block = 64});
  const auto in = x.to_host(), h = out.to_host();
  const std::size_t lanes = std::size_t(fx::Device::current().warp_size());
  for (std::size_t i = 0; i < 64; ++i) {
    const auto group = in.begin() + std::ptrdiff_t(i / 16 * 16);
    const auto wave = in.begin() + std::ptrdiff_t(i / lanes * lanes);
    CHECK(std::fabs(h[4 * i] - std::accumulate(wave, wave + std::ptrdiff_t(lanes), 0.0)) < 1e-5);
    CHECK(h[4 * i + 1] == *std::max_element(group, group + 16));
    CHECK(std::fabs(h[4 * i + 2] -
                    std::accumulate(group, group + std::ptrdiff_t(i % 16 + 1), 0.0)) < 1e-5);
    CHECK(h[4 * i + 3] == in[i ^ 1]);
  }
}

TEST_CASE("gather and reduce: blocks and grids", "[gather]") {
  for (std::int64_t N : {1, 255, 1000}) {
    auto x = fx::DeviceArray<float>::random({3, N}, 5);
    fx::DeviceArray<float> y({3}), sum({1});
    y.poison();
    row_absmax(x, y).launch({.grid = 3, .block = 256});
    const auto in = x.to_host();
    auto h = y.to_host();
    for (std::size_t row = 0; row < 3; ++row) {
      float largest = 0;
      for (std::size_t k = 0; k < std::size_t(N); ++k)
        largest = std::max(largest, std::fabs(in[row * std::size_t(N) + k]));
      CHECK(h[row] == largest);
    }
    sum.fill(0);
    total(fx::tensor(x.data(), {3 * N}), sum).launch({.grid = (3 * N + 255) / 256, .block = 256});
    CHECK(std::fabs(sum.to_host()[0] - std::accumulate(in.begin(), in.end(), 0.0)) < 1e-4);
  }
}
