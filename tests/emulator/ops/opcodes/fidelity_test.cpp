// What the tables of emulator/fidelity say of instructions is what this program's tests hold them to.
#include "machine.h"
#include "vector_table.h"

#include "emulator/fidelity/fidelity.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

namespace flyemu::test {

TEST_CASE("fidelity: each row of results and of times takes instructions of some target") {
  std::set<std::size_t> results, times;
  for (const char *target : kTargets)
    eachKnown(*findMachine(target), [&](const KnownInstruction &i) {
      INFO(target << ": " << i.name);
      REQUIRE(i.op);
      results.insert(rowOf(resultRows(), i));
      times.insert(rowOf(timeRows(), i));
      // What takes all that is left takes what it says.
      if (rowOf(resultRows(), i) + 1 == resultRows().size())
        CHECK((i.op->cls == Class::Smem || i.op->cls == Class::VmemRead ||
               i.op->cls == Class::VmemWrite));
      if (rowOf(timeRows(), i) + 1 == timeRows().size())
        CHECK((i.op->cls == Class::Salu || i.op->cls == Class::Branch ||
               i.op->cls == Class::Message || i.op->cls == Class::Other));
      CHECK((i.op->cls == Class::Mfma) == (i.matrix != nullptr));
    });
  CHECK(results.size() == resultRows().size());
  CHECK(times.size() == timeRows().size());
}

TEST_CASE("fidelity: what is near in the report is what the tables compare within an ulp") {
  const std::set<std::string> &near = nearInTables();
  if (near.empty())
    return; // only a run of the whole program says something here
  std::set<std::string> said;
  for (const char *target : kEmulatedTargets)
    eachKnown(*findMachine(target), [&](const KnownInstruction &i) {
      // Those on scalars have tests of their own.
      if (resultRows()[rowOf(resultRows(), i)].nearness == Nearness::Near &&
          !i.name.starts_with("v_s_"))
        said.insert(i.name);
    });
  std::set<std::string> tested;
  std::set_intersection(near.begin(), near.end(), said.begin(), said.end(),
                        std::inserter(tested, tested.end()));
  CHECK(tested == said);
  CHECK(near == said);
}

} // namespace flyemu::test
