// Kernels that users write as the samples are, beside the library's plans for the same problem with
// the same tiles: instructions of a call, registers, and the emulator's estimate. A row of the
// library's that is better than the user's shows what the language does not give users yet.
//
//   bench_kernel_pairs
#include "support/zero_operands.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/operands.h>
#include <flydsl/kernels/parts/attention.h>

#include <cstdio>
#include <functional>
#include <string>

// The kernel of the sample as its text is; the sample's own program is not used.
#define main sample_main
#include "../../samples/04-preshuffle-gemm.cpp"
#undef main

namespace fk = flydsl::kernels;

namespace {

/// RMS norm of rows of N elements, written as sample 06 is: a block keeps its row in registers.
constexpr int kNormThreads = 256, kNormWidth = 8;
const fx::Kernel rmsNorm{
    "rms_norm",
    [](fx::Tensor X, fx::Tensor W, fx::Tensor Y, fx::TiledCopy copy, fx::Constexpr<float> eps) {
      auto row = fx::block_idx().x;
      auto thr = copy.get_slice(fx::thread_idx().x);
      const std::int64_t N = X.shape()[1].value();
      auto tile = fx::make_tile(1, kNormThreads * kNormWidth);
      auto gX = fx::flat_divide(X, tile)(_, _, row, _); // (1, BN, n)
      auto gY = fx::flat_divide(Y, tile)(_, _, row, _); // (1, BN, n)
      auto gW = fx::flat_divide(W, tile)(_, _, 0, _);   // (1, BN, n)

      auto tX = thr.partition_S(gX);        // (V, 1, 1, n)
      auto tW = thr.partition_S(gW);        // (V, 1, 1, n)
      auto tY = thr.partition_D(gY);        // (V, 1, 1, n)
      auto rX = fx::make_fragment_like(tX); // (V, 1, 1, n)
      auto rW = fx::make_fragment_like(tW); // (V, 1, 1, n)
      auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::bf16);
      fx::copy(atom, tX, rX);
      fx::copy(atom, tW, rW);

      const fx::Vector x = rX.load().to(fx::f32);
      fx::SharedAllocator shared;
      const fx::Numeric squares =
          fx::gpu::block_reduce((x * x).reduce(fx::Reduction::add), fx::Reduction::add, shared);
      const fx::Numeric rstd =
          fx::math::rsqrt(squares * (1.0f / static_cast<float>(N)) + float(eps));
      rX.store((x * rstd * rW.load().to(fx::f32)).to(fx::bf16));
      fx::copy(atom, rX, tY);
    }};

/// Attention that is composed of the library's parts: q and o (queries, q_heads, head), k and v
/// (keys, kv_heads, head), at any strides.
const fx::Kernel attentionOfParts{
    "attention_of_parts",
    [](fx::Tensor q, fx::Tensor k, fx::Tensor v, fx::Tensor o,
       fx::Constexpr<fk::parts::AttentionSpec> spec) {
      using fx::_;
      const fk::parts::QueryTile tile =
          fk::parts::QueryScheduler(spec.value(), 1, fx::Int32(q.shape()[0])).at(fx::block_idx().x);
      const auto keys =
          fk::parts::KeysAndValues::rows(k(_, tile.kv_head, _), v(_, tile.kv_head, _));
      fk::parts::Attention(spec.value(), tile, q(_, tile.head, _), keys).store(o(_, tile.head, _));
    },
    {.waves_per_eu = 2}};

/// What a call of either kernel is.
struct Side {
  std::string name;
  unsigned registers;
  std::function<void(const fx::Stream &)> call;
};

void row(const Side &side) {
  const fx::Stream stream;
  const auto launches = fx::Device::current().count_launches([&] {
    side.call(stream);
    stream.synchronize();
  });
  const auto count = [&](const char *counter) {
    double sum = 0;
    for (const fx::LaunchCounters &launch : launches)
      sum += double(launch[counter]) / 1000;
    return sum;
  };
  double microseconds = 0;
  for (const fx::LaunchCounters &launch : launches)
    microseconds += launch.estimate.microseconds;
  std::printf("| %s | %u | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f |\n", side.name.c_str(),
              side.registers, count("SQ_INSTS_MFMA"),
              count("SQ_INSTS_VALU") - count("SQ_INSTS_MFMA"), count("SQ_INSTS_SALU"),
              count("SQ_INSTS_VMEM"), count("SQ_INSTS_LDS"), microseconds);
  std::fflush(stdout);
}

template <class P>
void library(const std::string &name, const P &problem, const fk::ConfigOf<P> &config,
             std::int64_t rows) {
  const fk::Plan<P> plan(problem, config);
  kernel_tests::ZeroOperands zeros;
  const auto args = fk::make_args(problem, config, rows, zeros.sampler());
  row({name + ", the library's", plan.executables().at(0).registers(),
       [&](const fx::Stream &stream) { plan(args, stream); }});
}

void norms() {
  constexpr std::int64_t kRows = 512, kColumns = 4096;
  fx::DeviceArray<std::uint16_t> x({kRows, kColumns}), w({1, kColumns}), y({kRows, kColumns});
  x.fill(0);
  w.fill(0);
  const auto copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::bf16),
                                           fx::make_ordered_layout({1, kNormThreads}, {1, 0}),
                                           fx::make_ordered_layout({1, kNormWidth}, {0, 1}));
  const auto matrix = [&](fx::DeviceArray<std::uint16_t> &memory, std::int64_t rows) {
    return fx::TensorArg(fx::tensor(static_cast<void *>(memory.data()), fx::bf16, {rows, kColumns})
                             .mark_layout_static());
  };
  const auto call = [&] {
    return rmsNorm(matrix(x, kRows), matrix(w, 1), matrix(y, kRows), copy, 1e-5f);
  };
  row({"RMS norm, a user's", call().compile({.block = kNormThreads}).registers(),
       [&](const fx::Stream &stream) {
         call().launch({.grid = kRows, .block = kNormThreads, .stream = stream});
       }});
  const fk::NormProblem problem{.x = fx::bf16, .weight = fx::bf16, .y = fx::bf16, .n = kColumns};
  library("RMS norm", problem, {.threads = kNormThreads, .block = kNormThreads}, kRows);
}

void products() {
  constexpr std::int64_t kM = 256, kN = 256, kK = 1024;
  fx::DeviceArray<std::uint16_t> a({kM, kK}), b({kN, kK}), c({kM, kN});
  a.fill(0);
  b.fill(0);
  const fx::Layout layoutB = layoutOfB(kN, kK);
  const auto half = [](fx::DeviceArray<std::uint16_t> &memory, std::int64_t rows,
                       std::int64_t columns) {
    return fx::TensorArg(fx::tensor(static_cast<void *>(memory.data()), fx::f16, {rows, columns}));
  };
  const auto call = [&] {
    return preshuffle_gemm(half(a, kM, kK), half(b, kN, kK), half(c, kM, kN), layoutB, int(kK));
  };
  row({"product of f16, a user's (sample 04)", call().compile({.block = threads}).registers(),
       [&](const fx::Stream &stream) {
         call().launch({.grid = {kM / BM, kN / BN},
                        .block = threads,
                        .smem = BM * BK * stages * 2,
                        .stream = stream});
       }});
  const fk::GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f16, .n = kN, .k = kK};
  library("product of f16", problem,
          {.tile_m = BM, .tile_n = BN, .tile_k = BK, .threads = threads, .stages = stages}, kM);
}

void attentions() {
  constexpr std::int64_t kQueries = 512, kHeads = 8, kKvHeads = 2, kHead = 128;
  fx::DeviceArray<std::uint16_t> q({kQueries, kHeads, kHead}), k({kQueries, kKvHeads, kHead}),
      v({kQueries, kKvHeads, kHead}), o({kQueries, kHeads, kHead});
  for (fx::DeviceArray<std::uint16_t> *memory : {&q, &k, &v})
    memory->fill(0);
  const auto heads = [](fx::DeviceArray<std::uint16_t> &memory, std::int64_t count) {
    return fx::TensorArg(
               fx::tensor(static_cast<void *>(memory.data()), fx::bf16, {kQueries, count, kHead}))
        .mark_layout_dynamic(2, 8);
  };
  const fk::AttentionProblem problem{.q = fx::bf16,
                                     .kv = fx::bf16,
                                     .y = fx::bf16,
                                     .q_heads = int(kHeads),
                                     .kv_heads = int(kKvHeads),
                                     .head = int(kHead),
                                     .causal = true};
  const fk::parts::AttentionSpec spec{problem, fk::choose(problem, kQueries)};
  const auto call = [&] {
    return attentionOfParts(heads(q, kHeads), heads(k, kKvHeads), heads(v, kKvHeads),
                            heads(o, kHeads), spec);
  };
  row({"attention of bf16, a user's of parts",
       call().compile({.block = spec.config.threads}).registers(), [&](const fx::Stream &stream) {
         call().launch({.grid = fk::parts::tiles(spec, 1, kQueries),
                        .block = spec.config.threads,
                        .stream = stream});
       }});
  library("attention of bf16", problem, spec.config, kQueries);
}

} // namespace

int main() {
  std::printf("| kernel | registers | matrix | vector | scalar | memory | LDS | us |\n"
              "|---|---|---|---|---|---|---|---|\n");
  norms();
  attentions();
  if (fx::Device::current().target().has(fx::feature::mfma)) // which the sample is written for
    products();
}
