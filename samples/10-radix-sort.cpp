// Sorts any number of keys with a value each, in several blocks, by a digit of 8 bits after
// another from the lowest on. For each digit, every block counts its tile's digits; one
// block turns all counts into places; and every block sorts its tile by the digit and writes
// each item to its place. Equal digits keep their order, so that after the last digit the
// keys are sorted, and equal ones in theirs.
//
// New here: collectives of a block (fx::coop), which share their storage one after the other, tiles
// that are not full, a running prefix. Options: --n, the number of keys (20000).
#include "common/options.h"
#include "common/report.h"

#include <flydsl/coop.h>
#include <flydsl/flydsl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

namespace fx = flydsl;
namespace coop = flydsl::coop;
using fx::_;

constexpr int threads = 256, items = 8, tile = threads * items;
constexpr int bits = 8, digits = 1 << bits;
static_assert(digits == threads, "a thread for each digit");

/// A block's tile, and how many of its items are there.
static fx::Tensor tileOf(const fx::Tensor &all) {
  return fx::flat_divide(all, fx::make_tile(tile))(_, fx::block_idx().x); // (tile)
}
static fx::Int32 countOf(const fx::Int32 &n) {
  return fx::Int32(fx::min(n - fx::block_idx().x * tile, tile));
}
static fx::Vector digitsOf(const fx::Vector &keys, int bit) { return (keys >> bit) & (digits - 1); }
/// A counter for each digit in shared memory.
static fx::Tensor counters(fx::SharedAllocator &shared) {
  return fx::make_view(shared.allocate(digits * 4).recast(fx::i32),
                       fx::make_layout(digits, 1)); // (digits)
}

/// counts[d, b] is how often digit d comes up in the tile of block b.
const fx::Kernel count_digits{
    "count_digits", [](fx::Tensor gKeys, fx::Tensor gCounts, fx::Int32 n, fx::Constexpr<int> bit) {
      auto tid = fx::thread_idx().x;
      fx::Int32 count = countOf(n);
      coop::BlockLoad load(fx::u32, threads, items);
      coop::BlockHistogram histogram(threads, digits);
      fx::SharedAllocator shared;
      auto sCounts = counters(shared); // (digits)

      histogram.clear(sCounts);
      fx::Vector keys = load.partial(tileOf(gKeys), count, 0);
      fx::gpu::barrier();
      histogram.add_partial(digitsOf(keys, bit), count, sCounts);
      fx::gpu::barrier();
      gCounts(tid, fx::block_idx().x) = sCounts(tid);
    }};

/// The sum of all numbers before each one, in place, by one block.
const fx::Kernel sums_before{
    "sums_before", [](fx::Tensor gNumbers, fx::Int32 n) {
      coop::BlockLoad load(fx::i32, threads, items, coop::BlockTransfer::transpose);
      coop::BlockStore store(fx::i32, threads, items, coop::BlockTransfer::transpose);
      coop::BlockScan scan(fx::i32, threads);
      fx::SharedAllocator shared;
      coop::Storage storage(shared, load.storage() | store.storage() | scan.storage());
      auto tiles = fx::flat_divide(gNumbers, fx::make_tile(tile)); // (tile, tiles)

      coop::Running<fx::Numeric> before(fx::Int32(0));
      for (fx::Int32 t : fx::range((n + tile - 1) / tile)) {
        fx::Int32 count(fx::min(n - t * tile, tile));
        fx::Vector numbers = load.partial(tiles(_, t), count, 0, storage);
        fx::gpu::barrier(); // before the storage is used again
        fx::Vector sums = scan.exclusive(numbers, before, fx::Reduction::add, storage);
        fx::gpu::barrier();
        store.partial(tiles(_, t), count, sums, storage);
        fx::gpu::barrier();
      }
    }};

/// Each item goes to the place that the counts before it in order say.
const fx::Kernel move_items{
    "move_items", [](fx::Tensor gKeys, fx::Tensor gValues, fx::Tensor gPlaces, fx::Tensor gKeysOut,
                     fx::Tensor gValuesOut, fx::Int32 n, fx::Constexpr<int> bit) {
      auto tid = fx::thread_idx().x;
      fx::Int32 count = countOf(n);
      coop::BlockLoad load(fx::u32, threads, items, coop::BlockTransfer::warp_transpose);
      coop::BlockRadixSort sort(fx::u32, fx::u32, threads, items, bits);
      coop::BlockHistogram histogram(threads, digits);
      coop::BlockScan scan(fx::i32, threads);
      fx::SharedAllocator shared;
      coop::Storage storage(shared, load.storage() | sort.storage() | scan.storage());
      auto sCounts = counters(shared); // (digits)

      histogram.clear(sCounts);
      fx::Vector keys = load.partial(tileOf(gKeys), count, 0, storage);
      fx::gpu::barrier();
      fx::Vector values = load.partial(tileOf(gValues), count, 0, storage);
      histogram.add_partial(digitsOf(keys, bit), count, sCounts);
      fx::gpu::barrier();

      // In the sorted tile a digit's items begin where those of all smaller digits end.
      fx::Int32 own(sCounts(tid));
      fx::Int32 first = scan.exclusive(own, fx::Reduction::add, storage);
      sCounts(tid) = gPlaces(tid, fx::block_idx().x) - first;
      fx::gpu::barrier();
      coop::RadixSortOptions options{.begin_bit = bit, .end_bit = bit + bits, .striped = true};
      options.valid.emplace(count);
      auto [sortedKeys, sortedValues] = sort.pairs(keys, values, storage, options);
      fx::Vector digit = digitsOf(sortedKeys, bit);
      for (int i = 0; i < items; ++i) {
        fx::Int32 at(tid + i * threads); // in the sorted tile
        fx::if_(at < count, [&] {
          fx::Int32 place(sCounts(digit.at(i)) + at);
          gKeysOut(place) = sortedKeys.at(i);
          gValuesOut(place) = sortedValues.at(i);
        });
      }
    }};

static int run(const samples::Options &options) {
  const std::int64_t n = options.get("n", 20000), blocks = (n + tile - 1) / tile;
  const int count = static_cast<int>(n);

  if (fx::compile_only()) { // needs no device
    std::uint32_t *none = nullptr;
    int *nobody = nullptr;
    auto keys = fx::tensor(none, {n});
    auto counts = fx::tensor(nobody, {digits, blocks});
    auto compiled =
        move_items(keys, keys, counts, keys, keys, count, 0).compile({.block = threads});
    std::printf("%s", compiled.summary().c_str());
    return 0;
  }

  samples::reportDevice();
  fx::Stream stream;
  std::vector<std::uint32_t> keys(static_cast<std::size_t>(n)), numbers(keys.size());
  std::mt19937 random(1);
  for (std::uint32_t &key : keys) // of few different lower and upper halves
    key = (random() & 0x3ff003ff) << 2;
  std::iota(numbers.begin(), numbers.end(), 0u);

  // Two of each: a digit's items go from one to the other, and back with the next digit.
  fx::DeviceArray<std::uint32_t> keysA({n}), keysB({n}), valuesA({n}), valuesB({n});
  fx::DeviceArray<int> counts({digits, blocks});
  keysA.copy_from(keys);
  valuesA.copy_from(numbers);
  keysB.poison();
  valuesB.poison();
  auto numbersOf = fx::tensor(counts.data(), {digits * blocks});
  const int places = static_cast<int>(digits * blocks);
  samples::report(
      move_items(keysA, valuesA, counts, keysB, valuesB, count, 0).compile({.block = threads}));
  for (int bit = 0; bit < 32; bit += bits) {
    const bool back = bit / bits % 2;
    auto &keysIn = back ? keysB : keysA, &keysOut = back ? keysA : keysB;
    auto &valuesIn = back ? valuesB : valuesA, &valuesOut = back ? valuesA : valuesB;
    count_digits(keysIn, counts, count, bit)
        .launch({.grid = blocks, .block = threads, .stream = stream});
    sums_before(numbersOf, places).launch({.grid = 1, .block = threads, .stream = stream});
    move_items(keysIn, valuesIn, counts, keysOut, valuesOut, count, bit)
        .launch({.grid = blocks, .block = threads, .stream = stream});
  }
  stream.synchronize();

  const auto sorted = keysA.to_host(), order = valuesA.to_host();
  std::sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(keys[a], a) < std::pair(keys[b], b);
  });
  int wrong = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
    wrong += sorted[i] != keys[numbers[i]] || order[i] != numbers[i];
  samples::Worst worst;
  worst.add(wrong);
  return samples::verdict("wrong places", samples::dims(n), worst, 0);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"n"}, run); }
