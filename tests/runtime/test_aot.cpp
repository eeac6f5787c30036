// Exported kernels: written by the launch path, read and launched by the runtime alone.
#include "fake.h"
#include "fake_params.h"
#include "runtime/aot_file.h"

#include <flydsl/aot.h>
#include <flydsl/device_array.h>

#include <catch2/catch.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace fx = flydsl;
using Catch::Contains;

namespace {
struct TemporaryFile {
  std::string path = std::filesystem::temp_directory_path() /
                     ("flydsl_aot_test_" + std::to_string(::getpid()) + ".flyaot");
  ~TemporaryFile() {
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".h");
  }
};

const fx::Kernel kernel{"exported", [](FakeTensor, FakeStatic, FakeInt32, fx::Constexpr<int>,
                                       fx::Constexpr<std::string>, FakeFloat32) {}};

void exportTo(const std::string &path, const fx::AotConfig &config) {
  kernel(fx::tensor(static_cast<float *>(nullptr), {8, 8}), FakeStatic{}, 0, 4,
         std::string("a text"), 0.0f)
      .export_aot(path, config);
}
} // namespace

TEST_CASE("an exported kernel launches with its runtime arguments alone") {
  TemporaryFile file;
  exportTo(file.path, {.block = 128, .archs = {"gfx950", "gfx942", "gfx1201"}});
  const int builds = fakeBuild().builds;
  fx::AotModule module = fx::load_aot(file.path);
  CHECK(module.kernels() == std::vector<std::string>{"exported"});
  fx::AotKernel loaded = module.kernel("exported");
  CHECK(loaded.targets() == std::vector<std::string>{"gfx950", "gfx942", "gfx1201"});
  fx::DeviceArray<float> x({16, 4});
  fx::Stream stream;
  loaded(x, 42, 1.5).launch({.grid = 3, .block = 128, .stream = stream});
  loaded(x, std::int64_t{43}, 1).launch({.grid = 3, .block = 128, .stream = stream});
  CHECK(fakeBuild().builds == builds);
  FakeLaunch launch = fake().launches.back();
  CHECK(launch.kernel == "exported");
  CHECK(launch.grid[0] == 3);
  REQUIRE(launch.arguments.size() == 8 + 16 + 4 + 4);
  int number = 0;
  std::memcpy(&number, launch.arguments.data() + 24, 4);
  CHECK(number == 43);

  // Wrong in type, rank, range, block.
  fx::DeviceArray<int> wrong({16, 4});
  CHECK_THROWS_WITH(loaded(wrong, 1, 1.5).launch({.block = 128}), Contains("of other types than"));
  CHECK_THROWS_WITH(loaded(x, 1).launch({.block = 128}), Contains("of other types than"));
  CHECK_THROWS_WITH(loaded(x, std::int64_t{1} << 40, 1.5).launch({.block = 128}),
                    Contains("argument 1: the integer is out of the parameter's range"));
  CHECK_THROWS_WITH(loaded(x, 1.5, 1.5).launch({.block = 128}),
                    Contains("argument 1: a floating-point"));
  CHECK_THROWS_WITH(loaded(x, 1, 1.5).launch({.block = 64}), Contains("is not the (128, 1, 1)"));
  CHECK_THROWS_WITH(module.kernel("other"),
                    Contains("no kernel other among the compiled ones: exported"));
}

TEST_CASE("no code for the device is an error that lists the targets") {
  TemporaryFile file;
  exportTo(file.path, {.archs = {"gfx1201"}});
  fx::AotKernel loaded = fx::load_aot(file.path).kernel("exported");
  fx::DeviceArray<float> x({16, 4});
  CHECK_THROWS_WITH(loaded(x, 1, 1.5).launch({.block = 128}),
                    Contains("no code for gfx942:sramecc+:xnack-; there is code for gfx1201"));
}

TEST_CASE("exports add up in one file, and a block picks its variant") {
  TemporaryFile file;
  exportTo(file.path, {.block = 64, .archs = {"gfx942"}});
  exportTo(file.path, {.block = 256, .archs = {"gfx942"}, .append = true});
  exportTo(file.path, {.block = 64, .archs = {"gfx942"}, .append = true});
  fx::AotKernel loaded = fx::load_aot(file.path).kernel("exported");
  CHECK(loaded.targets().size() == 2);
  fx::DeviceArray<float> x({16, 4});
  loaded(x, 1, 1.5).launch({.block = 64});
  loaded(x, 1, 1.5).launch({.block = 256});
  CHECK(fake().launches.back().block[0] == 256);
  CHECK_THROWS_AS(loaded(x, 1, 1.5).launch({.block = 128}), fx::TraceError);
}

TEST_CASE("the C header holds the same bytes") {
  TemporaryFile file;
  exportTo(file.path, {.archs = {"gfx942"}, .header = file.path + ".h"});
  std::ifstream header(file.path + ".h");
  std::string text{std::istreambuf_iterator<char>(header), {}};
  CHECK_THAT(text, Contains("exported, gfx942"));
  std::vector<unsigned char> bytes;
  const std::size_t first = text.find('{');
  for (std::size_t at = first + 1; text[at] != '}';) {
    std::size_t used = 0;
    bytes.push_back(static_cast<unsigned char>(std::stoi(text.substr(at, 8), &used)));
    at += used + 1;
  }
  CHECK_THAT(text, Contains("_size = " + std::to_string(bytes.size()) + ";"));
  CHECK(fx::load_aot(std::span<const unsigned char>(bytes)).kernels().size() == 1);
}

TEST_CASE("every byte of a file is checked") {
  TemporaryFile file;
  exportTo(file.path, {.archs = {"gfx942"}});
  std::ifstream in(file.path, std::ios::binary);
  const std::vector<unsigned char> good{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(fx::load_aot(good).kernels().size() == 1);
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= 0x40;
    REQUIRE_THROWS_AS(fx::load_aot(bad), fx::RuntimeError);
    REQUIRE_THROWS_AS(fx::load_aot(std::span(good).first(i)), fx::RuntimeError);
  }
  CHECK_THROWS_WITH(fx::load_aot("/nowhere/x.flyaot"), Contains("can't open /nowhere/x.flyaot"));
}

TEST_CASE("a file that can't be written is an error with the user's line") {
  try {
    exportTo("/nowhere/x.flyaot", {.archs = {"gfx942"}});
    FAIL("no error");
  } catch (const fx::RuntimeError &error) {
    CHECK_THAT(error.what(), Contains("can't write /nowhere/x.flyaot"));
    CHECK_THAT(error.where().file, Contains("test_aot.cpp"));
  }
}
