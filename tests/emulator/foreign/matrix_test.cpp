// Matrix products by plain code, through LDS, and by matrix instructions. Operands are small
// integers where the result must be exact for every order of the sum.
#include "support.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

using namespace foreign;

namespace {

/// C = A B on the host in double precision, of whatever can be converted to it.
template <typename T>
std::vector<double> product(const std::vector<T> &a, const std::vector<T> &b, int m, int n, int k) {
  std::vector<double> c(m * n, 0.0);
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
  return c;
}

std::vector<float> smallIntegers(size_t count, unsigned seed, int range) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(static_cast<int>(random() % (2 * range + 1)) - range);
  return values;
}

template <typename To> std::vector<To> converted(const std::vector<float> &values) {
  return {values.begin(), values.end()};
}

template <typename T>
void requireEqual(const std::vector<T> &got, const std::vector<double> &expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    REQUIRE(static_cast<double>(got[i]) == expected[i]);
  }
}

} // namespace

TEST_CASE("Plain and tiled products, sizes that do not divide the tile") {
  std::string level = FOREIGN_LEVEL;
  Module module("matrix", level);
  int m = 37, n = 29, k = 41;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> spread(-1, 1);
  std::vector<float> a(m * k), b(k * n);
  for (float &x : a)
    x = spread(random);
  for (float &x : b)
    x = spread(random);
  std::vector<float> expected(m * n, 0.0f);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        expected[i * n + j] = std::fma(a[i * k + l], b[l * n + j], expected[i * n + j]);
  Array<float> da(a), db(b), plain(m * n), tiled(m * n);
  module.run("matmul_plain", (m * n + 255) / 256, 256, da.data(), db.data(), plain.data(), m, n, k);
  CHECK(plain.read() == expected);
  module.run("matmul_tiled", ((n + 15) / 16) * ((m + 15) / 16), 256, da.data(), db.data(),
             tiled.data(), m, n, k);
  CHECK(tiled.read() == expected);
}

TEST_CASE("MFMA on single precision, 16 x 16 and 32 x 32 multiplies", "[mfma]") {
  Module module("matrix", FOREIGN_LEVEL);
  int k = 24;
  std::vector<float> a = smallIntegers(32 * k, 1, 50), b = smallIntegers(32 * k, 2, 50);
  {
    std::vector<float> a16(a.begin(), a.begin() + 16 * k), b16(b.begin(), b.begin() + 16 * k);
    Array<float> da(a16), db(b16), dc(256);
    module.run("mfma_f32", 1, 64, da.data(), db.data(), dc.data(), k);
    requireEqual(dc.read(), product(a16, b16, 16, 16, k));
  }
  Array<float> da(a), db(b), dc(1024);
  module.run("mfma_f32_wide", 1, 64, da.data(), db.data(), dc.data(), k);
  requireEqual(dc.read(), product(a, b, 32, 32, k));
}

namespace {
/// 16 x 16 products through the half, bfloat16 and byte kernels whose names begin with `prefix`.
void smallProducts(const std::string &prefix) {
  Module module("matrix", FOREIGN_LEVEL);
  int k = 96;
  std::vector<float> a = smallIntegers(16 * k, 3, 20), b = smallIntegers(16 * k, 4, 20);
  const std::vector<double> expected = product(a, b, 16, 16, k);
  const unsigned wave = static_cast<unsigned>(waveSize());
  {
    Array<_Float16> da(converted<_Float16>(a)), db(converted<_Float16>(b));
    Array<float> dc(256);
    module.run((prefix + "_f16").c_str(), 1, wave, da.data(), db.data(), dc.data(), k);
    requireEqual(dc.read(), expected);
  }
  auto bits = [](const std::vector<float> &values) {
    std::vector<uint16_t> result;
    for (float value : values) {
      uint32_t word;
      std::memcpy(&word, &value, 4);
      result.push_back(static_cast<uint16_t>(word >> 16)); // small integers lose nothing
    }
    return result;
  };
  {
    Array<uint16_t> da(bits(a)), db(bits(b));
    Array<float> dc(256);
    module.run((prefix + "_bf16").c_str(), 1, wave, da.data(), db.data(), dc.data(), k);
    requireEqual(dc.read(), expected);
  }
  a = smallIntegers(16 * k, 5, 127);
  b = smallIntegers(16 * k, 6, 127);
  Array<int8_t> da(converted<int8_t>(a)), db(converted<int8_t>(b));
  Array<int> dc(256);
  module.run((prefix + "_i8").c_str(), 1, wave, da.data(), db.data(), dc.data(), k);
  requireEqual(dc.read(), product(a, b, 16, 16, k));
}
} // namespace

TEST_CASE("MFMA on half precision, bfloat16 and bytes multiplies", "[mfma][bytes]") {
  smallProducts("mfma");
}

TEST_CASE("WMMA on half precision, bfloat16 and bytes multiplies", "[.][wmma]") {
  smallProducts("wmma");
}

TEST_CASE("MFMA on half precision with eight values a lane multiplies", "[.][gfx950]") {
  Module module("matrix", FOREIGN_LEVEL);
  int k = 96;
  std::vector<float> a = smallIntegers(16 * k, 3, 20), b = smallIntegers(16 * k, 4, 20);
  Array<_Float16> da(converted<_Float16>(a)), db(converted<_Float16>(b));
  Array<float> dc(256);
  module.run("mfma_f16_deep", 1, 64, da.data(), db.data(), dc.data(), k);
  requireEqual(dc.read(), product(a, b, 16, 16, k));
}

TEST_CASE("MFMA on double precision multiplies", "[mfma]") {
  Module module("matrix", FOREIGN_LEVEL);
  int k = 12;
  std::vector<double> a = converted<double>(smallIntegers(16 * k, 7, 100000)),
                      b = converted<double>(smallIntegers(16 * k, 8, 100000));
  Array<double> da(a), db(b), dc(256);
  module.run("mfma_f64", 1, 64, da.data(), db.data(), dc.data(), k);
  requireEqual(dc.read(), product(a, b, 16, 16, k));
}
