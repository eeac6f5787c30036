// The orders of workgroups and waves, as a launch executes them.
#include "wave_test.h"

#include "assemble.h"

#include "emulator/core/checks.h"
#include "emulator/core/order.h"
#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>

using namespace flyemu;
using namespace flyemu::test;

namespace {
/// The workgroup and the wave of each instruction that is executed.
using Steps = std::vector<std::pair<unsigned, unsigned>>;

Steps stepsOf(unsigned groups, unsigned waves, const Order &order, uint32_t slice) {
  const std::vector<uint32_t> words = assemble("gfx942", "s_nop 0\ns_nop 0\ns_endpgm\n");
  KernelCode kernel;
  kernel.name = "steps";
  kernel.program = decodeProgram("gfx942", words.data(), words.size() * 4);
  kernel.entry = reinterpret_cast<uint64_t>(words.data());
  TestMemory memory;
  Dispatch launch;
  launch.kernel = &kernel;
  launch.grid = {groups, 1, 1};
  launch.block = {64 * waves, 1, 1};
  Options options;
  options.order = order;
  options.slice = slice;
  Steps steps;
  options.trace = [&](const std::string &line) {
    unsigned group = 0, wave = 0;
    REQUIRE(std::sscanf(line.c_str(), "wg(%u,0,0) wave %u", &group, &wave) == 2);
    steps.emplace_back(group, wave);
  };
  const DispatchResult result = runDispatch(launch, memory, options);
  INFO(result.fault.message);
  REQUIRE(result.ok);
  REQUIRE(steps.size() == size_t(3) * groups * waves);
  return steps;
}

/// The waves of `steps`, one digit each.
std::string wavesOf(const Steps &steps) {
  std::string text;
  for (const auto &step : steps)
    text += static_cast<char>('0' + step.second);
  return text;
}
std::string groupsOf(const Steps &steps) {
  std::string text;
  for (const auto &step : steps)
    text += static_cast<char>('0' + step.first);
  return text;
}
} // namespace

TEST_CASE("waves take turns in the order that is asked for") {
  using Kind = Order::Kind;
  CHECK(wavesOf(stepsOf(1, 3, {}, kDefaultSlice)) == "000111222");
  CHECK(wavesOf(stepsOf(1, 3, {}, 1)) == "012012012");
  CHECK(wavesOf(stepsOf(1, 3, {}, 2)) == "001122012");
  CHECK(wavesOf(stepsOf(1, 3, {Kind::Backwards}, kDefaultSlice)) == "222111000");
  CHECK(wavesOf(stepsOf(1, 3, {Kind::Backwards}, 1)) == "210210210");
  CHECK(wavesOf(stepsOf(1, 3, {Kind::Rotated}, 1)) == "120201012");
  // A seed gives one order at all times, and two seeds two of them.
  const std::string one = wavesOf(stepsOf(1, 8, {Kind::Shuffled, 1}, 1));
  CHECK(one == wavesOf(stepsOf(1, 8, {Kind::Shuffled, 1}, 1)));
  CHECK(one != wavesOf(stepsOf(1, 8, {Kind::Shuffled, 2}, 1)));
  CHECK(one.substr(0, 8) != one.substr(8, 8));
  for (size_t turn = 0; turn < 3; ++turn) {
    std::string waves = one.substr(turn * 8, 8);
    std::sort(waves.begin(), waves.end());
    CHECK(waves == "01234567");
  }
}

TEST_CASE("workgroups begin in the order that is asked for") {
  using Kind = Order::Kind;
  CHECK(groupsOf(stepsOf(4, 1, {}, kDefaultSlice)) == "000111222333");
  CHECK(groupsOf(stepsOf(4, 1, {Kind::Backwards}, kDefaultSlice)) == "333222111000");
  CHECK(groupsOf(stepsOf(4, 1, {Kind::Rotated}, kDefaultSlice)) == "222333000111");
  CHECK(groupsOf(stepsOf(9, 1, {Kind::Shuffled, 3}, kDefaultSlice)) !=
        groupsOf(stepsOf(9, 1, {}, kDefaultSlice)));
}

TEST_CASE("every order has every workgroup once") {
  for (const Order::Kind kind :
       {Order::Kind::Forwards, Order::Kind::Backwards, Order::Kind::Rotated, Order::Kind::Shuffled})
    for (const uint64_t count : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097})
      for (const uint64_t seed : {0, 1, 12345}) {
        std::vector<uint64_t> all(count);
        for (uint64_t place = 0; place < count; ++place)
          all[place] = Order{kind, seed}.workgroup(place, count);
        std::sort(all.begin(), all.end());
        std::vector<uint64_t> expected(count);
        std::iota(expected.begin(), expected.end(), uint64_t(0));
        CHECK(all == expected);
      }
}

TEST_CASE("words for orders and checks that are none are refused") {
  const std::optional<Order> seeded = orderNamed("shuffled:18446744073709551615");
  REQUIRE(seeded);
  CHECK(seeded->kind == Order::Kind::Shuffled);
  CHECK(seeded->seed == UINT64_MAX);
  REQUIRE(orderNamed("backwards"));
  CHECK(orderNamed("backwards")->kind == Order::Kind::Backwards);
  for (const char *bad : {"", "forward", "Backwards", "backwards:1", "shuffled:", "shuffled:x",
                          "shuffled:-1", "shuffled:1x", "shuffled:18446744073709551616", "1"}) {
    INFO(bad);
    CHECK_FALSE(orderNamed(bad));
  }
  CHECK(checksNamed("wait,race") == (kCheckWait | kCheckRace));
  CHECK(checksNamed("all") ==
        (kCheckMemory | kCheckRace | kCheckInit | kCheckSync | kCheckWait | kCheckStreams));
  for (const char *bad : {"waits", "race;wait", "wait ", "All"}) {
    INFO(bad);
    CHECK_FALSE(checksNamed(bad));
  }
}

TEST_CASE("an order shows a race that another hides") {
  // The second wave writes what the first one reads, without a barrier.
  const std::string code = "v_readfirstlane_b32 s20, v0\nv_mov_b32 v2, 5\nv_mov_b32 v1, 0\n"
                           "v_mov_b32 v9, 0\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 second\n"
                           "ds_read_b32 v9, v1\ns_branch past\nsecond:\nds_write_b32 v1, v2\n"
                           "v_mov_b32 v9, 0\npast:\ns_waitcnt lgkmcnt(0)\n"
                           "global_atomic_add v1, v9, s[2:3]\n";
  auto sum = [&](const Order &order) {
    WaveRun w;
    w.waves = 2;
    w.lds = 64;
    w.memory.resize(256);
    w.exec = 1;
    w.order = order;
    w.run(code);
    return w.memory[0];
  };
  CHECK(sum({}) == 0);
  CHECK(sum({Order::Kind::Backwards}) == 5);
}
