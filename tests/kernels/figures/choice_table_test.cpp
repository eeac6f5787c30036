// The least table of configurations that a list of problems needs (fly-kernels table).
#include "choice_table.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

using namespace fly_kernels;
using flydsl::Config;

namespace {
Config tile(int m, int stages) { return {{"tile_m", m}, {"stages", stages}}; }

/// Small problems like tiles of 16 rows, large ones tiles of 128, and those between have a tile of 64 that
/// is best and one of 128 that is 2 % slower.
const std::vector<TimedProblem> kProblems = {
    {"m=1", {tile(16, 2), 5}, {{tile(16, 2), 5}, {tile(16, 4), 4}, {tile(128, 2), 9}}},
    {"m=64", {tile(64, 2), 10}, {{tile(64, 2), 10}, {tile(128, 4), 10.2}, {tile(16, 2), 11}}},
    {"m=4096", {tile(128, 2), 90}, {{tile(64, 2), 120}, {tile(128, 2), 90}}},
};
} // namespace

TEST_CASE("a problem knows what is quickest, and what its choice loses") {
  CHECK(kProblems[0].quickest().config == tile(16, 4));
  CHECK(kProblems[0].lost() == Approx(1.25));
  CHECK(kProblems[1].lost() == 1);
}

TEST_CASE("a table has as few rows as serve all problems within a share of their least time") {
  const std::vector<std::string> field{"tile_m"};
  const auto table = leastTable(kProblems, field, 0.03);
  REQUIRE(table.size() == 2);
  CHECK(table[0].values == Config{{"tile_m", 128}}); // whatever its stages are
  CHECK(table[0].problems == std::vector<std::size_t>{1, 2});
  CHECK(table[1].values == Config{{"tile_m", 16}});
  CHECK(table[1].problems == std::vector<std::size_t>{0});

  // With less to spare, the tile between is needed; with much, one row serves all.
  CHECK(leastTable(kProblems, field, 0.01).size() == 3);
  CHECK(leastTable(kProblems, field, 2).size() == 1);
  // All fields: the stages of the first problem's quickest are a row of their own.
  const auto whole = leastTable(kProblems, std::vector<std::string>{"tile_m", "stages"}, 0.03);
  CHECK(whole.size() == 3);
}

TEST_CASE("a row is an initialiser of a table in C++") {
  CHECK(initialiserOf("tile_m=128 loop=ring dma=true") == "{128, ring, true},");
}

TEST_CASE("a table of a field that configurations do not have is refused with those that they have") {
  CHECK_THROWS_WITH(leastTable(kProblems, std::vector<std::string>{"tile_k"}, 0.03),
                    "a table of the field tile_k: the configurations have tile_m, stages");
  CHECK(leastTable({}, std::vector<std::string>{"tile_m"}, 0.03).empty());
}
