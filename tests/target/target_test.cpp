#include "target/from_environment.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace flydsl;
using namespace flydsl::detail;

namespace {

/// Sets or clears variables for one test and puts them back.
struct Environment {
  static constexpr const char *names[] = {"ARCH", "FLYDSL_GPU_ARCH", "HSA_OVERRIDE_GFX_VERSION"};
  std::optional<std::string> saved[3];
  Environment() {
    for (int i = 0; i < 3; ++i) {
      if (const char *value = std::getenv(names[i]))
        saved[i] = value;
      unsetenv(names[i]);
    }
  }
  ~Environment() {
    for (int i = 0; i < 3; ++i)
      saved[i] ? setenv(names[i], saved[i]->c_str(), 1) : unsetenv(names[i]);
  }
};

} // namespace

TEST_CASE("Targets parse and print in one canonical form") {
  CHECK(Target::parse("gfx942").id() == "gfx942");
  CHECK(Target::parse("GFX942:XNACK-:sramecc+").id() == "gfx942:sramecc+:xnack-");
  CHECK(Target::parse("amdgcn-amd-amdhsa--gfx90a:xnack+").id() == "gfx90a:xnack+");
  Target target = Target::parse("gfx950:sramecc+:xnack-");
  CHECK(target.lds_bytes() == 160 * 1024);
  CHECK(target.wave_size() == 64);
  CHECK(Target::parse("gfx1201").wave_size() == 32);
  CHECK(Target::parse("gfx1250").lds_bytes() == 320 * 1024);
}

TEST_CASE("What is no target is refused with the list of targets") {
  for (const char *text : {"", "gfx", "gfx900", "gfx9420", "gfx942:", "gfx942:xnack",
                           "gfx942:+xnack", "gfx942:xnack+:xnack+", "gfx1201:xnack-",
                           "gfx1250:sramecc+", "gfx942:foo+", "sm_90", ":xnack+"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(Target::parse(text), Catch::Contains("gfx90a, gfx942, gfx950, gfx1100, "
                                                           "gfx1200, gfx1201, gfx1250"));
    CHECK_THROWS_AS(Target::parse(text), CompileError);
  }
}

TEST_CASE("Code runs where its fixed features agree with the device") {
  Target device = Target::parse("gfx942:sramecc+:xnack-");
  CHECK(Target::parse("gfx942").runs_on(device));
  CHECK(Target::parse("gfx942:xnack-").runs_on(device));
  CHECK_FALSE(Target::parse("gfx942:xnack+").runs_on(device));
  CHECK_FALSE(Target::parse("gfx950").runs_on(device));
}

TEST_CASE("The environment names the target; without it the device does; never a default") {
  Environment clean;
  CHECK_FALSE(targetFromEnvironment());
  CHECK_THROWS_WITH(resolveTarget(std::nullopt),
                    Catch::Contains("ARCH") && Catch::Contains("gfx942"));
  CHECK(resolveTarget("gfx950:xnack-").id() == "gfx950:xnack-");
  setenv("HSA_OVERRIDE_GFX_VERSION", "9.4.2", 1);
  CHECK(targetFromEnvironment()->id() == "gfx942");
  setenv("HSA_OVERRIDE_GFX_VERSION", "9.0.10", 1);
  CHECK(targetFromEnvironment()->id() == "gfx90a");
  setenv("HSA_OVERRIDE_GFX_VERSION", "12.0.1", 1);
  CHECK(targetFromEnvironment()->id() == "gfx1201");
  setenv("FLYDSL_GPU_ARCH", "gfx950", 1);
  CHECK(targetFromEnvironment()->id() == "gfx950");
  setenv("ARCH", "gfx1250", 1);
  CHECK(resolveTarget("gfx942").id() == "gfx1250");
  setenv("ARCH", "gfx1", 1);
  CHECK_THROWS_WITH(resolveTarget("gfx942"), Catch::Contains("ARCH=gfx1"));
  setenv("ARCH", "9.4", 1);
  CHECK_THROWS_AS(resolveTarget("gfx942"), CompileError);
}
