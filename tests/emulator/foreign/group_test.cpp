// Kernels whose work-items cooperate, against references computed on the host.
#include "functions.h"
#include "support.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace foreign;

namespace {

std::vector<int> numbers(size_t count, int range = 1000000) {
  std::mt19937 random(static_cast<unsigned>(count) + 7);
  std::vector<int> values(count);
  for (int &value : values)
    value = static_cast<int>(random() % (2 * static_cast<unsigned>(range))) - range;
  return values;
}

} // namespace

TEST_CASE("Reduction of a workgroup by a tree in LDS agrees with the host") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<int> in = numbers(1024);
  Array<int> din(in), dout(4);
  module.run("reduce_lds", 4, 256, din.data(), dout.data());
  std::vector<int> got = dout.read();
  for (int g = 0; g < 4; ++g)
    CHECK(got[g] == std::accumulate(in.begin() + g * 256, in.begin() + (g + 1) * 256, 0));
}

TEST_CASE("Reduction of a wave by permutes leaves the sum in every lane") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<int> in = numbers(256);
  const int wave = waveSize();
  Array<int> din(in), dout(256);
  module.run("reduce_bpermute", 2, 128, din.data(), dout.data());
  std::vector<int> got = dout.read();
  for (int i = 0; i < 256; ++i)
    REQUIRE(got[i] ==
            std::accumulate(in.begin() + i / wave * wave, in.begin() + i / wave * wave + wave, 0));
}

TEST_CASE("Scan of a wave by data-parallel primitives agrees with the host") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<int> in = numbers(256), expected(256);
  for (int w = 0, wave = waveSize(); w < 256; w += wave)
    std::partial_sum(in.begin() + w, in.begin() + w + wave, expected.begin() + w);
  Array<int> din(in), dout(256);
  module.run("scan_dpp", 4, 64, din.data(), dout.data());
  CHECK(dout.read() == expected);
}

TEST_CASE("Scan of a workgroup through LDS agrees with the host") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<int> in = numbers(512), expected(512);
  for (int g = 0; g < 2; ++g)
    std::partial_sum(in.begin() + g * 256, in.begin() + (g + 1) * 256, expected.begin() + g * 256);
  Array<int> din(in), dout(512);
  module.run("scan_lds", 2, 256, din.data(), dout.data());
  CHECK(dout.read() == expected);
}

TEST_CASE("Compaction by ballot keeps the odd values in order") {
  Module module("group", FOREIGN_LEVEL);
  const int wave = waveSize();
  std::vector<int> in = numbers(3 * wave);
  Array<int> din(in), dout(3 * wave), dcounts(3);
  module.run("compact_ballot", 3, wave, din.data(), dout.data(), dcounts.data());
  std::vector<int> got = dout.read(), counts = dcounts.read();
  for (int g = 0; g < 3; ++g) {
    std::vector<int> expected;
    std::copy_if(in.begin() + g * wave, in.begin() + (g + 1) * wave, std::back_inserter(expected),
                 [](int x) { return x & 1; });
    REQUIRE(counts[g] == static_cast<int>(expected.size()));
    CHECK(std::equal(expected.begin(), expected.end(), got.begin() + g * wave));
  }
}

TEST_CASE("Values move between lanes: first, named, swizzled, mirrored, permuted") {
  Module module("group", FOREIGN_LEVEL);
  const int lanes = waveSize();
  std::vector<int> in = numbers(128);
  Array<int> din(in), dout(640);
  module.run("lane_moves", 2, 64, din.data(), dout.data());
  std::vector<int> got = dout.read();
  for (int i = 0; i < 128; ++i) {
    int wave = i / lanes * lanes, lane = i % lanes;
    REQUIRE(got[i * 5] == in[wave]);
    REQUIRE(got[i * 5 + 1] == in[wave + 17]);
    REQUIRE(got[i * 5 + 2] == in[wave + (lane ^ 1)]);
    REQUIRE(got[i * 5 + 3] == in[wave + lane / 16 * 16 + 15 - lane % 16]);
    REQUIRE(got[i * 5 + 4] == in[wave + (lane + lanes - 3) % lanes]);
  }
}

TEST_CASE("Histogram by atomics in LDS and in memory agrees with the host") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<int> in = numbers(1024), expected(16, 0);
  for (int x : in)
    ++expected[x & 15];
  Array<int> din(in), dout(std::vector<int>(16, 0));
  module.run("histogram", 8, 128, din.data(), dout.data());
  CHECK(dout.read() == expected);
}

TEST_CASE("Integer atomics of every kind, 32 and 64 bits, agree with the host") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<int> in = numbers(512), expected = {0, 0, 0, 0, -1, 0};
  std::vector<u64> wide = {5, 0};
  for (int x : in) {
    expected[0] = std::min(expected[0], x);
    expected[1] = std::max(expected[1], x);
    expected[2] ^= x;
    expected[3] |= x;
    expected[4] &= x;
    expected[5] -= x;
    wide[0] += static_cast<u64>(static_cast<i64>(x)) * 1000003ull;
    wide[1] = std::max(wide[1], static_cast<u64>(static_cast<u32>(x)) << 16);
  }
  Array<int> din(in), words(std::vector<int>{0, 0, 0, 0, -1, 0});
  Array<u64> longs(std::vector<u64>{5, 0});
  module.run("atomic_integers", 4, 128, din.data(), words.data(), longs.data());
  CHECK(words.read() == expected);
  CHECK(longs.read() == wide);
}

TEST_CASE("A ticket counter hands out each number once") {
  Module module("group", FOREIGN_LEVEL);
  Array<int> counter(std::vector<int>{0}), dout(1024);
  module.run("tickets", 16, 64, counter.data(), dout.data());
  std::vector<int> got = dout.read(), expected(1024);
  std::sort(got.begin(), got.end());
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(got == expected);
  CHECK(counter.read()[0] == 1024);
}

TEST_CASE("Floating-point atomics, by compare-and-swap and by instruction") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<float> in(256);
  for (int i = 0; i < 256; ++i)
    in[i] = static_cast<float>(i % 17) * 0.25f;
  float sum = std::accumulate(in.begin(), in.end(), 0.0f);
  Array<float> din(in), sums(std::vector<float>{0, 0});
  Array<double> wide(std::vector<double>{0});
  module.run("atomic_floats", 4, 64, din.data(), sums.data(), wide.data());
  CHECK(sums.read() == std::vector<float>{sum, sum});
  CHECK(wide.read()[0] == sum);
}

TEST_CASE("Transpose through a padded tile, borders included") {
  Module module("group", FOREIGN_LEVEL);
  int rows = 70, columns = 45;
  std::vector<float> in(rows * columns), expected(rows * columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      expected[j * rows + i] = in[i * columns + j] = static_cast<float>(i * 1000 + j);
  Array<float> din(in), dout(in.size());
  unsigned grid = ((columns + 31) / 32) * ((rows + 31) / 32);
  module.run("transpose", grid, 256, din.data(), dout.data(), rows, columns);
  CHECK(dout.read() == expected);
}

TEST_CASE("Dot product in double precision agrees with the host") {
  Module module("group", FOREIGN_LEVEL);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> spread(-1, 1);
  std::vector<double> a(1000), b(1000), partial(128, 0.0);
  for (double &x : a)
    x = spread(random);
  for (double &x : b)
    x = spread(random);
  for (int i = 0; i < 128; ++i)
    for (int k = i; k < 1000; k += 128)
      partial[i] = __builtin_fma(a[k], b[k], partial[i]);
  for (int step = 64; step > 0; step /= 2)
    for (int i = 0; i < step; ++i)
      partial[i] += partial[i + step];
  Array<double> da(a), db(b), dout(1);
  module.run("dot_double", 1, 128, da.data(), db.data(), dout.data(), 1000);
  CHECK(dout.read()[0] == partial[0]);
}

TEST_CASE("A private table in scratch memory, indexed by data") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<int> in = numbers(256), expected(256);
  for (int i = 0; i < 256; ++i) {
    u32 table[32], x = static_cast<u32>(in[i]);
    for (u32 k = 0; k < 32; ++k)
      table[k] = k * k - static_cast<u32>(i % 64);
    for (int r = 0; r < 20; ++r) {
      table[x & 31] += x;
      x = x * 5 + table[static_cast<u32>(static_cast<i32>(x) >> 5) & 31];
    }
    for (u32 k = 0; k < 32; ++k)
      x ^= table[k] << (k & 7);
    expected[i] = static_cast<int>(x);
  }
  Array<int> din(in), dout(256);
  module.run("scratch_table", 4, 64, din.data(), dout.data(), 20);
  CHECK(dout.read() == expected);
}

TEST_CASE("Generic pointers reach memory and LDS, unaligned words included") {
  Module module("group", FOREIGN_LEVEL);
  std::vector<u8> in(64);
  for (int i = 0; i < 64; ++i)
    in[i] = static_cast<u8>(i * 37 + 11);
  std::vector<u32> expected(64);
  for (int i = 0; i < 64; ++i) {
    auto byte = [&](int at) {
      return static_cast<u32>(i & 1 ? in[at] : static_cast<u8>(in[at] * 3));
    };
    int at = i % 59;
    u32 word = byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24;
    u32 half = byte(at + 1) | byte(at + 2) << 8;
    expected[i] = word * 3 + half + byte(at);
  }
  Array<u8> din(in);
  Array<u32> dout(64);
  module.run("generic_pointers", 1, 64, din.data(), dout.data());
  CHECK(dout.read() == expected);
}
