// out[i] = f(a[i], b[i]) by the same C code on the host and on the emulated device; results must be
// equal to the bit.
#include "functions.h"
#include "support.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace foreign;

namespace {

constexpr int Count = 500; // no multiple of the block: the last wave is partly off
constexpr unsigned Block = 128, Grid = 4;

std::vector<u64> integers(unsigned seed) {
  std::vector<u64> values = {0,
                             1,
                             2,
                             3,
                             7,
                             0xFFFFFFFF,
                             0x100000000,
                             0x7FFFFFFFFFFFFFFF,
                             0x8000000000000000,
                             ~0ull,
                             0x80000000,
                             0xFFFFFFFF00000000};
  std::mt19937_64 random(seed);
  std::shuffle(values.begin(), values.end(), random);
  while (values.size() < Count)
    values.push_back(random() >> (random() % 64));
  return values;
}

template <typename T> std::vector<T> reals(unsigned seed) {
  std::vector<T> values = {0, -T(0), 1, -1, T(0.5), T(-2.5), T(3.5), 1000, T(-0.1), T(1e-3)};
  std::mt19937_64 random(seed);
  std::shuffle(values.begin(), values.end(), random);
  std::uniform_real_distribution<T> spread(-1000, 1000);
  while (values.size() < Count)
    values.push_back(spread(random));
  return values;
}

/// Not-a-number counts as equal to itself whatever its bits.
template <typename T> bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (a != a && b != b);
}

template <typename T> struct Case {
  const char *kernel;
  T (*reference)(T, T);
};

template <typename T>
void compare(const Case<T> &test, const std::vector<T> &a, const std::vector<T> &b) {
  std::string level = FOREIGN_LEVEL;
  INFO(test.kernel << " at " << level);
  Module module("elementwise", level);
  Array<T> da(a), db(b), dout(Count);
  module.run(test.kernel, Grid, Block, da.data(), db.data(), dout.data(), int(Count));
  std::vector<T> got = dout.read();
  for (int i = 0; i < Count; ++i) {
    T expected = test.reference(a[i], b[i]);
    if (!same(got[i], expected)) {
      INFO("element " << i << ": f(" << a[i] << ", " << b[i] << ")");
      CHECK(got[i] == expected);
      return;
    }
  }
  SUCCEED();
}

#define FOREIGN_CASE(name) {"k_" #name, name},

} // namespace

TEST_CASE("Integer functions in C agree with the host") {
  auto test = GENERATE(from_range(std::vector<Case<u64>>{FOREIGN_INTEGER(FOREIGN_CASE)}));
  compare(test, integers(1), integers(2));
}

TEST_CASE("Single-precision and half-precision functions in C") {
  auto test = GENERATE(from_range(std::vector<Case<float>>{FOREIGN_FLOAT(FOREIGN_CASE)}));
  compare(test, reals<float>(3), reals<float>(4));
}

TEST_CASE("Double-precision functions in C agree with the host") {
  auto test = GENERATE(from_range(std::vector<Case<double>>{FOREIGN_DOUBLE(FOREIGN_CASE)}));
  compare(test, reals<double>(5), reals<double>(6));
}
