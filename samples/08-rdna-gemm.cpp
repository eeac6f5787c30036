// C = A * B^T for any M, N and K on RDNA and gfx1250: A and B in half precision, C in float, by
// WMMA.
//
// New here: matrix instructions of waves of 32 lanes, borders in all directions, a
// copy that fills what it leaves out, two stages in a loop of unknown length.
// Options: --m (100), --n (70), --k (50).
//
// Tiles of A and B go through LDS. While the waves multiply those of one stage, the next tiles are
// on their way to registers; they are written to the other stage afterwards, so that a step has one
// barrier. Rows of A and B begin at multiples of 128 bits, whatever K is: copies stay wide, and
// what the last copy of a row brings from after its end is made 0 in registers.
#include "common/options.h"
#include "common/product_check.h"
#include "common/products.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cstdio>
#include <limits>
#include <stdexcept>
#include <vector>

namespace fx = flydsl;
using fx::_;

struct Config {
  int tile_m = 64, tile_n = 64, tile_k = 32;
};
constexpr int threads = 128, stages = 2; // 2 x 2 waves

/// The way of one operand, A or B: its tiles in global memory, registers for the tile that is under
/// way, and the stages in LDS.
struct Operand {
  Operand(const fx::Tensor &matrix, const fx::Int32 &block, int rows, int depth)
      : shape(matrix.shape()), depth(depth),
        places(fx::flat_divide(fx::make_identity_tensor(shape), {rows, depth})(_, _, block, _)),
        tiles(fx::flat_divide(matrix, {rows, depth})(_, _, block, _)),
        // The 16 bytes of eight rows one below the other lie in banks of their own.
        staged(fx::make_view(
            fx::SharedAllocator().allocate(2 * rows * depth * stages).recast(fx::f16),
            fx::make_composed_layout(fx::Swizzle(2, 3, 3),
                                     fx::make_ordered_layout({rows, depth, stages}, {1, 0, 2})))),
        // 32 rows of 4 threads, each with 8 values.
        copy(fx::make_tiled_copy_tv(atom, fx::make_ordered_layout({32, 4}, {1, 0}),
                                    fx::make_ordered_layout({1, 8}, {0, 1}))
                 .get_slice(fx::thread_idx().x)),
        fetched(fx::make_fragment_like(copy.partition_D(staged(_, _, 0)))) {}

  // region: fetch
  /// Begins to load the tile of a step. What lies outside of the matrix is 0.
  void fetch(const fx::Int32 &k) const {
    auto source = copy.partition_S(tiles(_, _, k)); // (V, rows, k)
    auto whole = fx::Int32(shape[1]) / depth;       // steps whose tile lies inside of all rows
    fx::if_(
        k < whole,
        [&] { // only rows can be outside
          auto pred = copy.predicate(places(_, _, 0), {shape[0], depth});
          fx::copy(atom, source, fetched, {.pred = pred, .other = 0});
        },
        [&] {
          auto pred = copy.predicate(places(_, _, k), shape, fx::Straddling::copied);
          fx::copy(atom, source, fetched, {.pred = pred, .other = 0});
          auto place = copy.partition_S(places(_, _, k)); // (V, rows, k) of (row, k)
          for (int i = 0; i < fx::size(fetched).value(); ++i)
            fetched(i) = fx::select(fx::elem_less(place(i), shape), fetched(i), fx::Float16(0));
        });
  }
  // endregion
  /// Writes the tile that was fetched to a stage.
  void stage(const fx::Int32 &at) const {
    fx::copy(atom, fetched, copy.partition_D(staged(_, _, at)));
  }

  fx::IntTuple shape; // (rows of the matrix, K)
  int depth;
  fx::CopyAtom atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
  fx::Tensor places, tiles, staged; // (rows, depth, steps) twice, (rows, depth, stages)
  fx::ThrCopy copy;
  fx::Tensor fetched; // (V, rows, k)
};

const fx::Kernel rdna_gemm{
    "rdna_gemm", [](fx::Tensor gA, fx::Tensor gB, fx::Tensor gC, fx::Constexpr<Config> config) {
      const int BM = config->tile_m, BN = config->tile_n, BK = config->tile_k;
      fx::require(fx::target().has(fx::feature::wmma),
                  "this product is for targets with WMMA, such as gfx1100; {} has none",
                  fx::target().name());
      auto tid = fx::thread_idx().x;
      auto [tile_m, tile_n, unused] = fx::block_idx();
      Operand A(gA, tile_m, BM, BK), B(gB, tile_n, BN, BK);
      auto C = fx::flat_divide(gC, {BM, BN})(_, _, tile_m, tile_n); // (BM, BN)
      auto places =
          fx::flat_divide(fx::make_identity_tensor(gC.shape()), {BM, BN})(_, _, tile_m, tile_n);

      auto mma_atom = fx::make_mma_atom(fx::rocdl::Mma(samples::shortestProduct(fx::f16)));
      auto mma = fx::make_tiled_mma(mma_atom, fx::make_layout({2, 2, 1}, {1, 2, 0}));
      auto thr = mma.thr_slice(tid);
      auto read_A = fx::make_tiled_copy_A(A.atom, mma).get_slice(tid);
      auto read_B = fx::make_tiled_copy_B(B.atom, mma).get_slice(tid);
      auto rA = thr.make_fragment_A(A.staged(_, _, 0)); // (V, m, k)
      auto rB = thr.make_fragment_B(B.staged(_, _, 0)); // (V, n, k)
      auto rC = thr.make_fragment_C(C);                 // (V, m, n)

      // region: loop
      A.fetch(0);
      B.fetch(0);
      rC.fill(0);
      A.stage(0);
      B.stage(0);
      auto steps = fx::ceildiv(fx::Int32(A.shape[1]), BK);
      for (fx::Int32 k : fx::range(steps)) {
        fx::gpu::barrier(); // this stage is written, and all have read the other one
        A.fetch(k + 1);     // after the last step, nothing but zeros
        B.fetch(k + 1);
        fx::copy(A.atom, read_A.partition_S(A.staged(_, _, k % stages)), read_A.retile(rA));
        fx::copy(B.atom, read_B.partition_S(B.staged(_, _, k % stages)), read_B.retile(rB));
        fx::gemm(mma, rC, rA, rB, rC);
        fx::rocdl::sched_barrier(0); // what was fetched is not waited for before this
        A.stage((k + 1) % stages);
        B.stage((k + 1) % stages);
      }
      // endregion

      auto store = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
      auto write = fx::make_tiled_copy_C(store, mma).get_slice(tid);
      fx::copy(store, write.retile(rC), write.partition_D(C),
               {.pred = write.predicate(places, gC.shape())});
    }};

static int run(const samples::Options &options) {
  const Config config;
  const std::int64_t M = options.get("m", 100), N = options.get("n", 70), K = options.get("k", 50);
  const std::int64_t pitch = (K + 7) / 8 * 8;
  auto half = [&](fx::half_t *data, std::int64_t rows) {
    return fx::TensorArg(fx::tensor(data, {rows, K}, {pitch, 1}).mark_layout_dynamic(1, 8));
  };

  if (fx::compile_only()) { // needs no device
    float *none = nullptr;
    auto compiled = rdna_gemm(half(nullptr, M), half(nullptr, N), fx::tensor(none, {M, N}), config)
                        .compile({.block = threads});
    std::printf("%s", compiled.summary().c_str());
    return 0;
  }

  samples::reportDevice();
  fx::Stream stream;
  auto A = fx::DeviceArray<fx::half_t>::random({M, pitch}, /*seed=*/1);
  auto B = fx::DeviceArray<fx::half_t>::random({N, pitch}, /*seed=*/2);
  auto a = A.to_host(), b = B.to_host();
  for (auto *rows : {&a, &b}) // what is after the end of a row must not matter
    for (std::size_t i = 0; i < rows->size(); ++i)
      if (std::int64_t(i) % pitch >= K)
        (*rows)[i] = std::numeric_limits<float>::quiet_NaN();
  A.copy_from(a);
  B.copy_from(b);
  fx::DeviceArray<float> C({M, N});
  C.poison();

  auto compiled =
      rdna_gemm(half(A.data(), M), half(B.data(), N), C, config).compile({.block = threads});
  samples::report(compiled);
  compiled(half(A.data(), M), half(B.data(), N), C, config)
      .launch({.grid = {(M + config.tile_m - 1) / config.tile_m,
                        (N + config.tile_n - 1) / config.tile_n},
               .block = threads,
               .stream = stream});
  stream.synchronize();

  // Products of halves are exact in float. An instruction adds 16 or 32 of them and the sum so far
  // in an order of its own, with at most log2(32) + 1 roundings on the way of a product, each by
  // 2^-23 of what it rounds where the adder truncates; then up to K / 16 instructions follow.
  const double roundings = double((K + 15) / 16) + 5 + 1;
  const auto c = C.to_host();
  const samples::Worst worst = samples::errorOfProduct<fx::half_t>(
      {.a = a, .b = b, .c = c, .m = M, .n = N, .k = K, .pitch = pitch}, roundings);
  return samples::verdict("largest error, of what rounding allows,", samples::dims(M, N, K), worst,
                          1);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"m", "n", "k"}, run); }
