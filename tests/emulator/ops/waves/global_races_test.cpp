// Races in global memory at places where no memory is: accesses are noted before their addresses
// are looked at.
#include "emulator/observe/global_races.h"

#include <catch2/catch.hpp>

using namespace flyemu;

TEST_CASE("races are found up to the last byte of all addresses, and no further") {
  GlobalRaces races(ReleaseBy::WriteBack);
  const GlobalRaces::GroupOrder order;
  const auto touches = [&](uint32_t group, uint64_t first, uint64_t distance, unsigned bytes) {
    std::array<uint64_t, 64> places;
    for (unsigned lane = 0; lane < 64; ++lane)
      places[lane] = first + lane * distance;
    uint64_t conflicts = 0;
    races.access({1, group, 0, 0}, order,
                 LaneAccess(~uint64_t(0), places.data(), 0, bytes, /*writes=*/true, false),
                 [&](const Touch &, bool wrote, GlobalRaces::Missing, uint64_t, uint64_t address,
                     uint64_t size) {
                   CHECK(wrote);
                   CHECK(address >= first);
                   conflicts += size;
                 });
    return conflicts;
  };
  // A run on the last page that ends a word in front of its end, and lanes apart from each other.
  const uint64_t run = 0 - uint64_t(65) * 4, apart = 0 - uint64_t(64 * 64);
  CHECK(touches(1, run, 4, 4) == 0);
  CHECK(touches(2, run, 4, 4) == 256);
  CHECK(touches(3, apart - 4096, 64, 12) == 0);
  CHECK(touches(4, apart - 4096, 64, 12) == 64 * 12);
  CHECK(touches(5, 0, 4, 4) == 0); // nothing was noted behind the end
}
