// Collectives of a block over the grid of block sizes, items per thread, element types, algorithms
// and full or partial tiles. A covering selection runs always; the whole grid is a test of its own,
// which `ctest -C long -R coop_grid` runs.
#include "sheet.h"

#include <numeric>

using namespace sheet;

namespace {

const int kThreads[] = {64, 128, 192, 256, 512, 1024};
const fx::DType kTypes[] = {fx::i8,  fx::u8,  fx::i16, fx::u16,  fx::i32, fx::u32,
                            fx::i64, fx::u64, fx::f16, fx::bf16, fx::f32, fx::f64};

struct Point {
  int threads, items, type;
  bool other;   ///< the second algorithm of each collective
  bool partial; ///< a tile that is not full
  fx::DType dtype() const { return kTypes[type]; }
  int tile() const { return threads * items; }
  int count() const { return partial ? tile() - tile() / 3 : tile(); }
  std::string str() const {
    return std::to_string(threads) + " threads, " + std::to_string(items) + " items of " +
           std::string(dtype().name()) + (other ? ", other" : "") + (partial ? ", partial" : "");
  }
};

/// Element e of a sequence: all types have its values, with their signs.
template <class E> auto value(const E &e, bool isSigned) {
  return e * 37 % 101 - (isSigned ? 50 : 0);
}
bool isSigned(fx::DType type) { return type.is_float() || type.is_signed(); }
/// One of a sequence whose sums all types have: at most 96 ones in a tile.
template <class E> auto one(const E &e) { return (97 - e % 97) / 97; }

/// Reductions, scans, exchanges and tiles of memory.
void expectMoves(const Point &p) {
  const int n = p.items, threads = p.threads, tile = p.tile(), count = p.count();
  const bool sign = isSigned(p.dtype());
  const fx::Kernel kernel{
      "grid", [=](fx::Tensor out, fx::Tensor scratch, fx::Int32 valid) {
        const fx::DType type = p.dtype();
        const fx::Int32 t = fx::thread_idx().x;
        std::vector<fx::Numeric> values, ones;
        std::vector<fx::Int32> ranks;
        for (int i = 0; i < n; ++i) {
          const fx::Int32 e(t * n + i);
          values.push_back(value(e, sign).to(type));
          ones.push_back(one(e).to(type));
          ranks.push_back(fx::Int32(tile - 1 - e));
        }
        using Transfer = coop::BlockTransfer;
        const coop::BlockReduce reduce(type, threads,
                                       p.other ? coop::BlockReduceAlgorithm::raking
                                               : coop::BlockReduceAlgorithm::warp_reductions);
        const coop::BlockScan scan(type, threads,
                                   p.other ? coop::BlockScanAlgorithm::raking
                                           : coop::BlockScanAlgorithm::warp_scans);
        const coop::BlockExchange exchange(type, threads, n);
        const coop::BlockStore store(type, threads, n,
                                     p.other ? Transfer::warp_transpose : Transfer::direct);
        const coop::BlockLoad load(type, threads, n,
                                   p.other ? Transfer::direct : Transfer::transpose);
        fx::SharedAllocator shared;
        const coop::Storage storage(shared, reduce.storage() | scan.storage() | exchange.storage() |
                                                store.storage() | load.storage());
        Row row(out, t);
        if (p.partial) {
          row.put(reduce.partial(values, fx::Reduction::max, valid, storage));
          fx::gpu::barrier();
          const auto sums = scan.inclusive_partial(ones, fx::Reduction::add, valid, storage);
          row.put(sums.aggregate);
          row.put(sums.items);
        } else {
          row.put(reduce(values, fx::Reduction::max, storage));
          fx::gpu::barrier();
          row.put(reduce(ones, fx::Reduction::add, storage));
          fx::gpu::barrier();
          row.put(scan.inclusive(ones, fx::Reduction::add, storage));
        }
        fx::gpu::barrier();
        row.put(exchange.scatter_to_striped(values, ranks, storage));
        fx::gpu::barrier();
        auto memory =
            fx::make_view(scratch.iter().recast(type), fx::make_layout(tile, 1)); // (tile)
        store(memory, values, storage);
        fx::gpu::barrier();
        if (p.partial)
          row.put(load.partial(memory, valid, 7, storage));
        else
          row.put(load(memory, storage));
      }};
  fx::DeviceArray<std::int64_t> out({threads, 3 * n + 2}), scratch({tile});
  out.poison();
  kernel(out, scratch, count).launch({.grid = 1, .block = threads});
  Sheet got(out.to_host(), threads);

  INFO(p.str());
  int most = value(0, sign);
  std::vector<int> sums;
  for (int e = 0, sum = 0; e < tile; ++e) {
    sums.push_back(sum += one(e));
    if (e < count)
      most = std::max(most, value(e, sign));
  }
  got.expect("max", [&](int) { return most; });
  got.expect("sum", [&](int) { return sums[static_cast<std::size_t>(count - 1)]; });
  for (int i = 0; i < n; ++i)
    got.expect(
        "scan", [&](int t) { return sums[static_cast<std::size_t>(t * n + i)]; },
        [&](int t) { return t * n + i < count; });
  for (int i = 0; i < n; ++i)
    got.expect("scatter", [&](int t) { return value(tile - 1 - (t + i * threads), sign); });
  for (int i = 0; i < n; ++i)
    got.expect("load", [&](int t) {
      const int e = t * n + i;
      return e < count ? value(e, sign) : 7;
    });
  CHECK(got.done());
}

/// Sorts and selections, by their values: the numbers of the elements.
void expectSorts(const Point &p) {
  const int n = p.items, threads = p.threads, tile = p.tile(), count = p.count(), k = count / 2;
  const bool sign = isSigned(p.dtype());
  Sheet got = run("grid_sorts", threads, 2 * n, [=](Row &row, fx::Int32 t) {
    const fx::DType type = p.dtype();
    std::vector<fx::Numeric> keys;
    std::vector<fx::Int32> numbers;
    for (int i = 0; i < n; ++i) {
      const fx::Int32 e(t * n + i);
      keys.push_back(value(e, sign).to(type));
      numbers.push_back(e);
    }
    fx::SharedAllocator shared;
    if (p.other) {
      const coop::BlockMergeSort sort(type, fx::i32, threads, n);
      const coop::BlockTopK choose(type, fx::i32, threads, n);
      const coop::Storage storage(shared, sort.storage() | choose.storage());
      auto less = [](const fx::Numeric &a, const fx::Numeric &b) { return a < b; };
      row.put(sort.partial_pairs(keys, numbers, less, count, storage).second);
      fx::gpu::barrier();
      coop::TopKOptions options{.smallest = true};
      options.valid.emplace(count);
      row.put(choose.pairs(keys, numbers, k, storage, options).second);
    } else {
      const coop::BlockRadixSort sort(type, fx::i32, threads, n, 8);
      const coop::BlockRadixRank rank(threads, n, 7);
      const coop::BlockExchange exchange(fx::u32, threads, n);
      const coop::Storage storage(shared, sort.storage() | rank.storage() | exchange.storage());
      coop::RadixSortOptions options;
      options.valid.emplace(count);
      row.put(sort.pairs(keys, numbers, storage, options).second);
      fx::gpu::barrier();
      std::vector<fx::UInt32> digits;
      for (const fx::Int32 &e : numbers)
        digits.push_back(fx::UInt32(value(e, false).to(fx::u32)));
      const auto striped = exchange.blocked_to_warp_striped(digits, storage);
      fx::gpu::barrier();
      row.put(rank(striped, storage));
    }
  });
  INFO(p.str());
  auto key = [&](int e) { return value(e, sign); };
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  for (int i = 0; i < n; ++i)
    got.expect(
        "sorted",
        [&](int t) { return order[static_cast<std::size_t>(std::min(t * n + i, count - 1))]; },
        [&](int t) { return t * n + i < count; });
  if (p.other) {
    std::vector<int> chosen(order.begin(), order.begin() + k);
    std::sort(chosen.begin(), chosen.end());
    for (int i = 0; i < n; ++i)
      got.expect(
          "chosen",
          [&](int t) { return chosen[static_cast<std::size_t>(std::min(t * n + i, k - 1))]; },
          [&](int t) { return t * n + i < k; });
  } else {
    std::vector<int> all(static_cast<std::size_t>(tile)), places(all.size());
    std::iota(all.begin(), all.end(), 0);
    std::stable_sort(all.begin(), all.end(),
                     [](int a, int b) { return value(a, false) < value(b, false); });
    for (int i = 0; i < tile; ++i)
      places[static_cast<std::size_t>(all[static_cast<std::size_t>(i)])] = i;
    const int wave = std::min(waveSize(), threads);
    for (int i = 0; i < n; ++i)
      got.expect("rank", [&](int t) {
        return places[static_cast<std::size_t>(t / wave * (wave * n) + t % wave + i * wave)];
      });
  }
  CHECK(got.done());
}

/// What items have beside them, counts, and runs written out.
void expectSequences(const Point &p) {
  constexpr int bins = 64;
  const int n = p.items, threads = p.threads, tile = p.tile(), count = p.count();
  const bool sign = isSigned(p.dtype());
  auto item = [sign](auto e) { return value(e / 3, sign); }; // runs of three
  auto length = [](auto r) { return r % 3; };
  Sheet got = run("grid_sequences", threads, 5 * n + 2, [=](Row &row, fx::Int32 t) {
    const fx::DType type = p.dtype();
    std::vector<fx::Numeric> items;
    std::vector<fx::UInt32> digits;
    std::vector<fx::Int32> lengths;
    for (int i = 0; i < n; ++i) {
      const fx::Int32 e(t * n + i);
      items.push_back(item(e).to(type));
      digits.push_back(fx::UInt32((e * 7 % bins).to(fx::u32)));
      lengths.push_back(fx::Int32(length(e)));
    }
    const coop::BlockDiscontinuity runs(type, threads);
    const coop::BlockAdjacentDifference differences(type, threads);
    const coop::BlockShuffle shuffle(type, threads);
    const coop::BlockHistogram histogram(
        threads, bins,
        p.other ? coop::BlockHistogramAlgorithm::sort : coop::BlockHistogramAlgorithm::match, n);
    const coop::BlockRunLengthDecode decode(type, threads, n);
    fx::SharedAllocator shared;
    auto counts = fx::make_view(shared.allocate(bins * 4).recast(fx::i32),
                                fx::make_layout(bins, 1)); // (bins)
    const coop::Storage storage(shared, runs.storage() | differences.storage() | shuffle.storage() |
                                            histogram.storage() | decode.storage());
    auto differ = [](const fx::Numeric &a, const fx::Numeric &b) { return a != b; };
    auto larger = [](const fx::Numeric &a, const fx::Numeric &b) { return fx::max(a, b); };
    histogram.clear(counts);
    row.put(runs.heads(items, differ, storage));
    fx::gpu::barrier();
    row.put(p.partial ? runs.tails_partial(items, differ, count, storage)
                      : runs.tails(items, differ, storage));
    fx::gpu::barrier();
    row.put(p.partial ? differences.right_partial(items, larger, count, storage)
                      : differences.right(items, larger, storage));
    fx::gpu::barrier();
    row.put(shuffle.up(items, 1, storage));
    fx::gpu::barrier();
    histogram.add_partial(digits, count, counts, storage);
    fx::gpu::barrier();
    row.put(counts(t % bins));
    const auto decoded = decode(items, lengths, storage);
    row.put(decoded.total());
    row.put(decoded.window(0, n, 9).items);
  });
  INFO(p.str());
  std::vector<int> counts(bins), decoded;
  for (int e = 0; e < tile; ++e) {
    counts[static_cast<std::size_t>(e * 7 % bins)] += e < count;
    decoded.insert(decoded.end(), static_cast<std::size_t>(length(e)), item(e));
  }
  auto columns = [&](const char *what, auto expected, auto of) {
    for (int i = 0; i < n; ++i)
      got.expect(
          what, [&](int t) { return expected(t * n + i); }, [&](int t) { return of(t * n + i); });
  };
  auto all = [](int) { return true; };
  auto inside = [&](int e) { return e < count; };
  columns("heads", [&](int e) { return e == 0 || item(e) != item(e - 1); }, all);
  columns("tails", [&](int e) { return e == count - 1 || item(e) != item(e + 1); }, inside);
  columns(
      "right", [&](int e) { return e + 1 >= count ? item(e) : std::max(item(e), item(e + 1)); },
      all);
  columns("up", [&](int e) { return e == 0 ? 1 : item(e - 1); }, all);
  got.expect("counts", [&](int t) { return counts[static_cast<std::size_t>(t % bins)]; });
  got.expect("total", [&](int) { return decoded.size(); });
  columns(
      "decoded",
      [&](int e) {
        const auto at = static_cast<std::size_t>(e);
        return at < decoded.size() ? decoded[at] : 9;
      },
      all);
  CHECK(got.done());
}

/// Whether a block's shared memory has room for a tile, with the places that are left out in it.
bool fitsMoves(const Point &p) { return p.tile() * p.dtype().bytes() <= 62 * 1024; }
/// Whether a block's shared memory has room for the sorts: keys, their numbers, padding, and
/// counters of the 256 digits of each wave.
bool fitsSorts(const Point &p) {
  const int tile = p.tile() * (p.dtype().bytes() + 4), counters = 1024 * p.threads / waveSize();
  return tile < 48 * 1024 && tile + tile / 32 + counters <= 63 * 1024;
}

} // namespace

TEST_CASE("Collectives of a block: each size with each number of items, the types in turn") {
  int at = 0;
  for (int threads : kThreads)
    for (int items = 1; items <= 9; ++items, ++at) {
      const Point p{threads, items, at * 5 % 12, at / 3 % 2 == 1, at % 2 == 1};
      if (fitsMoves(p))
        expectMoves(p);
    }
}

TEST_CASE("Sorts of a block: each type, each number of items, the sizes in turn") {
  for (int at = 0; at < 12; ++at) {
    const Point p{kThreads[at * 5 % 6], at % 9 + 1, at * 7 % 12, at % 2 == 1, at / 2 % 2 == 1};
    if (fitsSorts(p))
      expectSorts(p);
  }
}

TEST_CASE("Sequences of a block: each type, each number of items, the sizes in turn") {
  for (int at = 0; at < 12; ++at) {
    const Point p{kThreads[at * 5 % 6], at * 2 % 9 + 1, at * 7 % 12, at / 2 % 2 == 1, at % 2 == 1};
    if (fitsSorts(p))
      expectSequences(p);
  }
}

TEMPLATE_TEST_CASE_SIG("Collectives of a block over the whole grid", "[.grid]",
                       ((int Threads), Threads), 64, 128, 192, 256, 512, 1024) {
  for (int items = 1; items <= 9; ++items)
    for (int type = 0; type < 12; ++type)
      for (int way = 0; way < 4; ++way) {
        const Point p{Threads, items, type, way % 2 == 1, way / 2 == 1};
        if (fitsMoves(p))
          expectMoves(p);
        if (fitsSorts(p)) {
          expectSorts(p);
          expectSequences(p);
        }
      }
}
