// Each `expression = value` of docs/layout-algebra.md is true by the algebra.
#include "calculator.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <string>

TEST_CASE("the guide's examples give what it says", "[layout][docs]") {
  std::ifstream guide(FLYDSL_LAYOUT_GUIDE);
  REQUIRE(guide);
  bool inBlock = false;
  int examples = 0;
  for (std::string line; std::getline(guide, line);) {
    if (line.rfind("```", 0) == 0) {
      inBlock = line == "```layout";
      continue;
    }
    const size_t equals = line.rfind(" = ");
    if (!inBlock || equals == std::string::npos)
      continue;
    CHECK(flydsl::layout::calculate(line.substr(0, equals)) == line.substr(equals + 3));
    ++examples;
  }
  CHECK(examples > 30);
}
