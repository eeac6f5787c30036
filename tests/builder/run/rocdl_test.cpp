// AMD's instructions: conversions, hints and waits, raw matrix instructions.
#include "run.h"

#include <catch2/catch.hpp>

#include <functional>

namespace fx = flydsl;

namespace {
/// A column of results: the value that a thread expects, and the relative error that is allowed.
struct Column {
  std::function<double(int)> expected;
  double allowed;
};
/// Counts the results of 64 threads that are not as the columns say.
int wrongIn(const std::vector<float> &results, const std::vector<Column> &columns) {
  int wrong = 0;
  for (int t = 0; t < 64; ++t)
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double expected = columns[i].expected(t);
      const float result = results[std::size_t(t) * columns.size() + i];
      if (!(std::fabs(result - expected) <=
            columns[i].allowed * std::max(1.0, std::fabs(expected))) &&
          ++wrong < 5)
        WARN("thread " << t << " column " << i << ": " << result << ", expected " << expected);
    }
  return wrong;
}
float quarters(int thread) { return float(thread + 1) * 0.25f; }
} // namespace

TEST_CASE("approximations and packed conversions give the instructions' results") {
  auto h = run::values<float>("packs", 64, 7, [](fx::Tensor out, fx::Int32 tid) {
    fx::Numeric x = (tid + 1).to(fx::f32) * 0.25f;
    out(tid, 0) = fx::rocdl::rcp(x);
    out(tid, 1) = fx::rocdl::rsq(x);
    out(tid, 2) = fx::rocdl::exp2(x);
    out(tid, 3) = fx::rocdl::log2(x);
    out(tid, 4) = fx::rocdl::cvt_pk_bf16_f32(x, x + 1).to(fx::f32)[1];
    out(tid, 5) = fx::rocdl::cvt_pkrtz(x, x + 1).to(fx::f32)[0];
    out(tid, 6) = fx::rocdl::cvt_off_f32_i4(tid % 16);
  });
  CHECK(wrongIn(h, {{[](int t) { return 1 / quarters(t); }, 1e-6},
                    {[](int t) { return 1 / std::sqrt(quarters(t)); }, 1e-6},
                    {[](int t) { return std::exp2(double(quarters(t))); }, 1e-6},
                    {[](int t) { return std::log2(double(quarters(t))); }, 2e-6},
                    {[](int t) { return quarters(t) + 1; }, 4e-3},
                    {[](int t) { return quarters(t); }, 1e-3},
                    {[](int t) { return ((t % 16 ^ 8) - 8) / 16.0; }, 0}}) == 0);
}

TEST_CASE("conversions to 8-bit floats and back give the instructions' results") {
  if (!run::has(fx::feature::fp8_conversions))
    return;
  auto h = run::values<float>("fp8", 64, 3, [](fx::Tensor out, fx::Int32 tid) {
    namespace rocdl = fx::rocdl;
    fx::Numeric x = (tid + 1).to(fx::f32) * 0.25f;
    auto pair = rocdl::cvt_pk_fp8_f32(x, -x, 0, false);
    out(tid, 0) = rocdl::cvt_pk_f32_fp8(rocdl::cvt_pk_fp8_f32(1.5f, 2.0f, pair, true), false)[1];
    out(tid, 1) = rocdl::cvt_f32_bf8(rocdl::cvt_pk_bf8_f32(2.0f, 3.0f, 0, false), 1);
    // Stochastic rounding of what the format holds is exact whatever the seed.
    out(tid, 2) = rocdl::cvt_f32_fp8(rocdl::cvt_sr_fp8_f32(1.25f, tid * 77777, 0, 2), 2);
  });
  CHECK(wrongIn(h, {{[](int t) { return -quarters(t); }, 0.0625},
                    {[](int) { return 3; }, 0},
                    {[](int) { return 1.25; }, 0}}) == 0);
}

TEST_CASE("gfx950's conversions give the instructions' results") {
  if (run::target() != "gfx950")
    return;
  auto h = run::values<float>("scaled", 64, 3, [](fx::Tensor out, fx::Int32 tid) {
    fx::Numeric x = (tid % 4).to(fx::f32);
    auto pair = fx::rocdl::cvt_scalef32_pk_fp4_f32(0, x, -x, 2.0f, 1);
    out(tid, 0) = fx::rocdl::cvt_scalef32_pk_f32_fp4(pair, 2.0f, 1)[1];
    out(tid, 1) = fx::rocdl::cvt_scalef32_pk_bf16_fp4(pair, 2.0f, 1).to(fx::f32)[0];
    out(tid, 2) = fx::rocdl::cvt_sr_f32_to_bf16(1.25f, tid * 99991).to(fx::f32);
  });
  for (int t = 0; t < 64; ++t) {
    CHECK(h[std::size_t(t) * 3] == -float(t % 4));
    CHECK(h[std::size_t(t) * 3 + 1] == float(t % 4));
    CHECK(h[std::size_t(t) * 3 + 2] == 1.25f);
  }
}

TEST_CASE("a matrix instruction with scales has what all lanes give it, where few use its result") {
  if (run::target() != "gfx950")
    return;
  // Row and column hold 128 ones. Lane group g has a scale of 2^g of its own 32 of them.
  auto h = run::values<float>("parted", 64, 1, [](fx::Tensor out, fx::Int32 tid) {
    const fx::Vector ones = fx::Vector::splat(0x38383838, 8, fx::i32); // of f8E4M3FN
    const fx::Int32 scale = tid / 16 + 127;
    const fx::Vector sums = fx::rocdl::mfma_scale_f32_16x16x128_f8f6f4(
        {.values = ones, .format = 0, .scale = scale},
        {.values = ones, .format = 0, .scale = fx::Int32(127)},
        fx::Vector::splat(0.0f, 4, fx::f32));
    out(tid, 0) = 0.0f;
    fx::if_(tid < 16, [&] { out(tid, 0) = sums[0]; });
  });
  for (int t = 0; t < 64; ++t)
    CHECK(h[std::size_t(t)] == (t < 16 ? 32.0f * (1 + 2 + 4 + 8) : 0.0f));
}

TEST_CASE("hints and waits change no result") {
  auto h = run::values<int>("hints", 64, 1, [](fx::Tensor out, fx::Int32 tid) {
    fx::rocdl::s_setprio(2);
    fx::rocdl::sched_barrier(0);
    fx::SharedAllocator shared;
    auto tile = shared.allocate<fx::Array<fx::Int32, 64>>().view();
    tile(tid) = tid;
    fx::rocdl::sched_dswr(1);
    fx::rocdl::sched_dsrd(1);
    fx::rocdl::sched_vmem(1);
    fx::rocdl::sched_mfma(1);
    fx::rocdl::sched_group_barrier(0x2, 1, 1);
    fx::rocdl::iglp_opt(0);
    fx::rocdl::s_waitcnt({.vmcnt = 0, .lgkmcnt = 0});
    fx::rocdl::s_waitcnt(0);
    fx::rocdl::s_barrier();
    fx::gpu::barrier();
    fx::rocdl::s_sleep(1);
    out(tid, 0) = tile(63 - tid);
    fx::rocdl::s_setprio(0);
  });
  for (int t = 0; t < 64; ++t)
    CHECK(h[std::size_t(t)] == 63 - t);
}

TEST_CASE("raw matrix instructions multiply") {
  // A and B hold one number each: every product is a row sum of K equal terms.
  auto h = run::values<float>("matrix", 64, 4, [](fx::Tensor out, fx::Int32 tid) {
    namespace rocdl = fx::rocdl;
    auto f16s = [](float x, int n) { return fx::Vector::splat(x, n, fx::f16); };
    auto zero = [](int n) { return fx::Vector::splat(0.0f, n, fx::f32); };
    if (run::waveSize() == 32) {
      auto d = rocdl::wmma("f32_16x16x16_f16", f16s(2, run::target() == "gfx1100" ? 16 : 8),
                           f16s(3, run::target() == "gfx1100" ? 16 : 8), zero(8));
      for (int i = 0; i < 4; ++i)
        out(tid, i) = d[i];
      return;
    }
    out(tid, 0) = rocdl::mfma_f32_16x16x16f16(f16s(2, 4), f16s(3, 4), zero(4))[1];
    out(tid, 1) = rocdl::mfma("f32_32x32x2f32", fx::Vector::splat(4.0f, 1, fx::f32),
                              fx::Vector::splat(6.0f, 1, fx::f32), zero(16))[9] *
                  2;
    auto bf = fx::Vector::splat(2.0f, 4, fx::bf16);
    out(tid, 2) = rocdl::mfma_f32_32x32x8bf16_1k(bf, bf * 3, zero(16))[3];
    // From gfx942 on the instruction takes twice as many values of 8 bits.
    const bool wide = fx::target().has(fx::feature::fp8_conversions);
    auto twos = fx::Vector::splat(2, wide ? 8 : 4, fx::i8);
    auto sums = fx::Vector::splat(wide ? -32 : 32, 4, fx::i32);
    auto d = rocdl::mfma(wide ? "i32_16x16x32_i8" : "i32_16x16x16i8", twos, twos, sums);
    out(tid, 3) = d[2].to(fx::f32);
  });
  int wrong = 0;
  for (float v : h)
    wrong += v != 96;
  CHECK(wrong == 0);
}

TEST_CASE("every raw WMMA instruction of a target is in its machine code") {
  // Names as LLVM has them; their operands in elements of A and B, and of the sum, a lane.
  struct Raw {
    const char *name;
    fx::DType ab;
    int sizeAB;
    fx::DType acc;
    int sizeAcc;
  };
  auto check = [](const char *arch, const std::vector<Raw> &all) {
    const fx::Kernel kernel{"raw_wmma", [&all](fx::Tensor x) {
                              for (const Raw &raw : all) {
                                auto a = fx::Vector::splat(1, raw.sizeAB, raw.ab),
                                     c = fx::Vector::splat(1, raw.sizeAcc, raw.acc);
                                auto d = fx::rocdl::wmma(raw.name, a, a, c);
                                x(fx::thread_idx().x) += d[0].to(fx::f32);
                              }
                            }};
    float *nowhere = nullptr;
    const std::string isa =
        kernel(fx::tensor(nowhere, {64})).compile({.block = 32, .arch = arch}).isa();
    for (const Raw &raw : all)
      CHECK_THAT(isa, Catch::Contains("v_wmma_" + std::string(raw.name)));
  };
  check("gfx1250", {{"f32_16x16x4_f32", fx::f32, 2, fx::f32, 8},
                    {"f32_16x16x32_f16", fx::f16, 16, fx::f32, 8},
                    {"f32_16x16x32_bf16", fx::bf16, 16, fx::f32, 8},
                    {"f16_16x16x32_f16", fx::f16, 16, fx::f16, 8},
                    {"bf16_16x16x32_bf16", fx::bf16, 16, fx::bf16, 8},
                    {"i32_16x16x64_iu8", fx::i8, 32, fx::i32, 8},
                    {"f32_16x16x64_fp8_bf8", fx::i8, 32, fx::f32, 8},
                    {"f16_16x16x64_bf8_fp8", fx::i8, 32, fx::f16, 8},
                    {"f32_16x16x128_bf8_bf8", fx::i32, 16, fx::f32, 8},
                    {"f16_16x16x128_fp8_fp8", fx::i32, 16, fx::f16, 8}});
  check("gfx1201", {{"f32_16x16x16_f16", fx::f16, 8, fx::f32, 8},
                    {"f32_16x16x16_bf16", fx::bf16, 8, fx::f32, 8},
                    {"f16_16x16x16_f16", fx::f16, 8, fx::f16, 8},
                    {"bf16_16x16x16_bf16", fx::bf16, 8, fx::bf16, 8},
                    {"i32_16x16x16_iu8", fx::i8, 8, fx::i32, 8},
                    {"i32_16x16x16_iu4", fx::i32, 1, fx::i32, 8},
                    {"i32_16x16x32_iu4", fx::i32, 2, fx::i32, 8},
                    {"f32_16x16x16_fp8_bf8", fx::i8, 8, fx::f32, 8}});
  check("gfx1100", {{"f32_16x16x16_f16", fx::f16, 16, fx::f32, 8},
                    {"f32_16x16x16_bf16", fx::bf16, 16, fx::f32, 8},
                    {"f16_16x16x16_f16", fx::f16, 16, fx::f16, 16},
                    {"bf16_16x16x16_bf16", fx::bf16, 16, fx::bf16, 16},
                    {"i32_16x16x16_iu8", fx::i8, 16, fx::i32, 8},
                    {"i32_16x16x16_iu4", fx::i32, 2, fx::i32, 8}});
}
