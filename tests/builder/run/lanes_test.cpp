// Values across lanes: shuffles, reductions and scans of a wave and of a block, and AMD's own
// operations.
#include "run.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace fx = flydsl;

TEST_CASE("shuffles move values between lanes") {
  auto h = run::values<int>("shuffles", 64, 7, [](fx::Tensor out, fx::Int32 tid) {
    out(tid, 0) = fx::gpu::shuffle_xor(tid, 5);
    out(tid, 1) = fx::gpu::shuffle_up(tid, 3, 16);
    out(tid, 2) = fx::gpu::shuffle_down(tid, 2, 8);
    out(tid, 3) = fx::gpu::shuffle_idx(tid, tid % 4);
    out(tid, 4) = fx::gpu::lane_id();
    out(tid, 5) = fx::gpu::shuffle_idx(tid, 11, 8);
    out(tid, 6) = fx::gpu::shuffle_idx(tid, fx::gpu::lane_id() / 8 * 8 + 3, 8);
  });
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    auto at = [&](int i) { return h[std::size_t(t) * 7 + std::size_t(i)]; };
    const int wave = t / run::waveSize() * run::waveSize();
    // Lane 11 of the wave is behind the end of the group of the lanes 0 to 7, and of no other.
    wrong += at(5) != (t - wave < 8 ? t : wave + 11) || at(6) != t / 8 * 8 + 3;
    wrong += t % 8 >= 6 && at(2) != t;
    wrong += at(0) != (t ^ 5) || (t % 16 >= 3 && at(1) != t - 3) || (t % 8 < 6 && at(2) != t + 2) ||
             at(3) != wave + t % 4 || at(4) != t % run::waveSize();
  }
  CHECK(wrong == 0);
}

TEST_CASE("scans of a wave and of a block, for every combination") {
  const fx::Reduction ops[] = {fx::Reduction::add, fx::Reduction::mul, fx::Reduction::min,
                               fx::Reduction::max};
  for (fx::Reduction op : ops) {
    const fx::Kernel scan{"scan", [op](fx::Tensor out, fx::Tensor in) {
                            auto at = fx::thread_idx();
                            fx::Int32 tid = at.x + at.y * 64;
                            fx::Numeric x = in(tid);
                            fx::SharedAllocator shared;
                            out(tid, 0) = fx::gpu::warp_inclusive_scan(x, op, 8);
                            out(tid, 1) = fx::gpu::warp_exclusive_scan(x, op, 8);
                            out(tid, 2) = fx::gpu::block_inclusive_scan(x, op, shared);
                            out(tid, 3) = fx::gpu::block_exclusive_scan(x, op, shared);
                            out(tid, 4) = fx::gpu::block_reduce(x, op, shared);
                          }};
    std::vector<std::int64_t> x;
    for (int i = 0; i < 256; ++i)
      x.push_back(op == fx::Reduction::mul ? 1 + (i % 41 == 7) : (i * 37) % 101 - 50);
    fx::DeviceArray<std::int64_t> in({256}), out({256, 5});
    in.copy_from(x);
    out.poison();
    scan(out, in).launch({.grid = 1, .block = {64, 4}});
    auto h = out.to_host();
    auto combine = [op](std::int64_t a, std::int64_t b) {
      return op == fx::Reduction::add   ? a + b
             : op == fx::Reduction::mul ? a * b
             : op == fx::Reduction::min ? std::min(a, b)
                                        : std::max(a, b);
    };
    const std::int64_t neutral = op == fx::Reduction::add   ? 0
                                 : op == fx::Reduction::mul ? 1
                                 : op == fx::Reduction::min ? INT64_MAX
                                                            : INT64_MIN;
    int wrong = 0;
    std::int64_t group = neutral, block = neutral, whole = neutral;
    for (std::int64_t v : x)
      whole = combine(whole, v);
    for (std::size_t t = 0; t < 256; ++t) {
      if (t % 8 == 0)
        group = neutral;
      const std::int64_t before[] = {group, block};
      group = combine(group, x[t]);
      block = combine(block, x[t]);
      const std::int64_t expected[] = {group, before[0], block, before[1], whole};
      for (std::size_t i = 0; i < 5; ++i)
        wrong += h[t * 5 + i] != expected[i];
    }
    INFO("operation " << int(op));
    CHECK(wrong == 0);
  }
}

TEST_CASE("AMD's lane instructions move values as documented") {
  auto h = run::values<int>("lanes", 64, 8, [](fx::Tensor out, fx::Int32 tid) {
    int i = 0;
    fx::Int32 lane = fx::gpu::lane_id();
    out(tid, i++) = fx::rocdl::readfirstlane(tid + 7);
    out(tid, i++) = fx::rocdl::readlane(tid, 3);
    out(tid, i++) = fx::rocdl::ds_bpermute((lane + 1) % fx::gpu::num_warp_threads() * 4, tid);
    out(tid, i++) = fx::rocdl::ds_swizzle(tid, 0x041f);               // lane ^ 1
    out(tid, i++) = fx::rocdl::update_dpp(fx::Int32(-1), tid, 0x111); // row_shr:1
    out(tid, i++) = fx::rocdl::ballot(tid % 3 == 0).to(fx::i32);
    out(tid, i++) = fx::rocdl::perm_b32(tid, 0x44332211, 0x07000102);
    out(tid, i++) = fx::rocdl::inline_asm("v_xor_b32 $0, $1, $2", "=v,v,v", fx::i32, {tid, 64});
  });
  const int wave = run::waveSize();
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    const int first = t / wave * wave, lane = t % wave;
    unsigned ballot = 0;
    for (int l = 0; l < 32; ++l)
      ballot |= unsigned((first + l) % 3 == 0) << l;
    const unsigned byte = unsigned(t) >> 24;
    const int expected[] = {first + 7,
                            first + 3,
                            first + (lane + 1) % wave,
                            t ^ 1,
                            lane % 16 ? t - 1 : -1,
                            int(ballot),
                            int(byte << 24 | 0x11u << 16 | 0x22u << 8 | 0x33u),
                            t ^ 64};
    for (std::size_t i = 0; i < 8; ++i)
      if (h[std::size_t(t) * 8 + i] != expected[i] && ++wrong < 5)
        WARN("thread " << t << " column " << i << ": " << h[std::size_t(t) * 8 + i] << ", expected "
                       << expected[i]);
  }
  CHECK(wrong == 0);
}

// LLVM 22 folds the move between lanes into v_mad_i64_i32 and v_mad_u64_u32, which have no such
// form on RDNA.
TEST_CASE("What another lane brings is multiplied, and widened, on every target") {
  auto h = run::values<std::int64_t>("dpp_operands", 64, 3, [](fx::Tensor out, fx::Int32 tid) {
    // The thread's number, whose range the compiler does not know.
    const fx::Numeric t = fx::rocdl::ds_bpermute(fx::gpu::lane_id() * 4, tid);
    auto below = [&](int factor) { // one move for each use
      const fx::Numeric x = t * factor;
      return fx::rocdl::update_dpp(x, x, 0x111, 0xf, 0xf, true); // row_shr:1
    };
    out(tid, 0) = (below(3) * t + (t ^ 9)).to(fx::i64);
    out(tid, 1) = below(5).to(fx::i64) * t.to(fx::i64) + tid.to(fx::i64);
    out(tid, 2) = below(7).to(fx::f64).to(fx::i64);
  });
  int wrong = 0;
  for (int t = 0; t < 64; ++t) {
    auto below = [&](std::int64_t factor) { return t % 16 ? (t - 1) * factor : 0; };
    const auto row = h.begin() + 3 * t;
    wrong += row[0] != below(3) * t + (t ^ 9) || row[1] != below(5) * t + t || row[2] != below(7);
  }
  CHECK(wrong == 0);
}
