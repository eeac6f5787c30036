// Examples of docs/kernel-authoring.md.
#include "example.h"

#include <flydsl/kernel/argument.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <cstdint>

namespace {

// region: first
const fx::Kernel scale{"scale", [](fx::Tensor x, fx::Tensor y, fx::Float32 factor) {
  auto i = fx::block_idx().x * fx::block_dim().x + fx::thread_idx().x;
  fx::if_(i < fx::Int32(x.shape()[0]), [&] { y(i) = factor * x(i); });
}};

void run_scale(const fx::TensorArg &x, const fx::TensorArg &y, float factor, fx::StreamRef stream) {
  const int block = 64;
  scale(x, y, factor)
      .launch({.grid = (x.size() + block - 1) / block, .block = block, .stream = stream});
}
// endregion

// region: quantise
/// The int8 that stands for `x` where one step is worth `step`.
fx::Numeric quantised(const fx::Numeric &x, const fx::Numeric &step) {
  auto rounded = fx::math::rint(x / step);
  return fx::min(fx::max(rounded, -128), 127).to(fx::i8);
}

const fx::Kernel quantise{"quantise", [](fx::Tensor x, fx::Tensor q, fx::Float32 step) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  q(i) = quantised(x(i), step);
}};
// endregion

// region: types
const fx::Kernel types{"types", [](fx::Tensor out, fx::Int32 n) {
  auto wide = n + fx::Int64(1); // i64: the wider of both
  auto real = n * 0.5f;         // f32: a float comes before an integer
  auto less = n < 10;           // a Boolean
  auto bits = fx::Float32(1.0f).bitcast(fx::i32);
  auto byte = (n + 300).to(fx::u8); // cut off, as C++ does
  out(0) = wide.to(fx::i32);
  out(1) = real.to(fx::i32);
  out(2) = fx::select(less, n, -n); // both sides are computed
  out(3) = bits;
  out(4) = byte.to(fx::i32);
  out(5) = fx::ceildiv(n, 4);
}};
// endregion

// region: static
const fx::Kernel row_sum{"row_sum", [](fx::Tensor x, fx::Tensor y) {
  auto row = x(fx::thread_idx().x, _);          // (N)
  const std::int64_t N = fx::size(row).value(); // a C++ number: the extent is static
  fx::Var<fx::Float32> sum(0.0f);
  for (std::int64_t i = 0; i < N; ++i) // N additions, no loop
    sum += row(i);
  y(fx::thread_idx().x) = sum;
}};
// endregion

// region: tile
const fx::Kernel negate_tile{"negate_tile", [](fx::Tensor x, fx::Tensor y) {
  auto [bm, bn, bz] = fx::block_idx();
  auto tile = fx::make_tile(4, 64);
  auto gx = fx::flat_divide(x, tile)(_, _, bm, bn); // (4, 64): this block's tile
  auto gy = fx::flat_divide(y, tile)(_, _, bm, bn); // (4, 64)
  auto tx = gx(_, fx::thread_idx().x);              // (4): this thread's column
  auto ty = gy(_, fx::thread_idx().x);              // (4)
  auto r = fx::make_fragment_like(tx);              // (4), in registers
  r.store(-tx.load());                              // load: a Vector of 4
  ty.store(r.load());
}};
// endregion

// region: border
const fx::Kernel negate_any{"negate_any", [](fx::Tensor x, fx::Tensor y) {
  auto [bm, bn, bz] = fx::block_idx();
  auto tile = fx::make_tile(4, 64);
  auto places = fx::make_identity_tensor(x.shape());                      // (M, N) -> (m, n)
  auto tx = fx::flat_divide(x, tile)(_, fx::thread_idx().x, bm, bn);      // (4)
  auto ty = fx::flat_divide(y, tile)(_, fx::thread_idx().x, bm, bn);      // (4)
  auto tc = fx::flat_divide(places, tile)(_, fx::thread_idx().x, bm, bn); // (4) of (m, n)
  for (int i = 0; i < 4; ++i)
    fx::if_(fx::elem_less(tc(i), x.shape()), [&] { ty(i) = -tx(i); });
}};
// endregion

// region: enum
enum class Activation { none, relu, silu };

fx::Numeric activate(Activation kind, const fx::Numeric &x) {
  switch (kind) {
  case Activation::relu:
    return fx::max(x, 0);
  case Activation::silu:
    return x / (1 + fx::math::exp(-x));
  case Activation::none:
    break;
  }
  return x;
}

const fx::Kernel bias_act{
    "bias_act", [](fx::Tensor x, fx::Tensor bias, fx::Tensor y, fx::Constexpr<Activation> kind) {
  auto row = fx::block_idx().x, column = fx::thread_idx().x;
  y(row, column) = activate(kind, x(row, column) + bias(column));
}};
// endregion

// region: fast
const fx::Kernel norm{"norm", [](fx::Tensor x, fx::Tensor y) {
  auto i = fx::block_idx().x * 256 + fx::thread_idx().x;
  y(i) = x(i) * fx::math::rsqrt(x(i) * x(i) + 1.0f);
}, {.known_block_size = {256, 1, 1}, .waves_per_eu = 4, .fast_math = true}};
// endregion

// region: fast-scope
/// 1 / sqrt of a row's sum. What each addition rounds off is kept in `lost` and added later;
/// reassociation would find it to be zero.
const fx::Kernel row_scale{"row_scale", [](fx::Tensor x, fx::Tensor y) {
  auto row = fx::thread_idx().x;
  fx::Var<fx::Float32> sum(0.0f), lost(0.0f);
  for (fx::Int32 k : fx::range(x.shape()[1])) {
    fx::FastMathScope as_written(fx::FastMath::none);
    fx::Numeric term = x(row, k) - lost;
    fx::Numeric next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  y(row) = fx::math::rsqrt(sum); // fast, as the hint says
}, {.fast_math = true}};
// endregion

// region: hardware
const fx::Kernel hardware{"hardware", [](fx::Tensor x, fx::Tensor out) {
  auto i = fx::thread_idx().x;
  fx::Numeric v = x(i);
  auto bits = fx::rocdl::intrinsic("llvm.ctpop.i32", fx::i32, {v}); // any LLVM intrinsic
  auto sum = fx::rocdl::inline_asm("v_add_u32 $0, $1, $2", "=v,v,v", fx::i32, {v, bits});
  auto first = fx::rocdl::readfirstlane(v); // one value for the wave
  out(i, 0) = bits;
  out(i, 1) = sum;
  out(i, 2) = first;
}};
// endregion

// region: wave
/// The squares of a wave's rows: each wave has 8 rows of `x` to itself.
const fx::Kernel rows_of_waves{"rows_of_waves", [](fx::Tensor x, fx::Tensor out) {
  const int lanes = fx::target().wave_size();
  auto wave = fx::gpu::uniform(fx::thread_idx().x / lanes).to<fx::Int32>(); // in scalar registers
  auto lane = fx::thread_idx().x % lanes;
  for (int row = 0; row < 8; ++row) {
    // The column is computed again for each row, and takes no register from one to the next.
    auto column = fx::rematerialised(lane).to<fx::Int32>();
    fx::Float32 v = x(wave * 8 + row, column);
    out(wave * 8 + row, column) = v * v;
    fx::gpu::schedule_fence(); // no load of a later row begins before
  }
}};
// endregion

// region: target
/// The longest product of 16 x 16 tiles of f16 that the target has.
fx::MmaAtom product_of_f16() {
  if (fx::target().has(fx::feature::wmma))
    return fx::make_mma_atom(fx::rocdl::WMMA(16, 16, 16, fx::f16));
  const bool longer = fx::target().has(fx::feature::mfma_scale); // as gfx950 has
  return fx::make_mma_atom(fx::rocdl::MFMA(16, 16, longer ? 32 : 16, fx::f16));
}

const fx::Kernel chosen{"chosen", [](fx::Tensor out) {
  out(0) = fx::Int32(fx::size(product_of_f16().shape_mnk()).value()); // M * N * K
  out(1) = fx::Int32(fx::target().wave_size());
}};
// endregion

// region: extern
const auto gelu = fx::link_extern(fx::ffi<fx::Float32(fx::Float32)>("gelu"), BITCODE_FILE);
const auto clamp_all =
    fx::link_extern(fx::ffi<void(fx::Pointer, fx::Int32, fx::Float32)>("clamp_all"), BITCODE_FILE);

const fx::Kernel activated{"activated", [](fx::Tensor x, fx::Tensor y) {
  auto row = fx::thread_idx().x;
  for (fx::Int32 k : fx::range(x.shape()[1]))
    y(row, k) = gelu(x(row, k));
  clamp_all(y(row, _).iter(), y.shape()[1], 0.5f);
}};
// endregion

} // namespace

// region: params
template <class Side> struct WindowParams {
  fx::Param<Side, fx::Tensor> from, to;
  fx::Param<Side, std::optional<fx::Tensor>> bias = {};
  fx::Param<Side, fx::Int32> first, count;
};

const fx::Kernel copy_window{"copy_window", [](WindowParams<fx::OnDevice> p) {
  auto i = fx::thread_idx().x;
  fx::if_(i < p.count, [&] {
    auto value = p.from(p.first + i);
    p.to(i) = p.bias ? value + (*p.bias)(i) : value; // decided while tracing
  });
}};

void run_copy_window(const fx::DeviceArray<float> &from, const fx::DeviceArray<float> &to) {
  copy_window({.from = from, .to = to, .first = 100, .count = 32}).launch({.block = 64});
}
// endregion

// region: strided
template <class Side> struct ScaledParams {
  fx::Strided<Side, 1> x, y; // (m, 64): rows at any stride
  fx::Strided<Side, 0> bias; // (64), or none
  fx::Param<Side, fx::Int32> m;
};

const fx::Kernel scale_rows{
    "scale_rows",
    [](ScaledParams<fx::OnDevice> p, fx::Constexpr<fx::DType> type, fx::Constexpr<bool> has_bias) {
  auto row = fx::block_idx().x, column = fx::thread_idx().x;
  auto x = p.x.view(type, {p.m, 64}), y = p.y.view(type, {p.m, 64}); // (m, 64)
  auto twice = 2.0f * x(row, column).to(fx::f32);
  y(row, column) = (has_bias ? twice + p.bias.view(fx::f32, 64)(column) : twice).to(type);
}};

void run_scale_rows(const fx::TensorArg &x, const fx::TensorArg &y,
                    const std::optional<fx::TensorArg> &bias) {
  const std::int64_t m = x.shape()[0];
  scale_rows({.x = fx::strided<1>(x),
              .y = fx::strided<1>(y),
              .bias = fx::strided<0>(bias),
              .m = std::int32_t(m)},
             x.dtype(), bias.has_value())
      .launch({.grid = m, .block = 64});
}
// endregion

// region: read-again
const fx::Kernel sums_of_lanes{"sums_of_lanes", [](ScaledParams<fx::OnDevice> p) {
  auto row = fx::block_idx().x, lane = fx::thread_idx().x;
  auto x = p.x.view(fx::f32, {p.m, 64}); // (m, 64)
  fx::Var<fx::Float32> sum(0.0f);
  for (fx::Int32 k : fx::range(lane, 64, 16))
    sum += x(row, k);
  auto late = fx::read_again(p); // the address of y and its stride are in no register over the loop
  late.y.view(fx::f32, {late.m, 16})(row, lane) = sum; // (m, 16)
}};
// endregion

// region: records
/// Rows of blocks of 18 bytes: an f16, and the 16 numbers of type i8 that it scales.
const fx::Kernel unpack{"unpack", [](fx::Strided<fx::OnDevice, 0> memory, fx::Tensor y) {
  auto row = fx::block_idx().x, block = fx::thread_idx().x;
  auto records = memory.view(fx::u8, {4, 64, 18}, 2);                 // (m, blocks, bytes)
  auto record = records(row, block, _);                               // (18)
  auto scale = fx::make_view(record.iter(), fx::make_layout(2));      // (2)
  auto codes = fx::make_view(record.iter() + 2, fx::make_layout(16)); // (16)
  fx::Numeric d = scale.recast(fx::f16)(0);                           // of two bytes
  fx::Vector words = codes.recast(fx::u32).load();       // four bytes each: one wide load
  auto to = fx::logical_divide(y(row, _), 16)(_, block); // (16): this block's
  to.store(words.bitcast(fx::i8).to(fx::f32) * d.to(fx::f32));
}};
// endregion

TEST_CASE("kernel authoring: the first kernel", "[authoring]") {
  auto x = fx::DeviceArray<float>::random({1000}, 1);
  fx::DeviceArray<float> y({1000});
  y.poison();
  fx::Stream stream;
  run_scale(x, y, 3, stream);
  stream.synchronize();
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < in.size(); ++i)
    REQUIRE(out[i] == 3 * in[i]);
}

TEST_CASE("kernel authoring: scalars", "[authoring]") {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = float(i) * 5.3f - 160;
  auto x = fx::DeviceArray<float>::from_host(values, {64});
  fx::DeviceArray<std::int8_t> q({64});
  quantise(x, q, 0.5f).launch({.block = 64});
  const auto out = q.to_host();
  for (std::size_t i = 0; i < 64; ++i)
    REQUIRE(out[i] == std::clamp(std::nearbyint(values[i] / 0.5f), -128.0f, 127.0f));

  fx::DeviceArray<int> t({6});
  types(t, 7).launch({.block = 1});
  CHECK(t.to_host() == std::vector<int>{8, 3, 7, 0x3f800000, 307 % 256, 2});
}

TEST_CASE("kernel authoring: no silent conversion", "[authoring]") {
  const fx::Kernel narrow{"narrow", [](fx::Tensor single, fx::Tensor half) {
    auto i = fx::thread_idx().x;
    half(i) = single(i);
  }};
  void *unknown = nullptr;
  auto single = fx::tensor(unknown, fx::f32, {64}), half = fx::tensor(unknown, fx::f16, {64});
  example::expectOutput("authoring-narrower.txt", example::messageOf<fx::TraceError>([&] {
    narrow(single, half).compile({.arch = "gfx942"});
  }));
}

TEST_CASE("kernel authoring: static extents", "[authoring]") {
  auto x = fx::DeviceArray<float>::random({64, 5}, 2);
  fx::DeviceArray<float> y({64});
  // region: static-call
  auto fixed = x.tensor();
  fixed.mark_layout_static(); // this shape is compiled in; another one is another kernel
  row_sum(fixed, y).launch({.block = 64});
  // endregion
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t r = 0; r < 64; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < 5; ++c)
      sum += in[r * 5 + c];
    REQUIRE(std::fabs(out[r] - sum) < 1e-6);
  }
  example::expectOutput("authoring-dynamic-extent.txt", example::messageOf<fx::TraceError>([&] {
    row_sum(x, y).launch({.block = 64});
  }));
}

TEST_CASE("kernel authoring: tiles", "[authoring]") {
  auto negated = [](const auto &kernel, std::int64_t M, std::int64_t N) {
    auto x = fx::DeviceArray<float>::random({M, N}, 3);
    fx::DeviceArray<float> y({M, N});
    y.poison();
    kernel(x, y).launch({.grid = {(M + 3) / 4, (N + 63) / 64}, .block = 64});
    const auto in = x.to_host(), out = y.to_host();
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!(out[i] == -in[i]))
        return false;
    return true;
  };
  CHECK(negated(negate_tile, 8, 128));
  CHECK(negated(negate_any, 8, 128));
  CHECK(negated(negate_any, 7, 100));
  CHECK(negated(negate_any, 1, 1));
}

TEST_CASE("kernel authoring: a constant of the code", "[authoring]") {
  auto x = fx::DeviceArray<float>::random({4, 64}, 4),
       bias = fx::DeviceArray<float>::random({64}, 5);
  fx::DeviceArray<float> y({4, 64});
  const auto in = x.to_host(), b = bias.to_host();
  for (Activation kind : {Activation::none, Activation::relu, Activation::silu}) {
    y.poison();
    bias_act(x, bias, y, kind).launch({.grid = 4, .block = 64});
    const auto out = y.to_host();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double sum = double(in[i]) + b[i % 64];
      const double expected = kind == Activation::none   ? sum
                              : kind == Activation::relu ? std::max(sum, 0.0)
                                                         : sum / (1 + std::exp(-sum));
      REQUIRE(std::fabs(out[i] - expected) < 1e-6);
    }
  }
}

TEST_CASE("kernel authoring: hints and own parameters", "[authoring]") {
  auto x = fx::DeviceArray<float>::random({256}, 6);
  fx::DeviceArray<float> y({256});
  norm(x, y).launch({.block = 256});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < 256; ++i)
    REQUIRE(std::fabs(out[i] - in[i] / std::sqrt(double(in[i]) * in[i] + 1)) < 1e-6);

  y.poison();
  run_copy_window(x, y);
  const auto part = y.to_host();
  for (std::size_t i = 0; i < 32; ++i)
    REQUIRE(part[i] == in[100 + i]);
  CHECK(std::isnan(part[32]));
}

TEST_CASE("kernel authoring: memory of strides of the call", "[authoring]") {
  // Rows of 64 elements in matrices of 80 and 64 columns.
  auto x = fx::DeviceArray<float>::random({5, 80}, 7), bias = fx::DeviceArray<float>::random({64}, 8);
  fx::DeviceArray<float> y({5, 64});
  const auto in = x.to_host(), b = bias.to_host();
  for (const bool has : {true, false}) {
    y.poison();
    run_scale_rows(fx::tensor(x.data(), {5, 64}, {80, 1}), y,
                   has ? std::optional<fx::TensorArg>(bias) : std::nullopt);
    const auto out = y.to_host();
    for (std::size_t i = 0; i < out.size(); ++i)
      REQUIRE(out[i] == 2 * in[i / 64 * 80 + i % 64] + (has ? b[i % 64] : 0.0f));
  }
}

TEST_CASE("kernel authoring: arguments that are read again", "[authoring]") {
  constexpr int kRows = 3;
  const auto x = fx::DeviceArray<float>::random({kRows, 64}, 7);
  fx::DeviceArray<float> y({kRows, 16});
  y.poison();
  sums_of_lanes({.x = fx::strided<1>(x.tensor()), .y = fx::strided<1>(y.tensor()), .bias = {}, .m = kRows})
      .launch({.grid = kRows, .block = 16});
  const auto from = x.to_host(), sums = y.to_host();
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t lane = 0; lane < 16; ++lane) {
      float sum = 0;
      for (std::size_t k = lane; k < 64; k += 16)
        sum += from[row * 64 + k];
      CHECK(sums[row * 16 + lane] == sum);
    }
}

TEST_CASE("kernel authoring: fields of records", "[authoring]") {
  std::vector<std::uint8_t> bytes(4 * 64 * 18);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::uint8_t(i * 37 % 251);
  std::vector<float> expected;
  for (std::size_t at = 0; at < bytes.size(); at += 18) {
    const fx::half_t scale(float(1 + at % 5));
    std::memcpy(&bytes[at], &scale, 2);
    for (std::size_t i = 2; i < 18; ++i)
      expected.push_back(float(scale) * float(std::int8_t(bytes[at + i])));
  }
  auto records = fx::DeviceArray<std::uint8_t>::from_host(bytes, {std::int64_t(bytes.size())});
  fx::DeviceArray<float> y({4, 1024});
  y.poison();
  unpack(fx::strided<0>(fx::TensorArg(records)), y).launch({.grid = 4, .block = 64});
  CHECK(y.to_host() == expected);
}

TEST_CASE("kernel authoring: arithmetic as it is written", "[authoring]") {
  const std::int64_t N = 4096;
  std::vector<float> values(std::size_t(64 * N), 1e-8f);
  for (std::size_t row = 0; row < 64; ++row)
    values[row * N] = 1;
  auto x = fx::DeviceArray<float>::from_host(values, {64, N});
  fx::DeviceArray<float> y({64});
  y.poison();
  row_scale(x, y).launch({.block = 64});
  const double expected = 1 / std::sqrt(1 + (N - 1) * 1e-8);
  for (float scale : y.to_host())
    REQUIRE(std::fabs(scale - expected) < 2e-7); // without the correction it is 1
}

TEST_CASE("kernel authoring: functions of another compiler", "[authoring]") {
  auto x = fx::DeviceArray<float>::random({64, 5}, 8);
  fx::DeviceArray<float> y({64, 5});
  y.poison();
  activated(x, y).launch({.block = 64});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double gelu = in[i] / (1 + std::exp(-1.702 * in[i]));
    REQUIRE(std::fabs(out[i] - std::min(gelu, 0.5)) < 1e-6);
  }
}

TEST_CASE("kernel authoring: a choice by the target", "[authoring]") {
  fx::DeviceArray<int> out({2});
  chosen(out).launch({.block = 1});
  const fx::Target target = fx::Device::current().target();
  CHECK(out.to_host()[0] == 16 * 16 * (target.has(fx::feature::mfma_scale) ? 32 : 16));
  CHECK(out.to_host()[1] == target.wave_size());
}

TEST_CASE("kernel authoring: the hardware's own", "[authoring]") {
  auto x = fx::DeviceArray<int>::random({32}, 7);
  fx::DeviceArray<int> out({32, 3});
  out.poison();
  hardware(x, out).launch({.block = 32});
  const auto in = x.to_host(), h = out.to_host();
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(h[3 * i] == std::popcount(unsigned(in[i])));
    CHECK(h[3 * i + 1] == in[i] + h[3 * i]);
    CHECK(h[3 * i + 2] == in[0]);
  }
}

TEST_CASE("kernel authoring: what a wave tells", "[authoring]") {
  const int lanes = fx::Device::current().target().wave_size();
  auto x = fx::DeviceArray<float>::random({16, lanes}, 8);
  fx::DeviceArray<float> out({16, lanes});
  out.poison();
  rows_of_waves(x, out).launch({.block = unsigned(2 * lanes)});
  const auto in = x.to_host(), squares = out.to_host();
  for (std::size_t i = 0; i < in.size(); ++i)
    REQUIRE(squares[i] == in[i] * in[i]);
}

TEST_CASE("kernel authoring: layouts on the host", "[authoring]") {
  // region: host
  auto threads = fx::make_ordered_layout({8, 16}, {1, 0}), values = fx::make_layout({1, 4});
  auto copy =
      fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32), threads, values);
  const std::int64_t M = 100, N = 1000;
  const std::int64_t tile_m = fx::size(copy.tile_mn()[0]).value(),
                     tile_n = fx::size(copy.tile_mn()[1]).value();
  const fx::Dim3 grid = {(M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n};
  // endregion
  CHECK(grid == fx::Dim3{13, 16});
}

namespace {

// region: table
const fx::Kernel dequantise{"dequantise", [](fx::Tensor codes, fx::Tensor out) {
  const float levels[4] = {-1, -0.25f, 0.25f, 1};
  auto i = fx::thread_idx().x;
  out(i) = fx::Vector::of(levels)[codes(i).to(fx::i32)];
}};
// endregion

} // namespace

TEST_CASE("kernel authoring: a table of constants", "[authoring]") {
  std::vector<std::uint8_t> codes;
  for (int i = 0; i < 64; ++i)
    codes.push_back(static_cast<std::uint8_t>(i * 7 % 4));
  auto in = fx::DeviceArray<std::uint8_t>::from_host(codes, {64});
  fx::DeviceArray<float> out({64});
  dequantise(in, out).launch({.block = 64});
  const std::vector<float> result = out.to_host();
  for (std::size_t i = 0; i < 64; ++i)
    CHECK(result[i] == std::vector<float>{-1, -0.25f, 0.25f, 1}[codes[i]]);
}
