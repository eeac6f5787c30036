// The whole of sample 01's kernel, traced.
#include "trace_text.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using fx::_;
using namespace trace_test;

static auto vectorAdd() {
  return [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::TiledCopy tiled_copy) {
    auto tid = fx::thread_idx().x;
    auto [bid_m, bid_n, bid_z] = fx::block_idx();
    auto shape = A.shape();
    auto idC = fx::make_identity_tensor(shape);

    auto tile = tiled_copy.tile_mn();
    auto gA = fx::flat_divide(A, tile)(_, _, bid_m, bid_n);
    auto gB = fx::flat_divide(B, tile)(_, _, bid_m, bid_n);
    auto gC = fx::flat_divide(C, tile)(_, _, bid_m, bid_n);
    auto cC = fx::flat_divide(idC, tile)(_, _, bid_m, bid_n);

    auto thr = tiled_copy.get_slice(tid);
    auto tA = thr.partition_S(gA), tB = thr.partition_S(gB), tC = thr.partition_D(gC);
    auto tcC = thr.partition_S(cC)(fx::make_coord(0, _), _, _);

    auto rA = fx::make_fragment_like(tA), rB = fx::make_fragment_like(tB),
         rC = fx::make_fragment_like(tC);
    auto pred = fx::make_fragment_like(tcC, fx::boolean);
    for (int i = 0; i < fx::size(pred).value(); ++i)
      pred(i) = fx::elem_less(tcC(i), shape);

    auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
    fx::copy(atom, tA, rA, {.pred = pred});
    fx::copy(atom, tB, rB, {.pred = pred});
    rC.store(rA.load() + rB.load());
    fx::copy(atom, rC, tC, {.pred = pred});
  };
}

static std::vector<ArgType> arguments() {
  static const fx::TiledCopy copy = fx::make_tiled_copy_tv(
      fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
      fx::make_ordered_layout({8, 16}, {1, 0}), fx::make_ordered_layout({1, 4}, {0, 1}));
  ArgType m = matrixArg(fx::f32);
  return {m, m, m, staticArg(copy)};
}

TEST_CASE("vector add: the types of FlyDSL's own trace") {
  std::string ir = traceText(vectorAdd(), arguments(), false, {128, 1, 1});
  CHECK_IR(ir, "gpu.container_module", "gpu.module @kernels", "gpu.func @k(",
           "!fly.memref<f32, global, (?,?):(?{i64},1)>",
           "kernel attributes {known_block_size = array<i32: 128, 1, 1>}", "gpu.return");
  CHECK_IR(ir, "fly.flat_divide(%arg0, ",
           "-> !fly.memref<f32, global, (8,64,?,?):(?{i64},1,?{i64 div=8},64)>", "fly.slice",
           "!fly.int_tuple<(*,*,?,?)>) -> !fly.memref<f32, global, (8,64):(?{i64},1)>");
  CHECK_IR(ir, "fly.flat_divide",
           "!fly.coord_tensor<(0,0), (?,?):(1E0,1E1)>, !fly.tile<[8|64]>) -> "
           "!fly.coord_tensor<(0,0), (8,64,?,?):(1E0,1E1,8E0,64E1)>",
           "-> !fly.coord_tensor<(?{div=8},?{div=64}), (8,64):(1E0,1E1)>");
  CHECK_IR(ir, "fly.tiled_copy.partition_src",
           "-> !fly.memref<f32, global, ((4,1),1,1):((1,0),0,0)>",
           "-> !fly.coord_tensor<(?,?{div=4}), ((4,1),1,1):((1E1,0),0,0)>", "fly.slice",
           "-> !fly.coord_tensor<(?,?{div=4}), (1,1,1):(0,0,0)>");
  CHECK_IR(ir, "fly.make_fragment_like", "-> !fly.memref<f32, register, ((4,1),1,1):((1,0),0,0)>",
           "fly.make_fragment_like", ", i1)", "-> !fly.memref<i1, register, (1,1,1):(0,0,0)>",
           "fly.memref.load", "-> !fly.int_tuple<(?,?{div=4})>", "fly.elem_less",
           "fly.memref.store", "fly.copy", "fly.copy", "fly.memref.load_vec", "vector<4xf32>",
           "arith.addf", "fly.memref.store_vec", "fly.copy", "gpu.return");
  // The left side of `pred(i) = ...` leaves no read behind, unused thread indices nothing at all.
  CHECK(countOf(ir, "fly.memref.load(") == 1);
  CHECK(countOf(ir, "gpu.block_id") == 2);
  CHECK(countOf(ir, "gpu.thread_id") == 1);
}

TEST_CASE("operations carry the user's file and line") {
  std::string ir = traceText(vectorAdd(), arguments(), true, {128, 1, 1});
  CHECK_IR(ir, "vector_add_test.cpp\":");
  CHECK(countOf(ir, "vector_add_test.cpp") >= 10);
  CHECK(countOf(ir, "tensor.h") == 0);
  CHECK(countOf(ir, "layout.h") == 0);
}
