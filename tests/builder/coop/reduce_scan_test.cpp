// Reductions and scans of a block.
#include "sheet.h"

using namespace sheet;

namespace {

/// Elements 0 to `last`, combined from the left.
HostAffine composed(int last) {
  HostAffine map = hostAffine(0);
  for (int i = 1; i <= last; ++i)
    map = map * hostAffine(i);
  return map;
}
int sum(int count) {
  int all = 0;
  for (int i = 0; i < count; ++i)
    all += hostElement(i);
  return all;
}

struct Shape {
  int threads, items;
};
const std::vector<Shape> shapes = {{16, 1},  {64, 3},  {128, 1}, {192, 2},
                                   {320, 4}, {512, 1}, {1024, 9}};

template <class Make> auto blocked(fx::Int32 t, int items, Make make) {
  std::vector<decltype(make(t))> all;
  for (int i = 0; i < items; ++i)
    all.push_back(make(t * items + i));
  return all;
}

} // namespace

TEST_CASE("A block reduces numbers and records in their order, by each algorithm, in part too") {
  for (auto algorithm :
       {coop::BlockReduceAlgorithm::warp_reductions, coop::BlockReduceAlgorithm::raking})
    for (auto [threads, items] : shapes) {
      const int tile = threads * items;
      Sheet got = run("block_reduce", threads, 8, [=](Row &row, fx::Int32 t) {
        const auto maps = blocked(t, items, affine);
        const auto numbers = blocked(t, items, element);
        const coop::BlockReduce ofMaps(coop::type_of<Affine>(), threads, algorithm);
        const coop::BlockReduce ofNumbers(fx::i32, threads, algorithm);
        fx::SharedAllocator shared;
        const coop::Storage storage(shared, ofMaps.storage() | ofNumbers.storage());
        const Affine all = ofMaps(maps, then, storage);
        fx::gpu::barrier();
        row.put(all.scale);
        row.put(all.shift);
        row.put(ofNumbers(numbers, fx::Reduction::add, storage));
        fx::gpu::barrier();
        row.put(ofNumbers(numbers, fx::Reduction::max, storage));
        fx::gpu::barrier();
        row.put(ofNumbers.partial(numbers, fx::Reduction::add, tile - 5, storage));
        fx::gpu::barrier();
        row.put(ofMaps.partial(maps, then, tile / 2 + 1, storage).shift);
        fx::gpu::barrier();
        row.put(ofMaps.partial(maps, then, fx::Int32(t / threads + 1), storage).shift);
        fx::gpu::barrier();
        row.put(ofMaps.partial(maps, then, tile, storage).shift);
      });
      INFO(threads << " threads, " << items << " items, algorithm " << int(algorithm));
      int most = hostElement(0);
      for (int i = 0; i < tile; ++i)
        most = std::max(most, hostElement(i));
      const HostAffine all = composed(tile - 1);
      got.expect("scale", [&](int) { return all.scale; });
      got.expect("shift", [&](int) { return all.shift; });
      got.expect("add", [&](int) { return sum(tile); });
      got.expect("max", [&](int) { return most; });
      got.expect("partial add", [&](int) { return sum(tile - 5); });
      got.expect("half", [&](int) { return composed(tile / 2).shift; });
      got.expect("one", [&](int) { return composed(0).shift; });
      got.expect("all", [&](int) { return all.shift; });
    }
}

TEST_CASE("A block reduces several values with one barrier, and the arg-max of a record") {
  struct Best {
    fx::Float32 value;
    fx::Int32 index;
  };
  for (int threads : {64, 256, 768}) {
    Sheet got = run("batched", threads, 5, [=](Row &row, fx::Int32 t) {
      const coop::BlockReduceBatched three(fx::f32, threads, 3);
      const coop::BlockReduce best(coop::type_of<Best>(), threads);
      fx::SharedAllocator shared;
      const coop::Storage storage(shared, three.storage() | best.storage());
      const fx::Float32 x(element(t).to(fx::f32));
      row.put(three(fx::Vector::of({x, x * x, -x}), fx::Reduction::add, storage));
      fx::gpu::barrier();
      const Best found = best(
          Best{x, t},
          [](const Best &a, const Best &b) {
            const fx::Boolean first = a.value >= b.value;
            return Best{fx::select(first, a.value, b.value), fx::select(first, a.index, b.index)};
          },
          storage);
      row.put(found.value);
      row.put(found.index);
    });
    int sums[2] = {}, best = 0;
    for (int i = 0; i < threads; ++i) {
      sums[0] += hostElement(i);
      sums[1] += hostElement(i) * hostElement(i);
      best = hostElement(i) > hostElement(best) ? i : best;
    }
    got.expect("sum", [&](int) { return sums[0]; });
    got.expect("squares", [&](int) { return sums[1]; });
    got.expect("negatives", [&](int) { return -sums[0]; });
    got.expect("largest", [&](int) { return hostElement(best); });
    got.expect("where", [&](int) { return best; });
  }
}

TEST_CASE("A block scans numbers and records, from an initial value or from none") {
  for (auto algorithm : {coop::BlockScanAlgorithm::warp_scans, coop::BlockScanAlgorithm::raking})
    for (auto [threads, items] : shapes) {
      const int n = items;
      Sheet got = run("block_scan", threads, 7 * items + 2, [=](Row &row, fx::Int32 t) {
        const auto maps = blocked(t, n, affine);
        const auto numbers = blocked(t, n, element);
        const coop::BlockScan ofMaps(coop::type_of<Affine>(), threads, algorithm);
        const coop::BlockScan ofNumbers(fx::i32, threads, algorithm);
        fx::SharedAllocator shared;
        const coop::Storage storage(shared, ofMaps.storage() | ofNumbers.storage());
        const auto upTo = ofMaps.inclusive(maps, then, storage);
        fx::gpu::barrier();
        const auto before = ofMaps.exclusive_with_aggregate(maps, Affine{2, 5}, then, storage);
        fx::gpu::barrier();
        for (int i = 0; i < n; ++i) {
          row.put(upTo[std::size_t(i)].scale);
          row.put(upTo[std::size_t(i)].shift);
          row.put(before.items[std::size_t(i)].shift);
        }
        row.put(before.aggregate.shift);
        row.put(ofNumbers.inclusive(numbers, fx::Reduction::add, storage));
        fx::gpu::barrier();
        row.put(ofNumbers.exclusive(numbers, fx::Reduction::add, storage));
        fx::gpu::barrier();
        const auto from =
            ofNumbers.inclusive_with_aggregate(numbers, 100, fx::Reduction::max, storage);
        row.put(from.items);
        fx::gpu::barrier();
        row.put(from.aggregate);
        row.put(ofNumbers.exclusive(numbers, fx::Reduction::min, storage));
      });
      INFO(threads << " threads, " << items << " items, algorithm " << int(algorithm));
      const int tile = threads * n;
      std::vector<HostAffine> upTo, before;
      std::vector<int> sums, sumsBefore, smallest;
      HostAffine first = hostAffine(0), start{2, 5};
      int all = 0, least = INT32_MAX, largest = INT32_MIN;
      for (int i = 0; i < tile; ++i) {
        first = i ? first * hostAffine(i) : first;
        upTo.push_back(first);
        before.push_back(start);
        start = start * hostAffine(i);
        sumsBefore.push_back(all);
        all += hostElement(i);
        sums.push_back(all);
        smallest.push_back(least);
        least = std::min(least, hostElement(i));
        largest = std::max(largest, hostElement(i));
      }
      auto at = [&](const auto &of, int t, int i) {
        return of[static_cast<std::size_t>(t * n + i)];
      };
      for (int i = 0; i < n; ++i) {
        got.expect("scale", [&](int t) { return at(upTo, t, i).scale; });
        got.expect("shift", [&](int t) { return at(upTo, t, i).shift; });
        got.expect("shift before", [&](int t) { return at(before, t, i).shift; });
      }
      got.expect("aggregate", [&](int) { return upTo.back().shift; });
      for (int i = 0; i < n; ++i)
        got.expect("sums", [&](int t) { return at(sums, t, i); });
      for (int i = 0; i < n; ++i)
        got.expect("sums before", [&](int t) { return at(sumsBefore, t, i); });
      for (int i = 0; i < n; ++i)
        got.expect("from 100", [&](int) { return 100; });
      got.expect("aggregate without 100", [&](int) { return largest; });
      for (int i = 0; i < n; ++i)
        got.expect("smallest before", [&](int t) { return at(smallest, t, i); });
      CHECK(got.done());
    }
}

TEST_CASE("A block scans a tile that is not full, and its aggregate is of what is there") {
  for (auto algorithm : {coop::BlockScanAlgorithm::warp_scans, coop::BlockScanAlgorithm::raking})
    for (auto [threads, items] : {Shape{32, 2}, {64, 3}, {192, 1}, {512, 4}})
      for (int valid : {1, threads * items / 2 + 1, threads * items}) {
        const int n = items;
        Sheet got = run("partial_scan", threads, 2 * n + 2, [=](Row &row, fx::Int32 t) {
          const auto maps = blocked(t, n, affine);
          const auto numbers = blocked(t, n, element);
          const coop::BlockScan ofMaps(coop::type_of<Affine>(), threads, algorithm);
          const coop::BlockScan ofNumbers(fx::i32, threads, algorithm);
          fx::SharedAllocator shared;
          const coop::Storage storage(shared, ofMaps.storage() | ofNumbers.storage());
          const auto before = ofMaps.exclusive_partial(maps, Affine{2, 5}, then,
                                                       fx::Int32(t / threads + valid), storage);
          fx::gpu::barrier();
          const auto sums =
              ofNumbers.inclusive_partial(numbers, fx::Reduction::add, valid, storage);
          for (int i = 0; i < n; ++i)
            row.put(before.items[std::size_t(i)].shift);
          row.put(before.aggregate.shift);
          row.put(sums.items);
          row.put(sums.aggregate);
        });
        INFO(threads << " threads, " << items << " items, valid " << valid << ", algorithm "
                     << int(algorithm));
        for (int i = 0; i < n; ++i)
          got.expect(
              "before",
              [&](int t) {
                HostAffine map{2, 5};
                for (int e = 0; e < t * n + i; ++e)
                  map = map * hostAffine(e);
                return map.shift;
              },
              [&](int t) { return t * n + i < valid; });
        got.expect("aggregate", [&](int) { return composed(valid - 1).shift; });
        for (int i = 0; i < n; ++i)
          got.expect(
              "sums", [&](int t) { return sum(t * n + i + 1); },
              [&](int t) { return t * n + i < valid; });
        got.expect("sum", [&](int) { return sum(valid); });
        CHECK(got.done());
      }
}

TEST_CASE("A running prefix goes from tile to tile of a loop") {
  constexpr int threads = 128, tiles = 5;
  const fx::Kernel kernel{"running", [](fx::Tensor out) {
                            fx::Int32 t = fx::thread_idx().x;
                            const coop::BlockScan scan(coop::type_of<Affine>(), threads);
                            fx::SharedAllocator shared;
                            const coop::Storage storage(shared, scan.storage());
                            coop::Running<Affine> before(Affine{1, 0});
                            for (fx::Int32 tile : fx::range(tiles)) {
                              const fx::Int32 i(tile * threads + t);
                              const Affine map = scan.inclusive(affine(i), before, then, storage);
                              out(i) = map.shift;
                              fx::gpu::barrier();
                            }
                          }};
  fx::DeviceArray<std::uint32_t> out({threads * tiles});
  out.poison();
  kernel(out).launch({.grid = 1, .block = threads});
  int wrong = 0;
  const auto got = out.to_host();
  for (int i = 0; i < threads * tiles; ++i)
    wrong += got[static_cast<std::size_t>(i)] != composed(i).shift;
  CHECK(wrong == 0);
}
