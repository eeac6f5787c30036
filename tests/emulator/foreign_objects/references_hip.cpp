#include "references.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace foreign {

namespace {

using Vector = std::vector<double>;

std::size_t at(int n) { return static_cast<std::size_t>(n); }
int integer(double x) { return static_cast<int>(x); }

void saxpy(const Case &c) {
  for (int i = 0; i < c.size("n"); ++i)
    c.out["y"][at(i)] = c.size("a") * c.in.at("x")[at(i)] + c.in.at("y")[at(i)];
}

void indices(const Case &c) {
  const int width = c.size("x"), height = c.size("y");
  for (int z = 0; z < c.size("z"); ++z)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        c.out["out"][at((z * height + y) * width + x)] = x * 10000 + y * 100 + z;
}

void convolution(const Case &c) {
  static const int mask[5][5] = {
      {1, 2, 3, 2, 1}, {0, 1, 2, 1, 0}, {-1, 0, 1, 0, -1}, {2, -2, 2, -2, 2}, {1, 0, 0, 0, 3}};
  const int width = c.size("width"), height = c.size("height");
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j) {
      double sum = 0;
      for (int row = std::max(0, i - 2); row <= std::min(height - 1, i + 2); ++row)
        for (int column = std::max(0, j - 2); column <= std::min(width - 1, j + 2); ++column)
          sum += c.in.at("x")[at(row * width + column)] * mask[row - i + 2][column - j + 2];
      c.out["y"][at(i * width + j)] = sum;
    }
}

void compact(const Case &c) {
  std::size_t count = 0;
  for (double x : c.in.at("x"))
    if (x > 0)
      c.out["y"][count++] = x;
  c.out["count"][0] = static_cast<double>(count);
}

/// Each block's part and the whole.
void lastBlock(const Case &c) {
  const int threads = c.size("threads"), blocks = c.size("blocks");
  Vector parts(at(blocks));
  for (int i = 0; i < c.size("n"); ++i)
    parts[at(i / threads % blocks)] += c.in.at("x")[at(i)];
  std::copy(parts.begin(), parts.end(), c.out["parts"].begin());
  c.out["out"][0] = std::accumulate(parts.begin(), parts.end(), 0.0);
}

/// From zeros: sum, smallest, largest, exclusive or; sum and smallest as floats; sum as a double.
void atomics(const Case &c) {
  const Vector &x = c.in.at("x");
  double sum = 0, least = 0, most = 0;
  std::int32_t bits = 0;
  for (int i = 0; i < c.size("n"); ++i) {
    sum += x[at(i)];
    least = std::min(least, x[at(i)]);
    most = std::max(most, x[at(i)]);
    bits ^= integer(x[at(i)]);
  }
  c.out["whole"] = {sum, least, most, double(bits)};
  c.out["single"] = {sum, least};
  c.out["wide"] = {sum};
}

void packed(const Case &c) {
  const Vector &x = c.in.at("x"), &y = c.in.at("y"), &a = c.in.at("a"), &b = c.in.at("b");
  for (std::size_t i = 0; i < x.size(); ++i)
    c.out["z"][i] = x[i] * y[i] + x[i];
  for (std::size_t i = 0; i < at(c.size("n")); ++i)
    c.out["c"][i] = std::inner_product(&a[4 * i], &a[4 * i] + 4, &b[4 * i], 0.0);
}

int reversed(int x) {
  int y = 0;
  for (; x; x /= 10)
    y = 10 * y + x % 10;
  return y;
}

/// The product as the GPU's instruction gives it: its lower 32 bits.
int product(int x, int y) {
  return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(y));
}

void calls(const Case &c) {
  for (int i = 0; i < c.size("n"); ++i) {
    const int x = integer(c.in.at("x")[at(i)]);
    const int square = product(x, x);
    const int results[] = {x % 3 == 0   ? 2 * x
                           : x % 3 == 1 ? square
                                        : x - 7,
                           std::gcd(x + 1, 360), reversed(x), product(x % 2 ? 6 : 1, square)};
    std::copy(std::begin(results), std::end(results), c.out["y"].begin() + 4 * i);
  }
}

void wideIntegers(const Case &c) {
  for (int i = 0; i < c.size("n"); ++i) {
    const int y = integer(c.in.at("y")[at(i)]);
    const std::int64_t a = std::int64_t(integer(c.in.at("x")[at(i)])) * 1000000007 + y,
                       b = y ? y : 3;
    const auto u = static_cast<std::uint64_t>(a);
    __extension__ using Wide = unsigned __int128;
    const std::int64_t results[] = {
        a / b, a % b, static_cast<std::int64_t>(u / 12345),
        static_cast<std::int64_t>(static_cast<Wide>(u) * 0x9e3779b97f4a7c15u >> 64)};
    for (int n = 0; n < 4; ++n) {
      c.out["out"][at(8 * i + 2 * n)] = static_cast<std::int32_t>(results[n]);
      c.out["out"][at(8 * i + 2 * n + 1)] = static_cast<std::int32_t>(results[n] >> 32);
    }
  }
}

void math(const Case &c) {
  for (int i = 0; i < c.size("n"); ++i) {
    const double x = c.in.at("x")[at(i)], above = std::fabs(x) + 1;
    const double results[] = {std::exp(x),          std::log(above),    std::sin(x),
                              std::cos(x),          std::tanh(x),       std::erf(x),
                              std::pow(above, 1.5), std::atan2(x, 2.0), std::cbrt(x),
                              1 / std::sqrt(above), std::fmod(x, 3.0),  std::hypot(x, 3.0)};
    std::copy(std::begin(results), std::end(results), c.out["y"].begin() + 12 * i);
  }
}

} // namespace

const References &hipReferences() {
  static const References all = {
      {"saxpy", saxpy},     {"indices", indices},      {"convolution", convolution},
      {"compact", compact}, {"last_block", lastBlock}, {"atomics", atomics},
      {"packed", packed},   {"calls", calls},          {"wide_integers", wideIntegers},
      {"math", math},
  };
  return all;
}

} // namespace foreign
