// What must hold of a kernel that several ranks run, where each device has caches.
#pragma once

#include "collective/meeting.h"

#include <catch2/catch.hpp>

namespace collective_tests {

/// Checks that all calls are right with everything that orders memory, whatever caches hold, and that
/// some are wrong without each of it. `right(order, calls)` makes so many calls, and gives the number
/// of those that are right.
template <class F> void expectNeeded(const F &right) {
  using Order = flydsl::kernels::impl::CollectiveOrder;
  CHECK(right(Order{}, 4) == 4);
  CHECK(right(Order{.looksAhead = true}, 4) == 4);
  CHECK(right(Order{.releases = false}, 4) < 4);
  CHECK(right(Order{.acquires = false, .looksAhead = true}, 4) < 4);
  CHECK(right(Order{.scope = flydsl::MemoryScope::agent, .looksAhead = true}, 4) < 4);
  CHECK(right(Order{.waits = false}, 4) < 4);
}

} // namespace collective_tests
