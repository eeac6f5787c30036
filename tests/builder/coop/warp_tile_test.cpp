// Collectives of a wave that work in shared memory: each group of lanes has a part of the storage,
// and no barrier stands in between.
#include "sheet.h"

#include <numeric>

using namespace sheet;

namespace {

std::vector<int> widths() {
  std::vector<int> all;
  for (int w = 2; w <= waveSize(); w *= 4)
    all.push_back(w);
  all.push_back(waveSize());
  return all;
}

struct Pair {
  fx::Int64 number;
  fx::Boolean odd;
};

constexpr int kThreads = 128;

} // namespace

TEST_CASE("Lanes of a group exchange numbers and records through shared memory, and by ranks") {
  for (int n : {1, 2, 3, 6, 8})
    for (int width : widths()) {
      const int tile = width * n;
      Sheet got = run("warp_exchange", kThreads, 6 * n, [=](Row &row, fx::Int32 t) {
        const coop::WarpExchange ofRecords(coop::type_of<Pair>(), n, width);
        const coop::WarpExchange ofNumbers(fx::i16, n, width);
        fx::SharedAllocator shared;
        const coop::Storage records(shared, ofRecords.storage());
        const coop::Storage numbers(shared, ofNumbers.storage());
        std::vector<Pair> pairs;
        std::vector<fx::Numeric> items;
        std::vector<fx::Int32> ranks;
        for (int i = 0; i < n; ++i) {
          const fx::Int32 number(t * n + i);
          pairs.push_back({fx::Int64(number.to(fx::i64) << 32), number % 2 == 1});
          items.push_back(number.to(fx::i16));
          ranks.push_back(fx::Int32(tile - 1 - number % tile));
        }
        const auto striped = ofRecords.blocked_to_striped(pairs, records);
        for (const Pair &pair : striped)
          row.put((pair.number >> 32) * 2 + pair.odd.to(fx::i64));
        for (const Pair &pair : ofRecords.striped_to_blocked(striped, records))
          row.put(pair.number >> 32);
        const auto moved = ofNumbers.blocked_to_striped(items, numbers);
        row.put(moved);
        row.put(ofNumbers.striped_to_blocked(moved, numbers));
        row.put(ofNumbers.scatter_to_blocked(items, ranks, numbers));
        row.put(ofNumbers.scatter_to_striped(items, ranks, numbers));
      });
      INFO("width " << width << ", " << n << " items");
      auto striped = [=](int t, int i) { return t / width * tile + t % width + i * width; };
      auto reversed = [=](int e) { return e / tile * tile + tile - 1 - e % tile; };
      auto columns = [&](const char *what, auto expected) {
        for (int i = 0; i < n; ++i)
          got.expect(what, [&](int t) { return expected(t, i); });
      };
      columns("striped", [&](int t, int i) { return striped(t, i) * 2 + striped(t, i) % 2; });
      columns("back", [&](int t, int i) { return t * n + i; });
      columns("striped numbers", striped);
      columns("numbers back", [&](int t, int i) { return t * n + i; });
      columns("reversed", [&](int t, int i) { return reversed(t * n + i); });
      columns("reversed, striped", [&](int t, int i) { return reversed(striped(t, i)); });
      CHECK(got.done());
    }
}

TEST_CASE("Groups of lanes load and store tiles in every way, whole and in part") {
  using T = coop::WarpTransfer;
  for (T way : {T::direct, T::vectorize, T::striped, T::transpose})
    for (auto [width, n] : {std::pair(0, 4), {8, 3}, {16, 8}, {32, 1}}) {
      const int lanes = width ? width : waveSize(), tile = lanes * n, groups = kThreads / lanes;
      const int valid = tile - n - 1, each = n, group_width = width;
      const fx::Kernel kernel{
          "warp_tiles", [=](fx::Tensor in, fx::Tensor out, fx::Tensor part, fx::Int32 count) {
            fx::Int32 t = fx::thread_idx().x;
            const coop::WarpLoad load(fx::f32, each, way, group_width);
            const coop::WarpStore store(fx::f32, each, way, group_width);
            fx::SharedAllocator shared;
            const coop::Storage storage(shared, load.storage() | store.storage());
            const fx::Int32 group(t / lanes), lane(t % lanes);
            const fx::Vector all = load(in(group, fx::_), storage);
            const fx::Vector some = load.partial(in(group, fx::_), count, -1.0f, storage);
            for (int i = 0; i < each; ++i) {
              const fx::Numeric at = way == T::striped ? lane + i * lanes : lane * each + i;
              const fx::Numeric number = group * tile + at;
              const fx::Numeric expected = fx::select(at < count, number, -1);
              out(group, at) = fx::select(
                  all.at(i) == number.to(fx::f32) && some.at(i) == expected.to(fx::f32), 0, 1);
            }
            store(part(group, fx::_), all, storage);
            store.partial(part(group, fx::_), count, all * 2.0f, storage);
          }};
      std::vector<float> numbers(static_cast<std::size_t>(groups * tile));
      std::iota(numbers.begin(), numbers.end(), 0.0f);
      fx::DeviceArray<float> in({groups, tile}), part({groups, tile});
      fx::DeviceArray<int> out({groups, tile});
      in.copy_from(numbers);
      out.poison();
      part.poison();
      kernel(in, out, part, valid).launch({.grid = 1, .block = kThreads});
      int wrong = 0;
      const auto loaded = out.to_host();
      const auto stored = part.to_host();
      for (int i = 0; i < groups * tile; ++i) {
        wrong += loaded[static_cast<std::size_t>(i)] != 0;
        wrong +=
            stored[static_cast<std::size_t>(i)] != static_cast<float>(i % tile < valid ? 2 * i : i);
      }
      INFO("width " << width << ", " << n << " items, way " << int(way));
      CHECK(wrong == 0);
    }
}

TEST_CASE("A merge sort of a group keeps equal items in their order, for any number, in part too") {
  for (int n : {1, 3, 4})
    for (int width : widths()) {
      const int tile = width * n;
      for (int valid : {-1, tile / 2 + 1}) {
        const int count = valid < 0 ? tile : valid;
        auto key = [](auto e) { return e * 37 % 11; };
        const fx::Kernel kernel{"warp_merge_sort", [=](fx::Tensor out, fx::Int32 items) {
                                  fx::Int32 t = fx::thread_idx().x;
                                  std::vector<fx::Int32> keys;
                                  std::vector<fx::Float64> numbers;
                                  for (int i = 0; i < n; ++i) {
                                    const fx::Int32 e(t * n + i);
                                    keys.push_back(fx::Int32(key(e)));
                                    numbers.push_back(fx::Float64(e.to(fx::f64)));
                                  }
                                  const coop::WarpMergeSort sort(fx::i32, fx::f64, n, width);
                                  fx::SharedAllocator shared;
                                  const coop::Storage storage(shared, sort.storage());
                                  auto greater = [](fx::Int32 a, fx::Int32 b) { return a > b; };
                                  auto [sorted, order] =
                                      valid < 0 ? sort.pairs(keys, numbers, greater, storage)
                                                : sort.partial_pairs(keys, numbers, greater, items,
                                                                     storage);
                                  for (int i = 0; i < n; ++i) {
                                    out(t * n + i, 0) = sorted[std::size_t(i)];
                                    out(t * n + i, 1) = order[std::size_t(i)].to(fx::i32);
                                  }
                                }};
        fx::DeviceArray<int> out({kThreads * n, 2});
        out.poison();
        kernel(out, count).launch({.grid = 1, .block = kThreads});
        const auto got = out.to_host();
        int wrong = 0;
        for (int first = 0; first < kThreads * n; first += tile) {
          std::vector<int> order(static_cast<std::size_t>(count));
          std::iota(order.begin(), order.end(), first);
          std::stable_sort(order.begin(), order.end(),
                           [&](int a, int b) { return key(a) > key(b); });
          for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(2 * (first + i));
            const int expected = order[static_cast<std::size_t>(i)];
            wrong += got[at] != key(expected) || got[at + 1] != expected;
          }
        }
        INFO("width " << width << ", " << n << " items, valid " << valid);
        CHECK(wrong == 0);
      }
    }
}
