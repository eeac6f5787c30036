// Host functions of modules that are written here: branches, loops, moved addresses, streams; and
// what does not fold.
#include "host_module.h"

#include <catch2/catch.hpp>

using namespace host_module;

TEST_CASE("a branch of the host function follows the call's number") {
  const std::string text = module(R"(
    %zero = arith.constant 0 : i32
    %positive = arith.cmpi sgt, %n, %zero : i32
    %grid = arith.index_cast %n : i32 to index
    scf.if %positive {
      %t = )" + launch("%grid", "%x", "%n") +
                                  R"(
    } else {
      %u = )" + launch("%c1", "%x", "%n") +
                                  "}");
  CHECK(run(text, 3) == std::vector<std::int32_t>{3, 3, 3, 0, 0, 0, 0, 0});
  CHECK(run(text, -5) == std::vector<std::int32_t>{-5, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("a loop of the host function launches as often as the call says") {
  const std::string text = module(R"(
    %c0 = arith.constant 0 : index
    %end = arith.index_cast %n : i32 to index
    scf.for %i = %c0 to %end step %c1 {
      %grid = arith.subi %end, %i : index
      %value = arith.index_cast %i : index to i32
      %t = )" + launch("%grid", "%x", "%value") +
                                  "}");
  CHECK(run(text, 4) == std::vector<std::int32_t>{3, 2, 1, 0, 0, 0, 0, 0});
  CHECK_THAT(error(text, 5000), Catch::Contains("this loop of f would run 5000 times"));
}

TEST_CASE("a launch may take a tensor from its middle on") {
  const std::string text = module(R"(
    %p = fly.get_iter(%x) : (!fly.memref<i32, global, ?:1>) -> !fly.ptr<i32, global>
    %o = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
    %q = fly.add_offset(%p, %o) : (!fly.ptr<i32, global>, !fly.int_tuple<?>) -> !fly.ptr<i32, global>
    %l = fly.get_layout(%x) : (!fly.memref<i32, global, ?:1>) -> !fly.layout<?:1>
    %v = fly.make_view(%q, %l) : (!fly.ptr<i32, global>, !fly.layout<?:1>) -> !fly.memref<i32, global, ?:1>
    %t = )" + launch("%c1", "%v", "%n"));
  CHECK(run(text, 5) == std::vector<std::int32_t>{0, 0, 0, 0, 0, 5, 0, 0});
  CHECK(run(text, 2) == std::vector<std::int32_t>{0, 0, 2, 0, 0, 0, 0, 0});
}

TEST_CASE("code that does not fold is refused with its operation and line") {
  const std::string loads = module(R"(
    %at = fly.make_int_tuple() : () -> !fly.int_tuple<0>
    %read = fly.memref.load(%x, %at) : (!fly.memref<i32, global, ?:1>, !fly.int_tuple<0>) -> i32
    %grid = arith.index_cast %read : i32 to index
    %t = )" + launch("%grid", "%x", "%n"));
  CHECK_THAT(error(loads),
             Catch::Contains("text.mlir:15") && Catch::Contains("'f'") && Catch::Contains("load"));
  const std::string empty =
      module("%c0 = arith.constant 0 : index\n%t = " + launch("%c0", "%x", "%n"));
  CHECK_THAT(error(empty), Catch::Contains("the grid of the launch of put is (0, 1, 1)"));
}

TEST_CASE("parameters that C++ has nothing for are refused when they are called") {
  const std::string text = module("%t = " + launch("%c1", "%x", "%n"), ", %m: vector<4xf32>");
  const fx::Program program = fx::parse_program(text);
  fx::DeviceArray<std::int32_t> x({8});
  CHECK_THROWS_WITH(program("f", x, 1, nullptr, 4),
                    Catch::Contains("argument 3 (vector<4xf32>): no argument of C++ stands for"));
}
