// Stochastic rounding: the host's against the definition by neighbours and means, a kernel's
// against the host's.
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <limits>

namespace fx = flydsl;
using std::uint32_t;

namespace {

float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
constexpr float infinity = std::numeric_limits<float>::infinity();

/// What the definition needs of a format: bits that a normal result loses, and the smallest number.
template <class T> constexpr int lost = 23 - T::format.mantissa;
template <class T> double smallest() { return T::from_bits(1); }
template <class T> double largest() {
  return T::from_bits(static_cast<typename T::Bits>(T::format.largest()));
}
/// The value that is rounded: below the normal numbers, what is left after the cut.
template <class T> double cut(double magnitude) {
  const double leastNormal = std::ldexp(smallest<T>(), T::format.mantissa),
               unit = std::ldexp(smallest<T>(), -lost<T>);
  return magnitude < leastNormal ? std::floor(magnitude / unit) * unit : magnitude;
}
/// The format's number at or below a magnitude that is not past the largest, by search.
template <class T> uint32_t below(double magnitude) {
  uint32_t low = 0, high = T::format.largest();
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (double(T::from_bits(static_cast<typename T::Bits>(middle))) <= magnitude)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// All exponents, the same few mantissas in each, of both signs; and infinities and NaNs.
std::vector<float> everyExponent() {
  std::vector<float> values;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t mantissa : {0u, 1u, 0x1000u, 0x155555u, 0x2aaaabu, 0x3fffffu, 0x400000u,
                              0x5a5a5au, 0x700000u, 0x7ffffeu, 0x7fffffu})
      for (uint32_t sign : {0u, 1u})
        values.push_back(fromBits(sign << 31 | exponent << 23 | mantissa));
  return values;
}
const std::vector<uint32_t> someBits = {
    0,          ~0u,        0x80000000, 0x7fffffff, 0x00001fff, 0x00002000, 0xfff7ffff, 0xfff80000,
    0x12345678, 0xdeadbeef, 0x55555555, 0xaaaaaaaa, 0x000fffff, 0x00100000, 0xffe00000, 0x0001ffff};

template <class T> void checkMeans() {
  INFO("format of " << T::format.bits() << " bits, " << T::format.mantissa << " of mantissa");
  constexpr uint32_t one = uint32_t(1) << (32 - lost<T>); // the last bit that counts
  int wrong = 0;
  for (float value : everyExponent()) {
    const double magnitude = std::fabs(value), kept = cut<T>(magnitude);
    if (!(magnitude <= largest<T>()))
      continue;
    const uint32_t low = below<T>(kept);
    const double down = T::from_bits(static_cast<typename T::Bits>(low));
    const double up = low == T::format.largest()
                          ? 2 * down
                          : double(T::from_bits(static_cast<typename T::Bits>(low + 1)));
    // The least random bits that round up: their complement, as a share, is the way from `down`
    // to `up`.
    auto magnitudeOf = [&](uint32_t top) {
      return std::fabs(double(float(fx::random::round_stochastic<T>(value, top * one))));
    };
    constexpr uint32_t count = uint32_t(1) << lost<T>;
    const auto ups = static_cast<uint32_t>((kept - down) / (up - down) * count);
    const double mean = (down * (count - ups) + up * ups) / count;
    const bool exact = mean == kept;
    const bool lower = ups == count || magnitudeOf(count - ups - 1) == down;
    const bool higher =
        ups == 0 || (magnitudeOf(count - ups) == up && magnitudeOf(count - 1) == up);
    // Bits below those change nothing, and the sign is the value's.
    const T rounded = fx::random::round_stochastic<T>(value, someBits[8]);
    const bool same =
        rounded.bits() == fx::random::round_stochastic<T>(value, someBits[8] | (one - 1)).bits();
    const bool sign = float(rounded) == 0 || std::signbit(float(rounded)) == std::signbit(value);
    if (!(exact && lower && higher && same && sign) && ++wrong < 5)
      WARN(value << ": " << exact << lower << higher << same << sign);
  }
  CHECK(wrong == 0);
}

/// The sum over all bits that count, of a few values.
template <class T> void checkSums() {
  constexpr uint32_t count = uint32_t(1) << lost<T>;
  for (double share : {0.3, 1.0 / 3, 0.77}) {
    const auto value = static_cast<float>(2.5 + share);
    double sum = 0;
    for (uint32_t top = 0; top < count; ++top)
      sum += double(float(fx::random::round_stochastic<T>(value, top << (32 - lost<T>))));
    CHECK(sum / count == double(value));
  }
}

template <class T> void checkSpecials() {
  using fx::random::round_stochastic;
  const bool wide = T::format.bits() == 16;
  const auto top = static_cast<float>(largest<T>());
  for (uint32_t bits : someBits) {
    CHECK(std::isnan(float(round_stochastic<T>(std::nanf(""), bits))));
    CHECK(std::isnan(float(round_stochastic<T>(-fromBits(0x7f800001), bits))));
    for (float sign : {1.0f, -1.0f}) {
      const float past = sign * (wide ? infinity : top);
      CHECK(float(round_stochastic<T>(sign * infinity, bits)) == past);
      CHECK(float(round_stochastic<T>(sign * top, bits)) == sign * top);
      if (top < 1e30f) {
        CHECK(float(round_stochastic<T>(sign * 2 * top, bits)) == past);
        CHECK(float(round_stochastic<T>(sign * 1e30f, bits)) == past);
      }
      CHECK(float(round_stochastic<T>(sign * 0.0f, bits)) == 0);
      CHECK(float(round_stochastic<T>(sign * 1.5f, bits)) == sign * 1.5f);
    }
    // A negative number that vanishes is minus zero where there is one.
    const T vanished = round_stochastic<T>(-0.0f, bits);
    CHECK(
        vanished.bits() ==
        (T::format.specials == fx::detail::FloatSpecials::unsignedZero ? 0 : T::format.signBit()));
  }
  // Between the largest number and the next power of two.
  const float between = std::nextafter(top, infinity);
  CHECK(float(round_stochastic<T>(between, 0)) == top);
  CHECK(float(round_stochastic<T>(between, ~0u)) == (wide ? infinity : top));
}

template <class F> void forEachFormat(F check) {
  check(fx::half_t());
  check(fx::bfloat16_t());
  check(fx::float8_e4m3fn_t());
  check(fx::float8_e5m2_t());
  check(fx::float8_e4m3fnuz_t());
  check(fx::float8_e5m2fnuz_t());
}

template <class T> bool sameNumber(T a, T b) {
  return a.bits() == b.bits() || (std::isnan(float(a)) && std::isnan(float(b)));
}

/// The kernel's results for all values and bits, one value a thread.
template <class T> void compareWithHost(fx::DType source) {
  std::vector<float> values = everyExponent();
  if (source != fx::f32) // what the source has
    for (float &x : values)
      x = source == fx::f16 ? float(fx::half_t(x)) : float(fx::bfloat16_t(x));
  constexpr int block = 256;
  const int n = static_cast<int>(values.size()) / block * block, columns = int(someBits.size());
  values.resize(std::size_t(n));
  const fx::Kernel kernel{"round_all",
                          [](fx::Tensor out, fx::Tensor in, fx::Tensor bits,
                             fx::Constexpr<fx::DType> to, fx::Constexpr<fx::DType> source) {
                            fx::Int32 at = fx::block_idx().x * block + fx::thread_idx().x;
                            fx::Numeric x = in(at).to(source);
                            for (int i = 0; i < int(someBits.size()); ++i)
                              out(at, i) = fx::random::round_stochastic(x, bits(i), to);
                          }};
  const auto in = fx::DeviceArray<float>::from_host(values, {n});
  const auto bits = fx::DeviceArray<uint32_t>::from_host(someBits, {columns});
  fx::DeviceArray<T> out({n, columns});
  kernel(out, in, bits, fx::dtype_of<T>, source).launch({.grid = n / block, .block = block});
  const std::vector<T> got = out.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float x = values[i / someBits.size()];
    const uint32_t random = someBits[i % someBits.size()];
    const T want = fx::random::round_stochastic<T>(x, random);
    if (!sameNumber(got[i], want) && ++wrong < 5)
      WARN("to " << fx::dtype_of<T>.name() << " from " << source.name() << ": " << std::hexfloat
                 << x << " with " << std::hex << random << ": " << unsigned(got[i].bits())
                 << ", expected " << unsigned(want.bits()));
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("the mean of a stochastic rounding over all random bits is the value", "[any]") {
  forEachFormat([]<class T>(T) {
    checkMeans<T>();
    checkSums<T>();
  });
}

TEST_CASE("stochastic rounding of infinities, NaNs, zeros and of what is too large", "[any]") {
  forEachFormat([]<class T>(T) { checkSpecials<T>(); });
}

TEST_CASE("stochastic rounding on the host is a constant expression", "[any]") {
  static_assert(fx::random::round_stochastic<fx::bfloat16_t>(1.00390625f, 0).bits() == 0x3f80);
  static_assert(fx::random::round_stochastic<fx::bfloat16_t>(1.00390625f, ~0u).bits() == 0x3f81);
  SUCCEED();
}

TEST_CASE("stochastic rounding in a kernel is the host's over all exponents") {
  forEachFormat([]<class T>(T) {
    for (fx::DType source : {fx::f32, fx::f16, fx::bf16})
      compareWithHost<T>(source);
  });
}

TEST_CASE("a vector is rounded as its elements are, each by its own bits") {
  static constexpr int threads = 64;
  forEachFormat([]<class T>(T) {
    for (int size : {1, 2, 3, 4, 9}) {
      const fx::Kernel kernel{"round_vector",
                              [](fx::Tensor out, fx::Tensor in, fx::Tensor bits,
                                 fx::Constexpr<int> size, fx::Constexpr<fx::DType> to) {
                                fx::Int32 at = fx::thread_idx().x;
                                auto row = [&](fx::Tensor x) { return x(at, fx::_).load(); };
                                auto rounded = fx::random::round_stochastic(row(in), row(bits), to);
                                for (int i = 0; i < size; ++i)
                                  out(at, i) = rounded[i];
                              }};
      std::vector<float> values;
      std::vector<uint32_t> random;
      for (int i = 0; i < threads * size; ++i) {
        values.push_back(fx::random::randn(1, i));
        random.push_back(fx::random::randint(2, i));
      }
      const auto in = fx::DeviceArray<float>::from_host(values, {threads, size});
      const auto bits = fx::DeviceArray<uint32_t>::from_host(random, {threads, size});
      fx::DeviceArray<T> out({threads, size});
      kernel(out, in.mark_layout_static(), bits.mark_layout_static(), size, fx::dtype_of<T>)
          .launch({.grid = 1, .block = threads});
      const std::vector<T> got = out.to_host();
      int wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        wrong += !sameNumber(got[i], fx::random::round_stochastic<T>(values[i], random[i]));
      INFO(fx::dtype_of<T>.name() << ", " << size << " elements");
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("instructions round where the target has them", "[any]") {
  auto isa = [](const char *arch, fx::DType type) {
    const fx::Kernel kernel{"round_one", [type](fx::Tensor out, fx::Tensor in, fx::Tensor bits) {
                              fx::Int32 at = fx::thread_idx().x;
                              out(at) = fx::random::round_stochastic(in(at), bits(at), type)
                                            .bitcast(type.bits() == 16 ? fx::u16 : fx::u8);
                            }};
    float *in = nullptr;
    uint32_t *bits = nullptr;
    std::uint16_t *wide = nullptr;
    std::uint8_t *narrow = nullptr;
    fx::CompileConfig options{.block = 64, .arch = arch};
    return type.bits() == 16
               ? kernel(fx::tensor(wide, {64}), fx::tensor(in, {64}), fx::tensor(bits, {64}))
                     .compile(options)
                     .isa()
               : kernel(fx::tensor(narrow, {64}), fx::tensor(in, {64}), fx::tensor(bits, {64}))
                     .compile(options)
                     .isa();
  };
  using Catch::Contains;
  CHECK_THAT(isa("gfx942", fx::f8E4M3FNUZ), Contains("v_cvt_sr_fp8_f32"));
  CHECK_THAT(isa("gfx942", fx::f8E5M2FNUZ), Contains("v_cvt_sr_bf8_f32"));
  CHECK_THAT(isa("gfx950", fx::f8E4M3FN), Contains("v_cvt_sr_fp8_f32"));
  CHECK_THAT(isa("gfx950", fx::f8E5M2), Contains("v_cvt_sr_bf8_f32"));
  CHECK_THAT(isa("gfx950", fx::f16), Contains("v_cvt_sr_f16_f32"));
  CHECK_THAT(isa("gfx950", fx::bf16), Contains("v_cvt_sr_bf16_f32"));
  CHECK_THAT(isa("gfx1201", fx::f8E4M3FN), Contains("v_cvt_sr_fp8_f32"));
  CHECK_THAT(isa("gfx1201", fx::f8E5M2), Contains("v_cvt_sr_bf8_f32"));
  CHECK_THAT(isa("gfx1250", fx::f8E4M3FN), Contains("v_cvt_sr_fp8_f32"));
  for (const auto &[arch, type] : {std::pair{"gfx942", fx::f8E4M3FN},
                                   {"gfx950", fx::f8E4M3FNUZ},
                                   {"gfx1201", fx::bf16},
                                   {"gfx90a", fx::f8E5M2},
                                   {"gfx1100", fx::f16},
                                   {"gfx1250", fx::bf16}})
    CHECK_THAT(isa(arch, type), !Contains("v_cvt_sr"));
}
