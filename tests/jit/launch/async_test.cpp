#include "scale.h"

#include <flydsl/host/compile_async.h>
#include <flydsl/host/stats.h>

#include <catch2/catch.hpp>

#include <set>

namespace fx = flydsl;

TEST_CASE("a kernel compiles beside the program's own work") {
  const auto axpy = makeAxpy("axpy_async");
  auto none = fx::tensor(static_cast<float *>(nullptr), {64});
  auto later =
      fx::compile_async([=] { return axpy(none, none, 0.0f).compile({.block = axpyBlock}); });
  CHECK(later.get().name() == "axpy_async");
  auto failing = fx::compile_async([]() -> int { throw fx::CompileError("no"); });
  CHECK_THROWS_AS(failing.get(), fx::CompileError);
}

TEST_CASE("many kernels compile at once, each once, and a failure stops no other") {
  auto none = fx::tensor(static_cast<float *>(nullptr), {64});
  std::vector<fx::CompileRequest> requests;
  for (int i = 0; i < 12; ++i) { // six kernels, each asked for twice
    const std::string name = "axpy_all_" + std::to_string(i % 6);
    requests.push_back(
        {name, [=]() -> fx::Executable {
           return makeAxpy(name.c_str())(none, none, 0.0f).compile({.block = axpyBlock});
         }});
  }
  requests.push_back({"broken", []() -> fx::Executable { throw fx::TraceError("a mistake"); }});
  const fx::Stats before = fx::stats();
  std::set<std::size_t> seen;
  std::size_t failed = 0;
  auto outcomes = fx::compile_all(
      requests, [&](const fx::CompileOutcome &o, std::size_t done, std::size_t total) {
        CHECK(total == 13);
        seen.insert(done);
        CHECK_THAT(fx::progress_line(o, done, total),
                   Catch::StartsWith("compiling " + std::to_string(done) + "/13: " + o.name) &&
                       Catch::Contains(o.error ? ", failed" : " ms"));
        failed += o.error != nullptr;
      });
  CHECK(seen.size() == 13);
  CHECK(failed == 1);
  REQUIRE(outcomes.size() == 13);
  for (int i = 0; i < 12; ++i) {
    REQUIRE(outcomes[i].executable);
    CHECK(outcomes[i].executable->name() == "axpy_all_" + std::to_string(i % 6));
  }
  CHECK_FALSE(outcomes[12].executable);
  CHECK(fx::stats().compiles == before.compiles + 6);
  CHECK(fx::stats().memory_hits == before.memory_hits + 6);
}
