// Ranks and sorts of a block.
#include "sheet.h"

#include <bit>
#include <numeric>

using namespace sheet;

namespace {
struct Shape {
  int threads, items;
};

/// Bits without much of an order, with many equal ones in their upper part.
std::uint64_t scrambled(std::uint64_t i) {
  i = (i ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  i ^= i >> 27;
  return (i * 0x94d049bb133111ebull) & 0x83ff0f0f81f3ff71ull;
}

template <class T> T keyOf(std::uint64_t bits) {
  if constexpr (std::is_floating_point_v<T>) {
    // All classes of numbers: zeros of both signs, infinities, and NaNs too.
    switch (bits % 13) {
    case 0:
      return T(0);
    case 1:
      return -T(0);
    case 2:
      return std::numeric_limits<T>::infinity();
    case 3:
      return -std::numeric_limits<T>::infinity();
    default:
      return static_cast<T>(static_cast<std::int64_t>(bits)) * T(1e-9);
    }
  } else {
    return static_cast<T>(bits >> 3);
  }
}

/// The unsigned number whose order is that of keys in IEEE's total order, or of integers.
template <class T> std::uint64_t place(T key) {
  if constexpr (std::is_same_v<T, float>) {
    const auto bits = std::bit_cast<std::uint32_t>(key);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  } else if constexpr (std::is_same_v<T, double>) {
    const auto bits = std::bit_cast<std::uint64_t>(key);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(
        static_cast<U>(key) ^
        (std::is_signed_v<T> ? static_cast<U>(U(1) << (8 * sizeof(T) - 1)) : U(0)));
  }
}

/// Keys with their numbers as values, sorted on the device and on the host.
template <class T>
void expectSorted(Shape shape, int digit, coop::RadixSortOptions options, int valid = -1) {
  const int n = shape.items, threads = shape.threads, tile = threads * n;
  const fx::DType type = fx::dtype_of<T>;
  const fx::Kernel kernel{
      "sort", [=](fx::Tensor keys, fx::Tensor outKeys, fx::Tensor outValues, fx::Int32 count) {
        fx::Int32 t = fx::thread_idx().x;
        std::vector<fx::Numeric> items;
        std::vector<fx::Int32> numbers;
        for (int i = 0; i < n; ++i) {
          items.push_back(keys(t * n + i));
          numbers.push_back(fx::Int32(t * n + i));
        }
        const coop::BlockRadixSort sort(type, fx::i32, threads, n, digit);
        fx::SharedAllocator shared;
        const coop::Storage storage(shared, sort.storage());
        coop::RadixSortOptions how = options;
        if (valid >= 0)
          how.valid.emplace(count);
        const auto [sorted, values] = sort.pairs(items, numbers, storage, how);
        for (int i = 0; i < n; ++i) {
          const fx::Int32 at(options.striped ? t + i * threads : t * n + i);
          outKeys(at) = sorted[std::size_t(i)];
          outValues(at) = values[std::size_t(i)];
        }
      }};
  std::vector<T> keys;
  for (int i = 0; i < tile; ++i)
    keys.push_back(keyOf<T>(scrambled(static_cast<std::uint64_t>(i))));
  fx::DeviceArray<T> in({tile}), outKeys({tile});
  fx::DeviceArray<int> outValues({tile});
  in.copy_from(keys);
  outKeys.poison();
  outValues.poison();
  kernel(in, outKeys, outValues, valid).launch({.grid = 1, .block = threads});

  const int end = options.end_bit ? options.end_bit : 8 * int(sizeof(T));
  std::vector<int> order(static_cast<std::size_t>(valid < 0 ? tile : valid));
  std::iota(order.begin(), order.end(), 0);
  auto digits = [&](int i) {
    const std::uint64_t mask =
        end - options.begin_bit == 64 ? ~0ull : (1ull << (end - options.begin_bit)) - 1;
    return place(keys[static_cast<std::size_t>(i)]) >> options.begin_bit & mask;
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return options.descending ? digits(a) > digits(b) : digits(a) < digits(b);
  });
  const auto gotKeys = outKeys.to_host();
  const auto gotValues = outValues.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    wrong += gotValues[i] != order[i] ||
             place(gotKeys[i]) != place(keys[static_cast<std::size_t>(order[i])]);
  INFO(type.name() << ", " << threads << " threads, " << n << " items, digits of " << digit
                   << " bits, valid " << valid);
  CHECK(wrong == 0);
}
} // namespace

TEST_CASE("Digits get the places that they have in order, equal ones in theirs") {
  for (auto [shape, bits] : {std::pair(Shape{64, 1}, 4),
                             {Shape{32, 3}, 1},
                             {Shape{256, 4}, 8},
                             {Shape{192, 7}, 5},
                             {Shape{1024, 2}, 6}}) {
    const int n = shape.items, threads = shape.threads, tile = threads * n, size = bits;
    const int wave = std::min(waveSize(), threads);
    auto position = [=](auto t, int i) { return t / wave * (wave * n) + t % wave + i * wave; };
    auto digit = [=](auto e) { return e * e % 1009 % (1 << size); };
    Sheet got = run("rank", threads, n, [=](Row &row, fx::Int32 t) {
      std::vector<fx::UInt32> digits;
      for (int i = 0; i < n; ++i)
        digits.push_back(fx::UInt32(digit(position(t, i)).to(fx::u32)));
      const coop::BlockRadixRank rank(threads, n, size);
      fx::SharedAllocator shared;
      const coop::Storage storage(shared, rank.storage());
      row.put(rank(digits, storage));
    });
    std::vector<int> order(static_cast<std::size_t>(tile)), ranks(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return digit(a) < digit(b); });
    for (int i = 0; i < tile; ++i)
      ranks[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
    INFO(threads << " threads, " << n << " items, " << bits << " bits");
    for (int i = 0; i < n; ++i)
      got.expect("rank", [&](int t) { return ranks[static_cast<std::size_t>(position(t, i))]; });
  }
}

TEST_CASE("A radix sort orders keys of every type with their values, up and down") {
  expectSorted<std::int32_t>({64, 1}, 4, {});
  expectSorted<std::uint32_t>({256, 4}, 4, {.descending = true});
  expectSorted<float>({128, 3}, 4, {});
  expectSorted<float>({32, 5}, 8, {.descending = true, .striped = true});
  expectSorted<double>({64, 2}, 8, {});
  expectSorted<std::int64_t>({192, 1}, 6, {.descending = true});
  expectSorted<std::uint64_t>({64, 9}, 5, {.begin_bit = 5, .end_bit = 17});
  expectSorted<std::int8_t>({1024, 2}, 4, {});
  expectSorted<std::uint16_t>({512, 6}, 8, {.begin_bit = 3});
  expectSorted<std::int16_t>({320, 3}, 3, {.striped = true});
}

TEST_CASE("A radix sort of a part leaves out what is behind it") {
  expectSorted<std::int32_t>({64, 1}, 4, {}, 37);
  expectSorted<float>({128, 4}, 8, {.descending = true}, 128 * 4 - 1);
  expectSorted<std::uint8_t>({128, 3}, 8, {}, 1);
  expectSorted<std::uint8_t>({128, 3}, 8, {}, 128 * 3);
}

TEST_CASE("A merge sort orders records by any comparison, equal ones in their order, in part too") {
  struct Key {
    fx::Int32 major;
    fx::Float32 minor;
  };
  for (auto [threads, n, valid] : {std::tuple(64, 1, -1),
                                   {32, 4, -1},
                                   {192, 3, 300},
                                   {256, 2, 0},
                                   {512, 5, -1},
                                   {1024, 2, 1111}}) {
    const int tile = threads * n, count = valid < 0 ? tile : valid;
    auto major = [](auto e) { return e * 37 % 11; };
    auto minor = [](auto e) { return e * 101 % 5; };
    const fx::Kernel kernel{
        "merge_sort", [=](fx::Tensor out, fx::Int32 items) {
          fx::Int32 t = fx::thread_idx().x;
          std::vector<Key> keys;
          std::vector<fx::Int32> numbers;
          for (int i = 0; i < n; ++i) {
            const fx::Int32 e(t * n + i);
            keys.push_back({fx::Int32(major(e)), fx::Float32(minor(e).to(fx::f32))});
            numbers.push_back(e);
          }
          const coop::BlockMergeSort sort(coop::type_of<Key>(), fx::i32, threads, n);
          fx::SharedAllocator shared;
          const coop::Storage storage(shared, sort.storage());
          auto before = [](const Key &a, const Key &b) {
            return a.major > b.major || (a.major == b.major && a.minor < b.minor);
          };
          auto [sorted, order] = valid < 0
                                     ? sort.pairs(keys, numbers, before, storage)
                                     : sort.partial_pairs(keys, numbers, before, items, storage);
          for (int i = 0; i < n; ++i) {
            const auto at = std::size_t(i);
            out(t * n + i, 0) = order[at];
            out(t * n + i, 1) = sorted[at].major * 10 + sorted[at].minor.to(fx::i32);
          }
        }};
    fx::DeviceArray<int> out({tile, 2});
    out.poison();
    kernel(out, count).launch({.grid = 1, .block = threads});
    std::vector<int> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(-major(a), minor(a)) < std::pair(-major(b), minor(b));
    });
    int wrong = 0;
    const auto got = out.to_host();
    for (std::size_t i = 0; i < order.size(); ++i)
      wrong += got[2 * i] != order[i] || got[2 * i + 1] != major(order[i]) * 10 + minor(order[i]);
    INFO(threads << " threads, " << n << " items, valid " << valid);
    CHECK(wrong == 0);
  }
}
