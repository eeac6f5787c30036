// The tables of this program have executed every instruction that the emulator has.
#include "machine.h"

#include "emulator/core/dispatch.h"
#include "emulator/ops/coverage.h"
#include "emulator/ops/refused.h"

#include <catch2/catch.hpp>

namespace flyemu::test {

TEST_CASE("coverage: every implemented instruction has been executed") {
  // Instructions that end or stop the wave have their tests in the control table, which runs them
  // like all others. Only a run of the whole program says something here.
  std::string untested;
  size_t count = 0;
  for (const char *target : kEmulatedTargets) {
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

TEST_CASE("coverage: gfx1250 has what other targets have, or says why not") {
  // What it has alone is in tests/emulator/ops/gfx1250. These tables run most of the rest.
  const Coverage c = coverage("gfx1250");
  for (const std::string &name : c.missing) {
    INFO(name);
    CHECK(refusalOf(name, *findMachine("gfx1250")) != nullptr);
  }
  CHECK(c.missing.size() < c.implemented.size() / 9);
  if (executedOn("gfx942").size() > 1000)
    CHECK(executedOn("gfx1250").size() > 850);
}

} // namespace flyemu::test
