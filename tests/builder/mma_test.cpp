// Tiled multiplications, buffers, shared memory and AMD's intrinsics.
#include "trace_text.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using fx::_;
using namespace trace_test;

TEST_CASE("a tiled mma answers on the host") {
  auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 4, fx::f32)),
                                fx::make_layout({2, 2, 1}, {1, 2, 0}));
  CHECK(mma.tile_size_mnk() == fx::make_shape(32, 32, 4));
  CHECK(fx::size(mma.thr_layout_vmnk()) == 256);
  CHECK(mma.mma_atom().shape_mnk() == fx::make_shape(16, 16, 4));
  CHECK(fx::size(mma.mma_atom().thr_layout()) == 64);
  CHECK(mma.atom_layout().str() == "(2,2,1):(1,2,0)");
  auto copy = fx::make_tiled_copy_A(fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32), mma);
  CHECK(fx::size(copy.tile_mn()[0]) == 32);
  CHECK(copy.layout_tv_tiled()(0, 0) == 0);
  // FlyDSL's own: M, N and K permuted by a layout.
  auto wide = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                 fx::make_layout({1, 4, 1}, {0, 1, 0}),
                                 fx::make_tile(_, _, fx::make_layout({4, 4, 2}, {1, 8, 4})));
  CHECK(wide.tile_size_mnk() == fx::make_shape(16, 64, 32));
}

TEST_CASE("shapes and types that no target has are refused") {
  CHECK_THROWS_AS(fx::rocdl::MFMA(16, 16, 5, fx::f32), fx::TraceError);
  CHECK_THROWS_AS(fx::rocdl::BufferCopyLDS(64), fx::TraceError);
  CHECK_THROWS_WITH(traceText([] { fx::rocdl::WMMA(16, 16, 16, fx::f16); }),
                    Catch::Contains("no WMMA on gfx942"));
}

TEST_CASE("WMMA takes the target's form") {
  auto form = [](const char *target) {
    std::string text;
    traceText([&] { text = fx::rocdl::WMMA(16, 16, 16, fx::f16).str(); }, {}, false, {32, 1, 1}, {},
              target);
    return text;
  };
  CHECK_THAT(form("gfx1100"), Catch::Contains("gfx11.wmma<16x16x16, (f16, f16) -> f32"));
  CHECK_THAT(form("gfx1201"), Catch::Contains("gfx120x.wmma<16x16x16"));
}

TEST_CASE("an instruction that was found by its types is an atom with the layouts that were told") {
  const auto expectSame = [](const fx::rocdl::ThreadValues &told, const fx::Layout &has) {
    REQUIRE(fx::size(has, 0) == told.lane_count());
    REQUIRE(fx::size(has, 1) == told.value_count());
    for (int lane = 0; lane < told.lane_count(); ++lane)
      for (int value = 0; value < told.value_count(); ++value)
        if (has(lane, value).value() != told(lane, value))
          FAIL("lane " << lane << " value " << value << ": " << has.str());
  };
  int compared = 0;
  for (const fx::Target &target : fx::Target::all())
    for (const auto [a, b] :
         {std::pair(fx::f16, fx::f16), std::pair(fx::i8, fx::i8),
          std::pair(fx::f8E4M3FNUZ, fx::f8E4M3FNUZ), std::pair(fx::f8E4M3FN, fx::f8E5M2),
          std::pair(fx::f4E2M1FN, fx::f8E4M3FN), std::pair(fx::f4E2M1FN, fx::f4E2M1FN)})
      for (const fx::rocdl::MatrixProduct &product : fx::rocdl::matrix_products(target, a, b)) {
        INFO(target.name() << ": " << product.name);
        if (!product.layout_a.is_known())
          continue;
        const fx::MmaAtom atom = fx::make_mma_atom(fx::rocdl::Mma(product));
        CHECK(atom.shape_mnk() == fx::make_shape(product.m, product.n, product.k));
        expectSame(product.layout_a, atom.layout_A_tv());
        expectSame(product.layout_b, atom.layout_B_tv());
        expectSame(product.layout_c, atom.layout_C_tv());
        ++compared;
      }
  CHECK(compared > 50);
  CHECK_THROWS_WITH(fx::rocdl::Mma({}), Catch::Contains("this MatrixProduct is empty") &&
                                            Catch::Contains("mma_test.cpp"));
  const auto rdna = fx::rocdl::matrix_products(fx::Target::parse("gfx1201"), fx::f16, fx::f16);
  REQUIRE_FALSE(rdna.empty());
  CHECK_THROWS_WITH(traceText([&] { fx::rocdl::Mma(rdna.front()); }), // for gfx942
                    Catch::Contains("is not on gfx942"));
}

TEST_CASE("WMMA and its tiled mma are made on the host for a named target") {
  CHECK_THROWS_WITH(fx::rocdl::WMMA(16, 16, 16, fx::f16),
                    Catch::Contains("mma_test.cpp") && Catch::Contains(".arch = "));
  auto op = fx::rocdl::WMMA(16, 16, 16, fx::f16, {}, {.arch = "gfx1100"});
  CHECK_THAT(op.str(), Catch::Contains("gfx11.wmma<16x16x16, (f16, f16) -> f32"));
  auto mma = fx::make_tiled_mma(fx::make_mma_atom(op), fx::make_layout({2, 2, 1}, {1, 2, 0}));
  CHECK(mma.tile_size_mnk() == fx::make_shape(32, 32, 16));
  CHECK(fx::size(mma.thr_layout_vmnk()) == 128);
  CHECK_THROWS_WITH(fx::rocdl::WMMA(16, 16, 16, fx::f16, {}, {.arch = "gfx1250"}),
                    Catch::Contains("16x16x32"));
  CHECK_THROWS_WITH(fx::rocdl::WMMA(16, 16, 16, fx::f16, {}, {.arch = "gfx942"}),
                    Catch::Contains("no WMMA on gfx942"));
  // Made for one target, used on another.
  auto use = [&](const char *target) {
    traceText([&] { mma.make_fragment_C(fx::make_shape(32, 32)); }, {}, false, {128, 1, 1}, {},
              target);
  };
  use("gfx1100");
  CHECK_THROWS_WITH(
      traceText([&] { fx::rocdl::WMMA(16, 16, 16, fx::f16, {}, {.arch = "gfx1100"}); }, {}, false,
                {32, 1, 1}, {}, "gfx1201"),
      Catch::Contains("not on gfx1201"));
}

TEST_CASE("a fragment is made for a tensor, a layout, a shape or coordinates") {
  traceText(
      [](fx::Tensor c, fx::Tensor a) {
        auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                      fx::make_layout({2, 2, 1}, {1, 2, 0}));
        auto memory = mma.make_fragment_C(c);
        CHECK(mma.make_fragment_C({64, 32}).layout().str() == memory.layout().str());
        CHECK(mma.make_fragment_C(fx::make_shape(64, 32)).layout().str() == memory.layout().str());
        CHECK(mma.make_fragment_C(fx::make_layout({64, 32}, {1, 64})).layout().str() ==
              memory.layout().str());
        CHECK(mma.make_fragment_C(fx::make_identity_tensor({64, 32})).layout().str() ==
              memory.layout().str());
        CHECK(mma.make_fragment_C({64, 32}).dtype() == fx::f32);
        CHECK(mma.make_fragment_A({64, 16}).layout().str() ==
              mma.make_fragment_A(a).layout().str());
        CHECK(mma.make_fragment_A({64, 16}).dtype() == fx::f16);
        CHECK(mma.make_fragment_B({32, 16}, {.stages = 2}).layout().rank() == 4);
        CHECK_THROWS_WITH(mma.make_fragment_C({64, 32}, {.stages = -1}),
                          Catch::Contains("mma_test.cpp") && Catch::Contains("-1 stages"));
        fx::Int32 n = fx::thread_idx().x;
        CHECK_THROWS_WITH(mma.make_fragment_C({64, n}), Catch::Contains("mma_test.cpp"));
      },
      {tensorArg(fx::f16, {fix(64), fix(32)}, {fix(1), fix(64)}),
       tensorArg(fx::f16, {fix(64), fix(16)}, {fix(1), fix(64)})},
      false, {256, 1, 1});
}

TEST_CASE("a gemm of one block traces to the IR of FlyDSL's third example") {
  std::string ir = traceText(
      [](fx::Tensor gA, fx::Tensor gB, fx::Tensor gC) {
        auto tid = fx::thread_idx().x;
        auto bid = fx::block_idx().x;
        auto A = fx::rocdl::make_buffer_tensor(gA);
        auto B = fx::rocdl::make_buffer_tensor(gB);
        auto C = fx::rocdl::make_buffer_tensor(gC);
        auto bA = fx::zipped_divide(A, {64, 8})(_, bid);
        auto bB = fx::zipped_divide(B, {64, 8})(_, bid);
        auto bC = fx::zipped_divide(C, {64, 64})(_, bid);

        auto atom = fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 4, fx::f32));
        auto mma = fx::make_tiled_mma(atom, fx::make_layout({2, 2, 1}, {1, 2, 0}));
        auto thr = mma.thr_slice(tid);
        auto copy = fx::make_copy_atom(fx::rocdl::BufferCopy32b(), fx::f32);
        auto cA = fx::make_tiled_copy_A(copy, mma).get_slice(tid);
        auto cB = fx::make_tiled_copy_B(copy, mma).get_slice(tid);
        auto cC = fx::make_tiled_copy_C(copy, mma).get_slice(tid);

        auto fA = thr.make_fragment_A(bA);
        auto fB = thr.make_fragment_B(bB);
        auto fC = thr.make_fragment_C(bC);
        fx::copy(copy, cA.partition_S(bA), cA.retile(fA));
        fx::copy(copy, cB.partition_S(bB), cB.retile(fB), {.soffset = bid});
        fC.fill(0);
        fx::gemm(atom, fC, fA, fB, fC, {.order = fx::GemmTraversalOrder::KNM});
        fx::copy(copy, cC.retile(fC), cC.partition_D(bC));
      },
      {tensorArg(fx::f32, {fix(64), fix(8)}, {fix(8), fix(1)}),
       tensorArg(fx::f32, {fix(64), fix(8)}, {fix(8), fix(1)}),
       tensorArg(fx::f32, {fix(64), fix(64)}, {fix(64), fix(1)})},
      false, {256, 1, 1});
  CHECK_IR(ir, "fly.make_ptr", "#fly_rocdl.buffer_desc", "fly.zipped_divide", "fly.slice",
           "fly.mma.make_fragment", "!fly.memref<f32, register", "fly.mma.make_fragment",
           "fly.tiled_copy.partition_src", "fly.tiled_copy.retile", "fly.copy",
           "fly.atom.set_value", "soffset", "fly.copy", "fly.memref.store_vec", "fly.gemm", "knm",
           "fly.tiled_copy.partition_dst", "fly.copy");
}

TEST_CASE("shared memory: static arrays and dynamic offsets") {
  std::string ir = traceText([] {
    struct Inner {
      fx::Array<fx::Float32, 8> x;
    };
    struct Storage {
      fx::Array<fx::Float16, 128, 16> a;
      Inner inner;
    };
    fx::SharedAllocator fixed;
    auto s = fixed.allocate<Storage>();
    CHECK(fixed.bytes() == 256 + 32);
    CHECK(s.a.ptr().address_space() == fx::AddressSpace::shared);
    CHECK(s.a.ptr().alignment() == 16);
    auto swizzled =
        s.a.view(fx::make_composed_layout(fx::Swizzle(3, 3, 3), fx::make_layout({8, 16}, {16, 1})));
    swizzled(1, 2) = swizzled(0, 0);
    s.inner.x.view().fill(1);
    fx::SharedAllocator moving(fx::SharedPlacement::dynamic);
    moving.allocate(3, 1);
    auto d = moving.allocate<fx::Array<fx::Float32, 4>>();
    CHECK(moving.bytes() == 4 + 16);
    d.view().fill(0);
    fx::gpu::barrier();
  });
  CHECK_IR(ir, "fly.make_ptr", "allocAlign = 16", "allocBytes = 256", "fly.recast_iter",
           "!fly.ptr<f16, shared, align<16>>", "fly.make_ptr", "allocBytes = 32", "fly.make_view",
           "S<3,3,3> o 0 o (8,16):(16,1)", "fly.get_dyn_shared", "fly.add_offset", "gpu.barrier");
  CHECK_THROWS_WITH(traceText([] { fx::Array<fx::Float32, 4> a; }),
                    Catch::Contains("SharedAllocator::allocate"));
}

TEST_CASE("hints, waits, lanes and intrinsics trace to their operations") {
  std::string ir = traceText(
      [](fx::Tensor out, fx::Int32 n, fx::Float32 x) {
        fx::rocdl::sched_mfma(2);
        fx::rocdl::sched_barrier(0);
        fx::rocdl::s_setprio(1);
        fx::rocdl::s_waitcnt({.vmcnt = 0});
        out(0) = fx::rocdl::readfirstlane(n);
        out(1) = fx::rocdl::readlane(n, 3);
        out(2) = fx::rocdl::ballot(n < 3).to(fx::i32);
        out(3) = fx::rocdl::ds_bpermute(n * 4, x).to(fx::i32);
        out(4) = fx::rocdl::update_dpp(n, n, 0x111);
        out(5) = fx::rocdl::rcp(x).to(fx::i32);
        out(6) = fx::rocdl::intrinsic("llvm.amdgcn.perm", fx::i32, {n, n, 0x01020304});
        out(7) = fx::rocdl::inline_asm("v_mov_b32 $0, $1", "=v,v", fx::i32, {n});
        fx::printf("n = {}, x = {}\n", n, x);
        fx::assume(n < 100);
        out(8) = fx::math::exp(x).to(fx::i32);
        out(9) = fx::math::fma(x, 2, 1).to(fx::i32);
      },
      {arrayArg(fx::i32, 16), scalarArg(fx::i32), scalarArg(fx::f32)});
  CHECK_IR(ir, "rocdl.sched.group.barrier 8, 2, 0", "rocdl.sched.barrier 0", "rocdl.s.setprio 1",
           "rocdl.s.waitcnt 3952", "rocdl.readfirstlane", "rocdl.readlane", "rocdl.ballot", "i64",
           "rocdl.ds_bpermute", "rocdl.update.dpp", "llvm.amdgcn.rcp", "llvm.amdgcn.perm",
           "llvm.inline_asm", "fly.print", "n = {}, x = {}", "llvm.intr.assume", "math.exp",
           "math.fma");
  CHECK_THROWS_WITH(traceText([](fx::Int32 n) { fx::printf("{} {}", n); }, {scalarArg(fx::i32)}),
                    Catch::Contains("2 places for 1 values"));
  CHECK_THROWS_WITH(traceText([] { fx::rocdl::s_waitcnt({.lgkmcnt = 16}); }),
                    Catch::Contains("0 to 15"));
}
