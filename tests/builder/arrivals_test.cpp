// Barriers and collectives at places that a part of the threads does not come to.
#include "errors_at.h"

#include <catch2/catch.hpp>

#include <flydsl/coop.h>
#include <flydsl/rocdl/tensor_mover.h>

#include <functional>

namespace fx = flydsl;
using namespace trace_test;
using fx::Reduction;

namespace {

constexpr std::array<unsigned, 3> kBlock{256, 1, 1};

/// The message of a kernel of a tensor and a number in blocks of 256 threads.
template <class Body> std::string traced(Body body, std::array<unsigned, 3> block = kBlock) {
  return errorOf([body](fx::Tensor a, fx::Int32 n) { body(a, n); },
                 {arrayArg(fx::f32, 1024), scalarArg(fx::i32)}, {.block = block});
}
/// The same for a barrier in a branch.
template <class Condition>
std::string inBranch(Condition condition, std::array<unsigned, 3> block = kBlock) {
  return traced([condition](fx::Tensor a,
                            fx::Int32 n) { fx::if_(condition(a, n), [] { fx::gpu::barrier(); }); },
                block);
}
/// The same for a reduction of `width` lanes.
template <class Condition> std::string reduced(Condition condition, int width = 64) {
  return traced([=](fx::Tensor a, fx::Int32 n) {
    fx::if_(condition(n), [&] { a(0) = fx::gpu::warp_reduce(a(1), Reduction::add, width); });
  });
}
const auto thread = [] { return fx::thread_idx().x; };

} // namespace

TEST_CASE("a barrier in a branch that some threads take is refused") {
  for (const std::string &said :
       {inBranch([](auto, auto) { return thread() < 64; }),
        inBranch([](auto, const auto &n) { return thread() < n; }),
        inBranch([](auto, const auto &n) { return thread() / 64 + n > 3; }),
        inBranch([](auto, const auto &n) { return n > 1 && fx::gpu::lane_id() == 0; }),
        inBranch([](auto, auto) { return fx::thread_idx().y == 0; }, {64, 4, 1})}) {
    CHECK_THAT(said,
               Catch::Contains("a barrier in a branch whose condition comes from the thread's "
                               "number, at ") &&
                   Catch::Contains("arrivals_test.cpp:") &&
                   Catch::Contains("put it after the branch, or branch on what is the same "
                                   "for the whole block"));
  }
  CHECK_THAT(traced([](fx::Tensor a, auto) {
               fx::SharedAllocator shared;
               fx::if_(
                   thread() > 9, [] {},
                   [&] { a(0) = fx::gpu::block_reduce(a(1), Reduction::add, shared); });
             }),
             Catch::Contains("BlockReduce in a branch whose condition"));
  // A loop or a branch between them hides nothing.
  CHECK_THAT(traced([](fx::Tensor, fx::Int32 n) {
               fx::if_(thread() < 64, [&] {
                 for (fx::Int32 i : fx::range(n))
                   fx::if_(i > 3, [] { fx::gpu::barrier(); });
               });
             }),
             Catch::Contains("a barrier in a branch"));
}

TEST_CASE("a barrier in a loop that ends at different times is refused") {
  const std::string said = traced([](fx::Tensor, fx::Int32 n) {
    for ([[maybe_unused]] fx::Int32 i : fx::range(thread(), n, 256))
      fx::gpu::barrier();
  });
  CHECK_THAT(said,
             Catch::Contains("a barrier in a loop whose range comes from the thread's number") &&
                 Catch::Contains("let the loop run over what is the same for the whole block"));
  CHECK_THAT(traced([](fx::Tensor, auto) {
               for ([[maybe_unused]] fx::Int32 i : fx::range(thread() / 64, 10, 4))
                 fx::gpu::barrier(); // waves 0 and 1 have three steps
             }),
             Catch::Contains("a barrier in a loop"));
  CHECK_THAT(traced([](fx::Tensor, auto) {
               for (fx::Int32 i : fx::range(thread(), 1024, 256))
                 fx::if_(i < 700, [] { fx::gpu::barrier(); });
             }),
             Catch::Contains("a barrier in a branch"));
}

TEST_CASE("a barrier that all threads come to is not refused") {
  CHECK(inBranch([](auto, const auto &n) { return n > 3; }) == "no error");
  CHECK(inBranch([](auto, const auto &n) { return fx::block_idx().x < n; }) == "no error");
  // What is made of the thread's number may be the same for all.
  CHECK(inBranch([](auto, auto) { return thread() < 256; }) == "no error");
  CHECK(inBranch([](auto, const auto &n) { return thread() / 256 + n > 3; }) == "no error");
  CHECK(inBranch([](auto, auto) { return fx::thread_idx().y == 0; }) == "no error");
  CHECK(inBranch([](auto, auto) { return thread() % 64 < 64; }, {0, 0, 0}) == "no error");
  // Nothing is known of what is in memory.
  CHECK(inBranch([](const auto &a, auto) { return a(thread()) > 0; }) == "no error");
  CHECK(traced([](fx::Tensor, auto) {
          for ([[maybe_unused]] fx::Int32 i : fx::range(thread(), 1024, 256))
            fx::gpu::barrier(); // four steps each
        }) == "no error");
  // Waves in different branches may meet at a bare instruction.
  CHECK(traced([](fx::Tensor, auto) { fx::if_(thread() < 128, [] { fx::rocdl::s_barrier(); }); }) ==
        "no error");
}

TEST_CASE("a reduction across lanes is refused where a group is not complete") {
  CHECK_THAT(
      reduced([](auto) { return thread() < 40; }),
      Catch::Contains("warp_reduce in a branch whose condition comes from the thread's number") &&
          Catch::Contains("the same for each group of 64 lanes"));
  CHECK_THAT(reduced([](const auto &n) { return thread() < n; }),
             Catch::Contains("warp_reduce in"));
  CHECK_THAT(reduced([](auto) { return thread() % 64 < 40; }, 16), Catch::Contains("of 16 lanes"));
  CHECK(reduced([](auto) { return thread() < 128; }) == "no error");
  CHECK(reduced([](const auto &n) { return thread() / 64 < n; }) == "no error");
  CHECK(reduced([](auto) { return thread() % 64 < 32; }, 16) == "no error");
  CHECK(traced([](fx::Tensor a, fx::Int32 n) {
          for (fx::Int32 row : fx::range(thread() / 64, n, 4))
            a(row) = fx::gpu::warp_reduce(a(row), Reduction::add);
        }) == "no error");
  CHECK(traced([](fx::Tensor a, auto) {
          fx::exit_if(thread() >= 192);
          a(0) = fx::gpu::warp_reduce(a(1), Reduction::add);
        }) == "no error");
}

namespace {
/// The message of a kernel for gfx1250 in blocks of four waves, with a matrix of floats.
std::string onFourWaves(const std::function<void(const fx::Tensor &, const fx::Int32 &)> &body) {
  return errorOf([body](fx::Tensor a, fx::Int32 n) { body(a, n); },
                 {arrayArg(fx::f32, 1024), scalarArg(fx::i32)},
                 {.block = {128, 1, 1}, .target = "gfx1250"});
}
fx::Int32 wave() { return fx::rocdl::wave_id(); }
fx::Int32 first(const fx::Int32 &value) { return fx::Int32(fx::rocdl::readfirstlane(value)); }
} // namespace

TEST_CASE("a barrier in a branch of some waves is refused, however they are told apart") {
  const auto said = [](auto condition) {
    return onFourWaves(
        [condition](auto &a, auto &n) { fx::if_(condition(a, n), [] { fx::gpu::barrier(); }); });
  };
  const auto refused = Catch::Contains("a barrier in a branch whose condition comes from");
  CHECK_THAT(said([](auto &, auto &) { return wave() == 0; }), refused);
  CHECK_THAT(said([](auto &, auto &n) { return n > 3 && wave() < 2; }), refused);
  CHECK_THAT(said([](auto &, auto &n) { return wave() < 2 || n > 3; }), refused);
  CHECK_THAT(said([](auto &, auto &) { return first(thread() / 32) < 1; }), refused);
  CHECK_THAT(said([](auto &, auto &n) { return first(thread() / 32 + n) < 1; }), refused);
  // Which lane is the first one depends on which are on.
  CHECK_THAT(said([](auto &, auto &) { return first(thread() % 32) == 0; }), refused);
  // All of them, by the number of the wave too.
  CHECK(said([](auto &, auto &) { return wave() < 4; }) == "no error");
  CHECK(said([](auto &, auto &) { return first(thread() / 32) / 4 == 0; }) == "no error");
  CHECK(said([](auto &a, auto &) {
          return first(fx::Int32(fx::Numeric(a(thread())).to(fx::i32))) > 0;
        }) == "no error");
  CHECK(said([](auto &a, auto &) {
          const auto buffer = fx::rocdl::make_buffer_ptr(a.iter());
          return fx::Int32(fx::rocdl::s_buffer_load(buffer, wave() * 4, fx::i32)) > 0;
        }) == "no error");
  CHECK(said([](auto &, auto &) { return fx::rocdl::cluster_workgroup_flat_id() == 0; }) ==
        "no error");
  CHECK_THAT(onFourWaves([](auto &, auto &) {
               for ([[maybe_unused]] fx::Int32 i : fx::range(wave(), 6, 4))
                 fx::gpu::barrier();
             }),
             Catch::Contains("a barrier in a loop whose range comes from"));
}

TEST_CASE("a reduction across lanes is not refused where the lanes of a wave agree") {
  const auto said = [](auto condition) {
    return onFourWaves([condition](const fx::Tensor &a, auto &n) {
      fx::if_(condition(n), [&] { a(0) = fx::gpu::warp_reduce(a(1), Reduction::add, 32); });
    });
  };
  CHECK(said([](auto &) { return wave() == 0; }) == "no error");
  CHECK(said([](auto &) { return first(thread()) < 40; }) == "no error");
  CHECK(said([](auto &n) { return fx::Int32(fx::rocdl::readlane(thread(), 3)) < n; }) ==
        "no error");
  CHECK(said([](auto &) { return fx::rocdl::ballot(thread() % 32 < 4) != 0; }) == "no error");
}

TEST_CASE("a tensor move tells waves that share a tile from the waves that get there") {
  namespace rocdl = fx::rocdl;
  const auto said = [](auto around) {
    return errorOf(
        [around](fx::Tensor x, fx::Int32 n) {
          const fx::Tensor tile =
              fx::SharedAllocator().tensor(fx::f32, fx::make_layout({8, 8}, {8, 1}));
          around(n, [&] { rocdl::tensor_load_to_lds(x, {0, 0}, tile, {.waves = 1}); });
        },
        {matrixArg(fx::f32), scalarArg(fx::i32)}, {.block = {128, 1, 1}, .target = "gfx1250"});
  };
  const auto refused =
      Catch::Contains("the tile is for 1 of the block's 4 waves, but all waves get here");
  using Move = std::function<void()>;
  const auto branch = [&](auto condition) {
    return said([condition](auto &n, const Move &move) { fx::if_(condition(n), move); });
  };
  const auto loop = [&](auto first, auto end, auto step) {
    return said([=](auto &n, const Move &move) {
      for ([[maybe_unused]] fx::Int32 i : fx::range(first(n), end(n), step))
        move();
    });
  };
  const auto number = [](int value) { return [value](auto &) { return fx::Int32(value); }; };
  const auto own = [](auto &) { return wave(); };
  // All waves, or none.
  CHECK_THAT(branch([](auto &n) { return n > 0; }), refused);
  CHECK_THAT(branch([](auto &n) { return n > 0 && fx::Int32(fx::block_idx().x) == 0; }), refused);
  CHECK_THAT(branch([](auto &) { return wave() < 4; }), refused);
  CHECK_THAT(branch([](auto &) { return rocdl::cluster_workgroup_flat_id() == 0; }), refused);
  CHECK_THAT(loop(
                 number(0), [](auto &n) { return n; }, 1),
             refused);
  // Some waves, or each with numbers of its own.
  CHECK(branch([](auto &) { return wave() == 0; }) == "no error");
  CHECK(branch([](auto &n) { return n > 0 && wave() == 0; }) == "no error");
  CHECK(branch([](auto &n) { return wave() == 0 && n > 0; }) == "no error");
  CHECK(branch([](auto &) { return first(thread() / 32) == 0; }) == "no error");
  CHECK(loop(own, number(1), 4) == "no error");
  CHECK(loop(own, number(8), 4) == "no error");
  CHECK(loop(
            number(0), [](auto &) { return fx::Int32(fx::select(wave() < 1, 2, 0)); }, 1) ==
        "no error");
  // A branch that only some lanes of a wave take does not choose waves.
  CHECK_THAT(branch([](auto &n) { return n > 0 && thread() % 32 < 4; }),
             Catch::Contains("a tensor move in a branch whose condition comes from"));
}
