// Races in global memory at places where no memory is: accesses are noted before their addresses
// are looked at.
#include "emulator/observe/races/global_races.h"

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

namespace {
/// A workgroup of one wave, which accesses one dword.
struct Workgroup {
  GlobalRaces &races;
  uint32_t number;
  GlobalRaces::GroupOrder order{};

  Workgroup(GlobalRaces &of, uint32_t n) : races(of), number(n) { races.begin(order, 1); }
  /// What is missing for the access to come after the others.
  GlobalRaces::Missing access(bool writes, bool atomic) {
    order.touched = true;
    GlobalRaces::Missing found = GlobalRaces::Missing::Nothing;
    races.access({1, number, 0, atomic ? Touch::kAtomic : 0}, order,
                 LaneAccess(0, 4096, 4, writes, atomic),
                 [&](const Touch &, bool, GlobalRaces::Missing missing, uint64_t, uint64_t,
                     uint64_t) { found = missing; });
    return found;
  }
};
} // namespace

TEST_CASE("the last of two atomic operations is known, in whichever order they are noted") {
  using Missing = GlobalRaces::Missing;
  const auto releaseBy = GENERATE(ReleaseBy::WriteBack, ReleaseBy::Publication, ReleaseBy::Access);
  CAPTURE(static_cast<int>(releaseBy));
  GlobalRaces races(releaseBy);
  Workgroup first(races, 1), last(races, 2);
  // Their threads note both operations in one order, and run them in the other one.
  races.publish(1, first.order);
  races.publish(2, last.order);
  CHECK(last.access(true, true) == Missing::Nothing);
  CHECK(first.access(true, true) == Missing::Nothing);
  races.look(first.order);
  races.look(last.order);
  CHECK(last.access(true, false) == Missing::Nothing);
}

TEST_CASE("a plain store races with an atomic operation that its workgroup has not seen") {
  using Missing = GlobalRaces::Missing;
  const auto releaseBy = GENERATE(ReleaseBy::WriteBack, ReleaseBy::Publication, ReleaseBy::Access);
  const bool looksBefore = GENERATE(false, true);
  CAPTURE(static_cast<int>(releaseBy), looksBefore);
  GlobalRaces races(releaseBy);
  Workgroup one(races, 1), other(races, 2);
  if (looksBefore)
    races.look(other.order);
  races.publish(1, one.order);
  CHECK(one.access(true, true) == Missing::Nothing);
  CHECK(other.access(true, false) == Missing::Look);
}
