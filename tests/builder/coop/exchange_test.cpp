// Exchanges within a block, and tiles from memory and back.
#include "sheet.h"

using namespace sheet;

namespace {
struct Shape {
  int threads, items;
};
const std::vector<Shape> shapes = {{32, 2}, {64, 1}, {128, 5}, {192, 6}, {256, 4}, {1024, 6}};
struct Pair {
  fx::Int64 number;
  fx::Boolean odd;
};
} // namespace

TEST_CASE("Items of a block go from each order to the others, and to their ranks") {
  for (auto [threads, n] : shapes) {
    const int tile = threads * n, count = 8 * n;
    Sheet got = run("exchange", threads, count, [=](Row &row, fx::Int32 t) {
      const coop::BlockExchange ofRecords(coop::type_of<Pair>(), threads, n);
      const coop::BlockExchange ofNumbers(fx::i32, threads, n);
      fx::SharedAllocator shared;
      const coop::Storage storage(shared, ofRecords.storage() | ofNumbers.storage());
      std::vector<Pair> records;
      std::vector<fx::Int32> numbers, ranks;
      std::vector<fx::Boolean> even;
      for (int i = 0; i < n; ++i) {
        const fx::Int32 number(t * n + i);
        records.push_back({fx::Int64(number.to(fx::i64) << 32), number % 2 == 1});
        numbers.push_back(number);
        ranks.push_back(fx::Int32(tile - 1 - number));
        even.push_back(number % 2 == 0);
      }
      const auto striped = ofRecords.blocked_to_striped(records, storage);
      for (const Pair &pair : striped)
        row.put((pair.number >> 32) * 2 + pair.odd.to(fx::i64));
      fx::gpu::barrier();
      const auto back = ofRecords.striped_to_blocked(striped, storage);
      for (const Pair &pair : back)
        row.put(pair.number >> 32);
      fx::gpu::barrier();
      const auto ofWave = ofNumbers.blocked_to_warp_striped(numbers, storage);
      row.put(ofWave);
      fx::gpu::barrier();
      row.put(ofNumbers.warp_striped_to_blocked(ofWave, storage));
      fx::gpu::barrier();
      row.put(ofNumbers.scatter_to_blocked(numbers, ranks, storage));
      fx::gpu::barrier();
      row.put(ofNumbers.scatter_to_striped(numbers, ranks, storage));
      fx::gpu::barrier();
      std::vector<fx::Int32> halves;
      for (const fx::Int32 &number : numbers)
        halves.push_back(fx::Int32(number / 2));
      row.put(
          ofNumbers.scatter_to_striped_flagged(numbers, halves, even, (tile + 1) / 2, -7, storage));
      fx::gpu::barrier();
      std::vector<fx::Int32> guarded; // the upper half goes down, the lower half nowhere
      for (const fx::Int32 &number : numbers)
        guarded.push_back(fx::Int32(number - tile / 2));
      row.put(ofNumbers.scatter_to_striped_guarded(numbers, guarded, tile - tile / 2, -8, storage));
    });
    INFO(threads << " threads, " << n << " items");
    const int wave = std::min(waveSize(), threads);
    for (int i = 0; i < n; ++i)
      got.expect("striped", [&](int t) {
        const int e = t + i * threads;
        return e * 2 + e % 2;
      });
    for (int i = 0; i < n; ++i)
      got.expect("back", [&](int t) { return t * n + i; });
    for (int i = 0; i < n; ++i)
      got.expect("warp-striped", [&](int t) { return t / wave * wave * n + t % wave + i * wave; });
    for (int i = 0; i < n; ++i)
      got.expect("back from there", [&](int t) { return t * n + i; });
    for (int i = 0; i < n; ++i)
      got.expect("reversed", [&](int t) { return tile - 1 - (t * n + i); });
    for (int i = 0; i < n; ++i)
      got.expect("reversed, striped", [&](int t) { return tile - 1 - (t + i * threads); });
    for (int i = 0; i < n; ++i)
      got.expect("flagged", [&](int t) {
        const int e = t + i * threads;
        return e < (tile + 1) / 2 ? 2 * e : -7;
      });
    for (int i = 0; i < n; ++i)
      got.expect("guarded", [&](int t) {
        const int e = t + i * threads;
        return e < tile - tile / 2 ? e + tile / 2 : -8;
      });
    CHECK(got.done());
  }
}

TEST_CASE("A block loads and stores tiles in every way, whole and in part") {
  using T = coop::BlockTransfer;
  for (T way : {T::direct, T::vectorize, T::striped, T::transpose, T::warp_transpose})
    for (auto [threads, n] : shapes) {
      const int tile = threads * n;
      const int valid = tile - n - 1;
      const fx::Kernel kernel{
          "tiles", [=](fx::Tensor in, fx::Tensor out, fx::Tensor part, fx::Int32 count) {
            fx::Int32 t = fx::thread_idx().x;
            const coop::BlockLoad load(fx::f32, threads, n, way);
            const coop::BlockStore store(fx::f32, threads, n, way);
            fx::SharedAllocator shared;
            const coop::Storage storage(shared, load.storage() | store.storage());
            const fx::Vector all = load(in, storage);
            fx::gpu::barrier();
            const fx::Vector some = load.partial(in, count, -1.0f, storage);
            fx::gpu::barrier();
            for (int i = 0; i < n; ++i) {
              // Each thread has the items that it says: the number of each is its value.
              const fx::Numeric at = way == T::striped ? t + i * threads : t * n + i;
              const fx::Numeric expected = fx::select(at < count, at, -1);
              out(at) = fx::select(
                  all.at(i) == at.to(fx::f32) && some.at(i) == expected.to(fx::f32), 0, 1);
            }
            store(part, all, storage);
            fx::gpu::barrier();
            store.partial(part, count, all * 2.0f, storage);
          }};
      std::vector<float> numbers;
      for (int i = 0; i < tile; ++i)
        numbers.push_back(static_cast<float>(i));
      fx::DeviceArray<float> in({tile}), part({tile});
      fx::DeviceArray<int> out({tile});
      in.copy_from(numbers);
      out.poison();
      part.poison();
      kernel(in, out, part, valid).launch({.grid = 1, .block = threads});
      int wrong = 0;
      const auto loaded = out.to_host();
      const auto stored = part.to_host();
      for (int i = 0; i < tile; ++i) {
        wrong += loaded[static_cast<std::size_t>(i)] != 0;
        wrong += stored[static_cast<std::size_t>(i)] != static_cast<float>(i < valid ? 2 * i : i);
      }
      INFO(threads << " threads, " << n << " items, way " << int(way));
      CHECK(wrong == 0);
    }
}
