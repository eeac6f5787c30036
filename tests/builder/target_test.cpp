// The target's properties that a kernel can ask for while it is traced.
#include "emulated_targets.h"
#include "trace_text.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using trace_test::traceText;

static std::string onTarget(const std::function<void()> &body, const char *target) {
  return traceText([&] { body(); }, {}, false, {64, 1, 1}, {}, target);
}

TEST_CASE("a kernel asks for features of the target that it is traced for") {
  for (const char *processor : kEmulatorTargets) {
    INFO(processor);
    bool has = false;
    int lanes = 0;
    onTarget(
        [&] {
          has = fx::target().has(fx::feature::mfma);
          lanes = fx::target().wave_size();
          CHECK(fx::target().name() == processor);
          CHECK(fx::gpu::num_warp_threads() == lanes);
        },
        processor);
    CHECK(has == (lanes == 64));
  }
}

TEST_CASE("a kernel chooses its matrix instruction by a feature") {
  auto atom = [](const char *processor) {
    std::string text;
    onTarget(
        [&] {
          text = fx::target().has(fx::feature::mfma) ? fx::rocdl::MFMA(16, 16, 16, fx::f16).str()
                                                     : fx::rocdl::WMMA(16, 16, 16, fx::f16).str();
        },
        processor);
    return text;
  };
  CHECK_THAT(atom("gfx942"), Catch::Contains("cdna3.mfma<16x16x16"));
  CHECK_THAT(atom("gfx1201"), Catch::Contains("gfx120x.wmma<16x16x16"));
}

TEST_CASE("the target is asked for where one is known") {
  CHECK_THROWS_WITH(fx::target(), Catch::Contains("fx::Device::current().target()"));
  CHECK_THROWS_WITH(onTarget([] { fx::target(); }, nullptr),
                    Catch::Contains("fx::target() needs to know the target") &&
                        Catch::Contains("compile({.arch = ...})"));
  const unsigned line = __LINE__ + 2;
  try {
    fx::target();
    FAIL("no error");
  } catch (const fx::TraceError &error) {
    CHECK(error.where().line == line);
  }
}

TEST_CASE("what a target lacks is refused with the processors that have it") {
  CHECK_THROWS_WITH(
      onTarget([] { fx::rocdl::wave_id(); }, "gfx942"),
      Catch::Contains("there is no wave_id on gfx942; gfx1200, gfx1201, gfx1250 have it"));
  CHECK_THROWS_WITH(onTarget([] { fx::rocdl::s_wait_tensorcnt(0); }, "gfx1201"),
                    Catch::Contains("there is no s_wait_tensorcnt on gfx1201; gfx1250 has it"));
  CHECK_THROWS_WITH(onTarget([] { fx::rocdl::s_waitcnt({.vmcnt = 0}); }, "gfx1250"),
                    Catch::Contains("there is no s_waitcnt on gfx1250"));
}
