// Wrong uses of collectives, which are refused while tracing, at the line of the call.
#include "errors_at.h"

#include <flydsl/coop.h>

namespace fx = flydsl;
namespace coop = flydsl::coop;
using namespace trace_test;

namespace {

const fx::Reduction add = fx::Reduction::add;

/// `body` of a kernel with an Int32 is refused with `text`, in a block of `threads`.
template <class F> void refuses(F body, const char *text, unsigned threads = 128) {
  CHECK_THAT(errorOf(body, {scalarArg(fx::i32)}, {.block = {threads, 1, 1}}),
             Catch::Contains(text));
}

/// Storage of as much as a collective says.
template <class C> coop::Storage storageOf(const C &collective) {
  fx::SharedAllocator shared;
  return coop::Storage(shared, collective.storage());
}

} // namespace

TEST_CASE("Collectives of a wave refuse widths, lanes and items that are not there") {
  refuses([](fx::Int32 x) { coop::warp_reduce(x, add, 12); }, "power of two");
  refuses([](fx::Int32 x) { coop::warp_reduce(x, add, 128); }, "a wave of 64");
  refuses([](fx::Int32 x) { coop::warp_inclusive_scan(x, add, 64); },
          "a block of 96 threads is no whole number of groups of 64 lanes", 96);
  refuses([](fx::Int32 x) { coop::warp_broadcast(x, 8, 8); },
          "lane 8 is broadcast in a group of 8 lanes, 0 to 7");
  refuses([](fx::Int32 x) { coop::warp_reduce_partial(x, add, 0, 16); },
          "a reduction of 0 lanes of a group of 16");
  refuses([](fx::Int32) { coop::warp_reduce(std::vector<fx::Int32>{}, add); },
          "a reduction is given no items");
  refuses(
      [](fx::Int32 x) {
        coop::warp_bitonic_sort(std::vector<fx::Int32>{x, x, x},
                                [](fx::Int32 a, fx::Int32 b) { return a < b; });
      },
      "a bitonic sort of 3 items a lane: their number is a power of two");
}

TEST_CASE("A match of lanes refuses keys that are no integers, bits that they lack and widths") {
  refuses([](fx::Int32 x) { coop::warp_match(x.to(fx::f32)); },
          "warp_match of a key of type f32: keys are integers; .bitcast(fx::u32) compares the bits");
  refuses([](fx::Int32 x) { coop::warp_match(x, {.bits = 33}); },
          "warp_match of 33 bits of a key of type i32: 0 (all) to 32");
  refuses([](fx::Int32 x) { coop::warp_match(x.to(fx::u8), {.bits = -1}); },
          "warp_match of -1 bits of a key of type u8: 0 (all) to 8");
  refuses([](fx::Int32 x) { coop::warp_match(x, {.width = 24}); }, "power of two");
  refuses([](fx::Int32 x) { coop::warp_match(x, {.width = 128}); }, "a wave of 64");
}

TEST_CASE("Collectives refuse types that they don't combine") {
  refuses([](fx::Int32 x) { coop::warp_reduce(x > 0, add); }, "not booleans");
  refuses([](fx::Int32 x) { coop::warp_reduce(x.to(fx::i4), add); },
          "numbers of whole bytes, not i4");
  refuses(
      [](fx::Int32 x) {
        coop::warp_reduce(fx::Numeric(x), [](fx::Numeric a, fx::Numeric b) {
          return a.to(fx::f32) + b.to(fx::f32);
        });
      },
      "the operator takes values of i32 and gives one of f32");
  refuses([](fx::Int32 x) { coop::warp_reduce(std::vector<fx::Numeric>{x, x.to(fx::f32)}, add); },
          "items of i32 and of f32");
  refuses(
      [](fx::Int32 x) {
        coop::warp_exclusive_scan(x, [](fx::Int32 a, fx::Int32 b) { return a + b; });
      },
      "needs an initial value");
  refuses([](fx::Int32 x) { coop::warp_exclusive_scan(fx::Numeric(x), x.to(fx::f32), add); },
          "the initial value is f32, the items are i32");
}

TEST_CASE("Collectives of a block refuse another block, other items and too little storage") {
  refuses([](fx::Int32) { coop::BlockReduce(fx::f32, 256); },
          "BlockReduce for 256 threads in a block of 128");
  refuses([](fx::Int32) { coop::BlockScan(fx::f32, 96); },
          "BlockScan for 96 threads: neither a whole number of waves of 64 nor a power of two", 96);
  refuses([](fx::Int32) { coop::BlockExchange(fx::f32, 128, 0); },
          "BlockExchange of 0 items per thread");
  refuses([](fx::Int32) { coop::BlockReduce(fx::i4, 128); },
          "BlockReduce takes numbers of whole bytes, not i4");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockReduce reduce(fx::f32, 128);
        const coop::Storage storage = storageOf(reduce);
        reduce(x, add, storage);
      },
      "BlockReduce for values of type f32 is given items of type i32");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockExchange exchange(fx::i32, 128, 3);
        const coop::Storage storage = storageOf(exchange);
        exchange.blocked_to_striped(std::vector<fx::Int32>{x, x}, storage);
      },
      "BlockExchange for 3 items per thread is given 2");
  refuses(
      [](fx::Int32 x) {
        const coop::Storage storage = storageOf(coop::BlockReduce(fx::i32, 128));
        const coop::BlockExchange exchange(fx::i32, 128, 1);
        exchange.blocked_to_striped(x, storage);
      },
      "BlockExchange needs 512 bytes of shared memory, the storage has 16");
  refuses(
      [](fx::Int32 x) { coop::BlockReduce(fx::i32, 128).partial(x, add, 129, coop::Storage()); },
      "the storage has 0");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockReduce reduce(fx::i32, 128);
        const coop::Storage storage = storageOf(reduce);
        reduce.partial(x, add, 129, storage);
      },
      "BlockReduce of 129 items of a tile of 128");
  refuses(
      [](fx::Int32) {
        fx::SharedAllocator shared;
        const fx::Pointer odd = shared.allocate(64, 4);
        coop::Storage(odd, 64);
      },
      "aligned to 16 bytes, and this pointer to 4");
}

TEST_CASE("Collectives of a wave in shared memory refuse widths, items, storage and tiles") {
  refuses([](fx::Int32) { coop::WarpExchange(fx::i32, 2, 12); }, "power of two");
  refuses([](fx::Int32) { coop::WarpExchange(fx::i32, 0); }, "WarpExchange of 0 items per thread");
  refuses([](fx::Int32) { coop::WarpExchange(fx::i32, 1, 64); },
          "a block of 96 threads is no whole number of groups of 64 lanes", 96);
  refuses([](fx::Int32) { coop::WarpMergeSort(fx::i4, 2); }, "numbers of whole bytes, not i4");
  refuses(
      [](fx::Int32 x) {
        const coop::WarpExchange exchange(fx::i32, 2, 16);
        exchange.blocked_to_striped(std::vector<fx::Int32>{x, x}, coop::Storage());
      },
      "WarpExchange needs 1024 bytes of shared memory, the storage has 0");
  refuses(
      [](fx::Int32 x) {
        const coop::WarpMergeSort sort(fx::i32, 1, 16);
        const coop::Storage storage = storageOf(sort);
        sort.partial(x, [](fx::Int32 a, fx::Int32 b) { return a < b; }, 17, storage);
      },
      "WarpMergeSort of 17 items of a tile of 16: 0 to all of them");
  refuses(
      [](fx::Int32 x) {
        coop::warp_bitonic_sort_partial(x, [](fx::Int32 a, fx::Int32 b) { return a < b; }, 9, 8);
      },
      "a bitonic sort of 9 items of a tile of 8");
  refuses([](fx::Int32 x) { coop::warp_scan_partial(x, 0, add, 0, 8); },
          "a scan of 0 items of a tile of 8: 1 to all of them");
  refuses([](fx::Int32 x) { coop::warp_reduce_batched_to_blocked(std::vector<fx::Int32>{}, add); },
          "a reduction is given no items");
  CHECK_THAT(errorOf([](fx::Tensor a) { coop::WarpLoad(fx::i32, 2)(a(fx::_, 0)); },
                     {matrixArg(fx::f32)}, {.block = {128, 1, 1}}),
             Catch::Contains("WarpLoad of i32 is given a tensor of f32"));
}

TEST_CASE("A tensor that is known to be smaller than its tile is refused") {
  auto with = [](const std::function<void(fx::Tensor, fx::Int32)> &use) {
    return errorOf([&](fx::Tensor a, fx::Int32 n) { use(a, n); },
                   {arrayArg(fx::f32, 100), scalarArg(fx::i32)}, {.block = {128, 1, 1}});
  };
  auto floats = [](int n) { return fx::Vector::splat(1.0f, n, fx::f32); };
  CHECK_THAT(
      with([](fx::Tensor a, fx::Int32) { coop::WarpLoad(fx::f32, 2)(a); }),
      Catch::Contains("WarpLoad of 128 elements is given a tensor of 100; .partial takes how "
                      "many of a tile are there"));
  CHECK_THAT(
      with([&](fx::Tensor a, fx::Int32) { coop::BlockStore(fx::f32, 128, 1)(a, floats(1)); }),
      Catch::Contains("BlockStore of 128 elements is given a tensor of 100"));
  CHECK_THAT(
      with([](fx::Tensor a, fx::Int32) { coop::BlockLoad(fx::f32, 128, 1).partial(a, 101, 0.0f); }),
      Catch::Contains("BlockLoad of 101 elements is given a tensor of 100"));
  CHECK(with([](fx::Tensor a, fx::Int32 n) {
          coop::WarpLoad(fx::f32, 1)(a);
          coop::BlockLoad(fx::f32, 128, 1).partial(a, 100, 0.0f);
          coop::BlockLoad(fx::f32, 128, 1).partial(a, n, 0.0f);
        }) == "no error");
}

TEST_CASE("Partial calls of a block refuse more than the tile, and sorted counts an open number") {
  refuses(
      [](fx::Int32 x) {
        const coop::BlockScan scan(fx::i32, 128);
        scan.inclusive_partial(x, add, 0, storageOf(scan));
      },
      "BlockScan of 0 items of a tile of 128: 1 to all of them");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockDiscontinuity runs(fx::i32, 128);
        runs.tails_partial(
            x, [](fx::Int32 a, fx::Int32 b) { return a != b; }, 129, storageOf(runs));
      },
      "BlockDiscontinuity of 129 items of a tile of 128");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockAdjacentDifference differences(fx::i32, 128);
        differences.left_partial(
            x, [](fx::Int32 a, fx::Int32 b) { return a - b; }, 200, storageOf(differences));
      },
      "BlockAdjacentDifference of 200 items of a tile of 128");
  refuses(
      [](fx::Int32 x) {
        coop::RadixSortOptions options;
        options.valid.emplace(129);
        const coop::BlockRadixSort sort(fx::i32, 128, 1);
        sort(x, storageOf(sort), options);
      },
      "BlockRadixSort of 129 items of a tile of 128");
  refuses([](fx::Int32) { coop::BlockHistogram(128, 16, coop::BlockHistogramAlgorithm::sort); },
          "made for a number of items per thread");
}

TEST_CASE("Exchanges, loads and sorts refuse what does not go together") {
  refuses(
      [](fx::Int32 x) {
        const coop::BlockExchange exchange(fx::i32, 128, 1);
        const coop::Storage storage = storageOf(exchange);
        exchange.scatter_to_blocked(x, x.to(fx::i64), storage);
      },
      "the ranks are i32, not i64");
  refuses([](fx::Int32) { coop::BlockRadixSort(fx::boolean, 128, 1); },
          "BlockRadixSort of keys of type boolean");
  refuses([](fx::Int32) { coop::BlockRadixSort(fx::i32, 128, 1, 9); }, "digits of 9 bits");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockRadixSort sort(fx::i32, 128, 1);
        const coop::Storage storage = storageOf(sort);
        sort(x, storage, {.begin_bit = 8, .end_bit = 40});
      },
      "by the bits 8 to below 40 of keys of 32 bits");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockRadixSort sort(fx::i32, 128, 1);
        const coop::Storage storage = storageOf(sort);
        sort.pairs(x, x, storage);
      },
      "made for keys alone and is given values");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockMergeSort sort(fx::i32, fx::f32, 128, 1);
        const coop::Storage storage = storageOf(sort);
        sort.pairs(x, x, [](fx::Int32 a, fx::Int32 b) { return a < b; }, storage);
      },
      "for values of type f32 is given values of type i32");
  refuses(
      [](fx::Int32 x) {
        const coop::BlockTopK choose(fx::i32, 128, 1);
        const coop::Storage storage = storageOf(choose);
        choose(x, 129, storage);
      },
      "BlockTopK of 129 items of a tile of 128");
  refuses([](fx::Int32) { coop::BlockHistogram(128, 0); }, "BlockHistogram of 0 bins");
  refuses(
      [](fx::Int32 x) {
        fx::SharedAllocator shared;
        auto counts = fx::make_view(shared.allocate(64).recast(fx::u32), fx::make_layout(16, 1));
        const coop::BlockHistogram histogram(128, 17);
        histogram.add(x.to(fx::u32), counts);
      },
      "BlockHistogram of 17 bins is given a tensor 16:1");

  auto loads = [](auto body, const char *text) {
    CHECK_THAT(errorOf(body, {matrixArg(fx::f32)}, {.block = {128, 1, 1}}), Catch::Contains(text));
  };
  loads([](fx::Tensor a) { coop::BlockLoad(fx::f32, 128, 2)(a); }, "a tensor of 2 modes");
  loads([](fx::Tensor a) { coop::BlockLoad(fx::i32, 128, 2)(a(fx::_, 0)); },
        "BlockLoad of i32 is given a tensor of f32");
  loads(
      [](fx::Tensor a) {
        const coop::BlockLoad load(fx::f32, 128, 4, coop::BlockTransfer::vectorize);
        load(a(fx::_, 0));
      },
      "not known to be neighbours in memory");
  loads(
      [](fx::Tensor a) {
        const coop::BlockLoad load(fx::f32, 128, 4, coop::BlockTransfer::transpose);
        load(a(0, fx::_));
      },
      "BlockLoad needs 2048 bytes of shared memory, the storage has 0");
}
