// Collectives of a wave, in groups of every width.
#include "sheet.h"

#include <limits>

using namespace sheet;

namespace {

std::vector<int> widths() {
  std::vector<int> all;
  for (int w = 1; w <= waveSize(); w *= 2)
    all.push_back(w);
  return all;
}

/// Lanes [first, last] of a group, combined from the left.
template <class T, class Op, class At> T fold(int first, int last, Op op, At at) {
  T sum = at(first);
  for (int i = first + 1; i <= last; ++i)
    sum = op(sum, at(i));
  return sum;
}
HostAffine compose(HostAffine a, HostAffine b) { return a * b; }
int plus(int a, int b) { return a + b; }
int least(int a, int b) { return std::min(a, b); }

} // namespace

TEST_CASE("A group of lanes reduces numbers of every type and records in their order") {
  const int columns = static_cast<int>(widths().size()) * 12;
  Sheet got = run("reduce", 128, columns, [](Row &row, fx::Int32 t) {
    const fx::Int32 x = element(t);
    for (int width : widths()) {
      const Affine all = coop::warp_reduce(affine(t), then, width);
      row.put(all.scale);
      row.put(all.shift);
      row.put(coop::warp_reduce(x, fx::Reduction::add, width));
      row.put(coop::warp_reduce(x, fx::Reduction::min, width));
      row.put(coop::warp_reduce(x.to(fx::f32), fx::Reduction::add, width));
      row.put(coop::warp_reduce(x.to(fx::f64), fx::Reduction::max, width));
      row.put(coop::warp_reduce(x.to(fx::f16), fx::Reduction::max, width));
      row.put(coop::warp_reduce(x.to(fx::bf16), fx::Reduction::min, width));
      row.put(coop::warp_reduce(x.to(fx::i64) << 33, fx::Reduction::add, width) >> 33);
      row.put(coop::warp_reduce(x.to(fx::i8), fx::Reduction::max, width));
      row.put(
          coop::warp_reduce(
              x > 40, coop::commutative([](fx::Boolean a, fx::Boolean b) { return a || b; }), width)
              .to(fx::i32));
      // The items of a thread, then the lanes.
      row.put(
          coop::warp_reduce(std::vector<fx::Int32>{x, element(t + 1)}, fx::Reduction::add, width));
    }
  });
  for (int width : widths()) {
    auto of = [&](auto op, auto at) {
      return [=](int t) {
        const int first = t / width * width;
        return fold<decltype(at(0))>(first, first + width - 1, op, at);
      };
    };
    const std::string w = ", width " + std::to_string(width);
    const auto maps = of(compose, hostAffine);
    const auto sums = of(plus, hostElement), smallest = of(least, hostElement);
    const auto largest = of([](int a, int b) { return std::max(a, b); }, hostElement);
    got.expect("scale" + w, [&](int t) { return maps(t).scale; });
    got.expect("shift" + w, [&](int t) { return maps(t).shift; });
    got.expect("add i32" + w, sums);
    got.expect("min i32" + w, smallest);
    got.expect("add f32" + w, sums);
    got.expect("max f64" + w, largest);
    got.expect("max f16" + w, largest);
    got.expect("min bf16" + w, smallest);
    got.expect("add i64" + w, sums);
    got.expect("max i8" + w, largest);
    got.expect("or" + w, [&](int t) { return largest(t) > 40; });
    got.expect("items" + w, of(plus, [](int i) { return hostElement(i) + hostElement(i + 1); }));
  }
  CHECK(got.done());
}

TEST_CASE("Lanes scan numbers and records, from an initial value or from none") {
  const int columns = static_cast<int>(widths().size()) * 14;
  Sheet got = run("scan", 128, columns, [](Row &row, fx::Int32 t) {
    const fx::Int32 x = element(t);
    for (int width : widths()) {
      const Affine upTo = coop::warp_inclusive_scan(affine(t), then, width);
      row.put(upTo.scale);
      row.put(upTo.shift);
      const Affine before = coop::warp_exclusive_scan(affine(t), Affine{2, 5}, then, width);
      row.put(before.scale);
      row.put(before.shift);
      row.put(coop::warp_inclusive_scan(x.to(fx::f32), fx::Reduction::add, width));
      row.put(coop::warp_exclusive_scan(x, fx::Reduction::add, width));
      row.put(coop::warp_inclusive_scan(x, fx::Reduction::min, width));
      row.put(coop::warp_exclusive_scan(x, fx::Reduction::max, width));
      row.put(coop::warp_inclusive_scan(x.to(fx::i64), 1000, fx::Reduction::add, width));
      const auto all = coop::warp_scan(x, 7, fx::Reduction::add, width);
      row.put(all.inclusive);
      row.put(all.exclusive);
      row.put(all.aggregate);
      row.put(coop::warp_exclusive_scan(std::vector<fx::Int32>{x, element(t + 1)},
                                        fx::Reduction::add, width));
    }
  });
  for (int width : widths()) {
    auto first = [=](int t) { return t / width * width; };
    const std::string w = ", width " + std::to_string(width);
    auto maps = [&](int t) { return fold<HostAffine>(first(t), t, compose, hostAffine); };
    auto mapsBefore = [&](int t) {
      HostAffine map{2, 5};
      for (int i = first(t); i < t; ++i)
        map = map * hostAffine(i);
      return map;
    };
    auto sums = [&](int t) { return fold<int>(first(t), t, plus, hostElement); };
    auto before = [&](int t) { return sums(t) - hostElement(t); };
    got.expect("scale" + w, [&](int t) { return maps(t).scale; });
    got.expect("shift" + w, [&](int t) { return maps(t).shift; });
    got.expect("scale before" + w, [&](int t) { return mapsBefore(t).scale; });
    got.expect("shift before" + w, [&](int t) { return mapsBefore(t).shift; });
    got.expect("add f32" + w, sums);
    got.expect("add before" + w, before);
    got.expect("min" + w, [&](int t) { return fold<int>(first(t), t, least, hostElement); });
    got.expect("max before" + w, [&](int t) {
      int most = std::numeric_limits<int>::min();
      for (int i = first(t); i < t; ++i)
        most = std::max(most, hostElement(i));
      return most;
    });
    got.expect("add i64 from" + w, [&](int t) { return 1000 + sums(t); });
    got.expect("inclusive from" + w, [&](int t) { return 7 + sums(t); });
    got.expect("exclusive from" + w, [&](int t) { return 7 + before(t); });
    got.expect("aggregate" + w, [&](int t) { return sums(first(t) + width - 1); });
    auto pairsBefore = [&](int t) {
      int sum = 0;
      for (int i = first(t); i < t; ++i)
        sum += hostElement(i) + hostElement(i + 1);
      return sum;
    };
    got.expect("items before" + w, pairsBefore);
    got.expect("items before" + w, [&](int t) { return pairsBefore(t) + hostElement(t); });
  }
  CHECK(got.done());
}

TEST_CASE("Lanes reduce in segments, in part, and in batches; one lane's value goes to all") {
  auto isHead = [](auto t) { return t % 11 == 3 || t % 5 == 0; };
  const int columns = static_cast<int>(widths().size()) * 11;
  Sheet got = run("segments", 128, columns, [&](Row &row, fx::Int32 t) {
    const fx::Int32 x = element(t);
    for (int width : widths()) {
      const fx::Boolean flag = isHead(t);
      row.put(coop::warp_head_segmented_reduce(x, flag, fx::Reduction::add, width));
      row.put(coop::warp_tail_segmented_reduce(x, flag, fx::Reduction::add, width));
      const Affine maps = coop::warp_head_segmented_reduce(affine(t), flag, then, width);
      row.put(maps.scale);
      row.put(maps.shift);
      row.put(coop::warp_reduce_partial(affine(t), then, (width + 1) / 2, width).shift);
      const fx::Int32 valid((t / 128) + (width + 2) / 3); // known at run time
      row.put(coop::warp_reduce_partial(affine(t), then, valid, width).shift);
      row.put(coop::warp_broadcast(x, width / 2, width));
      row.put(coop::warp_broadcast(x.to(fx::f64), t * 5 % width, width));
      row.put(coop::warp_reduce_batched(std::vector<fx::Int32>{x, element(t * 3), t},
                                        fx::Reduction::max, width));
    }
  });
  for (int width : widths()) {
    const std::string w = ", width " + std::to_string(width);
    auto first = [=](int t) { return t / width * width; };
    auto last = [=](int t) { return t / width * width + width - 1; };
    auto segment = [&](int t, bool heads) {
      int from = t, to = t;
      while (from > first(t) && !(heads ? isHead(from) : isHead(from - 1)))
        --from;
      while (to < last(t) && !(heads ? isHead(to + 1) : isHead(to)))
        ++to;
      return std::pair(from, to);
    };
    auto sum = [&](int t, bool heads) {
      auto [from, to] = segment(t, heads);
      return fold<int>(from, to, plus, hostElement);
    };
    auto maps = [&](int t) {
      auto [from, to] = segment(t, true);
      return fold<HostAffine>(from, to, compose, hostAffine);
    };
    got.expect("heads" + w, [&](int t) { return sum(t, true); });
    got.expect("tails" + w, [&](int t) { return sum(t, false); });
    got.expect("scale" + w, [&](int t) { return maps(t).scale; });
    got.expect("shift" + w, [&](int t) { return maps(t).shift; });
    auto part = [&](int count) {
      return [=](int t) {
        return fold<HostAffine>(first(t), first(t) + count - 1, compose, hostAffine).shift;
      };
    };
    got.expect("half" + w, part((width + 1) / 2));
    got.expect("a third" + w, part((width + 2) / 3));
    got.expect("broadcast" + w, [&](int t) { return hostElement(first(t) + width / 2); });
    got.expect("own choice" + w, [&](int t) { return hostElement(first(t) + t * 5 % width); });
    for (int k = 0; k < 3; ++k)
      got.expect("batch" + w, [&](int t) {
        int most = std::numeric_limits<int>::min();
        for (int i = first(t); i <= last(t); ++i)
          most = std::max(most, k == 2 ? i : hostElement(k == 0 ? i : 3 * i));
        return most;
      });
  }
  CHECK(got.done());
}

TEST_CASE("Batched results are spread over the lanes, blocked and striped") {
  for (int count : {1, 3, 8, 37}) {
    const int columns = [&] {
      int all = 0;
      for (int width : widths())
        all += 3 * ((count + width - 1) / width);
      return all;
    }();
    auto value = [](auto t, int k) { return t * (2 * k + 1) % 31 + k; };
    Sheet got = run("spread", 64, columns, [&](Row &row, fx::Int32 t) {
      for (int width : widths()) {
        std::vector<fx::Int32> numbers;
        std::vector<Affine> maps;
        for (int k = 0; k < count; ++k) {
          numbers.push_back(fx::Int32(value(t, k)));
          maps.push_back(affine(t + k));
        }
        row.put(coop::warp_reduce_batched_to_blocked(numbers, fx::Reduction::add, width));
        row.put(coop::warp_reduce_batched_to_striped(numbers, fx::Reduction::max, width));
        for (const Affine &map : coop::warp_reduce_batched_to_striped(maps, then, width))
          row.put(map.shift);
      }
    });
    for (int width : widths()) {
      const std::string w = ", width " + std::to_string(width) + ", " + std::to_string(count);
      const int each = (count + width - 1) / width;
      auto first = [=](int t) { return t / width * width; };
      auto blocked = [=](int t, int i) { return t % width * each + i; };
      auto striped = [=](int t, int i) { return t % width + i * width; };
      for (int i = 0; i < each; ++i)
        got.expect(
            "blocked" + w,
            [&](int t) {
              return fold<int>(first(t), first(t) + width - 1, plus,
                               [&](int l) { return value(l, blocked(t, i)); });
            },
            [&](int t) { return blocked(t, i) < count; });
      for (int i = 0; i < each; ++i)
        got.expect(
            "striped" + w,
            [&](int t) {
              return fold<int>(
                  first(t), first(t) + width - 1, [](int a, int b) { return std::max(a, b); },
                  [&](int l) { return value(l, striped(t, i)); });
            },
            [&](int t) { return striped(t, i) < count; });
      for (int i = 0; i < each; ++i)
        got.expect(
            "maps" + w,
            [&](int t) {
              return fold<HostAffine>(first(t), first(t) + width - 1, compose,
                                      [&](int l) { return hostAffine(l + striped(t, i)); })
                  .shift;
            },
            [&](int t) { return striped(t, i) < count; });
    }
    CHECK(got.done());
  }
}

TEST_CASE("Scans and sorts of a group that is not full leave out what is behind its end") {
  const int n = 2;
  auto key = [](auto i) { return i * 7919 % 257; };
  const int columns = static_cast<int>(widths().size()) * (3 * n + 1);
  Sheet got = run("partial", 128, columns, [&](Row &row, fx::Int32 t) {
    for (int width : widths()) {
      const int valid = (width * n * 2 + 2) / 3;
      std::vector<Affine> maps;
      std::vector<fx::Int32> keys;
      for (int i = 0; i < n; ++i) {
        maps.push_back(affine(t * n + i));
        keys.push_back(fx::Int32(key(t * n + i)));
      }
      const auto scanned =
          coop::warp_scan_partial(maps, Affine{2, 5}, then, fx::Int32(t / 128 + valid), width);
      for (int i = 0; i < n; ++i) {
        row.put(scanned.inclusive[std::size_t(i)].shift);
        row.put(scanned.exclusive[std::size_t(i)].shift);
      }
      row.put(scanned.aggregate.shift);
      row.put(coop::warp_bitonic_sort_partial(
          keys, [](fx::Int32 a, fx::Int32 b) { return a < b; }, valid, width));
    }
  });
  for (int width : widths()) {
    const std::string w = ", width " + std::to_string(width);
    const int tile = width * n, valid = (tile * 2 + 2) / 3;
    auto first = [=](int t) { return t / width * tile; };
    auto place = [=](int t, int i) { return t % width * n + i; };
    auto upTo = [&](int t, int end) { // from the initial map
      HostAffine map{2, 5};
      for (int e = first(t); e < first(t) + end; ++e)
        map = map * hostAffine(e);
      return map.shift;
    };
    for (int i = 0; i < n; ++i) {
      auto counts = [&, i](int t) { return place(t, i) < valid; };
      got.expect(
          "inclusive" + w, [&](int t) { return upTo(t, place(t, i) + 1); }, counts);
      got.expect(
          "exclusive" + w, [&](int t) { return upTo(t, place(t, i)); }, counts);
    }
    got.expect("aggregate" + w, [&](int t) {
      return fold<HostAffine>(first(t), first(t) + valid - 1, compose, hostAffine).shift;
    });
    for (int i = 0; i < n; ++i)
      got.expect(
          "sorted" + w,
          [&](int t) {
            std::vector<int> keys;
            for (int e = first(t); e < first(t) + valid; ++e)
              keys.push_back(key(e));
            std::sort(keys.begin(), keys.end());
            return keys[static_cast<std::size_t>(std::min(place(t, i), valid - 1))];
          },
          [&](int t) { return place(t, i) < valid; });
  }
  CHECK(got.done());
}

TEST_CASE("Items go from blocked to striped and back, for any number of them") {
  for (int n : {2, 3, 4, 6, 7}) {
    const int count = static_cast<int>(widths().size()) * 2 * n;
    Sheet got = run("exchange", 64, count, [n](Row &row, fx::Int32 t) {
      for (int width : widths()) {
        std::vector<fx::Int32> items;
        for (int i = 0; i < n; ++i)
          items.push_back(fx::Int32(t * n + i));
        const auto striped = coop::warp_blocked_to_striped(items, width);
        row.put(striped);
        row.put(coop::warp_striped_to_blocked(striped, width));
      }
    });
    for (int width : widths()) {
      const std::string w = ", width " + std::to_string(width) + ", items " + std::to_string(n);
      for (int i = 0; i < n; ++i)
        got.expect("striped" + w,
                   [&](int t) { return t / width * width * n + t % width + i * width; });
      for (int i = 0; i < n; ++i)
        got.expect("blocked" + w, [&](int t) { return t * n + i; });
    }
    CHECK(got.done());
  }
}

TEST_CASE("A bitonic sort puts a group's items in order, with their values") {
  for (int n : {1, 2, 4}) {
    const int count = static_cast<int>(widths().size()) * 3 * n;
    auto key = [](auto i) { return i * 7919 % 257; }; // 7919 and 257 are primes: all different
    Sheet got = run("bitonic", 64, count, [&](Row &row, fx::Int32 t) {
      for (int width : widths()) {
        std::vector<fx::Int32> keys;
        std::vector<fx::Int64> values;
        for (int i = 0; i < n; ++i) {
          keys.push_back(fx::Int32(key(t * n + i)));
          values.push_back(fx::Int64((t * n + i).to(fx::i64)));
        }
        auto greater = [](fx::Int32 a, fx::Int32 b) { return a > b; };
        auto less = [](fx::Int32 a, fx::Int32 b) { return a < b; };
        row.put(coop::warp_bitonic_sort(keys, greater, width));
        const auto [sorted, moved] = coop::warp_bitonic_sort_pairs(keys, values, less, width);
        row.put(sorted);
        row.put(moved);
      }
    });
    for (int width : widths()) {
      const int tile = width * n;
      std::vector<int> order(static_cast<std::size_t>(64 * n));
      for (int i = 0; i < 64 * n; ++i)
        order[static_cast<std::size_t>(i)] = i;
      for (auto at = order.begin(); at != order.end(); at += tile)
        std::sort(at, at + tile, [&](int a, int b) { return key(a) < key(b); });
      auto falling = [&](int i) {
        return order[static_cast<std::size_t>(i / tile * tile + tile - 1 - i % tile)];
      };
      const std::string w = ", width " + std::to_string(width) + ", items " + std::to_string(n);
      for (int i = 0; i < n; ++i)
        got.expect("falling" + w, [&](int t) { return key(falling(t * n + i)); });
      for (int i = 0; i < n; ++i)
        got.expect("rising" + w,
                   [&](int t) { return key(order[static_cast<std::size_t>(t * n + i)]); });
      for (int i = 0; i < n; ++i)
        got.expect("values" + w, [&](int t) { return order[static_cast<std::size_t>(t * n + i)]; });
    }
    CHECK(got.done());
  }
}

TEST_CASE("Lanes with the same key find one another, in groups of every width and with lanes that "
          "have none") {
  constexpr int kThreads = 128;
  // Keys of few values and of many; the last threads have none.
  const auto key = [](auto t) { return t * 7919 % 13; };
  const auto wide = [](auto t) { return t * 7919 % 3; };
  const auto there = [](auto t) { return t % 5 != 3; };
  Sheet got =
      run("match", kThreads, static_cast<int>(widths().size()) * 13, [&](Row &row, fx::Int32 t) {
        for (int width : widths()) {
          const auto put = [&](const coop::WarpMatch &match) {
            // The bits as two numbers of 32; a wave of 32 lanes has one.
            const fx::Numeric lanes = match.lanes.to(fx::u64);
            row.put(lanes & 0xffffffffu);
            row.put(lanes >> 32);
            row.put(match.rank);
            row.put(match.count);
            row.put(match.first);
          };
          put(coop::warp_match(key(t), {.bits = 4, .width = width}));
          put(coop::warp_match(key(t), {.bits = 4, .width = width, .valid = there(t)}));
          // The bits above the lowest ones are not looked at; all of a key are, of any integer type.
          row.put(coop::warp_match(key(t) | (t << 4), {.bits = 4, .width = width}).count);
          row.put(coop::warp_match((wide(t) - 1).to(fx::i8), {.width = width}).count);
          row.put(coop::warp_match((wide(t) - 1).to(fx::i64) << 40, {.width = width}).count);
        }
      });
  for (int width : widths()) {
    const std::string w = ", width " + std::to_string(width);
    struct Match {
      std::uint64_t lanes = 0;
      int rank = 0, count = 0, first = -1;
    };
    const auto of = [=](int t, auto keyOf, auto valid) {
      const int start = t / width * width;
      Match match;
      for (int lane = 0; lane < width && valid(t); ++lane)
        if (valid(start + lane) && keyOf(start + lane) == keyOf(t)) {
          match.lanes |= std::uint64_t(1) << lane;
          match.rank += start + lane < t;
          match.first = match.count++ ? match.first : lane;
        }
      if (match.first < 0)
        match.first = t - start;
      return match;
    };
    const auto always = [](int) { return true; };
    const auto expect = [&](const std::string &what, auto valid) {
      got.expect("low" + what, [&](int t) { return of(t, key, valid).lanes & 0xffffffffu; });
      got.expect("high" + what, [&](int t) { return of(t, key, valid).lanes >> 32; });
      got.expect("rank" + what, [&](int t) { return of(t, key, valid).rank; });
      got.expect("count" + what, [&](int t) { return of(t, key, valid).count; });
      got.expect("first" + what, [&](int t) { return of(t, key, valid).first; });
    };
    expect(w, always);
    expect(w + ", some lanes", there);
    got.expect("low bits" + w, [&](int t) { return of(t, key, always).count; });
    got.expect("bytes" + w, [&](int t) { return of(t, wide, always).count; });
    got.expect("64 bits" + w, [&](int t) { return of(t, wide, always).count; });
  }
  CHECK(got.done());
}
