// Values across lanes, indexed copies and atomics.
#include "trace_text.h"

#include <catch2/catch.hpp>
#include <flydsl/kernel/gather.h>
#include <flydsl/kernel/reduce.h>

namespace fx = flydsl;
using namespace trace_test;

TEST_CASE("A wave reduces by moves in registers alone, as many as its size asks for") {
  auto body = [](fx::Tensor out, fx::Float32 x) {
    out(0) = fx::gpu::warp_reduce(x, fx::Reduction::add);
    out(1) = fx::gpu::warp_reduce(x, fx::Reduction::max, 8);
  };
  std::vector<ArgType> types{arrayArg(fx::f32, 2), scalarArg(fx::f32)};
  const std::string ir = traceText(body, types);
  CHECK_IR(ir, "rocdl.update.dpp", "arith.addf", "rocdl.readlane", "rocdl.update.dpp",
           "arith.maxnumf");
  // The exchanges with lane ^ 1 and lane ^ 2 are shuffles, which fly-lower-shuffles makes DPP moves.
  CHECK(countOf(ir, "gpu.shuffle") == 2);
  CHECK(countOf(ir, "rocdl.update.dpp") == 6 + 1);
  CHECK(countOf(ir, "rocdl.readlane") == 1);
  const std::string rdna = traceText(body, types, false, {64, 1, 1}, {}, "gfx1201");
  CHECK(countOf(rdna, "gpu.shuffle") == 2);
  CHECK(countOf(rdna, "rocdl.update.dpp") == 4 + 1);
  CHECK(countOf(rdna, "llvm.amdgcn.permlanex16") == 1);
  CHECK_THROWS_WITH(
      traceText([](fx::Float32 x) { fx::gpu::warp_reduce(x, fx::Reduction::add, 12); },
                {scalarArg(fx::f32)}),
      Catch::Contains("power of two"));
}

TEST_CASE("A scan goes up by doubling distances") {
  auto body = [](fx::Tensor out, fx::Int32 x) {
    out(0) = fx::gpu::warp_inclusive_scan(x, fx::Reduction::add, 4);
    out(1) = fx::gpu::warp_inclusive_scan(x, fx::Reduction::add);
  };
  const std::string ir = traceText(body, {arrayArg(fx::i32, 2), scalarArg(fx::i32)});
  // A group of less than a row selects the lanes that take something; the whole wave need not.
  CHECK_IR(ir, "gpu.lane_id", "arith.cmpi sge", "rocdl.update.dpp", "arith.select",
           "arith.cmpi sge", "rocdl.update.dpp", "arith.select", "rocdl.update.dpp");
  CHECK(countOf(ir, "arith.select") == 2);
  CHECK(countOf(ir, "rocdl.update.dpp") == 2 + 6);
  CHECK(countOf(ir, "gpu.shuffle") == 0);
}

TEST_CASE("An exclusive scan shifts an inclusive one; a block's goes through shared memory") {
  auto body = [](fx::Tensor out, fx::Float32 x) {
    fx::SharedAllocator shared;
    out(0) = fx::gpu::warp_exclusive_scan(x, fx::Reduction::min, 4);
    out(1) = fx::gpu::block_inclusive_scan(x, fx::Reduction::add, shared);
    out(2) = fx::gpu::block_exclusive_scan(x, fx::Reduction::max, shared);
  };
  std::vector<ArgType> types{arrayArg(fx::f32, 3), scalarArg(fx::f32)};
  std::string ir = traceText(body, types, false, {128, 1, 1});
  CHECK_IR(ir, "0x7F800000", "rocdl.update.dpp", "arith.minnumf", "gpu.barrier", "arith.addf",
           "gpu.barrier", "arith.maxnumf", "gpu.barrier", "gpu.barrier");
  CHECK(countOf(ir, "gpu.barrier") == 4);
  CHECK(countOf(ir, "rocdl.update.dpp") == 2 + 1 + 6 + 1 + 6 + 1);
  CHECK(countOf(ir, "gpu.shuffle") == 0);
  CHECK_THROWS_WITH(traceText(body, types, false, {96, 1, 1}),
                    Catch::Contains("whole number of waves"));
}

TEST_CASE("atomics give what was there before") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Tensor u, fx::Int32 n) {
        fx::SharedAllocator shared;
        auto local = shared.allocate<fx::Array<fx::UInt64, 4>>().ptr();
        a(1) = fx::atomic(fx::AtomicOp::max, a.iter(), n) + 1;
        fx::atomic(fx::AtomicOp::max, u.iter(), 3, "");
        fx::atomic(fx::AtomicOp::exchange, local + 1, 3u, "workgroup");
        a(2) = fx::atomic_cas(a.iter(), 0, n);
      },
      {arrayArg(fx::i32, 64), arrayArg(fx::u32, 4), scalarArg(fx::i32)});
  CHECK_IR(ir, "llvm.atomicrmw max", "arith.addi", "llvm.atomicrmw umax", "llvm.atomicrmw xchg",
           "llvm.ptr<3>", "llvm.cmpxchg", "llvm.extractvalue");
  auto refuses = [](auto body, const char *what) {
    CHECK_THROWS_WITH(traceText(body, {arrayArg(fx::f32, 4), scalarArg(fx::i32)}),
                      Catch::Contains(what) && Catch::Contains("lanes_test.cpp:"));
  };
  refuses([](fx::Tensor a, fx::Int32) { fx::atomic(fx::AtomicOp::xor_, a.iter(), 1.0f); },
          "no atomic xor on f32");
  refuses([](fx::Tensor a, fx::Int32 n) { fx::atomic(fx::AtomicOp::add, a.iter(), n); },
          "is given i32");
  refuses([](fx::Tensor, fx::Int32) { fx::UniversalAtomic(fx::AtomicOp::max, fx::u32); },
          "signed ones");
  refuses([](fx::Tensor, fx::Int32) { fx::UniversalAtomic(fx::AtomicOp::exchange, fx::i32); },
          "fx::atomic does");
}

TEST_CASE("a block reduces through shared memory") {
  auto body = [](fx::Tensor out, fx::Float32 x) {
    fx::SharedAllocator shared;
    out(0) = fx::gpu::block_reduce(x, fx::Reduction::add, shared);
    CHECK(shared.bytes() == (fx::gpu::known_block_size()[0] > 64 ? 16 : 0));
  };
  std::vector<ArgType> types{arrayArg(fx::f32, 1), scalarArg(fx::f32)};
  std::string ir = traceText(body, types, false, {256, 1, 1});
  CHECK_IR(ir, "fly.make_ptr", "allocBytes = 16", "rocdl.update.dpp", "scf.if", "fly.ptr.store",
           "gpu.barrier", "fly.ptr.load", "arith.addf", "gpu.barrier", "gpu.return");
  CHECK(countOf(traceText(body, types), "gpu.barrier") == 0);
  CHECK_THROWS_WITH(traceText(body, types, false, {96, 1, 1}),
                    Catch::Contains("whole number of waves"));
  CHECK_THROWS_WITH(traceText(body, types, false, {0, 0, 0}),
                    Catch::Contains("without a block size"));
}

TEST_CASE("gather, scatter and atomics trace to their operations") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Tensor b, fx::Int32 n) {
        auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
        auto offsets = fx::make_rmem_tensor(2, fx::i32);
        offsets(0) = n;
        offsets(1) = n * 2;
        auto values = fx::make_rmem_tensor({1, 2}, fx::f32);
        auto pred = fx::make_rmem_tensor(2, fx::boolean);
        pred(0) = n < 3;
        pred(1) = true;
        fx::gather(atom, a.iter(), offsets, values);
        fx::scatter(atom, values, b.iter(), offsets, {.pred = pred});
        fx::atomic(fx::AtomicOp::add, b.iter() + n, a(0));
      },
      {arrayArg(fx::f32, 64), arrayArg(fx::f32, 64), scalarArg(fx::i32)});
  CHECK_IR(ir, "fly.memref.load", "fly.add_offset", "fly.make_view", "fly.copy(", "fly.copy(",
           "!fly.ptr<i1, register>", "fly.copy(", "fly.copy(", "llvm.atomicrmw fadd",
           "syncscope(\"agent\")");
}

TEST_CASE("a reduction reads full groups of lanes") {
  auto traced = [](std::array<unsigned, 3> block, int width) {
    return traceText(
        [width](fx::Tensor a) { a(0) = fx::gpu::warp_reduce(a(1), fx::Reduction::add, width); },
        {arrayArg(fx::f32, 4)}, false, block);
  };
  CHECK_THROWS_WITH(
      traced({100, 1, 1}, 0),
      Catch::Contains("lanes_test.cpp") &&
          Catch::Contains("a block of 100 threads is no whole number of groups of 64"));
  CHECK_THROWS_WITH(traced({32, 1, 1}, 64), Catch::Contains("give a width that divides the block"));
  traced({32, 1, 1}, 32);
  traced({32, 6, 1}, 0);
  traced({0, 0, 0}, 0); // a block that is not known is the author's promise
  CHECK_THROWS_WITH(traceText(
                        [](fx::Tensor a) {
                          fx::exit_if(fx::thread_idx().x > 40);
                          a(0) = fx::gpu::warp_reduce(a(1), fx::Reduction::add);
                        },
                        {arrayArg(fx::f32, 4)}),
                    Catch::Contains("warp_reduce after an exit_if"));
}
