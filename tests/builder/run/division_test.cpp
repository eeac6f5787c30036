// Quotients and remainders of integers, at the numbers where an approximate reciprocal would take them
// over the next whole number, and where the quotient has one bit more than the operands.
#include "run.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace fx = flydsl;

namespace {

template <class T> using Pairs = std::vector<std::pair<T, T>>;

/// Just below, at and just above multiples of each divisor, of `bits` bits. Two of LLVM's own examples are
/// among them (llvm/llvm-project #201186).
template <class T> Pairs<T> besideMultiples(int bits) {
  Pairs<T> pairs{{0xbf2758, 0xbf2759}, {0xe3170d, 0x000c32}};
  const std::uint64_t end = std::uint64_t(1) << bits;
  for (std::uint64_t b : {1,  2,  3,  5,  6,  7,  9,  11,  12,  13,   15,   17,   21,
                          27, 31, 33, 43, 47, 57, 63, 127, 641, 1023, 3122, 4097, 65535})
    for (int step = 0; step < 12; ++step) {
      const std::uint64_t q = (end - 1) / b - std::uint64_t(step) * step * 37 % ((end - 1) / b);
      for (std::uint64_t a : {q * b - 1, q * b, q * b + 1})
        if (a < end)
          pairs.emplace_back(T(a), T(b));
    }
  std::erase_if(pairs, [&](const auto &pair) {
    return std::uint64_t(pair.first) >= end || std::uint64_t(pair.second) >= end;
  });
  return pairs;
}

/// The number of pairs whose quotient or remainder is wrong. `narrow` tells the compiler how short
/// they are.
template <class T, class Narrow>
int wrongOf(const char *name, const Pairs<T> &pairs, Narrow narrow) {
  const auto rows = std::int64_t(pairs.size());
  const fx::Kernel divide{name, [&](fx::Tensor in, fx::Tensor out) {
                            auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
                            fx::exit_if(i >= int(rows));
                            fx::Numeric a = narrow(in(i, 0)), b = narrow(in(i, 1));
                            out(i, 0) = a / b;
                            out(i, 1) = a % b;
                          }};
  std::vector<T> numbers;
  for (const auto &[a, b] : pairs)
    numbers.insert(numbers.end(), {a, b});
  fx::DeviceArray<T> in({rows, 2}), out({rows, 2});
  in.copy_from(numbers);
  out.poison();
  divide(in, out).launch({.grid = (rows + 63) / 64, .block = 64});
  const auto found = out.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    wrong += found[2 * i] != T(pairs[i].first / pairs[i].second) ||
             found[2 * i + 1] != T(pairs[i].first % pairs[i].second);
  return wrong;
}

} // namespace

TEST_CASE("quotients of integers are exact whatever the compiler knows of them") {
  for (int bits : {20, 22, 23, 24, 25, 31}) {
    const auto masked = [&](const fx::Numeric &x) { return x & ((std::int64_t(1) << bits) - 1); };
    CAPTURE(bits);
    CHECK(wrongOf("divide32", besideMultiples<std::uint32_t>(bits),
                  [&](const fx::Numeric &x) { return masked(x.to(fx::i64)).to(fx::u32); }) == 0);
    CHECK(wrongOf("divide64", besideMultiples<std::uint64_t>(bits), masked) == 0);
    CHECK(wrongOf("divide_signed", besideMultiples<std::int64_t>(bits), masked) == 0);
  }
}

TEST_CASE("quotients that need one bit more than the operands keep their sign") {
  const Pairs<std::int32_t> bytes{{-128, -1}, {-128, 1}, {127, -1}, {-127, -128}, {-128, -128}};
  CHECK(wrongOf("divide_bytes", bytes,
                [](const fx::Numeric &x) { return x.to(fx::i8).to(fx::i32); }) == 0);
  const std::int64_t least = std::int64_t(-1) << 31;
  const Pairs<std::int64_t> words{{least, -1}, {least, 1}, {least, least}, {-1, least}, {7, -2}};
  CHECK(wrongOf("divide_words", words,
                [](const fx::Numeric &x) { return x.to(fx::i32).to(fx::i64); }) == 0);
  const std::int64_t least23 = std::int64_t(-1) << 22;
  const Pairs<std::int64_t> short23{{least23, -1}, {least23, 3}, {-least23 - 1, -1}};
  CHECK(wrongOf("divide_short", short23,
                [](const fx::Numeric &x) { return (x.to(fx::i32) << 9 >> 9).to(fx::i64); }) == 0);
}
