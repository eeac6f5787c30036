// The lanes that LDS serves together, against what others measured and published.
#include "operands.h"

#include "emulator/isa/machine.h"
#include "emulator/observe/lds_banks.h"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

using namespace flyemu;
using namespace flyemu::test;

namespace {

/// The phase of each lane, as published: lists of the first and last lanes of runs.
std::vector<int> phasesOf(const std::vector<std::vector<std::pair<int, int>>> &published) {
  std::vector<int> phase(64, -1);
  for (std::size_t p = 0; p < published.size(); ++p)
    for (const auto &[first, last] : published[p])
      for (int lane = first; lane <= last; ++lane) {
        REQUIRE(phase[std::size_t(lane)] == -1);
        phase[std::size_t(lane)] = static_cast<int>(p);
      }
  REQUIRE(std::count(phase.begin(), phase.end(), -1) == 0);
  return phase;
}

struct Published {
  const char *target;
  unsigned bytes;
  bool write;
  const char *code;
  std::vector<std::vector<std::pair<int, int>>> phases;
  unsigned banks;
};

const std::vector<Published> &published() {
  using Phases = std::vector<std::vector<std::pair<int, int>>>;
  const Phases runsOf4 = {{{0, 3}, {20, 23}},   {{4, 7}, {16, 19}},   {{8, 11}, {28, 31}},
                          {{12, 15}, {24, 27}}, {{32, 35}, {52, 55}}, {{36, 39}, {48, 51}},
                          {{40, 43}, {60, 63}}, {{44, 47}, {56, 59}}};
  const Phases sixteens = {{{0, 15}}, {{16, 31}}, {{32, 47}}, {{48, 63}}};
  static const std::vector<Published> all = {
      // Times of pairs of lanes on MI300, published with pyhip; Composable Kernel's documentation
      // has the same groups for ds_read_b128.
      {"gfx942", 8, false, "ds_read_b64 v[4:5], v1", sixteens, 32},
      {"gfx942", 16, false, "ds_read_b128 v[4:7], v1", runsOf4, 32},
      // Composable Kernel's documentation: 8 lanes in their order.
      {"gfx942",
       16,
       true,
       "ds_write_b128 v1, v[4:7]",
       {{{0, 7}},
        {{8, 15}},
        {{16, 23}},
        {{24, 31}},
        {{32, 39}},
        {{40, 47}},
        {{48, 55}},
        {{56, 63}}},
       32},
      // HipKittens' phase_results.txt and bank_results.txt of MI355X.
      {"gfx950", 8, false, "ds_read_b64 v[4:5], v1", {{{0, 31}}, {{32, 63}}}, 64},
      {"gfx950", 12, false, "ds_read_b96 v[4:6], v1", runsOf4, 32},
      {"gfx950",
       16,
       false,
       "ds_read_b128 v[4:7], v1",
       {{{0, 3}, {12, 15}, {20, 27}},
        {{4, 11}, {16, 19}, {28, 31}},
        {{32, 35}, {44, 47}, {52, 59}},
        {{36, 43}, {48, 51}, {60, 63}}},
       64},
      {"gfx950", 8, true, "ds_write_b64 v1, v[4:5]", sixteens, 32},
  };
  return all;
}

/// The conflicts of two lanes alone whose accesses begin so many dwords from each other.
uint64_t conflictsOf(LdsBanks &banks, const Published &p, unsigned a, unsigned b, unsigned dwords) {
  banks.touch(a, 0, p.bytes, p.write, false);
  banks.touch(b, dwords * 4, p.bytes, p.write, false);
  return banks.take(*findMachine(p.target)).conflicts;
}

} // namespace

TEST_CASE("two lanes meet in a bank where hardware serves them together") {
  LdsBanks banks; // of all, so that what it keeps of one access is not taken for another one
  for (const Published &p : published()) {
    const std::vector<int> phase = phasesOf(p.phases);
    INFO(p.target << " " << p.code);
    for (unsigned a = 0; a < 64; ++a)
      for (unsigned b = a + 1; b < 64; ++b) {
        INFO("lanes " << a << " and " << b);
        REQUIRE(conflictsOf(banks, p, a, b, 64) == (phase[a] == phase[b] ? 1 : 0));
      }
    // The bank comes again after as many dwords as there are banks.
    for (unsigned dwords = 4; dwords + 4 <= 64; ++dwords) {
      INFO(dwords << " dwords from each other");
      const bool meet = dwords > p.banks - p.bytes / 4 && dwords < p.banks + p.bytes / 4;
      CHECK(conflictsOf(banks, p, 0, 1, dwords) == (meet ? 1 : 0));
    }
  }
}

TEST_CASE("the counters of an instruction follow the lanes that are served together") {
  // Lane 0 and another one alone, at a distance of 64 dwords.
  for (const Published &p : published()) {
    const std::vector<int> phase = phasesOf(p.phases);
    for (unsigned lane : {1u, 4u, 7u, 8u, 12u, 16u, 20u, 24u, 31u, 32u, 52u, 63u}) {
      INFO(p.code << " lanes 0 and " << lane << " on " << p.target);
      WaveRun plain(p.target), w(p.target);
      plain.counters = w.counters = true;
      plain.lds = w.lds = 32768;
      plain.exec = w.exec = 1 | uint64_t(1) << lane;
      plain.v = w.v = {{1, iota(0, 256)}};
      plain.run("");
      w.run(p.code);
      const Counters &a = plain.result.counters, &b = w.result.counters;
      CHECK(b.SQ_LDS_BANK_CONFLICT - a.SQ_LDS_BANK_CONFLICT == (phase[lane] == phase[0] ? 1 : 0));
      CHECK(b.SQ_LDS_IDX_ACTIVE - a.SQ_LDS_IDX_ACTIVE == 2);
    }
  }
}

TEST_CASE("accesses to LDS without a published measurement are served in the order of the lanes") {
  struct Case {
    const char *target;
    unsigned bytes;
    bool write, atomic;
    unsigned addresses; ///< of a lane
    uint64_t active;    ///< cycles for 64 lanes one after another
  };
  const Case cases[] = {
      {"gfx942", 4, false, false, 1, 2},   {"gfx942", 4, true, false, 1, 2},
      {"gfx942", 1, false, false, 1, 2},   {"gfx942", 8, true, false, 1, 4},
      {"gfx942", 4, false, false, 2, 4},   {"gfx942", 8, false, false, 2, 8},
      {"gfx942", 4, true, true, 1, 2},     {"gfx90a", 16, true, false, 1, 8},
      {"gfx90a", 8, false, false, 1, 4},   {"gfx950", 4, false, false, 1, 1},
      {"gfx950", 4, true, false, 1, 2},    {"gfx950", 16, true, false, 1, 8},
      {"gfx950", 12, true, false, 1, 8},   {"gfx950", 8, false, false, 2, 4},
      {"gfx950", 8, true, false, 2, 8},    {"gfx950", 8, true, true, 1, 4},
      {"gfx1100", 16, false, false, 1, 8}, {"gfx1201", 16, true, false, 1, 8},
      {"gfx1201", 8, false, false, 1, 4},
  };
  for (const Case &c : cases) {
    INFO(c.target << ", " << c.bytes << " bytes, write " << c.write << ", atomic " << c.atomic
                  << ", addresses " << c.addresses);
    const auto cycles = [&](unsigned stride) {
      LdsBanks banks;
      for (unsigned k = 0; k < c.addresses; ++k)
        for (unsigned lane = 0; lane < 64; ++lane)
          banks.touch(lane, lane * stride + k * c.bytes, c.bytes, c.write, c.atomic);
      return banks.take(*findMachine(c.target));
    };
    const BankCycles together = cycles(c.bytes < 4 ? 4 : c.bytes * c.addresses);
    CHECK(together.active == c.active);
    CHECK(together.conflicts == 0);
    CHECK(cycles(0).conflicts == 0);  // all lanes want the same
    CHECK(cycles(1024).active == 64); // each begins in the same bank
  }
}

// What was counted is kept for accesses that are alike (LdsBanks::kept).
TEST_CASE("accesses that follow others take the cycles that each takes alone") {
  struct Access {
    const char *target;
    std::vector<std::uint64_t> addresses; ///< of each lane; two for each where there are 128
    std::uint64_t lanes;
    unsigned bytes;
    bool write;
  };
  const auto cycles = [](LdsBanks &banks, const Access &access) {
    for (std::size_t i = 0; i < access.addresses.size(); ++i)
      if (access.lanes >> i % 64 & 1)
        banks.touch(static_cast<unsigned>(i % 64), access.addresses[i], access.bytes, access.write,
                    false);
    const BankCycles taken = banks.take(*findMachine(access.target));
    return std::pair(taken.active, taken.conflicts);
  };
  std::mt19937 random(1);
  const auto below = [&](unsigned count) { return random() % count; };
  LdsBanks shared;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (int i = 0; i < 200; ++i) {
    Access access{.target = i % 2 ? "gfx942" : "gfx950",
                  .addresses = std::vector<std::uint64_t>(i % 5 ? 64 : 128),
                  .lanes = ~std::uint64_t(0),
                  .bytes = 4u << below(2),
                  .write = i % 3 == 0};
    const unsigned stride = 4 * below(40);
    for (std::size_t at = 0; at < access.addresses.size(); ++at)
      access.addresses[at] = 4096 + at * stride;
    // The same again, elsewhere, and with one thing changed.
    for (int change = 0; change < 12; ++change) {
      INFO("access " << i << ", change " << change << ", stride " << stride);
      LdsBanks alone;
      const auto taken = cycles(shared, access);
      CHECK(taken == cycles(alone, access));
      seen.insert(taken);
      switch (change % 6) {
      case 0:
      case 1:
        for (std::uint64_t &address : access.addresses)
          address += change % 6 ? 4 * below(64) : 256 * below(8);
        break;
      case 2:
        access.addresses[below(64)] += 4 * below(512);
        break;
      case 3: // a dword more of some lanes, which begin where they did
        for (std::uint64_t lane = below(2); lane < 64; lane += 1 + below(3))
          access.addresses[lane] += 2;
        break;
      case 4:
        access.lanes &= ~(std::uint64_t(1) << (1 + below(62)));
        break;
      default:
        access.bytes = 12 - access.bytes;
      }
    }
  }
  CHECK(seen.size() > 20);
}

TEST_CASE("the table of LDS names a machine, a source and each fact once") {
  std::set<std::tuple<std::string_view, LdsAccess, unsigned>> facts;
  for (const LdsRow &row : ldsRows()) {
    INFO(row.processor << " " << int(row.access) << " " << row.dwords);
    CHECK(findMachine(row.processor));
    CHECK(!row.source.empty());
    CHECK(facts.emplace(row.processor, row.access, row.dwords).second);
  }
}
