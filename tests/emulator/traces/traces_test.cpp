// The estimate's clock beside the stamps of real waves (README.md).
#include "replay.h"
#include "sq_trace.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

using namespace flyemu::test;

namespace {

/// The cycles from the instruction before, of both.
struct Distance {
  std::string text;
  double silicon = 0, emulated = 0;
};

std::vector<Distance> distances(const std::vector<Step> &steps) {
  std::vector<Distance> all;
  for (size_t i = 1; i < steps.size(); ++i)
    all.push_back({steps[i].text, double(steps[i].silicon - steps[i - 1].silicon),
                   double(steps[i].emulated - steps[i - 1].emulated)});
  if (std::getenv("TRACES_PRINT"))
    for (const Distance &d : all)
      std::cout << d.silicon << '\t' << d.emulated << '\t' << d.text << '\n';
  return all;
}

/// The sum of the distances of all instructions from one that begins so to one that does, the first one
/// left out.
Distance between(const std::vector<Distance> &all, const std::string &from, const std::string &to) {
  const auto begins = [](const std::string &text) {
    return [&](const Distance &d) { return d.text.starts_with(text); };
  };
  const auto first = std::find_if(all.begin(), all.end(), begins(from));
  REQUIRE(first != all.end());
  const auto last = std::find_if(first + 1, all.end(), begins(to));
  REQUIRE(last != all.end());
  Distance sum{from + " to " + to};
  for (auto at = first + 1; at <= last; ++at) {
    sum.silicon += at->silicon;
    sum.emulated += at->emulated;
  }
  return sum;
}

} // namespace

TEST_CASE("stores to LDS, a barrier and loads from LDS take as long as on RDNA3 and RDNA4") {
  const std::string target = GENERATE("gfx1100", "gfx1201");
  const unsigned wave = GENERATE(0u, 1u);
  CAPTURE(target, wave);
  // Two of the four waves share the SIMD that is traced.
  const std::vector<Distance> all =
      distances(stepsOf({target + "-lds", target, 128, 512}, 0, wave, wave * 2));
  REQUIRE(all.size() == 13);
  // The first wait is for the first load of all from memory, for which the estimate has a part of its own.
  Distance sum;
  for (size_t i = 1; i < all.size(); ++i) {
    CAPTURE(all[i].text, all[i].silicon, all[i].emulated);
    CHECK(std::abs(all[i].silicon - all[i].emulated) <= 6);
    sum.silicon += all[i].silicon;
    sum.emulated += all[i].emulated;
  }
  CAPTURE(sum.silicon, sum.emulated);
  CHECK(sum.emulated == Approx(sum.silicon).epsilon(0.06));
  // What each figure of the model stands for.
  const auto near = [&](const std::string &from, const std::string &to, double cycles) {
    const Distance d = between(all, from, to);
    CAPTURE(d.text, d.silicon, d.emulated);
    CHECK(d.emulated == Approx(d.silicon).margin(cycles));
  };
  const std::string wait = target == "gfx1100" ? "s_waitcnt" : "s_wait_dscnt";
  near("v_lshlrev_b32", "ds_store_b32", 1); // a result on its way to LDS
  near("ds_store_b32", wait, 3);
  // All four waves ask for LDS at once, and on silicon they get it in another order.
  near("s_barrier", "v_add_nc_u32", 6);
  near("ds_load_b32", wait, 5);
}

TEST_CASE(
    "rounds of scalar, vector, transcendental and matrix instructions take as long as on RDNA4") {
  // 256 threads, so that each SIMD has two waves, as the one that is traced.
  const std::vector<Step> steps = stepsOf({"gfx1201-pipes", "gfx1201", 256, 512}, 0, 0, 0);
  std::vector<Distance> rounds(1);
  for (const Distance &d : distances(steps)) {
    rounds.back().silicon += d.silicon;
    rounds.back().emulated += d.emulated;
    if (d.text.starts_with("s_cbranch"))
      rounds.emplace_back();
  }
  REQUIRE(rounds.size() == 9);
  // The first rounds fill the instruction cache, and share the SIMD; then the wave is alone.
  for (size_t i = 5; i < 8; ++i) {
    CAPTURE(i, rounds[i].silicon, rounds[i].emulated);
    CHECK(rounds[i].silicon == 203);
    CHECK(rounds[i].emulated == Approx(203).epsilon(0.05));
  }
  // Vector instructions by themselves: their rates are those of the silicon but for shifts of 64 bits,
  // which take two cycles there.
  double silicon = 0, emulated = 0;
  const std::vector<Distance> all = distances(steps);
  size_t sixth = 0;
  for (size_t round = 0; round < 6; ++sixth)
    round += all[sixth].text.starts_with("s_cbranch");
  // Each matrix instruction, and the scalar one that waits for the first of them, issues when it does on the
  // silicon; the ninth one in the time that results of transcendental functions are on their way to the first.
  size_t product = sixth;
  while (!all[product].text.starts_with("v_wmma"))
    ++product;
  for (size_t i = 0; i < 11; ++i) {
    const Distance &d = all[product + i];
    CAPTURE(i, d.text, d.silicon, d.emulated);
    CHECK(d.text.starts_with(i < 10 ? "v_wmma" : "s_add_co_i32"));
    CHECK(std::abs(d.emulated - d.silicon) <= (i < 9 ? 3 : 0));
  }
  for (size_t i = sixth; !all[i].text.starts_with("v_wmma"); ++i)
    if (all[i].text.starts_with("v_") && !all[i].text.starts_with("v_mov_b32_e32 v20") &&
        all[i].silicon <= 4) {
      silicon += all[i].silicon;
      emulated += all[i].emulated;
    }
  CAPTURE(silicon, emulated);
  CHECK(emulated == Approx(silicon).epsilon(0.1));
}

TEST_CASE("loads from LDS and sums that wait for each other take as long as on CDNA4") {
  // In the mean of the four waves of a compute unit, whose stamps are multiples of four.
  std::array<std::vector<Distance>, 4> waves;
  for (unsigned simd = 0; simd < 4; ++simd)
    waves[simd] = distances(stepsOf({"gfx950-product", "gfx950", 16, 64}, simd, 0, 0));
  const auto near = [&](const std::string &from, const std::string &to, double share) {
    Distance mean;
    for (const std::vector<Distance> &wave : waves) {
      const Distance d = between(wave, from, to);
      mean.silicon += d.silicon / 4;
      mean.emulated += d.emulated / 4;
    }
    CAPTURE(from, to, mean.silicon, mean.emulated);
    CHECK(std::abs(mean.emulated - mean.silicon) <= share * mean.silicon);
  };
  near("v_add_f32_e32 v2, v2, v3", "ds_write_b32", 0.1); // a result on its way to LDS
  near("ds_write_b32", "s_and_saveexec_b64", 0.2);
  near("v_mov_b32_e32 v16", "ds_read_b128", 0.2);
  near("ds_read_b128", "v_add_f32_e32 v0, v0, v1", 0.25); // the first data of LDS
  // Sums, each of the one before; silicon issues waits and scalar instructions beside them.
  near("v_add_f32_e32 v0, v0, v1", "global_store_dword", 0.15);
}

TEST_CASE("a stream that begins with no header is no trace") {
  CHECK_THROWS_AS(readSqTrace({}), std::runtime_error);
  CHECK_THROWS_AS(readSqTrace(std::array<uint8_t, 16>{0x42}), std::runtime_error);
  // Layout 4, padding, and a packet that the end cuts.
  CHECK(readSqTrace(std::array<uint8_t, 9>{0x11, 0x02, 0, 0, 0, 0, 0, 0, 0x0c}).empty());
}
