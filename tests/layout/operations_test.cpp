// The table of the algebra's operations: how rows are found, what they contain, and the operands
// that they refuse.
#include "layout/error.h"
#include "layout/operations.h"
#include "layout/text.h"

#include <catch2/catch.hpp>

#include <set>

using namespace flydsl::layout;

namespace {

const std::vector<Value> &oneOfEachKind() {
  static const std::vector<Value> values = {
      IntTuple(4),
      parseIntTuple("(4,8)"),
      parseIntTuple("(*,2)"),
      parseLayout("(4,8):(8,1)"),
      parseComposedLayout("S<2,0,3> o 0 o (8,8):(8,1)"),
      parseTile("[2|4]"),
      Swizzle(2, 0, 3),
      CoordSwizzle(1, 0, {0}, 0, {1}),
  };
  return values;
}

Value run(std::string_view name, std::vector<Value> values,
          std::vector<std::int32_t> numbers = {}) {
  const Operation *operation = findOperation(name);
  REQUIRE(operation);
  return (*operation)({values, numbers});
}

} // namespace

TEST_CASE("an operation is found by its name, and nothing else is", "[layout]") {
  std::set<std::string_view> names;
  for (const Operation &operation : operations()) {
    INFO(operation.name);
    CHECK(names.insert(operation.name).second);
    CHECK(findOperation(operation.name) == &operation);
    CHECK(operation.least >= 1);
    CHECK(operation.least <= operation.most);
    CHECK(operation.most <= operation.operands.size());
    CHECK_FALSE(operation.help.empty());
  }
  for (const char *name : {"", "a", "logical", "logical_divide ", "zzz", "fly.size"})
    CHECK_FALSE(findOperation(name));
}

TEST_CASE("operands of another kind or number are refused, whatever they are", "[layout]") {
  const auto &samples = oneOfEachKind();
  const std::vector<std::vector<std::int32_t>> numbers = {{},        {0},  {0, 1},
                                                          {1, 0, 1}, {-1}, {9, 40}};
  std::size_t answered = 0, refused = 0;
  for (const Operation &operation : operations())
    for (std::size_t count = 0; count <= 4; ++count)
      for (std::size_t choice = 0;
           choice < (count > 3 ? 1 : samples.size() * samples.size() * samples.size()); ++choice) {
        std::vector<Value> values;
        std::size_t digits = choice;
        bool fitting = count >= operation.least && count <= operation.most;
        for (std::size_t i = 0; i < count; ++i, digits /= samples.size()) {
          values.push_back(samples[digits % samples.size()]);
          fitting =
              fitting && i < operation.operands.size() && fits(values[i], operation.operands[i]);
        }
        if (digits) // counted with fewer operands
          continue;
        for (const auto &attributes : numbers) {
          INFO(operation.name << " of " << count << " operands, choice " << choice);
          try {
            operation({values, attributes});
            ++answered;
            CHECK(fitting);
          } catch (const LayoutError &error) {
            ++refused;
            CHECK(std::string(error.what()).size() > 5);
          }
        }
      }
  CHECK(answered > 200);
  CHECK(refused > 1000);
}

TEST_CASE("messages say what was found and what was expected", "[layout]") {
  CHECK_THROWS_WITH(run("right_inverse", {parseComposedLayout("S<2,0,3> o 0 o (8,8):(8,1)")}),
                    Catch::Contains("expected a plain layout") && Catch::Contains("S<2,0,3>"));
  CHECK_THROWS_WITH(run("zipped_divide", {parseLayout("8:1"), IntTuple(4)}),
                    Catch::Contains("expected a plain layout or a tile for operand 1, found 4"));
  CHECK_THROWS_WITH(run("size", {}), Catch::Contains("size: it was given 0 operands, not 1"));
  CHECK_THROWS_WITH(run("take", {parseIntTuple("(1,2)")}, {0}),
                    Catch::Contains("take: it was given 1 numbers, not 2"));
}

TEST_CASE("optional operands have one default", "[layout]") {
  CHECK(str(run("complement", {parseLayout("(2,2):(1,6)")})) ==
        str(run("complement", {parseLayout("(2,2):(1,6)"), IntTuple(8)})));
  CHECK(str(run("make_layout", {parseIntTuple("(4,8)")})) == "(4,8):(1,4)");
  CHECK(str(run("append", {parseIntTuple("(4,8)"), IntTuple(1)})) == "(4,8,1)");
  CHECK(str(run("append", {parseIntTuple("(4,8)"), IntTuple(1)}, {4})) == "(4,8,1,1)");
}

TEST_CASE("a codomain of several modes has as many places as their product", "[layout]") {
  CHECK(str(run("complement", {parseLayout("(2,2):(1,6)"), parseIntTuple("(4,(2,3))")})) ==
        str(run("complement", {parseLayout("(2,2):(1,6)"), IntTuple(24)})));
}

TEST_CASE("composed layouts come apart", "[layout]") {
  const Value composed = parseComposedLayout("S<2,0,3> o 5 o (8,8):(8,1)");
  CHECK(str(run("composed_get_inner", {composed})) == "S<2,0,3>");
  CHECK(str(run("composed_get_offset", {composed})) == "5");
  CHECK(str(run("composed_get_outer", {composed})) == "(8,8):(8,1)");
  CHECK_THROWS_AS(run("composed_get_outer", {parseLayout("8:1")}), LayoutError);
  CHECK_THROWS_WITH(run("get_stride", {composed}),
                    Catch::Contains("a composed layout has no stride"));
}
