// The functions of flydsl/kernel/gpu.h that each vendor has instructions of its own for: what they are on
// AMD's targets, what they refuse, and what a vendor without them is told.
#include "builder/vendors/vendors.h"
#include "target/processors.h"
#include "trace_text.h"

#include <flydsl/kernel/argument.h>
#include <flydsl/kernel/clock.h>
#include <flydsl/kernel/dot.h>
#include <flydsl/kernel/wave_memory.h>

#include <catch2/catch.hpp>

#include <functional>

namespace fx = flydsl;
namespace gpu = flydsl::gpu;
using namespace trace_test;

namespace {

std::string trace(const std::function<void(fx::Float32, fx::Int32)> &body, const char *target) {
  return traceText([body](fx::Float32 x, fx::Int32 n) { body(x, n); },
                   {scalarArg(fx::f32), scalarArg(fx::i32)}, false, {64, 1, 1}, {}, target);
}
std::string waits(const gpu::UnderWay &left, const char *target) {
  return trace([&](auto, auto) { gpu::wait_for(left); }, target);
}

/// Another vendor, whose functions leave a number in the order in which they are called.
constexpr fx::detail::Processor kOther{.name = "other1",
                                       .vendor = fx::Vendor::other,
                                       .family = fx::Family::other,
                                       .waveSize = 1,
                                       .ldsBytes = 1 << 10,
                                       .maxBlockSize = 64,
                                       .ldsBanks = 0,
                                       .registers = {},
                                       .wavesOfSimd = 1,
                                       .waitCounters = {},
                                       .switches = {},
                                       .features = {}};

class OtherInstructions final : public fx::builder::VendorInstructions {
public:
  mutable std::string calls;
  fx::Vendor vendor() const override { return fx::Vendor::other; }
  fx::Numeric uniform(const fx::Numeric &value, fx::Loc) const override { return value; }
  fx::Boolean anyOfWave(const fx::Boolean &condition, fx::Loc) const override { return condition; }
  void waitFor(const gpu::UnderWay &left, fx::Loc) const override {
    calls += "wait " + std::to_string(left.loads.value_or(-1)) + ";";
  }
  void meet(fx::Loc) const override { calls += "meet;"; }
  void scheduleFence(fx::Loc) const override { calls += "fence;"; }
  void scheduleNext(gpu::Scheduled, int, fx::Loc) const override {}
  void wavePriority(int, fx::Loc) const override {}
  void trap(fx::Loc) const override {}
  fx::Numeric rematerialised(const fx::Numeric &value, fx::Loc) const override { return value; }
  fx::Numeric rematerialisedUniform(const fx::Numeric &value, fx::Loc) const override {
    return value;
  }
  fx::Vector materialised(const fx::Vector &values, fx::Loc) const override { return values; }
  fx::Tensor bounded(const fx::Tensor &tensor, const fx::Int64 &, fx::Loc) const override {
    calls += "bounded;";
    return tensor;
  }
  fx::CopyOp boundedCopy(int bits, fx::CachePolicy cache, fx::Loc loc) const override {
    return fx::UniversalCopy(bits, cache, loc);
  }
  fx::Numeric boundedLoad(const fx::Pointer &, const fx::BoundedPlace &place, fx::DType,
                          fx::Loc) const override {
    return place.ofLane;
  }
  fx::Vector boundedLoad(const fx::Pointer &, const fx::BoundedPlace &, fx::DType type,
                         std::int64_t size, fx::CachePolicy, fx::Loc) const override {
    return fx::Vector::splat(0, int(size), type);
  }
  void boundedLoadToShared(const fx::Pointer &, const fx::BoundedPlace &, const fx::Pointer &, int,
                           fx::CachePolicy, fx::Loc) const override {}
  fx::Numeric uniformLoad(const fx::Tensor &tensor, const fx::IntTuple &coord,
                          fx::Loc loc) const override {
    calls += "uniform load;";
    return tensor.iter(loc).load();
  }
  fx::CopyOp copyToShared(int bits, fx::CachePolicy cache, fx::Loc loc) const override {
    return fx::UniversalCopy(bits, cache, loc);
  }
  fx::CopyOp transposedCopyFromShared(int, int bits, fx::Loc loc) const override {
    return fx::UniversalCopy(bits, loc);
  }
  void barrier(fx::AddressSpace memory, fx::Loc) const override {
    calls += memory == fx::AddressSpace::shared ? "barrier of shared memory;" : "barrier;";
  }
  fx::Int64 steadyClock(fx::Loc) const override { return fx::Int64(0); }
  void meetOfWave(fx::Loc) const override {}
  fx::Int32 rounded(const fx::Float32 &, const fx::Int32 &, const fx::Int32 &word, int, fx::DType,
                    fx::Loc) const override {
    return word;
  }
};

} // namespace

TEST_CASE("waits are one instruction for both counters, or one for each") {
  using Catch::Contains;
  // gfx9: vmcnt [3:0] and [15:14], expcnt [6:4], lgkmcnt [11:8]: 2 loads, 0 reads.
  CHECK_THAT(waits({.loads = 2, .reads = 0}, "gfx942"), Contains("rocdl.s.waitcnt 114\n"));
  // gfx11: expcnt [2:0], lgkmcnt [9:4], vmcnt [15:10].
  CHECK_THAT(waits({.loads = 2, .reads = 0}, "gfx1100"), Contains("rocdl.s.waitcnt 2055\n"));
  const std::string split = waits({.loads = 2, .reads = 1}, "gfx1250");
  CHECK_THAT(split, Contains("rocdl.s.wait.loadcnt 2") && Contains("rocdl.s.wait.dscnt 1"));
  CHECK_THAT(waits({.reads = 1}, "gfx1250"), !Contains("loadcnt"));
  // More than a counter holds is the most that it holds.
  CHECK(waits({.loads = 1000}, "gfx942") == waits({.loads = 63}, "gfx942"));
  CHECK_THAT(waits({.loads = 1000}, "gfx1250"), Contains("rocdl.s.wait.loadcnt 63"));
  CHECK_THROWS_WITH(waits({}, "gfx942"),
                    Contains("names nothing to wait for") && Contains("vendor_test.cpp"));
  CHECK_THROWS_WITH(waits({.loads = -1}, "gfx942"),
                    Contains("leaves -1 loads under way; it is 0 or more"));
}

TEST_CASE("the order of instructions, priorities and numbers of a wave are the vendor's") {
  using Catch::Contains;
  const std::string text = trace(
      [](const fx::Float32 &x, const fx::Int32 &n) {
        gpu::schedule_fence();
        gpu::schedule_next(gpu::Scheduled::products, 4);
        gpu::wave_priority(2);
        gpu::meet();
        fx::if_(gpu::any_of_wave(n > 1), [] { gpu::trap(); });
        (void)gpu::uniform(x);
      },
      "gfx1201");
  for (const char *part :
       {"rocdl.sched.barrier 0", "rocdl.sched.group.barrier 8, 4, 0", "rocdl.s.setprio 2",
        "rocdl.s.barrier", "rocdl.ballot", "s_trap 2", "rocdl.readfirstlane"})
    CHECK_THAT(text, Contains(part));
  CHECK_THROWS_WITH(trace([](auto, auto) { gpu::wave_priority(4); }, "gfx942"),
                    Contains("0 to 3, not 4"));
  CHECK_THROWS_WITH(
      trace([](auto, auto) { gpu::schedule_next(gpu::Scheduled::loads, 0); }, "gfx942"),
      Contains("orders 0 instructions; it is 1 or more"));
}

TEST_CASE("a rematerialised number is one that the compiler knows nothing of") {
  using Catch::Contains;
  CHECK_THAT(trace([](auto, const fx::Int32 &n) { (void)(fx::rematerialised(n) + 1); }, "gfx942"),
             Contains("llvm.inline_asm has_side_effects") && Contains("\"=v,0\""));
  CHECK_THAT(trace([](auto, const fx::Int32 &n) { (void)fx::rematerialised_uniform(n); }, "gfx942"),
             Contains("\"=s,0\""));
  CHECK_THAT(trace(
                 [](const fx::Float32 &x, auto) {
                   (void)fx::materialised(fx::Vector::of({x, x * 2.0f}));
                 },
                 "gfx942"),
             Contains("vector<2xf32>"));
  CHECK_THROWS_WITH(
      trace([](auto, const fx::Int32 &n) { (void)fx::rematerialised(n.to(fx::i64)); }, "gfx942"),
      Contains("rematerialised takes a number of 32 bits, not of type i64") &&
          Contains("vendor_test.cpp"));
}

TEST_CASE("an argument is read again, and what was computed of one is not") {
  using Catch::Contains;
  CHECK_THAT(trace([](auto, const fx::Int32 &n) { (void)fx::read_again(n); }, "gfx942"),
             Contains("llvm.inline_asm has_side_effects \"; the argument again\", \"=s,0\" %arg1"));
  CHECK_THROWS_WITH(
      trace([](auto, const fx::Int32 &n) { (void)fx::read_again(fx::Int32(n + 1)); }, "gfx942"),
      Contains(
          "read_again takes arguments of the kernel as they were passed, not a number that was "
          "computed; compute it again") &&
          Contains("vendor_test.cpp"));
}

TEST_CASE("bytes of two words are permuted by an instruction, and named from 0 to 7") {
  using Catch::Contains;
  const auto permuted = [](std::uint32_t selector) {
    return trace([=](auto, const fx::Int32 &n) { (void)fx::permute_bytes(n, n + 1, selector); },
                 "gfx1201");
  };
  CHECK_THAT(permuted(0x07060302), Contains("llvm.amdgcn.perm"));
  CHECK_THROWS_WITH(permuted(0x07080302),
                    Contains("byte 2 of permute_bytes' selector names byte 8 of two words, which "
                             "have 0 to 7") &&
                        Contains("vendor_test.cpp"));
}

TEST_CASE("products of four bytes are the target's instruction for them") {
  using Catch::Contains;
  const auto dot = [](const char *target) {
    return trace([](auto, const fx::Int32 &n) { (void)fx::dot4(n, n + 1, n); }, target);
  };
  for (const char *target : {"gfx90a", "gfx942", "gfx950"})
    CHECK_THAT(dot(target), Contains("llvm.amdgcn.sdot4"));
  for (const char *target : {"gfx1100", "gfx1201", "gfx1250"})
    CHECK_THAT(dot(target), Contains("llvm.amdgcn.sudot4"));
}

namespace {

/// Reads of global memory at address n, which ends after 40 bytes.
void readBounded(const fx::Float32 &, const fx::Int32 &n) {
  const fx::Tensor all =
      fx::make_view(fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::global, 16),
                    fx::make_layout(64));
  const fx::Tensor part = fx::bounded(all, fx::Int64(40)); // (64)
  (void)fx::bounded_load(part.iter(), {n}, fx::f32);
  (void)fx::bounded_load(part.iter(), {n, fx::Int32(8)}, fx::f32, 4);
  const fx::Tensor four = fx::make_rmem_tensor(4, fx::f32);
  fx::copy(fx::make_copy_atom(fx::BoundedCopy128b(), fx::f32),
           fx::make_view(part.iter(), fx::make_layout(4)), four);
}

} // namespace

TEST_CASE("memory with an end is accessed by the vendor's instructions") {
  using Catch::Contains;
  const std::string text = trace(readBounded, "gfx942");
  CHECK_THAT(text, Contains("#fly_rocdl.buffer_desc") && Contains("rocdl.raw.ptr.buffer.load"));
  CHECK_THAT(text, Contains("40"));
  const auto refused = [](auto body) { return [=](auto, const fx::Int32 &n) { body(n); }; };
  CHECK_THROWS_WITH(trace(refused([](const fx::Int32 &) {
                            (void)fx::bounded(fx::make_rmem_tensor(4, fx::f32), fx::Int64(16));
                          }),
                          "gfx942"),
                    Contains("global") && Contains("vendor_test.cpp"));
  // What is read once has the bits that LLVM gives to a load that is not temporal.
  const auto once = [](const fx::Float32 &, const fx::Int32 &n) {
    const fx::Tensor all = fx::make_view(
        fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::global, 16),
        fx::make_layout(64));
    const fx::Tensor four = fx::make_rmem_tensor(4, fx::f32);
    fx::copy(fx::make_copy_atom(fx::BoundedCopy(128, fx::CachePolicy::non_temporal), fx::f32),
             fx::make_view(fx::bounded(all, fx::Int64(256)).iter(), fx::make_layout(4)), four);
  };
  CHECK_THAT(trace(once, "gfx942"), Contains("buffer_copy<128, cache = 2>"));
  CHECK_THAT(trace(once, "gfx1100"), Contains("buffer_copy<128, cache = 6>"));
  CHECK_THAT(trace(once, "gfx1201"), Contains("buffer_copy<128, cache = 1>"));
  // RDNA has no such loads to shared memory.
  CHECK_THROWS_WITH(
      trace(refused([](const fx::Int32 &n) {
              const fx::Tensor all = fx::make_view(
                  fx::Pointer::from_address(n.to(fx::i64), fx::f32, fx::AddressSpace::global, 16),
                  fx::make_layout(64));
              fx::bounded_load_to_shared(fx::bounded(all, fx::Int64(256)).iter(), {n},
                                         fx::SharedAllocator().allocate(256), 4,
                                         fx::CachePolicy::non_temporal);
            }),
            "gfx1201"),
      Contains("there is no bounded_load_to_shared on gfx1201; gfx90a, gfx942, gfx950 have it. "
               "Elsewhere a BoundedCopy loads into registers") &&
          Contains("vendor_test.cpp"));
  CHECK_THROWS_WITH(trace(refused([](const fx::Int32 &) { (void)fx::BoundedCopy(24); }), "gfx942"),
                    Contains("24") && Contains("vendor_test.cpp"));
}

TEST_CASE("what moves memory for a wave is the vendor's instructions") {
  using Catch::Contains;
  const auto moves = [](const fx::Float32 &, const fx::Int32 &n) {
    const fx::Tensor all = fx::make_view(
        fx::Pointer::from_address(n.to(fx::i64), fx::f16, fx::AddressSpace::global, 16),
        fx::make_layout(64));                                                             // (64)
    const fx::Tensor shared = fx::SharedAllocator().tensor(fx::f16, fx::make_layout(64)); // (64)
    const auto part = [](const fx::Tensor &of, int size) {
      return fx::make_view(of.iter(), fx::make_layout(size)); // (size)
    };
    const fx::Numeric first = gpu::uniform_load(all.recast(fx::i32), n);
    fx::copy(fx::make_copy_atom(fx::CopyToShared(128), fx::f16), part(all, 8), part(shared, 8));
    const fx::Tensor own = fx::make_rmem_tensor(4, fx::f16);
    fx::copy(fx::make_copy_atom(fx::TransposedCopyFromShared(16, 64), fx::f16), part(shared, 4),
             own);
    part(all, 1)(0) = own(0) + first.to(fx::f16);
  };
  const std::string text = trace(moves, "gfx950");
  CHECK_THAT(text, Contains("!fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>") &&
                       Contains("!fly_rocdl.cdna4.global_load_async_lds<128>"));
  // The load of the wave is one of constant memory.
  CHECK_THAT(text, Contains("llvm.load") && Contains("!llvm.ptr<4>"));
  CHECK_THROWS_WITH(trace(
                        [](const fx::Float32 &, const fx::Int32 &n) {
                          (void)gpu::uniform_load(fx::make_rmem_tensor(4, fx::f32), n);
                        },
                        "gfx942"),
                    Contains("global memory") && Contains("vendor_test.cpp"));
}

TEST_CASE("a barrier of one memory has that memory's fences, and of registers there is none") {
  using Catch::Contains;
  const auto of = [](fx::AddressSpace memory) {
    return trace([=](auto, auto) { gpu::barrier(memory); }, "gfx1201");
  };
  const std::string shared = of(fx::AddressSpace::shared);
  CHECK_THAT(shared,
             Contains("rocdl.s.barrier") && Contains("\"amdgpu-synchronize-as\":\"local\"") &&
                 Contains("fence syncscope(\"workgroup\") release") &&
                 Contains("fence syncscope(\"workgroup\") acquire") && !Contains("gpu.barrier"));
  CHECK_THAT(of(fx::AddressSpace::global),
             Contains("\"amdgpu-synchronize-as\":\"global\"") && !Contains("local"));
  CHECK_THAT(of(fx::AddressSpace::generic), Contains("gpu.barrier") && !Contains("fence"));
  CHECK_THROWS_WITH(of(fx::AddressSpace::register_),
                    Contains("not to registers; name AddressSpace::shared") &&
                        Contains("vendor_test.cpp"));
  CHECK_THROWS_WITH(trace(
                        [](auto, auto) {
                          fx::if_(fx::thread_idx().x < 3,
                                  [] { gpu::barrier(fx::AddressSpace::shared); });
                        },
                        "gfx1201"),
                    Contains("barrier") && Contains("vendor_test.cpp"));
}

TEST_CASE("a fence of one memory has that memory's mark, and of registers there is none") {
  using Catch::Contains;
  const auto of = [](fx::AddressSpace memory, fx::MemoryOrder order, fx::SyncScope scope) {
    return trace([=](auto, auto) { fx::fence(order, memory, scope); }, "gfx1201");
  };
  const auto acqRel = fx::MemoryOrder::acq_rel;
  CHECK_THAT(of(fx::AddressSpace::shared, acqRel, fx::MemoryScope::wave),
             Contains("fence syncscope(\"wavefront\") acq_rel") &&
                 Contains("\"amdgpu-synchronize-as\":\"local\""));
  CHECK_THAT(of(fx::AddressSpace::global, fx::MemoryOrder::release, fx::MemoryScope::block),
             Contains("fence syncscope(\"workgroup\") release") &&
                 Contains("\"amdgpu-synchronize-as\":\"global\""));
  CHECK_THAT(of(fx::AddressSpace::generic, acqRel, fx::MemoryScope::agent),
             Contains("fence syncscope(\"agent\") acq_rel") && !Contains("amdgpu-synchronize-as"));
  CHECK_THROWS_WITH(of(fx::AddressSpace::register_, acqRel, fx::MemoryScope::wave),
                    Contains("a fence orders accesses to memory that threads share, not to "
                             "registers; name AddressSpace::shared") &&
                        Contains("vendor_test.cpp"));
  CHECK_THROWS_WITH(of(fx::AddressSpace::shared, fx::MemoryOrder::relaxed, fx::MemoryScope::wave),
                    Contains("a fence of order relaxed orders nothing") &&
                        Contains("vendor_test.cpp"));
  CHECK_THROWS_WITH(of(fx::AddressSpace::shared, acqRel, "grid"),
                    Contains("there is no memory scope grid"));
}

TEST_CASE("the steady clock is the vendor's") {
  const std::string text = trace([](auto, auto) { (void)gpu::steady_clock(); }, "gfx942");
  CHECK_THAT(text, Catch::Contains("llvm.readsteadycounter"));
}

TEST_CASE("another vendor registers its instructions, and is told until it has") {
  using Catch::Contains;
  REQUIRE(fx::detail::addProcessor(kOther));
  CHECK_THROWS_WITH(waits({.loads = 1}, "other1"),
                    Contains("there is no gpu::wait_for for other1, whose vendor has not "
                             "registered its instructions"));
  static const OtherInstructions others;
  fx::builder::registerInstructions(others);
  CHECK_THROWS_WITH(fx::builder::registerInstructions(others), Contains("a vendor that has some"));
  const std::string text = trace(
      [](const fx::Float32 &x, auto) {
        gpu::schedule_fence();
        gpu::wait_for({.loads = 3});
        gpu::meet();
        (void)gpu::uniform(x);
        (void)fx::bounded(fx::make_rmem_tensor(4, fx::f32), fx::Int64(16));
        fx::fence(fx::MemoryOrder::release, fx::AddressSpace::shared, fx::MemoryScope::block);
      },
      "other1");
  CHECK(others.calls == "fence;wait 3;meet;bounded;");
  CHECK_THAT(text, !Contains("rocdl"));
  // A vendor that does not tell memories from each other has a fence of all.
  CHECK_THAT(text, Contains("fence syncscope(\"workgroup\") release") && !Contains("mmra"));
}
