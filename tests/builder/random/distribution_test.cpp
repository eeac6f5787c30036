// Uniform and normal numbers: their definitions, their distribution, and that kernels and the host
// have the same bits.
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace fx = flydsl;
using std::uint32_t;
using std::uint64_t;

namespace {

constexpr int threads = 256, blocks = 8;
constexpr uint64_t seed = 0x5eedull << 40 | 99;

/// What `draw` gives for each of the grid's offsets, four numbers a thread; `hints` as a launch's.
template <class F> std::vector<float> fours(const char *name, F draw, fx::KernelHints hints = {}) {
  fx::Kernel kernel{name,
                    [draw](fx::Tensor out) {
                      fx::Int32 at = fx::block_idx().x * threads + fx::thread_idx().x;
                      const auto numbers = draw(at);
                      for (int i = 0; i < 4; ++i)
                        out(at, i) = numbers[std::size_t(i)];
                    },
                    hints};
  fx::DeviceArray<float> out({threads * blocks, 4});
  kernel(out).launch({.grid = blocks, .block = threads});
  return out.to_host();
}

/// How many of the kernel's numbers do not have the bits of the host's.
template <class F> int differences(const std::vector<float> &got, F onHost) {
  int count = 0;
  for (int at = 0; at < threads * blocks; ++at) {
    const std::array<float, 4> want = onHost(at);
    for (std::size_t i = 0; i < 4; ++i)
      count +=
          std::bit_cast<uint32_t>(got[std::size_t(at) * 4 + i]) != std::bit_cast<uint32_t>(want[i]);
  }
  return count;
}

} // namespace

TEST_CASE("a uniform number is FlyDSL's and Triton's of the word", "[any]") {
  for (int at = 0; at < 10000; ++at) {
    const auto words = fx::random::randint4x(seed, at);
    const auto numbers = fx::random::rand4x(seed, at);
    for (std::size_t i = 0; i < 4; ++i) {
      // As both write it: a negative word is folded onto the others.
      const auto word = static_cast<std::int32_t>(words[i]);
      const float want = static_cast<float>(word < 0 ? -word - 1 : word) * 4.6566127342e-10f;
      if (numbers[i] != want || !(numbers[i] >= 0 && numbers[i] < 1))
        FAIL_CHECK(at << ": " << numbers[i] << ", expected " << want);
    }
    if (fx::random::rand(seed, at) != numbers[0])
      FAIL_CHECK("rand is not the first of rand4x");
  }
  CHECK(fx::random::impl::uniformOnHost(0x7fffffff) == 1 - 0x1p-24f);
  CHECK(fx::random::impl::uniformOnHost(0x80000000) == 1 - 0x1p-24f);
  CHECK(fx::random::impl::uniformOnHost(0xffffffff) == 0);
}

TEST_CASE("normal numbers are Box and Muller's to 2^-21", "[any]") {
  double worst = 0;
  auto compare = [&](float a, float b, const std::array<float, 2> &got) {
    const double radius = std::sqrt(-2 * std::log(std::max(double(a), double(1e-7f))));
    // Sine and cosine of a multiple of pi/2 are exact only so.
    const double quarters = 4 * double(b), rest = quarters - std::nearbyint(quarters);
    const double s = std::sin(std::numbers::pi / 2 * rest),
                 c = std::cos(std::numbers::pi / 2 * rest);
    const int quadrant = static_cast<int>(std::nearbyint(quarters)) & 3;
    const double cosine = quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s;
    const double sine = quadrant == 0 ? s : quadrant == 1 ? c : quadrant == 2 ? -s : -c;
    for (const auto &[value, want] : {std::pair{got[0], radius * cosine}, {got[1], radius * sine}})
      worst = std::max(worst, want == 0 ? std::fabs(double(value))
                                        : std::fabs(value - want) / std::fabs(want));
  };
  for (int at = 0; at < 200000; ++at) {
    const auto u = fx::random::rand4x(seed, at);
    const auto n = fx::random::randn4x(seed, at);
    compare(u[0], u[1], {n[0], n[1]});
    compare(u[2], u[3], {n[2], n[3]});
    if (at % 1000 == 0)
      CHECK(fx::random::randn(seed, at) == n[0]);
  }
  // The ends of both intervals, and the borders of the quadrants.
  const float ends[] = {0.0f,   0x1p-31f, 1e-7f,          0.125f, 0.25f,
                        0.375f, 0.5f,     0x1.555556p-1f, 0.75f,  1 - 0x1p-24f};
  for (float a : ends)
    for (float end : ends)
      for (float b : {std::nextafter(end, 0.0f), end, std::nextafter(end, 1.0f)})
        if (b == 0 || (b >= 0x1p-31f && b < 1)) // what a uniform number can be
          compare(a, b, fx::random::impl::normalsOnHost(a, b));
  INFO("largest relative error: 2^" << std::log2(worst));
  CHECK(worst < 0x1p-21);
  CHECK(fx::random::impl::normalsOnHost(0.0f, 0.0f)[0] < 5.68f);
}

TEST_CASE("uniform and normal numbers are distributed so", "[any]") {
  // Kolmogorov and Smirnov's distance of n numbers, which exceeds 1.95 / sqrt(n) once in 1000.
  constexpr int draws = 50000;
  std::vector<double> uniform, normal;
  double sum = 0, squares = 0;
  for (int at = 0; at < draws; ++at) {
    for (float x : fx::random::rand4x(7, at))
      uniform.push_back(x);
    for (float x : fx::random::randn4x(7, at)) {
      normal.push_back(0.5 * std::erfc(-x / std::numbers::sqrt2));
      sum += x;
      squares += double(x) * x;
    }
  }
  auto distance = [](std::vector<double> &x) {
    std::sort(x.begin(), x.end());
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      most = std::max(
          {most, x[i] - double(i) / double(x.size()), double(i + 1) / double(x.size()) - x[i]});
    return most * std::sqrt(double(x.size()));
  };
  CHECK(distance(uniform) < 1.95);
  CHECK(distance(normal) < 1.95);
  const double n = 4.0 * draws;
  CHECK(std::fabs(sum / n) < 4 / std::sqrt(n));
  CHECK(std::fabs(squares / n - 1) < 4 * std::sqrt(2 / n));
}

TEST_CASE("uniform numbers in a kernel have the host's bits") {
  const auto got = fours("uniform", [](fx::Int32 at) { return fx::random::rand4x(seed, at); });
  CHECK(differences(got, [](int at) { return fx::random::rand4x(seed, at); }) == 0);
}

TEST_CASE("normal numbers in a kernel have the host's bits") {
  const auto got = fours("normal", [](fx::Int32 at) { return fx::random::randn4x(seed, at); });
  CHECK(differences(got, [](int at) { return fx::random::randn4x(seed, at); }) == 0);
}

TEST_CASE("fast arithmetic around a draw changes none of its bits") {
  const auto got = fours("in_fast_arithmetic",
                         [](fx::Int32 at) {
                           fx::FastMathScope scope(fx::FastMath::fast);
                           return fx::random::randn4x(seed, at);
                         },
                         {.fast_math = true});
  CHECK(differences(got, [](int at) { return fx::random::randn4x(seed, at); }) == 0);
}

TEST_CASE("single and vector draws are those of four") {
  const fx::Kernel kernel{"singles", [](fx::Tensor out) {
                            fx::Int32 at = fx::thread_idx().x;
                            auto both = fx::Vector::of({at, at + 1000});
                            out(at, 0) = fx::random::rand(seed, at);
                            out(at, 1) = fx::random::randn(seed, at);
                            out(at, 2) = fx::random::rand(seed, both)[1];
                            out(at, 3) = fx::random::randn4x(seed, both)[3][1];
                          }};
  fx::DeviceArray<float> out({64, 4});
  kernel(out).launch({.grid = 1, .block = 64});
  const std::vector<float> got = out.to_host();
  for (int t = 0; t < 64; ++t) {
    const float *row = &got[std::size_t(t) * 4];
    CHECK(row[0] == fx::random::rand4x(seed, t)[0]);
    CHECK(row[1] == fx::random::randn4x(seed, t)[0]);
    CHECK(row[2] == fx::random::rand4x(seed, t + 1000)[0]);
    CHECK(row[3] == fx::random::randn4x(seed, t + 1000)[3]);
  }
}

TEST_CASE("Box and Muller's borders in a kernel have the host's bits") {
  const std::vector<float> ends = {0.0f, 0x1p-31f, 1e-7f,          0.125f, 0.25f,  0.375f,
                                   0.5f, 0.625f,   0x1.555556p-1f, 0.75f,  0.875f, 1 - 0x1p-24f};
  const int n = static_cast<int>(ends.size());
  const fx::Kernel kernel{"borders", [n](fx::Tensor out, fx::Tensor in) {
                            fx::Int32 at = fx::thread_idx().x;
                            fx::Float32 a = in(at / n), b = in(at % n);
                            const auto both = fx::random::impl::normals(a.handle(), b.handle(),
                                                                        fx::Loc::current());
                            out(at, 0) = fx::Numeric(both[0]);
                            out(at, 1) = fx::Numeric(both[1]);
                          }};
  const auto in = fx::DeviceArray<float>::from_host(ends, {n});
  fx::DeviceArray<float> out({n * n, 2});
  kernel(out, in).launch({.grid = 1, .block = n * n});
  const std::vector<float> got = out.to_host();
  for (int t = 0; t < n * n; ++t) {
    const auto want =
        fx::random::impl::normalsOnHost(ends[std::size_t(t / n)], ends[std::size_t(t % n)]);
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(std::bit_cast<uint32_t>(got[std::size_t(t) * 2 + i]) ==
            std::bit_cast<uint32_t>(want[i]));
  }
}
