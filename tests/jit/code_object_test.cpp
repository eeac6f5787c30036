#include "jit/code_object/code_object.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

CodeObject sample() {
  CodeObject object;
  object.target = "gfx942:xnack-";
  KernelMetadata kernel;
  kernel.name = "k";
  kernel.vgprs = 24;
  kernel.agprs = 4;
  kernel.ldsBytes = 1024;
  kernel.requiredBlock[0] = 256;
  kernel.uniformWorkgroups = true;
  kernel.codeBytes = std::uint64_t(1) << 33;
  kernel.arguments = {{0, 8, "global_buffer", "a"}, {8, 4, "hidden_block_count_x", ""}};
  object.kernels = {kernel, KernelMetadata{}};
  object.times.codegen = 4.25;
  return object;
}

} // namespace

TEST_CASE("Metadata comes back from its bytes") {
  CodeObject object = sample();
  auto bytes = encodeMetadata(object);
  CodeObject back = decodeMetadata(bytes.data(), bytes.size());
  CHECK(back.target == object.target);
  CHECK(back.kernels == object.kernels);
  CHECK(back.times == object.times);
  CHECK(back.kernels[0].arguments[1].hidden());
  CHECK_FALSE(back.kernels[0].arguments[0].hidden());
}

TEST_CASE("Metadata that ends early or late is refused") {
  auto bytes = encodeMetadata(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(decodeMetadata(bytes.data(), size), Error);
  bytes.push_back(0);
  CHECK_THROWS_AS(decodeMetadata(bytes.data(), bytes.size()), Error);
  bytes.pop_back();
  bytes[0] ^= 1;
  CHECK_THROWS_AS(decodeMetadata(bytes.data(), bytes.size()), Error);
}

TEST_CASE("Kernels are found by name; the only kernel is asked for by kernel()") {
  CodeObject object = sample();
  CHECK(object.find("k") == &object.kernels[0]);
  CHECK(object.find("absent") == nullptr);
  CHECK_THROWS_AS(object.kernel(), CompileError);
  object.kernels.resize(1);
  CHECK(object.kernel().vgprs == 24);
  CHECK_THAT(summary(object),
             Catch::Contains("24 VGPR (4 AGPR)") && Catch::Contains("gfx942:xnack-"));
}

TEST_CASE("Bytes that are no code object are refused") {
  CHECK_THROWS_AS(readCodeObject({}), CompileError);
  CHECK_THROWS_AS(readCodeObject(std::vector<std::uint8_t>(4096, 0x7f)), CompileError);
}
