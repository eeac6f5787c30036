// Examples of docs/tiled-copy-and-mma.md.
#include "example.h"

#include <flydsl/layout/picture.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace {

// region: copy
/// B = A for tiles of 16 x 64 floats: 8 x 16 threads that each move 2 rows of 4 floats.
const fx::Kernel move{"move", [](fx::Tensor A, fx::Tensor B, fx::TiledCopy copy) {
  auto [bm, bn, bz] = fx::block_idx();
  auto tile = copy.tile_mn();                       // (16, 64)
  auto gA = fx::flat_divide(A, tile)(_, _, bm, bn); // (16, 64)
  auto gB = fx::flat_divide(B, tile)(_, _, bm, bn); // (16, 64)

  auto thr = copy.get_slice(fx::thread_idx().x);
  auto tA = thr.partition_S(gA);       // (V, m, n)
  auto tB = thr.partition_D(gB);       // (V, m, n)
  auto r = fx::make_fragment_like(tA); // (V, m, n)
  fx::copy(copy, tA, r);
  fx::copy(copy, r, tB);
}};
// endregion

// region: through-shared
/// The same through shared memory, written by one tiled copy and read by another.
const fx::Kernel reorder{"reorder",
                         [](fx::Tensor A, fx::Tensor B, fx::TiledCopy in, fx::TiledCopy out) {
  auto tid = fx::thread_idx().x;
  auto sA = fx::make_view(fx::SharedAllocator().allocate(16 * 64 * 4).recast(fx::f32),
                          fx::make_ordered_layout({16, 64}, {1, 0})); // (16, 64)
  auto write = in.get_slice(tid), read = out.get_slice(tid);
  auto rA = fx::make_fragment_like(write.partition_S(A)); // (V, m, n)
  fx::copy(in, write.partition_S(A), rA);
  fx::copy(in, rA, write.partition_D(sA));
  fx::gpu::barrier();
  auto rB = fx::make_fragment_like(read.partition_S(sA)); // (V, m, n)
  fx::copy(out, read.partition_S(sA), rB);
  fx::copy(out, rB, read.partition_D(B));
}};
// endregion

// region: gemm
/// C = A * B^T for M and N that 64 divides and K that 16 divides: A (M, K), B (N, K), C (M, N).
const fx::Kernel gemm{"gemm", [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::TiledMma mma) {
  constexpr int BM = 64, BN = 64, BK = 16;
  auto tid = fx::thread_idx().x;
  auto [bm, bn, bz] = fx::block_idx();
  auto gA = fx::flat_divide(A, {BM, BK})(_, _, bm, _);  // (BM, BK, k)
  auto gB = fx::flat_divide(B, {BN, BK})(_, _, bn, _);  // (BN, BK, k)
  auto gC = fx::flat_divide(C, {BM, BN})(_, _, bm, bn); // (BM, BN)

  auto thr = mma.thr_slice(tid);
  auto rA = thr.make_fragment_A(gA(_, _, 0)); // (V, m, k)
  auto rB = thr.make_fragment_B(gB(_, _, 0)); // (V, n, k)
  auto rC = thr.make_fragment_C(gC);          // (V, m, n)

  auto load = fx::make_copy_atom(fx::UniversalCopy64b(), fx::f16);
  auto store = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
  auto copy_A = fx::make_tiled_copy_A(load, mma).get_slice(tid);
  auto copy_B = fx::make_tiled_copy_B(load, mma).get_slice(tid);
  auto copy_C = fx::make_tiled_copy_C(store, mma).get_slice(tid);
  auto tA = copy_A.partition_S(gA); // (V, m, k', k)
  auto tB = copy_B.partition_S(gB); // (V, n, k', k)

  rC.fill(0);
  for (fx::Int32 k : fx::range(gA.shape()[2])) {
    fx::copy(load, tA(_, _, _, k), copy_A.retile(rA));
    fx::copy(load, tB(_, _, _, k), copy_B.retile(rB));
    fx::gemm(mma, rC, rA, rB, rC);
  }
  fx::copy(store, copy_C.retile(rC), copy_C.partition_D(gC));
}};

fx::TiledMma four_waves() {
  auto atom = fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16));
  return fx::make_tiled_mma(atom, fx::make_layout({2, 2, 1}, {1, 2, 0}));
}
// endregion

// region: products
/// The instruction of 16 x 16 halves with the largest K that a target has.
fx::rocdl::MatrixProduct square_of_halves(const fx::Target &target) {
  for (const auto &product : fx::rocdl::matrix_products(target, fx::f16, fx::f16))
    if (product.m == 16 && product.n == 16 && product.acc == fx::f32)
      return product;
  throw std::runtime_error(target.name() + " multiplies no halves");
}
// endregion

} // namespace

TEST_CASE("tiled copy: a tile over threads", "[tiled]") {
  // region: copy-host
  auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32); // 4 floats a call
  auto threads = fx::make_ordered_layout({8, 16}, {1, 0});          // 16 side by side, 8 down
  auto values = fx::make_ordered_layout({2, 4}, {1, 0});            // 2 rows of 4 each
  auto copy = fx::make_tiled_copy_tv(atom, threads, values);
  std::string text = "tile                    " + copy.tile_mn().str() + "\n" +
                     "(thread, value) -> tile " + copy.layout_tv_tiled().str() + "\n";
  // endregion
  example::expectOutput("tiled-copy.txt", text);
  // region: picture
  auto few =
      fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy64b(), fx::f32),
                             fx::make_ordered_layout({2, 4}, {1, 0}), fx::make_layout({1, 2}));
  std::string drawn = fx::picture(few);
  // endregion
  example::expectOutput("tiled-copy-picture.txt", drawn);
  auto A = fx::DeviceArray<float>::random({32, 192}, 1);
  fx::DeviceArray<float> B({32, 192});
  B.poison();
  move(A.mark_layout_dynamic(1, 4), B.mark_layout_dynamic(1, 4), copy)
      .launch({.grid = {2, 3}, .block = 128});
  CHECK(B.to_host() == A.to_host());

  auto out =
      fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32),
                             fx::make_ordered_layout({2, 64}, {1, 0}), fx::make_layout({8, 1}));
  auto small = fx::DeviceArray<float>::random({16, 64}, 2);
  fx::DeviceArray<float> moved({16, 64});
  auto fixed = small.tensor(), to = moved.tensor();
  reorder(fixed.mark_layout_static(), to.mark_layout_static(), copy, out).launch({.block = 128});
  CHECK(moved.to_host() == small.to_host());
}

TEST_CASE("tiled mma: a matrix product", "[tiled]") {
  constexpr std::int64_t M = 128, N = 64, K = 48;
  auto A = fx::DeviceArray<fx::half_t>::random({M, K}, 1);
  auto B = fx::DeviceArray<fx::half_t>::random({N, K}, 2);
  fx::DeviceArray<float> C({M, N});
  C.poison();
  // region: gemm-launch
  auto mma = four_waves();
  gemm(A.mark_layout_dynamic(1, 16), B.mark_layout_dynamic(1, 16), C, mma)
      .launch({.grid = {M / 64, N / 64}, .block = 256});
  // endregion
  const auto a = A.to_host(), b = B.to_host();
  const auto c = C.to_host();
  double worst = 0;
  for (std::size_t m = 0; m < M; ++m)
    for (std::size_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < K; ++k)
        sum += double(float(a[m * K + k])) * float(b[n * K + k]);
      const double error = std::fabs(c[m * N + n] - sum);
      worst = std::isnan(error) ? 1 : std::max(worst, error);
    }
  CHECK(worst < 1e-4);

  std::string text;
  // region: gemm-host
  auto atom = mma.mma_atom();
  text += "one instruction (M, N, K)  " + atom.shape_mnk().str() + "\n";
  text += "lane, value -> A           " + atom.layout_A_tv().str() + "\n";
  text += "lane, value -> C           " + atom.layout_C_tv().str() + "\n";
  text += "all waves (M, N, K)        " + mma.tile_size_mnk().str() + "\n";
  // endregion
  example::expectOutput("tiled-mma.txt", text);
}

TEST_CASE("tiled mma: the instructions of a target", "[tiled]") {
  std::string text =
      "         (M, N, K)   lanes   of a row   copies   rows in a run   registers of A\n";
  const auto row = [&](const char *name, const std::string &shape, int lanes, int ofRow, int copies,
                       int run, int registers) {
    char line[120];
    std::snprintf(line, sizeof line, "%-8s %-11s %5d %10d %8d %15d %16d\n", name, shape.c_str(),
                  lanes, ofRow, copies, run, registers);
    text += line;
  };
  // region: products-host
  for (const char *name : {"gfx942", "gfx950", "gfx1100", "gfx1201"}) {
    const auto product = square_of_halves(fx::Target::parse(name));
    auto found = fx::make_mma_atom(fx::rocdl::Mma(product));
    row(name, found.shape_mnk().str(), product.lanes, product.lanes_of_row(),
        product.layout_a.copies(), product.layout_c.run(1), product.registers_a);
  }
  // endregion
  example::expectOutput("tiled-mma-products.txt", text);
}

TEST_CASE("tiled mma: what a target does not have", "[tiled]") {
  // region: target
  const fx::Kernel gfx950_only{"gfx950_only", [](fx::Tensor C) {
    auto atom = fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 32, fx::f16));
    auto mma = fx::make_tiled_mma(atom, fx::make_layout({1, 1, 1}));
    fx::Tensor c = mma.make_fragment_C(C);
    c.fill(0);
  }};
  // endregion
  float *unknown = nullptr;
  auto C = fx::tensor(unknown, {16, 16}).mark_layout_static();
  example::expectOutput("tiled-mma-target.txt", example::messageOf<fx::TraceError>([&] {
    gfx950_only(C).compile({.block = 64, .arch = "gfx942"});
  }));
}

// region: column
/// Four numbers of a column, read by an atom of `bits`.
const fx::Kernel column{"column", [](fx::Tensor A, fx::Tensor out, fx::Constexpr<int> bits) {
  auto atom = fx::make_copy_atom(fx::UniversalCopy(bits), fx::f32);
  auto down = fx::flat_divide(A, {4, 1})(_, 0, 0, 1); // (4)
  auto r = fx::make_rmem_tensor(4, fx::f32);          // (4)
  fx::copy(atom, down, r);
  fx::copy(atom, r, fx::make_view(out.iter(), fx::make_layout(4, 1)));
}};
// endregion

TEST_CASE("tiled copy: values of a call that are no neighbours", "[tiled]") {
  std::vector<float> numbers(32);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = float(i);
  fx::DeviceArray<float> A({4, 8}), out({4});
  A.copy_from(numbers);
  example::expectOutput("tiled-copy-neighbours.txt", example::messageOf<fx::TraceError>([&] {
    column(A, out, 128).launch({.block = 1});
  }));
  column(A, out, 32).launch({.block = 1});
  CHECK(out.to_host() == std::vector<float>{1, 9, 17, 25});
}

TEST_CASE("tiled copy: threads that do not fit the block", "[tiled]") {
  // region: threads
  const fx::Kernel few{"few", [](fx::Tensor A) {
    auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
    auto copy = fx::make_tiled_copy_tv(atom, fx::make_layout({8, 8}), fx::make_layout({1, 1}));
    auto part = copy.get_slice(fx::thread_idx().x).partition_D(A);
    fx::copy(copy, fx::make_fragment_like(part), part);
  }};
  // endregion
  fx::DeviceArray<float> A({8, 8});
  example::expectOutput("tiled-copy-threads.txt", example::messageOf<fx::TraceError>([&] {
    few(fx::TensorArg(A.tensor()).mark_layout_static()).launch({.block = 128});
  }));
}

TEST_CASE("tiled MMA: the host names a WMMA's target", "[tiled]") {
  // region: host-wmma
  // Nothing is traced here that says for which target, and a WMMA's layouts are the target's.
  auto rdna3 = fx::make_mma_atom(fx::rocdl::WMMA(16, 16, 16, fx::f16, {}, {.arch = "gfx1100"}));
  auto rdna4 = fx::make_mma_atom(fx::rocdl::WMMA(16, 16, 16, fx::f16, {}, {.arch = "gfx1201"}));
  auto mma = fx::make_tiled_mma(rdna4, fx::make_layout({2, 2, 1}));
  // endregion
  CHECK(rdna3.str() != rdna4.str());
  CHECK(fx::size(mma.tv_layout_A_tiled(), 0).value() == 128);
  CHECK_THROWS_WITH(fx::rocdl::WMMA(16, 16, 16, fx::f16), Catch::Contains("needs a target"));
}
