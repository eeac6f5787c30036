// Instructions with several results, inline assembly with vectors, addresses and accumulation
// registers, barriers of one memory and halves of barriers: what they compute.
#include "run.h"

#include <flydsl/kernel/wave_memory.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
namespace rocdl = flydsl::rocdl;

namespace {
/// The machine code of a kernel with one tensor and one number.
template <class Body> std::string isaOf(const char *target, Body body) {
  const fx::Kernel kernel{"instruction", body};
  const fx::TensorArg nothing(nullptr, fx::i32, std::array<std::int64_t, 1>{64});
  return kernel(nothing, 1).compile({.block = 128, .arch = target}).isa();
}
} // namespace

TEST_CASE("swaps, halves of barriers and waits are the instructions of their targets") {
  using Catch::Contains;
  const std::string swaps = isaOf("gfx950", [](fx::Tensor y, fx::Int32 n) {
    auto tid = fx::thread_idx().x;
    auto [a, b] = rocdl::permlane16_swap(tid, tid * n);
    auto [c, d] = rocdl::permlane32_swap(a, b);
    y(tid) = c - d;
  });
  CHECK_THAT(swaps, Contains("v_permlane16_swap_b32") && Contains("v_permlane32_swap_b32"));
  for (const char *target : {"gfx1200", "gfx1201", "gfx1250"}) {
    INFO(target);
    const std::string halves = isaOf(target, [](fx::Tensor y, fx::Int32 n) {
      auto tid = fx::thread_idx().x;
      y(tid) = n;
      rocdl::s_wait_loadcnt(5);
      rocdl::s_wait_storecnt(6);
      rocdl::s_wait_dscnt(7);
      rocdl::s_barrier_signal();
      rocdl::s_nop(3);
      rocdl::s_barrier_wait();
    });
    CHECK_THAT(halves, Contains("s_wait_storecnt 0x6") && Contains("s_wait_loadcnt_dscnt 0x507") &&
                           Contains("s_barrier_signal -1") && Contains("s_nop 2") &&
                           Contains("s_barrier_wait 0xffff"));
  }
  // The barrier alone is one instruction before gfx12, and both halves since.
  for (const char *target : {"gfx90a", "gfx942", "gfx950", "gfx1100"})
    CHECK_THAT(isaOf(target, [](fx::Tensor, fx::Int32) { rocdl::s_barrier(); }),
               Contains("s_barrier") && !Contains("s_barrier_signal"));
  CHECK_THAT(isaOf("gfx1201", [](fx::Tensor, fx::Int32) { rocdl::s_barrier(); }),
             Contains("s_barrier_signal -1") && Contains("s_barrier_wait"));
}

TEST_CASE("a barrier of shared memory leaves global loads under way, and caches as they are") {
  using Catch::Contains;
  // A load whose value is used after the barrier alone.
  const auto exchanged = [](const char *target, bool all) {
    return isaOf(target, [all](fx::Tensor y, fx::Int32 n) {
      const fx::Tensor shared =
          fx::SharedAllocator().tensor(fx::i32, fx::make_layout(128)); // (128)
      auto tid = fx::thread_idx().x;
      const fx::Numeric ahead = y(tid);
      shared(tid) = n;
      if (all)
        fx::gpu::barrier();
      else
        fx::gpu::barrier(fx::AddressSpace::shared);
      y(tid) = shared(127 - tid) + ahead;
    });
  };
  // The waits between the write to LDS and the barrier.
  const auto waitsBefore = [](const std::string &isa) {
    const std::size_t write = isa.find("ds_store_b32"), barrier = isa.find("s_barrier");
    REQUIRE((write < barrier && barrier != std::string::npos));
    return isa.substr(write, barrier - write);
  };
  for (const char *target : {"gfx1100", "gfx1201"}) {
    INFO(target);
    const std::string one = exchanged(target, false), every = exchanged(target, true);
    CHECK_THAT(every, Contains("gl0_inv") || Contains("global_inv"));
    CHECK_THAT(one, !Contains("gl0_inv") && !Contains("global_inv"));
    CHECK_THAT(waitsBefore(every), Contains("vmcnt(0)") || Contains("loadcnt"));
    CHECK_THAT(waitsBefore(one), !Contains("vmcnt") && !Contains("loadcnt"));
    CHECK_THAT(waitsBefore(one), Contains("lgkmcnt(0)") || Contains("dscnt"));
  }
  CHECK(exchanged("gfx942", false) == exchanged("gfx942", true));
}

TEST_CASE("a fence of shared memory waits for shared memory alone, and of a wave for nothing") {
  using Catch::Contains;
  // What the kernel waits for between its write to LDS and the marked place after the fence.
  const auto waits = [](const char *target, fx::AddressSpace memory, fx::MemoryScope scope) {
    const std::string isa = isaOf(target, [=](fx::Tensor y, fx::Int32 n) {
      const fx::Tensor shared =
          fx::SharedAllocator().tensor(fx::i32, fx::make_layout(128)); // (128)
      auto tid = fx::thread_idx().x;
      const fx::Numeric ahead = y(tid);
      shared(tid) = n;
      fx::fence(fx::MemoryOrder::acq_rel, memory, scope);
      rocdl::s_nop(7);
      y(tid) = shared(127 - tid) + ahead;
    });
    const std::size_t write = isa.find("ds_store_b32"), mark = isa.find("s_nop 6", write);
    REQUIRE(mark != std::string::npos);
    return isa.substr(write, mark - write);
  };
  for (const char *target : {"gfx1100", "gfx1201"}) {
    INFO(target);
    const std::string all = waits(target, fx::AddressSpace::generic, fx::MemoryScope::block),
                      one = waits(target, fx::AddressSpace::shared, fx::MemoryScope::block),
                      wave = waits(target, fx::AddressSpace::shared, fx::MemoryScope::wave);
    CHECK_THAT(all, (Contains("vmcnt(0)") || Contains("loadcnt")) &&
                        (Contains("gl0_inv") || Contains("global_inv")));
    CHECK_THAT(one, !Contains("vmcnt") && !Contains("loadcnt") && !Contains("gl0_inv") &&
                        !Contains("global_inv") && (Contains("lgkmcnt(0)") || Contains("dscnt")));
    CHECK_THAT(wave, !Contains("wait") && !Contains("inv"));
  }
}

TEST_CASE("what is written before a barrier of shared memory is read after it") {
  const auto h = run::values<int>("exchange", 64, 1, [](fx::Tensor out, fx::Int32 tid) {
    const fx::Tensor shared = fx::SharedAllocator().tensor(fx::i32, fx::make_layout(64)); // (64)
    shared(tid) = tid * 3;
    fx::gpu::barrier(fx::AddressSpace::shared);
    out(tid, 0) = shared(63 - tid);
  });
  for (int t = 0; t < 64; ++t)
    CHECK(h[std::size_t(t)] == 3 * (63 - t));
}

TEST_CASE("the parts of an intrinsic's struct") {
  auto h = run::values<int>("overflow", 64, 2, [](fx::Tensor out, fx::Int32 tid) {
    auto sum = rocdl::intrinsic_struct("llvm.uadd.with.overflow", {fx::i32, fx::boolean},
                                       {tid, fx::Int32(-32)});
    out(tid, 0) = sum[0];
    out(tid, 1) = fx::select(fx::Boolean(sum[1]), 1, 0);
  });
  for (int t = 0; t < 64; ++t) {
    CHECK(h[std::size_t(2 * t)] == t - 32);
    CHECK(h[std::size_t(2 * t + 1)] == (t >= 32));
  }
}

TEST_CASE("rows and halves of a wave change places") {
  if (!run::has(fx::feature::permlane_swap))
    return;
  auto h = run::values<int>("swaps", 64, 4, [](fx::Tensor out, fx::Int32 tid) {
    auto [a, b] = rocdl::permlane16_swap(tid, tid + 100);
    auto [c, d] = rocdl::permlane32_swap(tid, tid + 100);
    out(tid, 0) = a;
    out(tid, 1) = b;
    out(tid, 2) = c;
    out(tid, 3) = d;
  });
  // CDNA4's ISA manual, V_PERMLANE16_SWAP_B32: the odd rows of the first operand and the even ones
  // of the second change places; V_PERMLANE32_SWAP_B32: the same with halves.
  for (int t = 0; t < 64; ++t) {
    const int row = t / 16, half = t / 32;
    CHECK(h[std::size_t(4 * t)] == (row % 2 ? t - 16 + 100 : t));
    CHECK(h[std::size_t(4 * t + 1)] == (row % 2 ? t + 100 : t + 16));
    CHECK(h[std::size_t(4 * t + 2)] == (half ? t - 32 + 100 : t));
    CHECK(h[std::size_t(4 * t + 3)] == (half ? t + 100 : t + 32));
  }
}

TEST_CASE("inline assembly with several results") {
  auto h = run::values<int>("asm_struct", 64, 2, [](fx::Tensor out, fx::Int32 tid) {
    auto both = rocdl::inline_asm_struct("v_mov_b32 $0, $3\n\tv_mov_b32 $1, $2", "=&v,=&v,v,v",
                                         {fx::i32, fx::i32}, {tid, tid * 3});
    out(tid, 0) = both[0];
    out(tid, 1) = both[1];
  });
  for (int t = 0; t < 64; ++t) {
    CHECK(h[std::size_t(2 * t)] == 3 * t);
    CHECK(h[std::size_t(2 * t + 1)] == t);
  }
}

TEST_CASE("inline assembly with addresses, descriptors and vectors") {
  if (!run::has(fx::feature::s_waitcnt) || run::waveSize() != 64)
    return; // the text is CDNA's
  const fx::Kernel kernel{
      "asm_loads", [](fx::Tensor x, fx::Tensor y) {
        auto tid = fx::thread_idx().x;
        auto pair =
            rocdl::inline_asm("global_load_dwordx2 $0, $1, off\n\ts_waitcnt vmcnt(0)", "=v,v",
                              fx::f32, 2, {x.iter() + tid * 2}, /*side_effects=*/true);
        auto buffer = rocdl::buffer_descriptor(rocdl::make_buffer_tensor(x).iter());
        auto other =
            rocdl::inline_asm("buffer_load_dwordx2 $0, $1, $2, 0 offen\n\ts_waitcnt vmcnt(0)",
                              "=v,v,s", fx::f32, 2, {tid * 8, buffer}, /*side_effects=*/true);
        y(tid * 2) = pair[0] + other[1];
        y(tid * 2 + 1) = pair[1] - other[0];
      }};
  auto x = fx::DeviceArray<float>::random({128}, 3);
  fx::DeviceArray<float> y({128});
  y.poison();
  kernel(x, y).launch({.block = 64});
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < 128; i += 2) {
    CHECK(out[i] == in[i] + in[i + 1]);
    CHECK(out[i + 1] == in[i + 1] - in[i]);
  }
}

TEST_CASE("a product that is kept in accumulation registers by inline assembly") {
  const auto product = [](const char *name, bool byAssembly) {
    return fx::Kernel{
        name, [byAssembly](fx::Tensor x, fx::Tensor y, fx::Int32 rounds) {
          auto tid = fx::thread_idx().x;
          fx::Vector a = (x.iter() + tid * 4).load(4), zero = fx::Vector::splat(0.0f, 4, fx::f32);
          // LLVM's assembler knows the instruction by another name from gfx942 on.
          const char *text = fx::target().has(fx::feature::fp8_conversions)
                                 ? "v_mfma_f32_16x16x16_f16 $0, $1, $2, $3"
                                 : "v_mfma_f32_16x16x16f16 $0, $1, $2, $3";
          auto times = [&](const fx::Vector &c) {
            return byAssembly ? rocdl::inline_asm(text, "=a,v,v,0", fx::f32, 4, {a, a, c})
                              : rocdl::mfma_f32_16x16x16f16(a, a, c);
          };
          auto sum = fx::for_(0, rounds, 1, fx::carry(zero), [&](fx::Int32, fx::Vector c) {
            return fx::yield(times(times(times(c))));
          });
          rocdl::s_nop(16); // the compiler does not know that a product is under way
          (y.iter() + tid * 4).store(sum);
        }};
  };
  const auto assembly = product("accumulates", true), plain = product("multiplies", false);
  fx::half_t *none = nullptr;
  float *nowhere = nullptr;
  const std::string isa = assembly(fx::tensor(none, {256}), fx::tensor(nowhere, {256}), 4)
                              .compile({.block = 64, .arch = "gfx942"})
                              .isa();
  // Nothing goes through vector registers. (In a loop of one product LLVM 22 carries the sum in
  // them.)
  const std::size_t first = isa.find("v_mfma_f32_16x16x16_f16 a["),
                    end = isa.find("s_cbranch", first);
  REQUIRE(first != std::string::npos);
  const std::string loop = isa.substr(first, end - first);
  CHECK_THAT(loop, !Catch::Contains("v_accvgpr_read") && !Catch::Contains("v_accvgpr_write"));
  if (!run::has(fx::feature::mfma))
    return;
  auto x = fx::DeviceArray<fx::half_t>::random({256}, 3);
  fx::DeviceArray<float> y({256}), expected({256});
  y.poison();
  assembly(x, y, 3).launch({.block = 64});
  plain(x, expected, 3).launch({.block = 64});
  CHECK(y.to_host() == expected.to_host());
}

TEST_CASE("the halves of a barrier hold the block together") {
  if (!run::has(fx::feature::split_barriers))
    return;
  const fx::Kernel kernel{"halves", [](fx::Tensor y) {
                            auto tid = fx::thread_idx().x;
                            auto s = fx::SharedAllocator().tensor(fx::i32, fx::make_layout(128));
                            s(tid) = tid * 3;
                            rocdl::s_wait_dscnt(0);
                            rocdl::s_barrier_signal();
                            fx::Numeric own = tid * 5; // what needs nobody else
                            rocdl::s_barrier_wait();
                            y(tid) = s(127 - tid) + own;
                          }};
  fx::DeviceArray<int> y({128});
  y.poison();
  kernel(y).launch({.block = 128});
  const auto out = y.to_host();
  for (int t = 0; t < 128; ++t)
    CHECK(out[std::size_t(t)] == (127 - t) * 3 + t * 5);
}

// LLVM 22 takes the shift and the mask for additions of v_dot4_u32_u8, and drops the upper half of a wide sum
// (llvm/llvm-project #198412, #216015). A kernel that names the instruction keeps it, and its other sums are right.
TEST_CASE("sums of products of bytes are those of the products") {
  for (const bool named : {false, true}) {
    const auto sums = run::values<std::int64_t>(
        named ? "sums_of_bytes_and_dot4" : "sums_of_bytes", 64, 6,
        [named](const fx::Tensor &out, const fx::Int32 &i) {
          const fx::Numeric a = i * 13 + 7 & 255, b = i * 5 + 250 & 255, c = i + 200 & 255,
                            d = i * 7 & 255;
          out(i, 0) = (a * b + (c * d << 4)).to(fx::i64);
          out(i, 1) = (a * b + (a * b >> 7)).to(fx::i64);
          out(i, 2) = (a * b + (c * d & 1023)).to(fx::i64);
          out(i, 3) = (a * b).to(fx::i64) + (c * d).to(fx::i64) + (i.to(fx::i64) << 40);
          const auto dot = [&]() -> fx::Numeric {
            return fx::rocdl::intrinsic(
                "llvm.amdgcn.udot4", fx::i32,
                {a | c << 8, b | d << 8, i, fx::rocdl::IntrinsicArg(false)});
          };
          out(i, 4) = (named ? dot() : fx::Numeric(a * b + c * d + i)).to(fx::i64);
          const fx::Tensor left = fx::make_rmem_tensor(2, fx::i32),
                           right = fx::make_rmem_tensor(2, fx::i32); // (2)
          left(0) = a;
          left(1) = c;
          right(0) = b;
          right(1) = d;
          const fx::Vector products = left.load() * right.load();
          out(i, 5) = (products.at(0) + (products.at(1) << 4)).to(fx::i64);
        });
    int wrong = 0;
    for (std::int64_t i = 0; i < 64; ++i) {
      const std::int64_t a = (i * 13 + 7) & 255, b = (i * 5 + 250) & 255, c = (i + 200) & 255,
                         d = i * 7 & 255;
      const std::int64_t expected[] = {a * b + c * d * 16,     a * b + a * b / 128,
                                       a * b + (c * d & 1023), a * b + c * d + (i << 40),
                                       a * b + c * d + i,      a * b + c * d * 16};
      for (std::size_t k = 0; k < 6; ++k)
        wrong += sums[static_cast<std::size_t>(i) * 6 + k] != expected[k];
    }
    CAPTURE(named);
    CHECK(wrong == 0);
  }
}
