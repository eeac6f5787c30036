// Conversions and bitcasts of every element type, against the values that the formats define.
#include "run.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace fx = flydsl;
using fx::_;

namespace {

/// A float format by its fields (OCP's 8-bit and MX specifications; FNUZ: bias one higher, no
/// negative zero, which is the NaN).
struct Format {
  fx::DType type;
  int exponent, mantissa, bias;
  enum { ieee, nanOnly, fnuz, finite } extremes;

  double magnitude(int code) const {
    const int e = code >> mantissa, m = code & ((1 << mantissa) - 1);
    return e ? std::ldexp(1 + std::ldexp(m, -mantissa), e - bias)
             : std::ldexp(m, 1 - bias - mantissa);
  }
  int largest() const {
    const int all = (1 << (exponent + mantissa)) - 1;
    return extremes == ieee ? all - (1 << mantissa) : extremes == nanOnly ? all - 1 : all;
  }
  /// The nearest value, halves to the even code, of a double.
  double rounded(double x) const {
    const double largestValue = magnitude(largest());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(x))
      return extremes == finite ? std::copysign(largestValue, x) : nan;
    int best = 0;
    for (int code = 0; code <= largest() + 1; ++code) { // the last is past the largest
      const double distance = std::fabs(std::fabs(x) - magnitude(code)),
                   least = std::fabs(std::fabs(x) - magnitude(best));
      if (distance < least || (distance == least && code % 2 == 0))
        best = code;
    }
    if (std::fabs(x) > magnitude(largest() + 1) || best > largest()) {
      const double sign = std::signbit(x) ? -1 : 1;
      return extremes == finite ? sign * largestValue
             : extremes == ieee ? sign * std::numeric_limits<double>::infinity()
                                : nan;
    }
    double value = std::copysign(magnitude(best), x);
    return extremes == fnuz && best == 0 ? 0.0 : value;
  }
};

const Format formats[] = {
    {fx::f8E4M3FN, 4, 3, 7, Format::nanOnly}, {fx::f8E5M2, 5, 2, 15, Format::ieee},
    {fx::f8E4M3FNUZ, 4, 3, 8, Format::fnuz},  {fx::f8E5M2FNUZ, 5, 2, 16, Format::fnuz},
    {fx::f6E2M3FN, 2, 3, 1, Format::finite},  {fx::f6E3M2FN, 3, 2, 3, Format::finite},
    {fx::f4E2M1FN, 2, 1, 1, Format::finite},
};

/// Every value of the format, what lies half way between neighbours, its neighbours, and extremes.
std::vector<float> inputs(const Format &f) {
  std::vector<float> x{0,
                       1e-30f,
                       1e30f,
                       std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::denorm_min(),
                       3.14159f};
  for (int code = 0; code <= f.largest(); ++code) {
    const auto here = float(f.magnitude(code)), next = float(f.magnitude(code + 1));
    const float half = (here + next) / 2;
    for (float v : {here, half, std::nextafter(half, 0.0f), std::nextafter(half, 1e30f)})
      x.push_back(v);
  }
  for (std::size_t i = 0, n = x.size(); i < n; ++i)
    x.push_back(-x[i]);
  while (x.size() % 128)
    x.push_back(float(x.size()) / 77);
  return x;
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

} // namespace

TEST_CASE("integers of 8 bits are added in 8 bits, and wrap around") {
  const fx::Kernel kernel{"wraps", [](fx::Tensor x, fx::Tensor y) {
                            const fx::Numeric sum = x(0) + x(1);
                            REQUIRE(sum.dtype() == fx::i8);
                            y(0) = sum.to(fx::i32);
                            y(1) = x(0).to(fx::i32) + x(1);
                            y(2) = (x(0) * x(1) - x(1)).to(fx::i32);
                            y(3) = x(0) + 300; // a host number that does not fit widens the sum
                          }};
  const auto x = fx::DeviceArray<std::int8_t>::from_host(std::vector<std::int8_t>{100, 100}, {2});
  fx::DeviceArray<std::int32_t> y({4});
  kernel(x, y).launch({.block = 1});
  // As numpy.int8 gives them: 200 - 256, and 10000 modulo 256 less 100.
  CHECK(y.to_host() == std::vector<std::int32_t>{-56, 200, -84, 400});
}

TEST_CASE("narrow floats are stored as their format says") {
  for (const Format &f : formats) {
    const fx::Kernel through{"through",
                             [](fx::Tensor out, fx::Tensor in, fx::Constexpr<fx::DType> type) {
                               auto at = fx::block_idx().x * 64 + fx::thread_idx().x;
                               fx::Numeric scalar = in(at, 0);
                               auto row = fx::make_view(in.iter() + at * 2, fx::make_layout(2, 1));
                               fx::Vector both = row.load().to(type).to(fx::f32);
                               out(at, 0) = scalar.to(type).to(fx::f32);
                               out(at, 1) = both[1];
                             }};
    std::vector<float> x = inputs(f);
    const auto rows = std::int64_t(x.size()) / 2;
    fx::DeviceArray<float> in({rows, 2}), out({rows, 2});
    in.copy_from(x);
    out.poison();
    through(out, in, f.type).launch({.grid = rows / 64, .block = 64});
    auto h = out.to_host();
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!same(f.rounded(x[i]), h[i]) && ++wrong < 5)
        WARN(f.type.name() << " of " << x[i] << ": " << h[i] << ", expected " << f.rounded(x[i]));
    INFO(f.type.name());
    CHECK(wrong == 0);
  }
}

TEST_CASE("constants are rounded as numbers of the run time are") {
  for (const Format &f : formats) {
    const std::vector<float> x = inputs(f);
    const fx::Kernel known{"known", [&](fx::Tensor out) {
                             for (std::size_t i = 0; i < x.size(); ++i)
                               out(int(i)) = fx::Float32(x[i]).to(f.type).to(fx::f32);
                           }};
    fx::DeviceArray<float> out({std::int64_t(x.size())});
    out.poison();
    known(out).launch({.block = 1});
    const auto found = out.to_host();
    int wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      wrong += !same(f.rounded(x[i]), found[i]);
    INFO(f.type.name());
    CHECK(wrong == 0);
  }
}

TEST_CASE("constants become powers of two as numbers of the run time do") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{0,        -0.0f,
                             1,        -1,
                             0.3f,     -0.3f,
                             3,        0x1p127f,
                             1e38f,    1e-40f,
                             infinity, -infinity,
                             -1e30f,   std::numeric_limits<float>::quiet_NaN()};
  const fx::Kernel both{"powers", [&](fx::Tensor out, fx::Tensor in) {
                          for (std::size_t i = 0; i < x.size(); ++i) {
                            out(int(i), 0) = fx::Float32(x[i]).to(fx::f8E8M0FNU).to(fx::f32);
                            out(int(i), 1) = fx::Numeric(in(int(i))).to(fx::f8E8M0FNU).to(fx::f32);
                          }
                        }};
  const auto count = std::int64_t(x.size());
  fx::DeviceArray<float> in({count}), out({count, 2});
  in.copy_from(x);
  out.poison();
  both(out, in).launch({.block = 1});
  const auto found = out.to_host();
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO(x[i] << ": " << found[2 * i] << ", at run time " << found[2 * i + 1]);
    CHECK(same(found[2 * i], found[2 * i + 1]));
  }
}

TEST_CASE("constants have no more digits than their type") {
  // As C++ converts them, one type after the other.
  const auto h = run::values<double>("digits", 1, 9, [](fx::Tensor out, fx::Int32) {
    out(0, 0) = fx::Float32(0.1).to(fx::f64);
    out(0, 1) = fx::Float64(0.1).to(fx::f32).to(fx::f64);
    out(0, 2) = fx::Int32(16777217).to(fx::f32).to(fx::f64);
    out(0, 3) = fx::Float16(0.1).to(fx::f64);
    out(0, 4) = fx::Float32(0.1).to(fx::f16).to(fx::f64);
    out(0, 5) = fx::Float32(1.00390625f).to(fx::bf16).to(fx::f64); // half way: to the even one
    out(0, 6) = fx::UInt64(18446744073709551615u).to(fx::f32).to(fx::f64);
    out(0, 7) = fx::Float32(1e30f).to(fx::f16).to(fx::f64);
    // Rounded to f32, it would be half way, and become the even one.
    out(0, 8) = fx::Int64(0x1010000000000001).to(fx::bf16).to(fx::f64);
  });
  CHECK(h == std::vector<double>{double(0.1f), double(0.1f), 16777216,
                                 double(float(fx::half_t(0.1))), double(float(fx::half_t(0.1f))), 1,
                                 0x1p64, std::numeric_limits<double>::infinity(), 0x1.02p60});
}

TEST_CASE("every float of 8 bits is kept by bf16, f16 and f32, in vectors of all lengths") {
  for (const Format &f : formats) {
    if (f.type.bits() != 8)
      continue;
    // Lane i has the codes 16 i to 16 i + 15: 8 of them, a word, half a word and single ones.
    const fx::Kernel widen{
        "widen", [](fx::Tensor out, fx::Tensor in, fx::Constexpr<fx::DType> type,
                    fx::Constexpr<fx::DType> wide) {
          const fx::Int32 first = fx::thread_idx().x * 16;
          for (const auto [at, count] : {std::pair{0, 8}, {8, 4}, {12, 2}, {14, 1}, {15, 1}}) {
            auto run =
                fx::make_view((in.iter() + (first + at)).recast(type), fx::make_layout(count, 1));
            const fx::Vector values = run.load().to(wide).to(fx::f32);
            for (int i = 0; i < count; ++i)
              out(first + (at + i)) = values[i];
          }
        }};
    fx::DeviceArray<std::uint8_t> in({256});
    std::vector<std::uint8_t> codes(256);
    for (std::size_t i = 0; i < 256; ++i)
      codes[i] = std::uint8_t(i);
    in.copy_from(codes);
    for (fx::DType wide : {fx::DType(fx::bf16), fx::DType(fx::f16), fx::DType(fx::f32)}) {
      fx::DeviceArray<float> out({256});
      out.poison();
      widen(out, in, f.type, wide).launch({.block = 16});
      const auto got = out.to_host();
      for (int code = 0; code < 256; ++code) {
        const int size = code & 127;
        const double infinity = std::numeric_limits<double>::infinity(),
                     nan = std::numeric_limits<double>::quiet_NaN(),
                     special =
                         f.extremes == Format::ieee && size == f.largest() + 1 ? infinity : nan;
        double expected = size <= f.largest() ? f.magnitude(size) : special;
        if (code > 127)
          expected = f.extremes == Format::fnuz && size == 0 ? nan : -expected;
        INFO(f.type.name() << " " << code << " to " << wide.name() << ": "
                           << got[std::size_t(code)]);
        CHECK(same(expected, got[std::size_t(code)]));
      }
    }
  }
}

TEST_CASE("narrow floats live in memory") {
  const fx::Kernel store{"store", [](fx::Tensor out, fx::Tensor packed, fx::Tensor in) {
                           auto tid = fx::thread_idx().x;
                           packed(tid) = in(tid).to(fx::f8E4M3FN);
                           fx::gpu::barrier();
                           fx::Numeric other = packed(63 - tid);
                           out(tid) = other.to(fx::f32) + fx::Float8E4M3FN(0.5f).to(fx::f32);
                         }};
  auto in = fx::DeviceArray<float>::random({64}, 5);
  fx::DeviceArray<float> out({64});
  fx::DeviceArray<std::uint8_t> bytes({64});
  out.poison();
  store(out, fx::tensor(bytes.data(), fx::f8E4M3FN, {64}), in).launch({.grid = 1, .block = 64});
  auto h = out.to_host(), x = in.to_host();
  for (std::size_t t = 0; t < 64; ++t)
    CHECK(h[t] == float(formats[0].rounded(x[63 - t])) + 0.5f);
}

TEST_CASE("f8E8M0FNU is a power of two") {
  auto h = run::values<float>("scales", 64, 1, [](fx::Tensor out, fx::Int32 tid) {
    fx::Numeric x = fx::math::exp2((tid - 32).to(fx::f32)) * 1.75f;
    out(tid, 0) = x.to(fx::f8E8M0FNU).to(fx::f32);
  });
  for (int t = 0; t < 64; ++t)
    CHECK(h[std::size_t(t)] == std::ldexp(1.0f, t - 32));
}

TEST_CASE("scalars convert as in C++") {
  // float -> integer types, integers -> floats, widths, signs.
  auto h = run::values<std::int64_t>("casts", 64, 12, [](fx::Tensor out, fx::Int32 tid) {
    fx::Numeric f = (tid - 32).to(fx::f32) * 3.7f;
    int i = 0;
    for (fx::DType type : {fx::i8, fx::i16, fx::i32, fx::i64})
      out(tid, i++) = f.to(type).to(fx::i64);
    for (fx::DType type : {fx::u8, fx::u16, fx::u32})
      out(tid, i++) = (tid * 1000003).to(type).to(fx::i64);
    for (fx::DType type : {fx::i4, fx::u4})
      out(tid, i++) = tid.to(type).to(fx::i64);
    out(tid, i++) = (tid - 3).to(fx::boolean).to(fx::i64);
    out(tid, i++) = (tid * 3).to(fx::f16).to(fx::bf16).to(fx::f64).to(fx::i64);
    out(tid, i++) = tid.to(fx::f32).bitcast(fx::u32).to(fx::i64);
  });
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    const float f = float(t - 32) * 3.7f;
    std::uint32_t bits;
    const auto tf = float(t);
    std::memcpy(&bits, &tf, 4);
    const std::uint32_t product = std::uint32_t(t) * 1000003u;
    const std::int64_t expected[] = {std::int8_t(f),
                                     std::int16_t(f),
                                     std::int32_t(f),
                                     std::int64_t(f),
                                     std::uint8_t(product),
                                     std::uint16_t(product),
                                     product,
                                     ((t & 15) ^ 8) - 8,
                                     t & 15,
                                     t != 3,
                                     t * 3,
                                     bits};
    for (std::size_t i = 0; i < 12; ++i)
      wrong += h[std::size_t(t) * 12 + i] != expected[i];
  }
  CHECK(wrong == 0);
}

namespace {
/// Integers of a type around the middles between numbers of bf16: there f32, which has some of the middles,
/// would be rounded to the even one, though the integer is above or below.
template <class T> std::vector<T> besideMiddles() {
  std::vector<T> numbers;
  constexpr int kBits = std::numeric_limits<T>::digits;
  for (int exponent = 24; exponent < kBits; ++exponent)
    for (std::uint64_t upper : {0x80, 0x81, 0xd5, 0xfe, 0xff}) { // 8 bits, as bf16 has them
      const std::uint64_t middle = (2 * upper + 1) << (exponent - 8);
      for (std::uint64_t number : {middle - 1, middle, middle + 1})
        if (number <= std::uint64_t(std::numeric_limits<T>::max())) {
          numbers.push_back(T(number));
          if (std::is_signed_v<T>)
            numbers.push_back(T(0 - number));
        }
    }
  return numbers;
}

/// Rounded to the nearest number of 8 bits, to the even one of two.
double nearestOf(long double value) {
  int exponent;
  std::frexp(value, &exponent);
  return double(std::ldexp(std::rint(std::ldexp(value, 8 - exponent)), exponent - 8));
}

template <class T> int wrongOfBf16() {
  std::vector<T> numbers = besideMiddles<T>();
  numbers.resize((numbers.size() + 63) / 64 * 64);
  const auto count = std::int64_t(numbers.size());
  const fx::Kernel convert{"integers_to_bf16", [](fx::Tensor in, fx::Tensor out) {
                             auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
                             out(i, 0) = in(i).to(fx::bf16).to(fx::f64);
                             const auto both = fx::Vector::of({in(i), in(i)}).to(fx::bf16);
                             out(i, 1) = both[1].to(fx::f64);
                           }};
  fx::DeviceArray<T> in({count});
  fx::DeviceArray<double> out({count, 2});
  in.copy_from(numbers);
  out.poison();
  convert(in, out).launch({.grid = count / 64, .block = 64});
  const auto found = out.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (int k : {0, 1})
      wrong += found[2 * i + std::size_t(k)] != nearestOf((long double)numbers[i]);
  return wrong;
}
} // namespace

TEST_CASE("integers are rounded once when they become bf16") {
  CHECK(wrongOfBf16<std::int32_t>() == 0);
  CHECK(wrongOfBf16<std::uint32_t>() == 0);
  CHECK(wrongOfBf16<std::int64_t>() == 0);
  CHECK(wrongOfBf16<std::uint64_t>() == 0);
}

TEST_CASE("constant integers are rounded once when they become bf16") {
  const std::vector<std::int64_t> numbers = besideMiddles<std::int64_t>();
  const auto count = std::int64_t(numbers.size());
  const fx::Kernel convert{"constants_to_bf16", [&](fx::Tensor out) {
                             for (std::size_t i = 0; i < numbers.size(); ++i)
                               out(int(i)) = fx::Int64(numbers[i]).to(fx::bf16).to(fx::f64);
                           }};
  fx::DeviceArray<double> out({count});
  out.poison();
  convert(out).launch({.block = 1});
  const auto found = out.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    wrong += found[i] != nearestOf((long double)numbers[i]);
  CHECK(wrong == 0);
}
