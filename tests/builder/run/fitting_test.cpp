// Programs that misused a stride or a predicate: the wrong form is refused, and the form that the
// message names gives right results.
#include "run.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using fx::_;

namespace {

/// C = A * B of A (16, 16) and B (16, 16), both row-major: B is read as (N, K), with operand copies
/// of `bits`.
struct RowMajorProduct {
  fx::DeviceArray<fx::half_t> A = fx::DeviceArray<fx::half_t>::random({16, 16}, 1),
                              B = fx::DeviceArray<fx::half_t>::random({16, 16}, 2);
  fx::DeviceArray<float> C{{16, 16}};

  void run(int bits) {
    const fx::Kernel kernel{
        "nn", [bits](fx::Tensor A, fx::Tensor B, fx::Tensor C) {
          auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                        fx::make_layout({1, 1, 1}));
          auto tid = fx::thread_idx().x;
          auto tile = [](const fx::Tensor &t) {
            return fx::make_view(t.iter(), fx::make_layout(fx::make_shape(16, 16), t.stride()));
          };
          auto a = tile(A), c = tile(C);                                          // (M, K), (M, N)
          auto b = fx::make_view(B.iter(), fx::select(tile(B).layout(), {1, 0})); // (N, K)
          auto load = fx::make_copy_atom(fx::UniversalCopy(bits), fx::f16);
          auto store = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
          auto thr = mma.thr_slice(tid);
          auto rA = thr.make_fragment_A(a), rB = thr.make_fragment_B(b),
               rC = thr.make_fragment_C(c);
          auto copy_A = fx::make_tiled_copy_A(load, mma).get_slice(tid),
               copy_B = fx::make_tiled_copy_B(load, mma).get_slice(tid),
               copy_C = fx::make_tiled_copy_C(store, mma).get_slice(tid);
          fx::copy(load, copy_A.partition_S(a), copy_A.retile(rA));
          fx::copy(load, copy_B.partition_S(b), copy_B.retile(rB));
          rC.fill(0);
          fx::gemm(mma, rC, rA, rB, rC);
          fx::copy(store, copy_C.retile(rC), copy_C.partition_D(c));
        }};
    C.poison();
    kernel(A, B, C).launch({.block = 64});
  }
};

} // namespace

TEST_CASE("a product of two row-major matrices is refused with wide copies and right with narrow") {
  if (run::target() != "gfx942" && run::target() != "gfx950")
    return;
  RowMajorProduct product;
  CHECK_THROWS_WITH(product.run(64), Catch::Contains("fitting_test.cpp") &&
                                         Catch::Contains("takes neighbours") &&
                                         Catch::Contains("a narrower atom (16 bits)"));
  product.run(16);
  const auto a = product.A.to_host(), b = product.B.to_host();
  const auto c = product.C.to_host();
  int wrong = 0;
  for (std::size_t m = 0; m < 16; ++m)
    for (std::size_t n = 0; n < 16; ++n) {
      float sum = 0;
      for (std::size_t k = 0; k < 16; ++k)
        sum += float(a[m * 16 + k]) * float(b[k * 16 + n]);
      wrong += !(std::fabs(c[m * 16 + n] - sum) < 1e-3f);
    }
  CHECK(wrong == 0);
}

TEST_CASE("a column of a row-major matrix is no row") {
  const fx::Kernel column{"column", [](fx::Tensor in, fx::Tensor out, fx::Constexpr<int> bits) {
                            auto r = fx::make_rmem_tensor(4, fx::f32);
                            auto atom = fx::make_copy_atom(fx::UniversalCopy(bits), fx::f32);
                            fx::copy(atom, fx::flat_divide(in, {4, 1})(_, 0, 0, 1), r);
                            fx::copy(atom, r, fx::make_view(out.iter(), fx::make_layout(4, 1)));
                          }};
  std::vector<float> numbers(32);
  for (std::size_t i = 0; i < 32; ++i)
    numbers[i] = float(i);
  fx::DeviceArray<float> in({4, 8}), out({4});
  in.copy_from(numbers);
  CHECK_THROWS_WITH(column(in, out, 128).launch({.block = 1}),
                    Catch::Contains("those of the source's mode 0, 4:?{i64}"));
  column(in, out, 32).launch({.block = 1});
  CHECK(out.to_host() == std::vector<float>{1, 9, 17, 25});
  // Column-major, the same line is a row of memory.
  auto turned = fx::tensor(in.data(), {4, 8}, {1, 4});
  column(turned.mark_layout_dynamic(0), out, 128).launch({.block = 1});
  CHECK(out.to_host() == std::vector<float>{4, 5, 6, 7});
}

TEST_CASE("a predicate has a value for each call of an atom, in one mode too") {
  const fx::Kernel kernel{"calls", [](fx::Tensor in, fx::Tensor out, fx::Int32 limit) {
                            auto tid = fx::thread_idx().x;
                            auto part = [&](const fx::Tensor &t) {
                              return fx::make_view(t.iter() + tid * 8, fx::make_layout(8, 1));
                            };
                            auto pred = fx::make_rmem_tensor(2, fx::boolean);
                            for (int i = 0; i < 2; ++i)
                              pred(i) = tid * 2 + i < limit;
                            auto r = fx::make_rmem_tensor(8, fx::f32);
                            r.fill(-1);
                            auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
                            fx::copy(atom, part(in), r, {.pred = pred});
                            fx::copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), r,
                                     part(out));
                          }};
  auto in = fx::DeviceArray<float>::random({512}, 3);
  fx::DeviceArray<float> out({512});
  out.poison();
  const int limit = 37; // of 128 calls
  kernel(in, out, limit).launch({.block = 64});
  const auto x = in.to_host(), y = out.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < 512; ++i)
    wrong += y[i] != (int(i) / 4 < limit ? x[i] : -1);
  CHECK(wrong == 0);
}
