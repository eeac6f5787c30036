// The tables of this program have executed every instruction that the emulator has.
#include "machine.h"

#include "emulator/core/dispatch.h"
#include "emulator/ops/coverage.h"

#include <catch2/catch.hpp>

namespace flyemu::test {

TEST_CASE("coverage: every implemented instruction has been executed") {
  // Instructions that end or stop the wave have their tests in the control table, which runs them
  // like all others. Only a run of the whole program says something here.
  std::string untested;
  size_t count = 0;
  for (const char *target : kTargets) {
    const Coverage c = coverage(target);
    CHECK(c.missing.empty());
    const std::set<std::string> &executed = executedOn(target);
    for (const std::string &name : c.implemented)
      if (!executed.count(name)) {
        untested += std::string(target) + ": " + name + "\n";
        ++count;
      }
  }
  INFO(count << " instructions were not executed:\n" << untested);
  if (executedOn("gfx942").size() > 1000)
    CHECK(count == 0);
  CHECK(coverage("gfx1200").missing.empty()); // what it has is that of its kin
}

} // namespace flyemu::test
