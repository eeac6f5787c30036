// Philox against its authors' vectors, and draws against Philox, on the host and in kernels.
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
using std::uint32_t;
using std::uint64_t;

namespace {

/// A line of tests/kat_vectors of Random123 1.14 (https://github.com/DEShawResearch/random123).
template <class T> struct Known {
  int rounds;
  std::array<T, 4> counter;
  std::array<T, 2> key;
  std::array<T, 4> words;
};

const std::vector<Known<uint32_t>> known32 = {
    {7, {0, 0, 0, 0}, {0, 0}, {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
    {7,
     {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
    {7,
     {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
    {10, {0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {10,
     {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {10,
     {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};
const std::vector<Known<uint64_t>> known64 = {
    {7,
     {0, 0, 0, 0},
     {0, 0},
     {0x5dc8ee6268ec62cd, 0x139bc570b6c125a0, 0x84d6deb4fb65f49e, 0xaff7583376d378c2}},
    {7,
     {~0ull, ~0ull, ~0ull, ~0ull},
     {~0ull, ~0ull},
     {0x071dd84367903154, 0x48e2bbdc722b37d1, 0x6afa9890bb89f76c, 0x9194c8d8ada56ac7}},
    {7,
     {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89},
     {0x452821e638d01377, 0xbe5466cf34e90c6c},
     {0x513a366704edf755, 0xf05d9924c07044d3, 0xbef2cb9cbea74c6c, 0x8db948de4caa1f8a}},
    {10,
     {0, 0, 0, 0},
     {0, 0},
     {0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}},
    {10,
     {~0ull, ~0ull, ~0ull, ~0ull},
     {~0ull, ~0ull},
     {0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0}},
    {10,
     {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89},
     {0x452821e638d01377, 0xbe5466cf34e90c6c},
     {0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6}},
};

/// Runs Philox in a kernel: one thread.
template <class T> std::array<T, 4> inKernel(const Known<T> &known) {
  using Word = std::conditional_t<sizeof(T) == 4, fx::UInt32, fx::UInt64>;
  const fx::Kernel kernel{
      "philox_words", [](fx::Tensor out, fx::Tensor in, fx::Constexpr<int> rounds) {
        auto word = [&](int i) { return Word(in(i)); };
        const auto words = fx::random::philox(std::array{word(0), word(1), word(2), word(3)},
                                              std::array{word(4), word(5)}, rounds);
        for (int i = 0; i < 4; ++i)
          out(i) = words[std::size_t(i)];
      }};
  const std::array<T, 6> words = {known.counter[0], known.counter[1], known.counter[2],
                                  known.counter[3], known.key[0],     known.key[1]};
  const auto in = fx::DeviceArray<T>::from_host(words, {6});
  fx::DeviceArray<T> out({4});
  kernel(out, in, known.rounds).launch({.grid = 1, .block = 1});
  const std::vector<T> got = out.to_host();
  return {got[0], got[1], got[2], got[3]};
}

} // namespace

TEST_CASE("Philox gives its authors' vectors on the host", "[any]") {
  for (const auto &known : known32)
    CHECK(fx::random::philox(known.counter, known.key, known.rounds) == known.words);
  for (const auto &known : known64)
    CHECK(fx::random::philox(known.counter, known.key, known.rounds) == known.words);
}

TEST_CASE("Philox gives its authors' vectors in a kernel") {
  for (const auto &known : known32)
    CHECK(inKernel(known) == known.words);
  for (const auto &known : known64)
    CHECK(inKernel(known) == known.words);
}

TEST_CASE("a draw is Philox of the offset under the seed", "[any]") {
  using Counter = std::array<uint32_t, 4>;
  using Key = std::array<uint32_t, 2>;
  auto is = [](const std::array<uint32_t, 4> &words, Counter counter, Key key, int rounds = 10) {
    CHECK(words == fx::random::philox(counter, key, rounds));
  };
  is(fx::random::randint4x(5, 7), {7, 0, 0, 0}, {5, 0});
  is(fx::random::randint4x(0x0123456789abcdefull, 0xfedcba9876543210ull),
     {0x76543210, 0xfedcba98, 0, 0}, {0x89abcdef, 0x01234567});
  // A signed seed is extended by its sign, an offset of 32 bits is not extended.
  is(fx::random::randint4x(-2, -3), {0xfffffffd, 0, 0, 0}, {0xfffffffe, 0xffffffff});
  is(fx::random::randint4x(0xfffffffeu, -3ll), {0xfffffffd, 0xffffffff, 0, 0}, {0xfffffffe, 0});
  is(fx::random::randint4x(5, 7, 7), {7, 0, 0, 0}, {5, 0}, 7);
  CHECK(fx::random::randint(5, 7) == fx::random::randint4x(5, 7)[0]);
}

TEST_CASE("draws are FlyDSL's", "[any]") {
  // What fx.random.randint4x of FlyDSL 0.4.2 gives for Int32, Uint32, Int64 and Uint64.
  using Words = std::array<uint32_t, 4>;
  CHECK(fx::random::randint4x(-5, 11u) == Words{0xc3c8b2bd, 0x1a03a6d2, 0xb9b7300b, 0xef386975});
  CHECK(fx::random::randint4x(0x123456789abcdefull, 3u) ==
        Words{0xac3078f0, 0x7fbe88a2, 0x0848e918, 0xfe13862d});
  CHECK(fx::random::randint4x(7, (1ull << 32) + 3) ==
        Words{0x27ece1ae, 0xafd1d392, 0xc37d2005, 0x9cd3c6ff});
  CHECK(fx::random::randint4x((1ull << 40) + 9, (1ull << 33) + 1) ==
        Words{0xd8d261fd, 0xc5ae4204, 0xad5a998d, 0x41081d5a});
  CHECK(fx::random::randint4x(0xfffffffbu, -11) ==
        Words{0x4992eb9f, 0x4b2cf483, 0x34c072a0, 0xb7895cde});
  CHECK(fx::random::randint4x(-5ll, -11ll) ==
        Words{0xc36db9fc, 0xf9731644, 0x4a3003f0, 0x7e25c732});
  CHECK(fx::random::randint4x(7u, 12345u, 7) ==
        Words{0xed1d2f25, 0xba84377f, 0x54f1cc62, 0x7aa6c4b5});
}

namespace {
/// Draws of 64 threads by seeds and offsets of types S and O, in a kernel and on the host.
template <class S, class O> void compareDraws(uint64_t seed, uint64_t offset) {
  const fx::Kernel kernel{"draws", [](fx::Tensor out, fx::Tensor seeds, fx::Tensor offsets) {
                            auto at = fx::thread_idx().x;
                            const auto words = fx::random::randint4x(seeds(at), offsets(at));
                            for (int i = 0; i < 4; ++i)
                              out(at, i) = words[std::size_t(i)];
                            out(at, 4) = fx::random::randint(seeds(at), offsets(at));
                          }};
  std::vector<S> seeds;
  std::vector<O> offsets;
  for (unsigned i = 0; i < 64; ++i) {
    seeds.push_back(static_cast<S>(seed + i * 0x123456789ull));
    offsets.push_back(static_cast<O>(offset + i));
  }
  const auto s = fx::DeviceArray<S>::from_host(seeds, {64});
  const auto o = fx::DeviceArray<O>::from_host(offsets, {64});
  fx::DeviceArray<uint32_t> out({64, 5});
  kernel(out, s, o).launch({.grid = 1, .block = 64});
  const std::vector<uint32_t> got = out.to_host();
  bool ok = true;
  for (std::size_t t = 0; t < 64; ++t) {
    const auto want = fx::random::randint4x(seeds[t], offsets[t]);
    for (std::size_t i = 0; i < 4; ++i)
      ok = ok && got[t * 5 + i] == want[i];
    ok = ok && got[t * 5 + 4] == want[0];
  }
  CHECK(ok);
}
} // namespace

TEST_CASE("draws in a kernel are the host's, for each width and sign of seed and offset") {
  auto all = [](auto seed) {
    using S = decltype(seed);
    for (const auto &[s, o] : {std::pair{1ull, 0ull},
                               {0xfedcba9876543210ull, 0x7ffffff0ull},
                               {0x80000000ull, 0xfffffffffffffff0ull}}) {
      compareDraws<S, std::int32_t>(s, o);
      compareDraws<S, uint32_t>(s, o);
      compareDraws<S, std::int64_t>(s, o);
      compareDraws<S, uint64_t>(s, o);
    }
  };
  all(std::int32_t());
  all(uint32_t());
  all(std::int64_t());
  all(uint64_t());
}

TEST_CASE(
    "a host's or constant seed, a variable and a vector of offsets draw the same in a kernel") {
  constexpr uint64_t seed = 0x9876543210abcdef;
  const fx::Kernel kernel{"kinds_of_arguments",
                          [](fx::Tensor out, fx::Constexpr<std::int64_t> constant) {
                            fx::Int32 at = fx::thread_idx().x;
                            fx::Var moving(at);
                            moving += 5;
                            out(at, 0) = fx::random::randint(seed, at);
                            out(at, 1) = fx::random::randint(constant, moving);
                            out(at, 2) = fx::random::randint(-7, at.to(fx::i64) - 1);
                            // What is known on the host is drawn there, and is a number
                            // like others.
                            out(at, 3) = fx::random::randint(1, 2) + 0 * at.to(fx::u32);
                            auto offsets = fx::Vector::of({at, at + 64, at + 128});
                            for (const fx::Vector &words : fx::random::randint4x(seed, offsets))
                              for (int i = 0; i < 3; ++i)
                                out(at, 4 + i) ^= words[i];
                          }};
  fx::DeviceArray<uint32_t> out({64, 7});
  out.fill(0);
  kernel(out, std::int64_t(-5)).launch({.grid = 1, .block = 64});
  const std::vector<uint32_t> got = out.to_host();
  bool ok = true;
  for (int t = 0; t < 64; ++t) {
    std::array<uint32_t, 7> want = {
        fx::random::randint(seed, t), fx::random::randint(std::int64_t(-5), t + 5),
        fx::random::randint(-7, std::int64_t(t) - 1), fx::random::randint(1, 2)};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto words = fx::random::randint4x(seed, t + 64 * int(i));
      want[4 + i] = words[0] ^ words[1] ^ words[2] ^ words[3];
    }
    for (std::size_t i = 0; i < 7; ++i)
      ok = ok && got[std::size_t(t) * 7 + i] == want[i];
  }
  CHECK(ok);
}
