// AMD's part of the eDSL: the IR of each function, and the targets that refuse it.
#include "trace_text.h"

#include <flydsl/rocdl/async_copy.h>
#include <flydsl/rocdl/named_barrier.h>

#include <catch2/catch.hpp>

#include <functional>

namespace fx = flydsl;
namespace rocdl = flydsl::rocdl;
using fx::_;
using namespace trace_test;

namespace {

using Body = std::function<void(fx::Tensor, fx::Float32, fx::Int32)>;

std::string trace(const Body &body, const char *target) {
  return traceText([body](fx::Tensor a, fx::Float32 x, fx::Int32 n) { body(a, x, n); },
                   {arrayArg(fx::f32, 64), scalarArg(fx::f32), scalarArg(fx::i32)}, false,
                   {64, 1, 1}, {}, target);
}

fx::Vector splat(fx::DType type, int n) { return fx::Vector::splat(1, n, type); }

/// A function, what it is in the IR of a target that has it, and a target that does not (or null).
struct Case {
  const char *target;
  const char *ir;
  const char *refused;
  Body body;
};

const Case cases[] = {
    {"gfx942", "rocdl.readfirstlane", nullptr, [](auto, auto x, auto) { rocdl::readfirstlane(x); }},
    {"gfx942", "rocdl.readlane", nullptr, [](auto, auto x, auto n) { rocdl::readlane(x, n); }},
    {"gfx1201", "rocdl.ballot %{{.}} : i32", nullptr,
     [](auto, auto, auto n) { rocdl::ballot(n > 1); }},
    {"gfx942", "rocdl.ds_bpermute", nullptr,
     [](auto, auto x, auto n) { rocdl::ds_bpermute(n, x); }},
    {"gfx942", "llvm.amdgcn.ds.swizzle", nullptr,
     [](auto, auto x, auto) { rocdl::ds_swizzle(x, 31); }},
    {"gfx942", "rocdl.update.dpp", nullptr,
     [](auto, auto x, auto) { rocdl::update_dpp(x, x, 0x111); }},
    {"gfx1100", "llvm.amdgcn.permlanex16", "gfx950",
     [](auto, auto x, auto) { rocdl::permlanex16(x, 0xfedcba9876543210u); }},
    {"gfx942", "llvm.amdgcn.perm", nullptr, [](auto, auto, auto n) { rocdl::perm_b32(n, n, n); }},
    {"gfx950", "rocdl.permlane16.swap", "gfx942",
     [](auto, auto x, auto) { rocdl::permlane16_swap(x, x * 2); }},
    {"gfx950", "rocdl.permlane32.swap", "gfx1201",
     [](auto, auto, auto n) { rocdl::permlane32_swap(n, n + 1); }},
    {"gfx1201", "rocdl.s.barrier.signal id = -1", "gfx1100",
     [](auto, auto, auto) {
       rocdl::s_barrier_signal();
       rocdl::s_barrier_wait();
     }},
    {"gfx1250", "rocdl.s.barrier.wait id = -1", "gfx950",
     [](auto, auto, auto) {
       rocdl::s_barrier_signal();
       rocdl::s_barrier_wait();
     }},
    {"gfx1201", "rocdl.s.wait.loadcnt 3", "gfx942",
     [](auto, auto, auto) { rocdl::s_wait_loadcnt(3); }},
    {"gfx1250", "rocdl.s.wait.storecnt 0", "gfx1100",
     [](auto, auto, auto) { rocdl::s_wait_storecnt(0); }},
    {"gfx1201", "rocdl.s.wait.dscnt 1", "gfx950", [](auto, auto, auto) { rocdl::s_wait_dscnt(1); }},
    {"gfx942", "rocdl.s.nop 7", nullptr, [](auto, auto, auto) { rocdl::s_nop(8); }},
    {"gfx1201", "llvm.amdgcn.wave.id", "gfx942", [](auto, auto, auto) { rocdl::wave_id(); }},
    {"gfx1250", "llvm.amdgcn.cluster.workgroup.id.y", "gfx1201",
     [](auto, auto, auto) { rocdl::cluster_workgroup_id(); }},
    {"gfx1250", "llvm.amdgcn.cluster.workgroup.max.id.z", "gfx1201",
     [](auto, auto, auto) { rocdl::cluster_dim(); }},
    {"gfx1250", "llvm.amdgcn.cluster.workgroup.flat.id", "gfx950",
     [](auto, auto, auto) { rocdl::cluster_workgroup_flat_id(); }},
    {"gfx1250", "llvm.amdgcn.s.cluster.barrier", "gfx1201",
     [](auto, auto, auto) { rocdl::cluster_barrier(); }},
    {"gfx942", "llvm.amdgcn.rcp", nullptr, [](auto, auto x, auto) { rocdl::rcp(x); }},
    {"gfx942", "llvm.amdgcn.cvt.pk.fp8.f32", "gfx90a",
     [](auto, auto x, auto n) { rocdl::cvt_pk_fp8_f32(x, x, n, true); }},
    {"gfx1201", "llvm.amdgcn.cvt.pk.f32.bf8", "gfx1100",
     [](auto, auto, auto n) { rocdl::cvt_pk_f32_bf8(n, false); }},
    {"gfx950", "llvm.amdgcn.cvt.sr.fp8.f32", "gfx90a",
     [](auto, auto x, auto n) { rocdl::cvt_sr_fp8_f32(x, n, n, 3); }},
    {"gfx950", "llvm.amdgcn.cvt.sr.bf16.f32", "gfx942",
     [](auto, auto x, auto n) { rocdl::cvt_sr_f32_to_bf16(x, n); }},
    {"gfx950", "llvm.amdgcn.cvt.scalef32.pk.fp4.f32", "gfx942",
     [](auto, auto x, auto n) { rocdl::cvt_scalef32_pk_fp4_f32(n, x, x, x, 0); }},
    {"gfx950", "llvm.amdgcn.cvt.scalef32.pk.bf16.fp4", "gfx1201",
     [](auto, auto x, auto n) { rocdl::cvt_scalef32_pk_bf16_fp4(n, x, 0); }},
    {"gfx942", "rocdl.s.waitcnt 3952", "gfx1250",
     [](auto, auto, auto) { rocdl::s_waitcnt({.vmcnt = 0}); }},
    {"gfx1100", "rocdl.s.waitcnt 0", "gfx1250", [](auto, auto, auto) { rocdl::s_waitcnt(0); }},
    {"gfx1250", "llvm.amdgcn.s.wait.asynccnt", "gfx950",
     [](auto, auto, auto) { rocdl::s_wait_asynccnt(1); }},
    {"gfx1250", "llvm.amdgcn.s.wait.tensorcnt", "gfx950",
     [](auto, auto, auto) { rocdl::s_wait_tensorcnt(0); }},
    {"gfx942", "llvm.amdgcn.iglp.opt", nullptr, [](auto, auto, auto) { rocdl::iglp_opt(1); }},
    {"gfx942", "rocdl.sched.group.barrier 256, 4, 0", nullptr,
     [](auto, auto, auto) { rocdl::sched_dsrd(4); }},
    {"gfx942", "llvm.inline_asm has_side_effects", nullptr,
     [](auto, auto, auto n) { rocdl::inline_asm("s_nop 0", "v", {n}); }},
    {"gfx942", "llvm.amdgcn.mfma.f32.32x32x8f16", "gfx1201",
     [](auto, auto, auto) {
       rocdl::mfma_f32_32x32x8f16(splat(fx::f16, 4), splat(fx::f16, 4), splat(fx::f32, 16));
     }},
    {"gfx90a", "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", "gfx1100",
     [](auto, auto, auto) {
       rocdl::mfma_f32_16x16x16bf16_1k(splat(fx::bf16, 4), splat(fx::bf16, 4), splat(fx::f32, 4));
     }},
    {"gfx942", "llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8", "gfx90a",
     [](auto, auto, auto) {
       rocdl::mfma_f32_16x16x32_fp8_fp8(splat(fx::i8, 8), splat(fx::i8, 8), splat(fx::f32, 4));
     }},
    {"gfx950", "llvm.amdgcn.mfma.f32.16x16x32.f16", "gfx942",
     [](auto, auto, auto) {
       rocdl::mfma_f32_16x16x32_f16(splat(fx::f16, 8), splat(fx::f16, 8), splat(fx::f32, 4));
     }},
    {"gfx942", "llvm.amdgcn.mfma.f32.16x16x8.xf32", "gfx950",
     [](auto, auto, auto) {
       rocdl::mfma("f32_16x16x8_xf32", splat(fx::f32, 2), splat(fx::f32, 2), splat(fx::f32, 4));
     }},
    {"gfx950", "llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4", "gfx942",
     [](auto, auto, auto n) {
       rocdl::mfma_scale_f32_32x32x64_f8f6f4({splat(fx::i32, 8), 0, n},
                                             {splat(fx::i32, 4), 4, n, 1}, splat(fx::f32, 16));
     }},
    {"gfx1100", "rocdl.wmma.f32.16x16x16.f16", "gfx950",
     [](auto, auto, auto) {
       rocdl::wmma("f32_16x16x16_f16", splat(fx::f16, 16), splat(fx::f16, 16), splat(fx::f32, 8));
     }},
    {"gfx1201", "rocdl.wmma.i32.16x16x16.iu8", "gfx1250",
     [](auto, auto, auto) {
       rocdl::wmma("i32_16x16x16_iu8", splat(fx::i8, 8), splat(fx::i8, 8), splat(fx::i32, 8),
                   {.sign_a = true});
     }},
    {"gfx1250", "rocdl.wmma.f32.16x16x128.fp8_fp8", "gfx1201",
     [](auto, auto, auto) {
       rocdl::wmma("f32_16x16x128_fp8_fp8", splat(fx::i32, 16), splat(fx::i32, 16),
                   splat(fx::f32, 8));
     }},
    {"gfx942", "rocdl.raw.ptr.buffer.load", nullptr,
     [](auto a, auto, auto n) {
       rocdl::raw_buffer_load(rocdl::make_buffer_tensor(a).iter(), n, fx::f16, 8);
     }},
    {"gfx942", "rocdl.raw.ptr.buffer.store", nullptr,
     [](auto a, auto x, auto n) {
       rocdl::raw_buffer_store(x, rocdl::make_buffer_tensor(a).iter(), n);
     }},
    {"gfx942", "llvm.amdgcn.raw.ptr.buffer.atomic.smin", nullptr,
     [](auto a, auto, auto n) {
       rocdl::raw_buffer_atomic(fx::AtomicOp::min, n, rocdl::make_buffer_tensor(a).iter(), n);
     }},
    {"gfx942", "rocdl.raw.ptr.buffer.load.lds", "gfx1201",
     [](auto a, auto, auto n) {
       auto lds = fx::SharedAllocator().allocate(1024);
       rocdl::raw_buffer_load_lds(rocdl::make_buffer_tensor(a).iter(), lds, 4, n);
     }},
    {"gfx1250", "llvm.amdgcn.global.load.async.to.lds.b128", "gfx950",
     [](auto a, auto, auto) {
       rocdl::global_load_async_to_lds(a.iter(), fx::SharedAllocator().allocate(1024), 16);
     }},
    {"gfx1250", "llvm.amdgcn.cluster.load.async.to.lds.b32", "gfx1201",
     [](auto a, auto, auto n) {
       rocdl::cluster_load_async_to_lds(a.iter(), fx::SharedAllocator().allocate(1024), 4, n);
     }},
    {"gfx1250", "rocdl.s.barrier.init", "gfx1201",
     [](auto, auto, auto) { rocdl::NamedBarrier(2); }},
    {"gfx1250", "rocdl.s.barrier.join", "gfx950",
     [](auto, auto, auto) { rocdl::NamedBarrier(2).join(); }},
    {"gfx1250", "rocdl.s.barrier.signal.var", "gfx950",
     [](auto, auto, auto) { rocdl::NamedBarrier(2).signal(); }},
    {"gfx1250", "rocdl.s.barrier.wait id = 1", "gfx950",
     [](auto, auto, auto) {
       const rocdl::NamedBarrier barrier(2);
       barrier.join();
       rocdl::NamedBarrier::wait();
     }},
    {"gfx1250", "llvm.amdgcn.global.store.async.from.lds.b8", "gfx1201",
     [](auto a, auto, auto) {
       rocdl::global_store_async_from_lds(fx::SharedAllocator().allocate(1024), a.iter(), 1);
     }},
};

} // namespace

TEST_CASE("AMD's functions in the IR, and the targets without them") {
  for (const Case &c : cases) {
    INFO(c.ir << " on " << c.target);
    const std::string part = std::string(c.ir).substr(0, std::string(c.ir).find(" %{{"));
    CHECK_IR(trace(c.body, c.target), part.c_str());
    if (!c.refused)
      continue;
    try {
      trace(c.body, c.refused);
      FAIL("accepted on " << c.refused);
    } catch (const fx::TraceError &e) {
      CHECK(e.where().file.find("rocdl_test.cpp") != std::string::npos);
      CHECK_THAT(e.what(), Catch::Contains(std::string("on ") + c.refused));
    }
  }
}

TEST_CASE("operands that an instruction does not take") {
  auto refuses = [](const Body &body, const char *what, const char *target = "gfx942") {
    CHECK_THROWS_WITH(trace(body, target),
                      Catch::Contains(what) && Catch::Contains("rocdl_test.cpp:"));
  };
  refuses(
      [](auto, auto, auto) {
        rocdl::mfma_f32_32x32x8f16(splat(fx::f16, 8), splat(fx::f16, 4), splat(fx::f32, 16));
      },
      "takes vector<4xf16>");
  refuses(
      [](auto, auto, auto) {
        rocdl::mfma("f32_8x8x8", splat(fx::f16, 4), splat(fx::f16, 4), splat(fx::f32, 4));
      },
      "gfx942 has f32_32x32x2f32, f32_16x16x4f32");
  refuses([](auto a, auto, auto n) { rocdl::raw_buffer_load(a.iter(), n, fx::f32); },
          "make_buffer_ptr");
  refuses(
      [](auto a, auto, auto n) {
        rocdl::raw_buffer_load(rocdl::make_buffer_tensor(a).iter(), n, fx::f32, 1);
      },
      "raw_buffer_load of a vector of 1 element; a vector has at least 2");
  refuses(
      [](auto a, auto, auto n) {
        rocdl::raw_buffer_load(rocdl::make_buffer_tensor(a).iter(), n, fx::f32, 0);
      },
      "raw_buffer_load of a vector of 0 elements; a vector has at least 2");
  for (auto [type, size, bits] : {std::tuple(fx::f32, 5, "160"), std::tuple(fx::f16, 3, "48"),
                                  std::tuple(fx::f64, 4, "256")}) {
    const std::string part = std::string(bits) + " bits together; an instruction moves 8, 16, 32";
    refuses(
        [type = type, size = size](auto a, auto, auto n) {
          rocdl::raw_buffer_load(rocdl::make_buffer_tensor(a).iter(), n, type, size);
        },
        part.c_str());
    refuses(
        [type = type, size = size](auto a, auto, auto n) {
          rocdl::raw_buffer_store(splat(type, size), rocdl::make_buffer_tensor(a).iter(), n);
        },
        part.c_str());
  }
  refuses(
      [](auto a, auto, auto n) {
        rocdl::raw_buffer_atomic(fx::AtomicOp::add, n.to(fx::i8),
                                 rocdl::make_buffer_tensor(a).iter(), n);
      },
      "raw_buffer_atomic of i8; it works on 32 and 64 bits");
  refuses([](auto, auto, auto n) { rocdl::readlane(n, 64); },
          "readlane of lane 64 in a wave of 64");
  refuses(
      [](auto a, auto, auto n) {
        rocdl::raw_buffer_store(splat(fx::f32, 1), rocdl::make_buffer_tensor(a).iter(), n);
      },
      "raw_buffer_store of a vector of 1 element");
  refuses(
      [](auto a, auto, auto n) {
        rocdl::raw_buffer_load(rocdl::make_buffer_tensor(a).iter(), n.to(fx::i64), fx::f32);
      },
      "offset has 32 bits");
  refuses(
      [](auto a, auto, auto n) {
        rocdl::raw_buffer_load_lds(rocdl::make_buffer_tensor(a).iter(),
                                   fx::SharedAllocator().allocate(1024), 16, n);
      },
      "gfx950 moves 12 and 16");
  refuses(
      [](auto a, auto, auto) {
        rocdl::global_load_async_to_lds(a.iter(), fx::SharedAllocator().allocate(1024), 12);
      },
      "global_load_async_to_lds of 12 bytes; it copies 1, 4, 8 or 16 of each lane", "gfx1250");
  refuses([](auto a, auto, auto) { rocdl::global_load_async_to_lds(a.iter(), a.iter(), 4); },
          "is not to shared memory", "gfx1250");
  refuses(
      [](auto, auto, auto) {
        auto lds = fx::SharedAllocator().allocate(1024);
        rocdl::global_store_async_from_lds(lds, lds, 4);
      },
      "is not to global memory", "gfx1250");
  refuses(
      [](auto a, auto, auto n) {
        rocdl::cluster_load_async_to_lds(a.iter(), fx::SharedAllocator().allocate(1024), 2, n);
      },
      "cluster_load_async_to_lds of 2 bytes", "gfx1250");
  for (int members : {0, 33})
    refuses([members](auto, auto, auto) { rocdl::NamedBarrier{members}; },
            members ? "a named barrier of 33 waves; the block has 1 to "
                    : "a named barrier of 0 waves",
            "gfx1250");
  refuses(
      [](auto, auto, auto) {
        rocdl::NamedBarrier{1};
        rocdl::NamedBarrier::wait();
      },
      "a wait at a named barrier before any join", "gfx1250");
  refuses(
      [](auto, auto, auto) {
        for (int i = 0; i < 17; ++i)
          rocdl::NamedBarrier{1};
      },
      "a kernel has 16 named barriers at most", "gfx1250");
  refuses([](auto, auto, auto) { rocdl::s_setprio(4); }, "0 to 3");
  refuses([](auto, auto, auto) { rocdl::s_waitcnt({.lgkmcnt = 16}); }, "lgkmcnt is 0 to 15");
  refuses([](auto, auto, auto n) { rocdl::cvt_f32_fp8(n, 4); },
          "byte 0, 1, 2 or 3 of a word, not 4");
}

TEST_CASE("functions of other bitcode are declared once, and their files listed") {
  auto f = fx::link_extern(fx::ffi<fx::Float32(fx::Float32, fx::Pointer)>("fancy"), "fancy.bc");
  std::string ir =
      trace([f](fx::Tensor a, fx::Float32 x, fx::Int32) { a(0) = f(f(x, a.iter()), a.iter()); },
            "gfx942");
  CHECK_IR(ir, "gpu.module @kernels", "fly.link_libs = [\"fancy.bc\"]",
           "llvm.func @fancy(f32, !llvm.ptr) -> f32", "llvm.addrspacecast", "llvm.call @fancy",
           "llvm.call @fancy");
  CHECK(countOf(ir, "llvm.func @fancy") == 1);
  auto other = fx::ffi<fx::Int32(fx::Int32)>("fancy");
  CHECK_THROWS_WITH(trace(
                        [f, other](fx::Tensor a, fx::Float32 x, fx::Int32 n) {
                          f(x, a.iter());
                          other(n);
                        },
                        "gfx942"),
                    Catch::Contains("fancy is called as") && Catch::Contains("rocdl_test.cpp:"));
}

TEST_CASE("gfx1250's and gfx950's atoms trace to their types") {
  auto textOf = [](auto make) { return make().str(); };
  CHECK_IR(textOf([] {
             return rocdl::TDM({.rank = 3, .warps = 4, .pad_interval = 16, .pad_amount = 4});
           }),
           "!fly_rocdl.gfx1250.tdm<rank = 3, warps = 4, pad = 16, 4");
  CHECK_IR(textOf([] { return rocdl::WMMAScale(16, 16, 128, fx::f8E4M3FN, fx::f4E2M1FN); }),
           "!fly_rocdl.gfx1250.wmma_scale<16x16x128, (f8E4M3FN, f4E2M1FN) -> f32",
           "blockSize = 32");
  CHECK_IR(textOf([] {
             return rocdl::MFMAScale(32, 32, 64, fx::f4E2M1FN, fx::f4E2M1FN, fx::f32, 1, 2);
           }),
           "!fly_rocdl.cdna4.mfma_scale<32x32x64, (f4E2M1FN, f4E2M1FN) -> f32", "opselA = 1",
           "opselB = 2");
  CHECK_IR(textOf([] { return rocdl::LDSReadTrans(16, 64); }),
           "!fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>");
  CHECK_IR(textOf([] { return rocdl::GlobalLoadAsyncLDS(128); }),
           "!fly_rocdl.cdna4.global_load_async_lds<128>");
}

TEST_CASE("printf takes a value for each place") {
  std::string ir = trace(
      [](fx::Tensor a, fx::Float32 x, fx::Int32 n) {
        fx::printf("n = {}, x = {}\n", n, x);
        fx::assume(n > 0);
      },
      "gfx942");
  CHECK_IR(ir, "fly.print", "n = {}, x = {}", "llvm.intr.assume");
  CHECK_THROWS_WITH(
      trace([](fx::Tensor, fx::Float32, fx::Int32 n) { fx::printf("{} {}\n", n); }, "gfx942"),
      Catch::Contains("2 places for 1 values") && Catch::Contains("rocdl_test.cpp:"));
}

TEST_CASE("raw WMMA offers what the target's atoms have") {
  auto offered = [](const char *target) -> std::string {
    try {
      trace(
          [](auto, auto, auto) {
            rocdl::wmma("f32_1x1x1_f16", splat(fx::f16, 8), splat(fx::f16, 8), splat(fx::f32, 8));
          },
          target);
    } catch (const fx::TraceError &e) {
      return e.what();
    }
    return "";
  };
  CHECK_THAT(offered("gfx1250"),
             Catch::Contains("f32_16x16x4_f32") && Catch::Contains("f16_16x16x32_f16") &&
                 Catch::Contains("bf16_16x16x32_bf16") && Catch::Contains("i32_16x16x64_iu8") &&
                 Catch::Contains("f16_16x16x128_bf8_fp8"));
  CHECK_THAT(offered("gfx1100"), Catch::Contains("f16_16x16x16_f16") && !Catch::Contains("fp8"));
  CHECK_THAT(offered("gfx1201"), Catch::Contains("f32_16x16x16_bf8_fp8"));
  CHECK_THROWS_WITH(trace(
                        [](auto, auto, auto) {
                          rocdl::wmma("f32_16x16x16_f16", splat(fx::f16, 8), splat(fx::f16, 8),
                                      splat(fx::f32, 8));
                        },
                        "gfx1250"),
                    Catch::Contains("gfx1100, gfx1200, gfx1201 have it; gfx1250 has"));
  CHECK_THROWS_WITH(trace(
                        [](auto, auto, auto) {
                          rocdl::wmma("f32_16x16x32_f16", splat(fx::f16, 16), splat(fx::f16, 16),
                                      splat(fx::f32, 8), {.clamp = true});
                        },
                        "gfx1250"),
                    Catch::Contains("sign_a, sign_b and clamp are of integers"));
}

TEST_CASE("atomic accesses carry their order and scope") {
  std::string ir = traceText(
      [](fx::Tensor a, fx::Tensor h, fx::Int32 n) {
        fx::Numeric x = fx::atomic_load(a.iter());
        fx::Numeric y = fx::atomic_load(a.iter(), fx::MemoryOrder::relaxed, "workgroup");
        fx::Numeric z = fx::atomic_load(a.iter(), fx::MemoryOrder::seq_cst, "system");
        fx::atomic_store(a.iter(), x + y + z);
        fx::atomic_store(a.iter() + 1, 5, fx::MemoryOrder::relaxed, "");
        fx::atomic_store(h.iter(), fx::atomic_load(h.iter()));
      },
      {arrayArg(fx::i32, 8), arrayArg(fx::bf16, 8), scalarArg(fx::i32)});
  CHECK_IR(ir, "llvm.load %", "atomic syncscope(\"agent\") acquire {alignment = 4",
           "atomic syncscope(\"workgroup\") monotonic", "atomic seq_cst", "llvm.store",
           "atomic syncscope(\"agent\") release", "llvm.store", "atomic monotonic",
           "acquire {alignment = 2", "-> i16", "i16 to bf16", "bf16 to i16", "llvm.store");
  auto refuses = [](auto body, const char *what) {
    CHECK_THROWS_WITH(traceText(body, {arrayArg(fx::i32, 8), arrayArg(fx::f8E4M3FN, 8)}),
                      Catch::Contains(what) && Catch::Contains("rocdl_test.cpp:"));
  };
  using Order = fx::MemoryOrder;
  refuses([](fx::Tensor a, fx::Tensor) { fx::atomic_load(a.iter(), Order::release); },
          "a release is a store's");
  refuses([](fx::Tensor a, fx::Tensor) { fx::atomic_store(a.iter(), 1, Order::acquire); },
          "an acquire is a load's");
  refuses([](fx::Tensor a, fx::Tensor) { fx::atomic_load(a.iter(), Order::acquire, "block"); },
          "there is no memory scope block");
  refuses([](fx::Tensor a, fx::Tensor) { fx::atomic(fx::AtomicOp::add, a.iter(), 1, "grid"); },
          "there is no memory scope grid");
  refuses([](fx::Tensor a, fx::Tensor) { fx::atomic_cas(a.iter(), 1, 2, "warp"); },
          "there is no memory scope warp");
  refuses([](fx::Tensor a, fx::Tensor) { fx::atomic_store(a.iter(), 1.5f); }, "1.5");
  refuses([](fx::Tensor, fx::Tensor) { fx::atomic_load(fx::make_rmem_tensor(4, fx::i32).iter()); },
          "not on");
}

TEST_CASE("numbers that an instruction has no room for are refused") {
  auto refuses = [](const Body &body, const char *what, const char *target = "gfx942") {
    CHECK_THROWS_WITH(trace(body, target),
                      Catch::Contains(what) && Catch::Contains("rocdl_test.cpp:"));
  };
  refuses([](auto, auto, auto) { rocdl::s_sleep(128); }, "the time of s_sleep is 0 to 127");
  refuses([](auto, auto, auto) { rocdl::iglp_opt(4); }, "the strategy of iglp_opt is 0 to 3");
  refuses([](auto, auto, auto) { rocdl::sched_dsrd(-1); }, "sched_group_barrier is 0 to");
  refuses([](auto, auto, auto) { rocdl::s_wait_asynccnt(64); }, "is 0 to 63", "gfx1250");
  refuses([](auto, auto x, auto) { rocdl::ds_swizzle(x, 1 << 16); }, "ds_swizzle is 0 to 65535");
  refuses([](auto, auto x, auto) { rocdl::update_dpp(x, x, 512); }, "update_dpp is 0 to 511");
  refuses([](auto, auto x, auto) { rocdl::update_dpp(x, x, 0x111, 16); }, "row mask");
  refuses(
      [](auto, auto, auto) {
        rocdl::mfma_f32_32x32x8f16(splat(fx::f16, 4), splat(fx::f16, 4), splat(fx::f32, 16),
                                   {.cbsz = 8});
      },
      "cbsz of an MFMA is 0 to 7");
  refuses(
      [](auto, auto, auto n) {
        rocdl::mfma_scale_f32_32x32x64_f8f6f4({splat(fx::i32, 8), 0, n, 4},
                                              {splat(fx::i32, 4), 4, n}, splat(fx::f32, 16));
      },
      "opsel of a scaled MFMA is 0 to 3", "gfx950");
}
