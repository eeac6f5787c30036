// What a block makes of a sequence: its runs, differences and moves, counts, and the largest items.
#include "sheet.h"

#include <numeric>

using namespace sheet;

namespace {

struct Shape {
  int threads, items;
};
const std::vector<Shape> shapes = {{32, 1}, {64, 3}, {192, 2}, {1024, 4}};

/// A sequence with runs of several lengths.
auto runValue(auto i) { return i * i / 50 % 7; }

} // namespace

TEST_CASE("Items of a block know where runs begin and end, and their neighbours") {
  for (auto [threads, n] : shapes) {
    const int tile = threads * n;
    Sheet got = run("neighbours", threads, 14 * n + 3, [=](Row &row, fx::Int32 t) {
      std::vector<fx::Int32> items;
      for (int i = 0; i < n; ++i)
        items.push_back(fx::Int32(runValue(t * n + i)));
      const coop::BlockDiscontinuity runs(fx::i32, threads);
      const coop::BlockAdjacentDifference differences(fx::i32, threads);
      const coop::BlockShuffle shuffle(fx::i32, threads);
      fx::SharedAllocator shared;
      const coop::Storage storage(shared,
                                  runs.storage() | differences.storage() | shuffle.storage());
      auto differ = [](fx::Int32 a, fx::Int32 b) { return a != b; };
      auto minus = [](fx::Int32 a, fx::Int32 b) { return a - b; };
      row.put(runs.heads(items, differ, storage));
      fx::gpu::barrier();
      row.put(runs.heads(items, 0, differ, storage));
      fx::gpu::barrier();
      row.put(runs.tails(items, differ, storage));
      fx::gpu::barrier();
      row.put(runs.tails(items, fx::Int32(runValue(t * 0 + tile - 1)), differ, storage));
      fx::gpu::barrier();
      row.put(differences.left(items, minus, storage));
      fx::gpu::barrier();
      row.put(differences.left(items, 100, minus, storage));
      fx::gpu::barrier();
      row.put(differences.right(items, minus, storage));
      fx::gpu::barrier();
      row.put(shuffle.up(items, -3, storage));
      fx::gpu::barrier();
      row.put(shuffle.down(items, -4, storage));
      fx::gpu::barrier();
      row.put(shuffle.offset(t, -5, -1, storage));
      fx::gpu::barrier();
      row.put(shuffle.offset(t, t % 7 - 3, 9999, storage));
      fx::gpu::barrier();
      row.put(shuffle.rotate(t, -3 * threads - 2, storage));
      fx::gpu::barrier();
      const auto [heads, tails] = runs.heads_and_tails(items, differ, storage);
      row.put(heads);
      row.put(tails);
      fx::gpu::barrier();
      row.put(runs.tails_partial(items, differ, tile / 2, storage));
      fx::gpu::barrier();
      row.put(differences.left_partial(items, minus, tile / 2, storage));
      fx::gpu::barrier();
      row.put(differences.right_partial(items, minus, fx::Int32(t * 0 + tile / 2), storage));
    });
    INFO(threads << " threads, " << n << " items");
    auto at = [](int i) { return runValue(i); };
    auto columns = [&](const char *what, auto expected) {
      for (int i = 0; i < n; ++i)
        got.expect(what, [&](int t) { return expected(t * n + i); });
    };
    columns("heads", [&](int e) { return e == 0 || at(e) != at(e - 1); });
    columns("heads after", [&](int e) { return e == 0 ? at(0) != 0 : at(e) != at(e - 1); });
    columns("tails", [&](int e) { return e == tile - 1 || at(e) != at(e + 1); });
    columns("tails before", [&](int e) { return e != tile - 1 && at(e) != at(e + 1); });
    columns("left", [&](int e) { return e == 0 ? at(0) : at(e) - at(e - 1); });
    columns("left of 100", [&](int e) { return e == 0 ? at(0) - 100 : at(e) - at(e - 1); });
    columns("right", [&](int e) { return e == tile - 1 ? at(e) : at(e) - at(e + 1); });
    columns("up", [&](int e) { return e == 0 ? -3 : at(e - 1); });
    columns("down", [&](int e) { return e == tile - 1 ? -4 : at(e + 1); });
    got.expect("offset", [&](int t) { return t < 5 ? -1 : t - 5; });
    got.expect("own offset", [&](int t) {
      const int from = t + t % 7 - 3;
      return from < 0 || from >= threads ? 9999 : from;
    });
    got.expect("rotate", [&](int t) { return (t + threads - 2) % threads; });
    columns("both: heads", [&](int e) { return e == 0 || at(e) != at(e - 1); });
    columns("both: tails", [&](int e) { return e == tile - 1 || at(e) != at(e + 1); });
    const int half = tile / 2;
    for (int i = 0; i < n; ++i)
      got.expect(
          "partial tails",
          [&](int t) {
            const int e = t * n + i;
            return e == half - 1 || at(e) != at(e + 1);
          },
          [&](int t) { return t * n + i < half; });
    columns("partial left", [&](int e) { return e == 0 || e >= half ? at(e) : at(e) - at(e - 1); });
    columns("partial right", [&](int e) { return e + 1 >= half ? at(e) : at(e) - at(e + 1); });
    CHECK(got.done());
  }
}

TEST_CASE("A block counts its items by bins, whole and in part") {
  for (auto algorithm : {coop::BlockHistogramAlgorithm::atomic,
                         coop::BlockHistogramAlgorithm::match, coop::BlockHistogramAlgorithm::sort})
    for (auto [threads, n] : shapes)
      for (int bins : {1, 7, 300}) {
        if (algorithm == coop::BlockHistogramAlgorithm::sort && bins < 300)
          continue;
        const int tile = threads * n;
        auto bin = [=](auto e) { return e * e % bins; };
        const fx::Kernel kernel{
            "histogram", [=](fx::Tensor out) {
              fx::Int32 t = fx::thread_idx().x;
              std::vector<fx::UInt32> items;
              for (int i = 0; i < n; ++i)
                items.push_back(fx::UInt32(bin(t * n + i).to(fx::u32)));
              const coop::BlockHistogram histogram(threads, bins, algorithm, n);
              fx::SharedAllocator shared;
              const coop::Storage storage(shared, histogram.storage());
              auto counts = fx::make_view(shared.allocate(bins * 4).recast(fx::i32),
                                          fx::make_layout(bins, 1)); // (bins)
              histogram.clear(counts);
              fx::gpu::barrier();
              histogram.add(items, counts, storage);
              if (storage.bytes())
                fx::gpu::barrier();
              histogram.add_partial(items, tile - 3, counts, storage);
              fx::gpu::barrier();
              for (int first = 0; first < bins; first += threads)
                fx::if_(t + first < bins, [&] { out(t + first) = counts(t + first); });
            }};
        fx::DeviceArray<int> out({bins});
        out.poison();
        kernel(out).launch({.grid = 1, .block = threads});
        std::vector<int> expected(static_cast<std::size_t>(bins));
        for (int e = 0; e < tile; ++e)
          expected[static_cast<std::size_t>(bin(e))] += 1 + (e < tile - 3);
        INFO(threads << " threads, " << n << " items, " << bins << " bins");
        CHECK(out.to_host() == expected);
      }
}

TEST_CASE("A block selects its largest or smallest keys, the first ones of equal keys") {
  for (auto [threads, n] : shapes)
    for (auto [k, smallest, valid] : {std::tuple(1, false, -1), {17, true, -1}, {31, false, 31}}) {
      const int tile = threads * n, count = valid < 0 ? tile : valid;
      auto key = [](auto e) { return e * 7919 % 61 - 30; };
      const fx::Kernel kernel{
          "topk", [=](fx::Tensor outKeys, fx::Tensor outValues, fx::Int32 items) {
            fx::Int32 t = fx::thread_idx().x;
            std::vector<fx::Float32> keys;
            std::vector<fx::Int32> numbers;
            for (int i = 0; i < n; ++i) {
              keys.push_back(fx::Float32(key(t * n + i).to(fx::f32)));
              numbers.push_back(fx::Int32(t * n + i));
            }
            const coop::BlockTopK choose(fx::f32, fx::i32, threads, n);
            fx::SharedAllocator shared;
            const coop::Storage storage(shared, choose.storage());
            coop::TopKOptions options{.smallest = smallest};
            if (valid >= 0)
              options.valid.emplace(items);
            const auto [best, values] = choose.pairs(keys, numbers, k, storage, options);
            for (int i = 0; i < n; ++i)
              fx::if_(t * n + i < k, [&] {
                outKeys(t * n + i) = best[std::size_t(i)];
                outValues(t * n + i) = values[std::size_t(i)];
              });
          }};
      fx::DeviceArray<float> outKeys({k});
      fx::DeviceArray<int> outValues({k});
      outKeys.poison();
      outValues.poison();
      kernel(outKeys, outValues, count).launch({.grid = 1, .block = threads});
      std::vector<int> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return smallest ? key(a) < key(b) : key(a) > key(b); });
      order.resize(static_cast<std::size_t>(k));
      std::sort(order.begin(), order.end());
      std::vector<float> keys;
      for (int e : order)
        keys.push_back(static_cast<float>(key(e)));
      INFO(threads << " threads, " << n << " items, k " << k << ", smallest " << smallest);
      CHECK(outValues.to_host() == order);
      CHECK(outKeys.to_host() == keys);
    }
}

TEST_CASE("A block writes out its runs, in any window") {
  for (auto [threads, n] : shapes) {
    auto length = [](auto r) { return r % 4 * (r % 3); }; // some are empty
    const int count = 5;
    std::vector<int> values, places;
    for (int r = 0; r < threads * n; ++r)
      for (int p = 0; p < length(r); ++p) {
        values.push_back(10 * r);
        places.push_back(p);
      }
    const int total = static_cast<int>(values.size()), first = total / 3;
    Sheet got = run("decode", threads, 1 + 2 * count, [=](Row &row, fx::Int32 t) {
      std::vector<fx::Float32> runs;
      std::vector<fx::Int32> lengths;
      for (int i = 0; i < n; ++i) {
        const fx::Int32 r(t * n + i);
        runs.push_back(fx::Float32((r * 10).to(fx::f32)));
        lengths.push_back(fx::Int32(length(r)));
      }
      const coop::BlockRunLengthDecode decode(fx::f32, threads, n);
      fx::SharedAllocator shared;
      const auto decoded = decode(runs, lengths, coop::Storage(shared, decode.storage()));
      row.put(decoded.total());
      const auto window = decoded.window(first, count, fx::Float32(-1.0f));
      row.put(window.items);
      row.put(window.places);
    });
    INFO(threads << " threads, " << n << " runs");
    got.expect("total", [&](int) { return total; });
    auto at = [&](const std::vector<int> &of, int e) {
      return e < total ? of[static_cast<std::size_t>(e)] : -1;
    };
    for (int i = 0; i < count; ++i)
      got.expect("value", [&](int t) { return at(values, first + t * count + i); });
    for (int i = 0; i < count; ++i)
      got.expect("place", [&](int t) { return at(places, first + t * count + i); });
  }
}
