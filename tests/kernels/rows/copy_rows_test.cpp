// Copies of rows by their numbers against the definition, bit by bit.
#include "support/index_case.h"
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/rows/copy_rows.h>

using namespace kernel_tests;

namespace {

using fk::CopyRowsProblem;

/// Rows of random bits, and the numbers of a call.
struct Rows {
  CopyRowsProblem problem;
  std::int64_t rowsOfX, rowsOfY;
  std::vector<double> from, to;
  std::int64_t gap = 0;
};

void expectCopied(const Rows &rows) {
  const CopyRowsProblem &problem = rows.problem;
  INFO(fx::to_config(problem).str());
  const std::int64_t n = problem.n;
  const auto values = fk::host::decode(
      problem.type,
      fk::host::encode(problem.type, fk::host::randomValues(problem.type, rows.rowsOfX * n, 3)));
  const Operand x = Operand::input(problem.type, rows.rowsOfX, n, values, rows.gap),
                y = Operand::output(problem.type, rows.rowsOfY, n, rows.gap);
  const auto numbers = [&](const std::vector<double> &of) {
    return Operand::input(problem.index, 1, std::ssize(of), of);
  };
  const Operand from = numbers(rows.from), to = numbers(rows.to);
  const std::size_t m = problem.gather ? rows.from.size() : rows.to.size(),
                    bytes = std::size_t(n) * std::size_t(problem.type.bytes());
  std::vector<std::uint8_t> wanted = y.bytes();
  const std::vector<std::uint8_t> given = x.bytes();
  for (std::size_t i = 0; i < m; ++i) {
    const double source = problem.gather ? rows.from[i] : double(i),
                 target = problem.scatter ? rows.to[i] : double(i);
    if (source >= 0 && source < double(rows.rowsOfX) && target >= 0 &&
        target < double(rows.rowsOfY))
      std::copy_n(given.begin() + std::ptrdiff_t(std::size_t(source) * bytes), bytes,
                  wanted.begin() + std::ptrdiff_t(std::size_t(target) * bytes));
  }
  const fx::Stream stream;
  fk::CopyRowsPlan(problem, fk::choose(problem, std::int64_t(m)), kUnchecked)(
      {.x = x.tensor(),
       .from = problem.gather ? std::optional(from.vector()) : std::nullopt,
       .to = problem.scatter ? std::optional(to.vector()) : std::nullopt,
       .y = y.tensor()},
      stream);
  stream.synchronize();
  y.expectUntouched();
  CHECK(y.bytes() == wanted);
}

} // namespace

TEST_CASE("rows that are gathered, scattered, and both", "[run]") {
  for (fx::DType type :
       {fx::DType(fx::u8), fx::DType(fx::bf16), fx::DType(fx::f32), fx::DType(fx::i64)}) {
    expectCopied({{.type = type, .n = 48, .gather = true}, 6, 5, {5, 0, 0, -1, 3}, {}, 16});
    expectCopied(
        {{.type = type, .n = 33, .scatter = true, .index = fx::i64}, 4, 6, {}, {5, 2, -7, 0}, 3});
    expectCopied({{.type = type, .n = 5000, .gather = true, .scatter = true},
                  4,
                  7,
                  {3, 1, 4, 0},
                  {6, 0, 2, 0x40000000}});
  }
  expectCopied({{.type = fx::bf16, .n = 12, .gather = true, .row_align = 2}, 3, 2, {2, 1}, {}, 2});
}

TEST_CASE("copies of rows: another run, a graph, a file", "[run]") {
  expectStructure<CopyRowsProblem>(
      {.type = fx::f8E4M3FN, .n = 320, .gather = true, .scatter = true}, {}, 5);
}

TEST_CASE("copies of rows move each byte once", "[run]") {
  const CopyRowsProblem problem{.type = fx::bf16, .n = 2048, .gather = true};
  const auto counters = countersOf(problem, {}, 8);
  REQUIRE(counters.size() == 1);
  CHECK(std::int64_t(counters[0]["globalBytesWritten"]) == 8 * 4096);
}

TEST_CASE("checked numbers of rows", "[run]") {
  const CopyRowsProblem problem{.type = fx::f32, .n = 16, .gather = true, .scatter = true};
  std::vector<Wrong> wrong = joined({outside("from", 3, -1, 4), outside("to", 3, -1, 4)});
  wrong.push_back({"to", 3, 2, "to[3] is 2, as to[0] is; no two are equal"});
  expectCase<CopyRowsProblem>(
      {problem, chosen(problem, 4), {{"from", {1, 1, -1, 0}}, {"to", {2, 0, 1, 3}}}, {}, wrong}, 4);
}

TEST_CASE("copies of rows say what they do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const CopyRowsProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.n = 8, .gather = true}).empty());
  CHECK(why({.n = 8}) == "neither gather nor scatter is set; a copy of all rows is the driver's");
  CHECK(why({.type = fx::f4E2M1FN, .n = 8, .gather = true}) ==
        "type is f4E2M1FN; elements of 8, 16, 32 and 64 bits are supported");
  CHECK(why({.n = 0, .gather = true}).find("n is 0") == 0);
  CHECK(why({.n = 8, .gather = true, .index = fx::u8}) ==
        "index is of type u8; i32 and i64 are supported");
  CHECK(
      why({.n = 12, .gather = true, .row_align = 8}) ==
      "row_align is 8, and n = 12 is no multiple of the 8 elements that are moved together; take a "
      "smaller one");
  CHECK(fk::supported(CopyRowsProblem{.n = 8, .gather = true}, {.block = 100}, target).why ==
        "block is 100; it is a power of two from 64 to 1024");

  const CopyRowsProblem problem{.type = fx::f32, .n = 8, .gather = true};
  const fk::CopyRowsPlan plan(problem, {}, kUnchecked);
  const Operand x = Operand::output(fx::f32, 4, 8), y = Operand::output(fx::f32, 3, 8);
  const auto from = fx::DeviceArray<int>::from_host(std::vector<int>{0, 1, 2}, {3});
  const auto message = [&](const fk::CopyRowsArgs &args) { return messageOf([&] { plan(args); }); };
  CHECK(message({.x = x.tensor(), .from = from, .y = y.tensor()}) == "no error");
  CHECK(message({.x = x.tensor(), .y = y.tensor()}).find("copy_rows: from is missing") !=
        std::string::npos);
  CHECK(message({.x = x.tensor(), .from = from, .to = from, .y = y.tensor()})
            .find("copy_rows: to is given, and the problem does not have it") != std::string::npos);
  CHECK(message({.x = x.tensor(), .from = from, .y = x.tensor()})
            .find("copy_rows: y has the shape (4, 8); (m, n) = (3, 8) is expected") !=
        std::string::npos);
  CHECK(message({.x = y.tensor(), .from = from, .y = y.tensor()})
            .find("copy_rows: y shares memory with x") != std::string::npos);
}
