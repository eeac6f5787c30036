// Tiled copies and tiled multiplications: their properties, that partitions cover every element
// exactly once, that fragments hold the elements that partitions name, and that the order of atom
// calls does not matter.
#include "fixed.h"
#include "product.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace fx = flydsl;
using atoms_test::fixed;
using fx::_;

namespace {

/// Whether the device has the instructions that these tests take; they need one target only.
bool onGfx942() { return fx::Device::current().arch() == "gfx942"; }

fx::MmaAtom mfma(int m, int n, int k, fx::DType type) {
  return fx::make_mma_atom(fx::rocdl::MFMA(m, n, k, type));
}

/// Values that every thread's part numbered: whether they are all different and all there.
void expectEachOnce(const std::vector<int> &codes) {
  std::set<int> seen(codes.begin(), codes.end());
  CHECK(seen.size() == codes.size());
  CHECK(!seen.contains(-1)); // the poison
}

/// Numbers each element by thread and place in the thread's part.
template <class Partition>
std::vector<int> numbered(std::int64_t rows, std::int64_t columns, int threads,
                          Partition partition) {
  const fx::Kernel kernel{"number", [&](fx::Tensor out) {
                            auto tid = fx::thread_idx().x;
                            auto part = partition(fixed(out, rows, columns), tid);
                            const int count = int(fx::size(part).value());
                            CHECK(count * threads == rows * columns);
                            for (int i = 0; i < count; ++i)
                              part(i) = tid * count + i;
                          }};
  fx::DeviceArray<int> out({rows, columns});
  out.poison();
  kernel(out).launch({.grid = 1, .block = threads});
  return out.to_host();
}

} // namespace

// The expected texts are what FlyDSL 0.4.2 answers to the same questions.
TEST_CASE("tiled copies answer as FlyDSL's do") {
  struct Row {
    fx::TiledCopy copy;
    const char *tile, *tv, *src, *dst;
  };
  auto f128 = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
  auto h128 = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f16);
  auto f32 = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
  auto small = fx::make_tiled_mma(mfma(16, 16, 4, fx::f32), fx::make_layout({2, 2, 1}, {1, 2, 0}));
  auto wide = fx::make_tiled_mma(mfma(16, 16, 16, fx::f16), fx::make_layout({1, 4, 1}, {0, 1, 0}),
                                 fx::make_tile(_, _, fx::make_layout({4, 4, 2}, {1, 8, 4})));
  const Row rows[] = {
      {fx::make_tiled_copy_tv(f128, fx::make_layout({8, 16}, {16, 1}),
                              fx::make_layout({1, 4}, {1, 1})),
       "[8|64]", "((16,8),4):((32,1),8)", "((16,8),(4,1)):((32,1),(8,0))",
       "((16,8),(4,1)):((32,1),(8,0))"},
      {fx::make_tiled_copy_tv(f128, fx::make_layout({4, 1}, {1, 1}),
                              fx::make_layout({1, 8}, {1, 1})),
       "[4|8]", "(4,8):(1,4)", "(4,(4,2)):(1,(4,16))", "(4,(4,2)):(1,(4,16))"},
      {fx::make_tiled_copy(h128, fx::make_layout({{8, 32}, {1, 8}}, {{256, 1}, {1, 32}}),
                           fx::make_tile(32, 64)),
       "[32|64]", "((8,32),(1,8)):((256,1),(1,32))", "((8,32),(8,1)):((256,1),(32,0))",
       "((8,32),(8,1)):((256,1),(32,0))"},
      {fx::make_tiled_copy_A(f32, small), "[32:1|4:1]",
       "((16,4,2,2),(1,(1,1))):((1,32,16,0),(0,(0,0)))", "((16,4,2,2),(1,1)):((1,32,16,0),(0,0))",
       "((16,4,2,2),(1,1)):((1,32,16,0),(0,0))"},
      {fx::make_tiled_copy_B(f32, small), "[32:1|4:1]",
       "((16,4,2,2),(1,(1,1))):((1,32,0,16),(0,(0,0)))", "((16,4,2,2),(1,1)):((1,32,0,16),(0,0))",
       "((16,4,2,2),(1,1)):((1,32,0,16),(0,0))"},
      {fx::make_tiled_copy_C(f32, small), "[32:1|32:1]",
       "((16,8,2),((4,1),(1,1))):((32,4,512),((1,0),(0,0)))", "((16,8,2),(1,4)):((32,4,512),(0,1))",
       "((16,8,2),(1,4)):((32,4,512),(0,1))"},
      {fx::make_tiled_copy_A(h128, wide), "[16:1|32:1]",
       "((16,4,4),(4,(1,2))):((1,128,0),(16,(0,64)))", "((16,4,4),(8,1)):((1,128,0),(16,0))",
       "((16,4,4),(8,1)):((1,128,0),(16,0))"},
      {fx::make_tiled_copy_B(h128, wide), "[64:1|32:1]",
       "((16,4,4),(4,(1,2))):((1,512,16),(64,(0,256)))", "((16,4,4),(8,1)):((1,512,16),(64,0))",
       "((16,4,4),(8,1)):((1,512,16),(64,0))"},
  };
  for (const Row &row : rows) {
    CHECK(row.copy.tile_mn().str() == row.tile);
    CHECK(row.copy.layout_tv_tiled().str() == row.tv);
    CHECK(row.copy.layout_src_tv_tiled().str() == row.src);
    CHECK(row.copy.layout_dst_tv_tiled().str() == row.dst);
  }
  CHECK(f128.val_bits() == 32);
  CHECK(f128.layout_src_tv().str() == "(1,4):(1,1)");
  CHECK(f128.layout_dst_tv().str() == "(1,4):(1,1)");
  CHECK(f128.layout_ref_tv().str() == "(1,4):(1,1)");
}

TEST_CASE("tiled mmas answer as FlyDSL's do") {
  struct Row {
    fx::TiledMma mma;
    const char *atoms, *permutation, *tile, *threads, *a, *b, *c;
  };
  const Row rows[] = {
      {fx::make_tiled_mma(mfma(16, 16, 4, fx::f32), fx::make_layout({2, 2, 1}, {1, 2, 0})),
       "(2,2,1):(1,2,0)", "[*|*|*]", "(32,32,4)", "(64,2,2,1):(1,64,128,0)",
       "((16,4,2,2),(1,(1,1))):((1,32,16,0),(0,(0,0)))",
       "((16,4,2,2),(1,(1,1))):((1,32,0,16),(0,(0,0)))",
       "((16,8,2),((4,1),(1,1))):((32,4,512),((1,0),(0,0)))"},
      {fx::make_tiled_mma(mfma(16, 16, 16, fx::f16), fx::make_layout({1, 4, 1}, {0, 1, 0}),
                          fx::make_tile(_, _, fx::make_layout({4, 4, 2}, {1, 8, 4}))),
       "(1,4,1):(0,1,0)", "[*|*|(4,4,2):(1,8,4)]", "(16,64,32)", "(64,1,4,1):(1,0,64,0)",
       "((16,4,4),(4,(1,2))):((1,128,0),(16,(0,64)))",
       "((16,4,4),(4,(1,2))):((1,512,16),(64,(0,256)))",
       "((16,4,4),((4,1),(1,1))):((16,4,256),((1,0),(0,0)))"},
      {fx::make_tiled_mma(mfma(32, 32, 8, fx::f16), fx::make_layout({2, 1, 1}, {1, 2, 2}),
                          fx::make_tile(128, 64, 16)),
       "(2,1,1):(1,2,2)", "[128|64|16]", "(128,64,16)", "(64,2,1,1):(1,64,0,0)",
       "((32,2,2),(4,(2,2))):((1,512,32),(128,(64,1024)))",
       "((32,2,2),(4,(2,2))):((1,256,0),(64,(32,512)))",
       "((32,2,2),((4,4),(2,2))):((128,4,32),((1,8),(64,4096)))"},
  };
  for (const Row &row : rows) {
    CHECK(row.mma.atom_layout().str() == row.atoms);
    CHECK(row.mma.permutation_mnk().str() == row.permutation);
    CHECK(row.mma.tile_size_mnk().str() == row.tile);
    CHECK(row.mma.thr_layout_vmnk().str() == row.threads);
    CHECK(row.mma.tv_layout_A_tiled().str() == row.a);
    CHECK(row.mma.tv_layout_B_tiled().str() == row.b);
    CHECK(row.mma.tv_layout_C_tiled().str() == row.c);
  }
  auto large = mfma(32, 32, 8, fx::f16), f8 = mfma(16, 16, 32, fx::f8E4M3FNUZ);
  CHECK(large.shape_mnk().str() == "(32,32,8)");
  CHECK(large.thr_id().str() == "64:1");
  CHECK(large.layout_A_tv().str() == "((32,2),4):((1,128),32)");
  CHECK(large.layout_C_tv().str() == "((32,2),(4,4)):((32,4),(1,8))");
  CHECK(f8.layout_B_tv().str() == "((16,4),8):((1,128),16)");
  CHECK(f8.layout_C_tv().str() == "((16,4),(4,1)):((16,4),(1,16))");
}

TEST_CASE("a partition of a tiled copy covers every element once") {
  if (!onGfx942())
    return;
  std::mt19937 random(11);
  auto pick = [&](std::initializer_list<int> from) { return from.begin()[random() % from.size()]; };
  for (int round = 0; round < 8; ++round) {
    // Threads and values side by side, either mode first.
    const int rows = pick({1, 2, 8, 16, 64}), columns = 64 / rows, v0 = pick({1, 2}),
              v1 = pick({1, 2, 4});
    auto order = [&] { return random() % 2 ? fx::make_int_tuple(0, 1) : fx::make_int_tuple(1, 0); };
    auto copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy32b(), fx::i32),
                                       fx::make_ordered_layout({rows, columns}, order()),
                                       fx::make_ordered_layout({v0, v1}, order()));
    const int down = pick({1, 2, 3}), across = pick({1, 2});
    CAPTURE(copy.str(), down, across);
    expectEachOnce(numbered(rows * v0 * down, columns * v1 * across, 64,
                            [&](const fx::Tensor &out, const fx::Int32 &tid) {
                              return random() % 2 ? copy.get_slice(tid).partition_D(out)
                                                  : copy.thr_slice(tid).partition_S(out);
                            }));
  }
  for (int round = 0; round < 8; ++round) {
    // The bits of an element's number dealt out at random: six to the thread, two to the value.
    std::vector<int> strides{1, 2, 4, 8, 16, 32, 64, 128};
    std::shuffle(strides.begin(), strides.end(), random);
    const auto &s = strides;
    auto tv = fx::make_layout({{2, 2, 2, 2, 2, 2}, {2, 2}},
                              {{s[0], s[1], s[2], s[3], s[4], s[5]}, {s[6], s[7]}});
    const int rows = pick({4, 16, 32});
    auto copy = fx::make_tiled_copy(fx::make_copy_atom(fx::UniversalCopy32b(), fx::i32), tv,
                                    fx::make_tile(rows, 256 / rows));
    CAPTURE(copy.str());
    expectEachOnce(
        numbered(rows * 2, 256 / rows, 64, [&](const fx::Tensor &out, const fx::Int32 &tid) {
          return copy.get_slice(tid).partition_D(out);
        }));
  }
}

TEST_CASE("fragments of a tiled mma hold what its partitions name, C's once") {
  if (!onGfx942())
    return;
  struct Row {
    fx::Layout atoms;
    fx::Tile permutation;
    int threads;
  };
  const Row rows[] = {
      {fx::make_layout({1, 4, 1}, {0, 1, 0}),
       fx::make_tile(_, _, fx::make_layout({4, 4, 2}, {1, 8, 4})), 256},
      {fx::make_layout({2, 2, 1}, {1, 2, 0}), fx::make_tile(_, _, _), 256},
      {fx::make_layout({2, 1, 1}, {1, 0, 0}), fx::make_tile(64, 32, 32), 128},
      {fx::make_layout({1, 1, 1}, {0, 0, 0}),
       fx::make_tile(fx::make_layout({16, 2}, {2, 1}), _, 32), 64},
  };
  for (const Row &row : rows) {
    auto mma = fx::make_tiled_mma(mfma(16, 16, 16, fx::f16), row.atoms, row.permutation);
    CAPTURE(mma.str());
    expectEachOnce(numbered(64, 64, row.threads, [&](const fx::Tensor &out, const fx::Int32 &tid) {
      return mma.thr_slice(tid).partition_C(out);
    }));
    // A and B: copied by way of the retiled fragment, compared with the partition's own elements.
    const fx::Kernel kernel{"fragments", [&](fx::Tensor argA, fx::Tensor wrong) {
                              auto A = fixed(argA, 64, 64);
                              auto tid = fx::thread_idx().x;
                              auto thr = mma.thr_slice(tid);
                              auto atom = fx::make_copy_atom(fx::UniversalCopy16b(), fx::f16);
                              auto copy_A = fx::make_tiled_copy_A(atom, mma).get_slice(tid);
                              auto copy_B = fx::make_tiled_copy_B(atom, mma).get_slice(tid);
                              auto rA = thr.make_fragment_A(A), rB = thr.make_fragment_B(A);
                              fx::copy(atom, copy_A.partition_S(A), copy_A.retile(rA));
                              fx::copy(atom, copy_B.partition_S(A), copy_B.retile(rB));
                              auto pA = thr.partition_A(A), pB = thr.partition_B(A);
                              fx::Var<fx::Int32> count(0);
                              auto compare = [&](const fx::Tensor &held, const fx::Tensor &named) {
                                REQUIRE(fx::size(held) == fx::size(named));
                                for (int i = 0; i < int(fx::size(held).value()); ++i) {
                                  fx::Numeric h = held(i), n = named(i);
                                  count += fx::select(h.to(fx::f32) == n.to(fx::f32), 0, 1);
                                }
                              };
                              compare(rA, pA);
                              compare(rB, pB);
                              wrong(tid) = count;
                              auto staged = thr.make_fragment_A(A, {.stages = 3}); // (V, m, k, 3)
                              CHECK(staged.rank() == 4);
                              CHECK(fx::size(staged, 3) == 3);
                              CHECK(fx::size(staged(_, _, _, 1)) == fx::size(rA));
                            }};
    std::vector<std::uint16_t> halves(64 * 64); // all different, as halves too
    std::iota(halves.begin(), halves.end(), std::uint16_t(0x3c00));
    auto A = fx::DeviceArray<std::uint16_t>::from_host(halves, {64, 64});
    fx::DeviceArray<int> wrong({row.threads});
    wrong.poison();
    kernel(fx::tensor(static_cast<void *>(A.data()), fx::f16, {64, 64}), wrong)
        .launch({.grid = 1, .block = row.threads});
    CHECK(wrong.to_host() == std::vector<int>(std::size_t(row.threads), 0));
  }
}

TEST_CASE("a gemm is the same in every order") {
  if (!onGfx942())
    return;
  using Order = fx::GemmTraversalOrder;
  std::vector<fx::GemmOptions> all;
  for (Order order : {Order::KMN, Order::KNM, Order::MKN, Order::MNK, Order::NKM, Order::NMK,
                      Order::KMN_Serpentine, Order::KNM_Serpentine, Order::MKN_Serpentine,
                      Order::MNK_Serpentine, Order::NKM_Serpentine, Order::NMK_Serpentine})
    all.push_back({.order = order});
  all.push_back({});
  all.push_back({.traversal_layout = fx::make_layout({4, 2, 3}, {6, 3, 1})}); // k innermost
  constexpr int M = 48, N = 32, K = 16;
  std::vector<float> a(M * K), b(N * K);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = float(int(i * 7 % 11) - 5);
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = float(int(i * 5 % 9) - 4);
  auto A = fx::DeviceArray<float>::from_host(a, {M, K}),
       B = fx::DeviceArray<float>::from_host(b, {N, K});
  for (std::size_t which = 0; which < all.size(); ++which) {
    CAPTURE(which);
    const fx::Kernel kernel{"orders", [&](fx::Tensor argA, fx::Tensor argB, fx::Tensor argC) {
                              auto A = fixed(argA, M, K), B = fixed(argB, N, K),
                                   C = fixed(argC, M, N);
                              auto tid = fx::thread_idx().x;
                              auto mma = fx::make_tiled_mma(mfma(16, 16, 4, fx::f32),
                                                            fx::make_layout({1, 1, 1}, {0, 0, 0}));
                              auto thr = mma.get_slice(tid);
                              auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
                              auto copy_A = fx::make_tiled_copy_A(atom, mma).get_slice(tid);
                              auto copy_B = fx::make_tiled_copy_B(atom, mma).get_slice(tid);
                              auto copy_C = fx::make_tiled_copy_C(atom, mma).get_slice(tid);
                              auto rA = thr.make_fragment_A(A), rB = thr.make_fragment_B(B),
                                   rC = thr.make_fragment_C(C);
                              fx::copy(atom, copy_A.partition_S(A), copy_A.retile(rA));
                              fx::copy(atom, copy_B.partition_S(B), copy_B.retile(rB));
                              rC.fill(0);
                              fx::gemm(mma, rC, rA, rB, rC, all[which]);
                              fx::copy(atom, copy_C.retile(rC), copy_C.partition_D(C));
                            }};
    fx::DeviceArray<float> C({M, N});
    C.poison();
    kernel(A, B, C).launch({.grid = 1, .block = 64});
    CHECK(atoms_test::wrongProducts(a, b, C.to_host(), M, N, K) == 0);
  }
}
