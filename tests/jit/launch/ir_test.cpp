// Kernels given as Fly IR.
#include "scale.h"

#include <flydsl/host/compile_ir.h>
#include <flydsl/host/stats.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
/// The kernel of scale.h, traced for gfx942.
fx::Executable traced(const char *name) {
  auto none = fx::tensor(static_cast<float *>(nullptr), {64});
  return makeAxpy(name)(none, none, 0.0f).compile({.block = axpyBlock, .arch = "gfx942"});
}

std::string error(const std::string &module, const fx::CompileIrConfig &config) {
  try {
    fx::compile_ir(module, config);
  } catch (const fx::CompileError &e) {
    return e.what();
  }
  return "no error";
}
} // namespace

TEST_CASE("a kernel that is read back from its IR is the traced one") {
  const fx::Executable kernel = traced("axpy_ir");
  REQUIRE(!kernel.print_ir().empty());
  const fx::Executable read = fx::compile_ir(kernel.print_ir(), {.arch = "gfx942"});
  CHECK(read.ir_hash() == kernel.ir_hash());
  CHECK(read.cache_tier() == fx::CacheTier::memory);
  CHECK(read.name() == kernel.name());
  CHECK(read.target() == "gfx942");
  CHECK(std::ranges::equal(read.hsaco(), kernel.hsaco()));
  CHECK(read.max_block() == kernel.max_block());
}

TEST_CASE("IR is compiled for the target and the hints that are given with it") {
  const std::string module = traced("axpy_ir_hints").print_ir();
  const fx::Executable plain = fx::compile_ir(module, {.arch = "gfx942"});
  const fx::Executable other = fx::compile_ir(module, {.arch = "gfx1201"});
  CHECK(other.target() == "gfx1201");
  CHECK(other.ir_hash() != plain.ir_hash());
  const fx::Executable hinted =
      fx::compile_ir(module, {.arch = "gfx942", .hints = {.waves_per_eu = 2}});
  CHECK(hinted.ir_hash() != plain.ir_hash());
  // Nothing named: the device's target, with its features.
  CHECK_THAT(fx::compile_ir(module).target(), Catch::StartsWith("gfx942:"));
}

TEST_CASE("hints that would be passed over are refused") {
  const std::string module = traced("axpy_ir_refused").print_ir();
  CHECK_THAT(error(module, {.arch = "gfx942", .hints = {.known_block_size = {64}}}),
             Catch::Contains("known_block_size of its gpu.func"));
  auto compiled = [](fx::KernelHints hints) {
    const fx::Kernel hinted{"hinted_wrongly", [](fx::Tensor x) { x(0) = 1.0f; }, hints};
    hinted(fx::tensor(static_cast<float *>(nullptr), {64})).compile({.arch = "gfx942"});
  };
  CHECK_THROWS_WITH(compiled({.known_block_size = {0, 4}}),
                    Catch::Contains("ir_test.cpp") && Catch::Contains("(0, 4, 0) has no x"));
  CHECK_THROWS_WITH(compiled({.waves_per_eu = 9}),
                    Catch::Contains("waves_per_eu is 1 to 8 on gfx942, not 9"));
  CHECK_THROWS_WITH(compiled({.max_registers = 513}),
                    Catch::Contains("max_registers is 1 to 512 on gfx942, not 513"));
}

TEST_CASE("compiles of IR are told of as others are") {
  const std::string module = traced("axpy_ir_events").print_ir();
  std::vector<fx::EventInfo::Kind> kinds;
  std::string kernels;
  const auto subscription = fx::on_event([&](const fx::EventInfo &event) {
    kinds.push_back(event.kind);
    kernels += std::string(event.kernel) + " ";
  });
  fx::compile_ir(module, {.arch = "gfx942"});
  fx::compile_ir(module, {.arch = "gfx950"});
  CHECK_THROWS_AS(fx::compile_ir("module {}", {.arch = "gfx942"}), fx::CompileError);
  using enum fx::EventInfo::Kind;
  CHECK(kinds == std::vector{memory_hit, compiled, failed});
  CHECK_THAT(kernels, Catch::StartsWith("axpy_ir_events axpy_ir_events "));
}

TEST_CASE("what is wrong with IR is said with its line") {
  using Catch::Contains;
  using Catch::StartsWith;
  CHECK_THAT(error("module {\n  fly.nonsense\n}", {.arch = "gfx942", .name = "my.mlir"}),
             StartsWith("my.mlir:2: ") && Contains("fly.nonsense"));
  CHECK_THAT(error("", {.arch = "gfx942"}), Contains("gpu.module"));
  CHECK_THAT(error("module {}", {.arch = "gfx942"}), Contains("gpu.module"));
  CHECK_THAT(error("module {}", {.arch = "gfx000"}), Contains("gfx000") && Contains("gfx942"));
  CHECK_THAT(error("ML\xefR and then nothing of use", {.arch = "gfx942", .name = "a.mlirbc"}),
             Contains("a.mlirbc"));
  std::string broken = traced("axpy_ir_broken").print_ir();
  broken.resize(broken.size() / 2);
  CHECK_THAT(error(broken, {.arch = "gfx942", .name = "half.mlir"}), StartsWith("half.mlir:"));
}
