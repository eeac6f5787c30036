// Examples of docs/collectives.md.
#include "example.h"

#include <flydsl/coop.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace coop = fx::coop;

namespace {

// region: record
/// The largest value so far, and where it is.
struct Best {
  fx::Float32 value;
  fx::Int32 index;
};
/// Of two equal values the first one wins: the operator gets its operands in their order.
Best better(const Best &a, const Best &b) {
  const fx::Boolean first = a.value >= b.value;
  return {fx::select(first, a.value, b.value), fx::select(first, a.index, b.index)};
}

/// The place of the largest value of each row of 256.
const fx::Kernel argmax{"argmax", [](fx::Tensor x, fx::Tensor y) {
  auto row = fx::block_idx().x;
  auto t = fx::thread_idx().x;
  coop::BlockReduce reduce(coop::type_of<Best>(), 256);
  fx::SharedAllocator shared;
  coop::Storage storage(shared, reduce.storage());
  Best best = reduce(Best{fx::Float32(x(row, t)), t}, better, storage);
  fx::if_(t == 0, [&] { y(row) = best.index; });
}};
// endregion

// region: wave
const fx::Kernel lanes{"lanes", [](fx::Tensor x, fx::Tensor y) {
  auto t = fx::thread_idx().x;
  fx::Int32 v(x(t));
  y(t, 0) = coop::warp_reduce(v, fx::Reduction::add, 16);          // of 16 lanes, in each
  y(t, 1) = coop::warp_inclusive_scan(v, fx::Reduction::max);      // of the lanes up to this one
  y(t, 2) = coop::warp_exclusive_scan(v, 100, fx::Reduction::add); // of those before, from 100
  y(t, 3) = coop::warp_head_segmented_reduce(v, t % 5 == 0, fx::Reduction::add); // of its segment
  y(t, 4) = coop::warp_broadcast(v, 3, 8); // lane 3's of each 8
  y(t, 5) = coop::warp_match(v, {.bits = 6}).rank; // how many before it have its value, below 64
}};
// endregion

// region: softmax
/// The state of a softmax that has seen some values: the largest, and the sum of exp(x - largest).
struct Softmax {
  fx::Float32 largest, sum;
};
Softmax join(const Softmax &a, const Softmax &b) {
  const fx::Float32 largest(fx::max(a.largest, b.largest));
  return {largest,
          a.sum * fx::math::exp(a.largest - largest) + b.sum * fx::math::exp(b.largest - largest)};
}

/// y = softmax(x) for rows of 4 * 256, in one pass over a row and one barrier.
const fx::Kernel softmax{"softmax", [](fx::Tensor x, fx::Tensor y) {
  auto row = fx::block_idx().x;
  coop::BlockLoad load(fx::f32, 256, 4, coop::BlockTransfer::vectorize);
  coop::BlockStore store(fx::f32, 256, 4, coop::BlockTransfer::vectorize);
  coop::BlockReduce reduce(coop::type_of<Softmax>(), 256);
  fx::SharedAllocator shared;
  coop::Storage storage(shared, reduce.storage());

  fx::Vector v = load(x(row, _));
  std::vector<Softmax> states;
  for (int i = 0; i < 4; ++i)
    states.push_back({fx::Float32(v.at(i)), 1.0f});
  Softmax all = reduce(states, coop::commutative(join), storage);
  store(y(row, _), fx::math::exp(v - all.largest) / all.sum);
}};
// endregion

// region: compact
/// The values of x that are not 0, in their order, at the front of y; n is how many. A tile of 4 *
/// 128 values. Only the first `valid` are there.
const fx::Kernel compact{"compact", [](fx::Tensor x, fx::Tensor y, fx::Tensor n, fx::Int32 valid) {
  coop::BlockLoad load(fx::i32, 128, 4, coop::BlockTransfer::transpose);
  coop::BlockScan scan(fx::i32, 128);
  fx::SharedAllocator shared;
  coop::Storage storage(shared, load.storage() | scan.storage()); // for one after the other

  fx::Vector v = load.partial(x, valid, 0, storage); // nothing is read past `valid`
  fx::gpu::barrier();                                // before the storage is used again
  auto kept = fx::select(v != 0, fx::Vector::splat(1, 4, fx::i32), 0);
  auto places = scan.exclusive_with_aggregate(kept, fx::Reduction::add, storage);
  for (int i = 0; i < 4; ++i)
    fx::if_(v.at(i) != 0, [&] { y(places.items.at(i)) = v.at(i); });
  fx::if_(fx::thread_idx().x == 0, [&] { n(0) = places.aggregate; });
}};
// endregion

// region: sort
/// The rows of a table of 8 * 128 in the order of their keys, the largest first: where each is.
const fx::Kernel order{"order", [](fx::Tensor keys, fx::Tensor rows) {
  auto t = fx::thread_idx().x;
  coop::BlockLoad load(fx::f32, 128, 8, coop::BlockTransfer::transpose);
  coop::BlockRadixSort sort(fx::f32, fx::i32, 128, 8, 8); // digits of 8 bits
  fx::SharedAllocator shared;
  coop::Storage storage(shared, load.storage() | sort.storage());

  fx::Vector key = load(keys, storage);
  fx::gpu::barrier();
  std::vector<fx::Int32> row;
  for (int i = 0; i < 8; ++i)
    row.push_back(fx::Int32(t * 8 + i));
  auto [sorted, sortedRow] = sort.pairs(key, row, storage, {.descending = true, .striped = true});
  for (int i = 0; i < 8; ++i)
    rows(t + i * 128) = sortedRow[std::size_t(i)]; // neighbouring threads, neighbouring elements
}};
// endregion

// region: running
/// Prefix sums of a sequence of any length by one block: what is before a tile goes from round to
/// round.
const fx::Kernel prefix{"prefix", [](fx::Tensor x, fx::Tensor y, fx::Int32 tiles) {
  coop::BlockScan scan(fx::i32, 256);
  fx::SharedAllocator shared;
  coop::Storage storage(shared, scan.storage());
  coop::Running<fx::Int32> before(0);
  for (fx::Int32 tile : fx::range(tiles)) {
    auto i = tile * 256 + fx::thread_idx().x;
    y(i) = scan.inclusive(fx::Int32(x(i)), before, fx::Reduction::add, storage);
    fx::gpu::barrier();
  }
}};
// endregion

// region: too-little
const fx::Kernel tooLittle{"too_little", [](fx::Tensor x, fx::Tensor y) {
  auto t = fx::thread_idx().x;
  coop::BlockReduce reduce(fx::i32, 256);
  coop::BlockExchange exchange(fx::i32, 256, 2);
  fx::SharedAllocator shared;
  coop::Storage storage(shared, reduce.storage());
  std::vector<fx::Int32> items{fx::Int32(x(2 * t)), fx::Int32(x(2 * t + 1))};
  auto striped = exchange.blocked_to_striped(items, storage); // as much as the reduction needs
  y(t) = striped[0];
}};
// endregion

std::vector<int> someInts(std::size_t count, int below) {
  std::vector<int> values(count);
  std::uint32_t state = 11;
  for (int &v : values)
    v = int((state = state * 1664525u + 1013904223u) >> 8) % below;
  return values;
}

} // namespace

TEST_CASE("collectives: records", "[collectives]") {
  auto x = fx::DeviceArray<float>::random({3, 256}, 1);
  fx::DeviceArray<int> y({3});
  argmax(x, y).launch({.grid = 3, .block = 256});
  const auto in = x.to_host();
  for (std::size_t row = 0; row < 3; ++row) {
    const auto first = in.begin() + std::ptrdiff_t(row * 256);
    CHECK(y.to_host()[row] == int(std::max_element(first, first + 256) - first));
  }
}

TEST_CASE("collectives: a wave", "[collectives]") {
  const auto in = someInts(64, 50);
  fx::DeviceArray<int> y({64, 6});
  lanes(fx::DeviceArray<int>::from_host(in, {64}), y).launch({.block = 64});
  const auto out = y.to_host();
  const std::size_t wave = std::size_t(fx::Device::current().warp_size());
  for (std::size_t t = 0; t < 64; ++t) {
    const auto at = [&](std::size_t i) { return in.begin() + std::ptrdiff_t(i); };
    const std::size_t first = t / wave * wave, group = t / 16 * 16;
    CHECK(out[6 * t] == std::accumulate(at(group), at(group + 16), 0));
    CHECK(out[6 * t + 1] == *std::max_element(at(first), at(t + 1)));
    CHECK(out[6 * t + 2] == std::accumulate(at(first), at(t), 100));
    const std::size_t begin = std::max(first, t / 5 * 5);
    const std::size_t end = std::min(first + wave, t / 5 * 5 + 5);
    CHECK(out[6 * t + 3] == std::accumulate(at(begin), at(std::min<std::size_t>(end, 64)), 0));
    CHECK(out[6 * t + 4] == in[t / 8 * 8 + 3]);
    CHECK(out[6 * t + 5] == std::count(at(first), at(t), in[t]));
  }
}

TEST_CASE("collectives: a softmax", "[collectives]") {
  auto x = fx::DeviceArray<float>::random({2, 1024}, 3);
  fx::DeviceArray<float> y({2, 1024});
  softmax(x, y).launch({.grid = 2, .block = 256});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 1024; ++i)
      sum += std::exp(double(in[row * 1024 + i]));
    for (std::size_t i = 0; i < 1024; ++i)
      CHECK(std::fabs(out[row * 1024 + i] - std::exp(double(in[row * 1024 + i])) / sum) < 1e-6);
  }
}

TEST_CASE("collectives: what is not zero", "[collectives]") {
  const auto in = someInts(512, 3);
  for (int valid : {0, 1, 300, 512}) {
    fx::DeviceArray<int> y({512}), n({1});
    y.fill(-1);
    compact(fx::DeviceArray<int>::from_host(in, {512}), y, n, valid).launch({.block = 128});
    std::vector<int> kept;
    std::copy_if(in.begin(), in.begin() + valid, std::back_inserter(kept),
                 [](int v) { return v != 0; });
    const auto out = y.to_host();
    CHECK(n.to_host()[0] == int(kept.size()));
    CHECK(std::equal(kept.begin(), kept.end(), out.begin()));
  }
}

TEST_CASE("collectives: a sort, and a running prefix", "[collectives]") {
  auto keys = fx::DeviceArray<float>::random({1024}, 4);
  fx::DeviceArray<int> rows({1024});
  order(keys, rows).launch({.block = 128});
  const auto in = keys.to_host();
  std::vector<int> expected(1024);
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(),
                   [&](int a, int b) { return in[std::size_t(a)] > in[std::size_t(b)]; });
  CHECK(rows.to_host() == expected);

  const auto numbers = someInts(1280, 1000);
  fx::DeviceArray<int> y({1280});
  prefix(fx::DeviceArray<int>::from_host(numbers, {1280}), y, 5).launch({.block = 256});
  std::vector<int> sums(1280);
  std::partial_sum(numbers.begin(), numbers.end(), sums.begin());
  CHECK(y.to_host() == sums);
}

TEST_CASE("collectives: too little storage", "[collectives]") {
  fx::DeviceArray<int> x({512}), y({256});
  example::expectOutput("collectives-too-little.txt", example::messageOf<fx::TraceError>([&] {
    tooLittle(x, y).launch({.block = 256});
  }));
}
