// Exported kernels, which the launch path writes and the runtime alone reads and launches.
#include "fake.h"
#include "fake_params.h"
#include "runtime/aot_file.h"
#include "runtime/tensor_words.h"
#include "time_limit.h"

#include <flydsl/host/aot.h>
#include <flydsl/host/device_array.h>

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <xxhash.h>

#include <sys/stat.h>
#include <sys/wait.h>
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
  loaded(x, 1, 1.5).launch({.grid = 2}); // the block is the one that it was exported for
  CHECK(fake().launches.back().block[0] == 128);
  loaded(x, 1, 1.5).launch({.grid = 0, .allow_empty = true});
  CHECK(fake().launches.back().grid[0] == 2);

  // Wrong in type, rank, range, block.
  fx::DeviceArray<int> wrong({16, 4});
  CHECK_THROWS_WITH(loaded(wrong, 1, 1.5).launch({.block = 128}),
                    Contains("argument 0 is tensor<i32, ") &&
                        Contains("it was compiled for tensor<f32, "));
  CHECK_THROWS_WITH(loaded(x, 1).launch({.block = 128}),
                    Contains("2 arguments, it was compiled for 3"));
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
  CHECK_THROWS_WITH(loaded(x, 1, 1.5).launch({}), Contains("the launch gives no block"));
}

namespace {
/// As a library has it: tiles and the type of the elements, and a number beside them.
struct Tile {
  int m = 128, n = 128;
  fx::DType dtype = fx::f16;
};
const fx::Kernel tiled{
    "tiled", [](FakeTensor, fx::Constexpr<Tile>, fx::Constexpr<bool>, FakeStatic, FakeInt32) {}};

struct TiledExport {
  Tile tile = {};
  int layout = 0;
  std::string variant = {};
  bool append = true;
  void operator()(const std::string &path) const {
    tiled(fx::tensor(static_cast<float *>(nullptr), {8, 8}), tile, true, FakeStatic{layout}, 0)
        .export_aot(
            path,
            {.block = 64, .archs = {"gfx942", "gfx1201"}, .append = append, .variant = variant});
  }
};
} // namespace

TEST_CASE("a file holds the variants of a kernel, and each is found by its constants") {
  TemporaryFile file;
  TiledExport{.append = false}(file.path);
  TiledExport{.tile = {64, 64}}(file.path);
  TiledExport{.tile = {64, 64, fx::bf16}}(file.path);
  TiledExport{.tile = {64, 64, fx::bf16}}(file.path); // replaces the one before
  fx::AotModule module = fx::load_aot(file.path);
  CHECK(module.kernels() == std::vector<std::string>{"tiled"});
  CHECK(module.variants("tiled") ==
        std::vector<std::string>{"128x128_f16_true", "64x64_bf16_true", "64x64_f16_true"});
  CHECK(fx::variant_name(Tile{64, 64, fx::bf16}, true) == "64x64_bf16_true");
  CHECK(fx::variant_name(false, 0.5, -3, "a b") == "false_0p5xm3_a_b");

  const std::vector<fx::AotInfo> all = module.contents();
  REQUIRE(all.size() == 6);
  CHECK(all[1].kernel == "tiled");
  CHECK(all[1].variant == "128x128_f16_true");
  CHECK(all[1].symbol == "tiled_128x128_f16");
  CHECK(all[1].target == "gfx1201");
  CHECK(all[1].block == fx::Dim3(64));
  CHECK(all[1].arguments == std::vector<std::string>{"tensor<f32, (?,?):(?{i64},1)>", "i32"});

  fx::DeviceArray<float> x({16, 4});
  fx::AotKernel loaded = module.kernel("tiled", fx::variant_name(Tile{64, 64}, true));
  CHECK(loaded.variant() == "64x64_f16_true");
  CHECK(loaded.targets() == std::vector<std::string>{"gfx942", "gfx1201"});
  loaded(x, 7).launch({.grid = 5});
  CHECK(fake().launches.back().kernel == "tiled_64x64_f16");
  module.kernel("tiled", "128x128_f16_true")(x, 7).launch({.grid = 5});
  CHECK(fake().launches.back().kernel == "tiled_128x128_f16");

  CHECK_THROWS_WITH(
      module.kernel("tiled"),
      Contains("aot_test.cpp:") &&
          Contains("kernel tiled has 3 variants; name one of them, as in kernel(\"tiled\", "
                   "\"64x64_f16_true\"): 128x128_f16_true, 64x64_bf16_true, 64x64_f16_true"));
  CHECK_THROWS_WITH(module.kernel("tiled", "32x32_f16"),
                    Contains("no variant 32x32_f16 of kernel tiled among the compiled ones: "
                             "128x128_f16_true, 64x64_bf16_true, 64x64_f16_true"));
  CHECK_THROWS_WITH(module.kernel("other", "32x32_f16"),
                    Contains("no kernel other among the compiled ones: tiled"));
  CHECK_THROWS_WITH(module.variants("other"), Contains("no kernel other"));
  CHECK_THROWS_WITH(loaded(x).launch({}), Contains("kernel tiled, variant 64x64_f16_true: "));
}

TEST_CASE("constants without a name of their own do not replace one another in a file") {
  TemporaryFile file;
  TiledExport{.append = false}(file.path);
  CHECK_THROWS_WITH(TiledExport{.layout = 1}(file.path),
                    Contains("kernel tiled, variant 128x128_f16_true is there for gfx942") &&
                        Contains("other constants, layouts or tiled copies") &&
                        Contains("give this export a .variant of its own"));
  TiledExport{.layout = 1, .variant = "swizzled"}(file.path);
  TiledExport{.layout = 1, .variant = "swizzled"}(file.path);
  CHECK_THROWS_WITH((TiledExport{.tile = {64, 64}, .layout = 1, .variant = "swizzled"}(file.path)),
                    Contains("variant swizzled is there for gfx942"));
  fx::AotModule module = fx::load_aot(file.path);
  CHECK(module.variants("tiled") == std::vector<std::string>{"128x128_f16_true", "swizzled"});
  CHECK(module.contents().size() == 4);
}

TEST_CASE("the file knows how much dynamic shared memory a kernel uses") {
  TemporaryFile file;
  fakeBuild().dynamicBytes = 512;
  exportTo(file.path, {.block = 64, .archs = {"gfx942"}});
  fakeBuild().dynamicBytes = 0;
  fx::AotKernel loaded = fx::load_aot(file.path).kernel("exported");
  fx::DeviceArray<float> x({16, 4});
  CHECK_THROWS_WITH(loaded(x, 1, 1.5).launch({}), Contains(".smem = 512 is the least"));
  loaded(x, 1, 1.5).launch({.smem = 512});
}

TEST_CASE("an exported kernel that was moved from is still there") {
  TemporaryFile file;
  exportTo(file.path, {.block = 64, .archs = {"gfx942"}});
  fx::AotModule module = fx::load_aot(file.path), other = std::move(module);
  fx::AotKernel loaded = module.kernel("exported"), taken = std::move(loaded);
  fx::DeviceArray<float> x({16, 4});
  loaded(x, 1, 1.5).launch({});
  taken(x, 1, 1.5).launch({});
  fx::DeviceArray<float> y = std::move(x);
  CHECK_THROWS_WITH(taken(x, 1, 1.5).launch({}), Contains("argument 0: the array was moved from"));
}

TEST_CASE("the C header holds the same bytes") {
  TemporaryFile file;
  exportTo(file.path, {.archs = {"gfx942"}, .header = file.path + ".h"});
  std::ifstream header(file.path + ".h");
  std::string text{std::istreambuf_iterator<char>(header), {}};
  CHECK_THAT(text, Contains("exported, variant 4_a_text, gfx942"));
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
  CHECK_THROWS_WITH(fx::load_aot("/nowhere/x.flyaot"), Contains("can't read /nowhere/x.flyaot"));
}

TEST_CASE("types of arguments that do not fit are refused, even under a right checksum") {
  TemporaryFile file;
  exportTo(file.path, {.archs = {"gfx942"}});
  std::ifstream in(file.path, std::ios::binary);
  const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(in), {}};
  const std::vector<flydsl::runtime::AotCode> good = flydsl::runtime::decodeAot(bytes);
  REQUIRE(good.size() == 1);
  REQUIRE(good[0].words.size() >= 4); // the block, a tensor and two numbers
  REQUIRE(!good[0].constants.empty());
  // The file with one code that `change` changed.
  const auto with = [&](auto change) {
    auto codes = good;
    change(codes[0]);
    return flydsl::runtime::encodeAot(codes);
  };
  using Code = flydsl::runtime::AotCode;
  const auto refused = [&](auto change, const char *why) {
    CHECK_THROWS_WITH(fx::load_aot(with(change)), Contains(why));
  };
  refused([](Code &code) { code.words.clear(); }, "no signature");
  refused([](Code &code) { code.words.push_back(0); }, "damaged"); // no tag
  refused([](Code &code) { code.words.push_back(4); }, "damaged"); // a constant, not passed
  refused([](Code &code) { code.words[1] |= 3ull << 60; }, "no valid shape");
  refused([](Code &code) { code.constants.push_back(3); }, "damaged");       // a digest is missing
  refused([](Code &code) { code.constants = {5 | ~0ull << 4}; }, "damaged"); // a text of 2^60 bytes
  refused([](Code &code) { code.constants.push_back(2); }, "damaged");       // a number, passed
  const auto mark = flydsl::runtime::kPresenceHead;
  refused([&](Code &code) { code.constants = {mark, 1}; }, "damaged"); // a launch says it
  refused([&](Code &code) { code.words.push_back(mark); }, "damaged"); // it says nothing
  refused([&](Code &code) { code.words.insert(code.words.end(), {mark, 2}); }, "damaged");
  // Whatever bit is another, the file is refused or tells what is in it.
  int taken = 0, refusals = 0;
  for (std::size_t word = 0; word < good[0].words.size(); ++word)
    for (int bit = 0; bit < 64; ++bit) {
      const auto changed = with([&](Code &code) { code.words[word] ^= 1ull << bit; });
      try {
        taken += fx::load_aot(changed).contents().size() == 1;
      } catch (const fx::RuntimeError &) {
        ++refusals;
      }
    }
  CHECK(refusals > 0);
  CHECK(taken > refusals); // the block and the types of elements may be any
  CHECK(taken + refusals == static_cast<int>(64 * good[0].words.size()));
}

namespace {
/// Two operands that a call may leave out, a number between them, and a constant that may be missing.
const fx::Kernel optionals{"optionals",
                           [](std::optional<FakeTensor>, FakeInt32, std::optional<FakeTensor>,
                              std::optional<fx::Constexpr<int>>, FakeFloat32) {}};

template <class A, class B>
void exportOptionals(const std::string &path, const A &a, const B &b, fx::AotConfig config) {
  config.archs = {"gfx942"};
  optionals(a, 1, b, std::optional<int>(3), 1.0f).export_aot(path, config);
}
} // namespace

TEST_CASE("of two optional operands in a file the one that is given is not taken for the other") {
  TemporaryFile file;
  fx::DeviceArray<float> x({8, 8});
  exportOptionals(file.path, x, std::nullopt, {.block = 64});
  const fx::AotKernel one = fx::load_aot(file.path).kernel("optionals");
  const std::optional<fx::TensorArg> some = fx::TensorArg(x), none;
  one(x, 7, std::nullopt, 0.5).launch({});
  one(some, 7, none, 0.5).launch({});
  CHECK(fake().launches.back().block[0] == 64);
  // The address, the number and the other number: nothing of the one that is left out.
  CHECK(fake().launches.back().arguments.size() == 8 + 16 + 4 + 4);
  const auto refused = [](auto call, const char *why) {
    CHECK_THROWS_WITH(std::move(call).launch({}),
                      Contains("kernel optionals") && Contains("aot_test.cpp:") && Contains(why));
  };
  refused(one(std::nullopt, 7, x, 0.5),
          "argument 0: it is left out, and the kernel was exported only for calls that give it");
  refused(one(none, 7, some, 0.5),
          "argument 0: it is left out, and the kernel was exported only for calls that give it");
  refused(one(x, 7, x, 0.5),
          "argument 2: it is given, and the kernel was exported only for calls that leave it out");
  refused(one(x, 7, some, 0.5),
          "argument 2: it is given, and the kernel was exported only for calls that leave it out");
  refused(one(x, 7, std::nullopt, std::nullopt),
          "argument 3: it is left out, and the kernel takes no optional argument there");
  refused(one(x, none, std::nullopt, 0.5),
          "argument 1: it is left out, and the kernel takes no optional argument there");
  CHECK_THROWS_AS(one(x, 7, 0.5).launch({}), fx::TraceError);
  fx::DeviceArray<int> other({8, 8});
  refused(one(other, 7, std::nullopt, 0.5), "argument 0 is tensor<i32, ");

  // All forms of one variant; each call finds its own, by what it leaves out.
  exportOptionals(file.path, std::nullopt, x, {.block = 128, .append = true});
  exportOptionals(file.path, x, x, {.block = 192, .append = true});
  exportOptionals(file.path, std::nullopt, std::nullopt, {.block = 256, .append = true});
  exportOptionals(file.path, std::nullopt, x, {.block = 128, .append = true}); // replaces its own
  const fx::AotModule module = fx::load_aot(file.path);
  REQUIRE(module.contents().size() == 4);
  const std::string tensor = "tensor<f32, (?,?):(?{i64},1)>",
                    leftOut = "an argument that is left out";
  CHECK(module.contents()[0].arguments == std::vector<std::string>{tensor, "i32", leftOut, "f32"});
  CHECK(module.contents()[1].arguments == std::vector<std::string>{leftOut, "i32", tensor, "f32"});
  CHECK(module.contents()[2].arguments == std::vector<std::string>{tensor, "i32", tensor, "f32"});
  const fx::AotKernel all = module.kernel("optionals");
  const auto block = [&](const auto &a, const auto &b) {
    all(a, 7, b, 0.5).launch({});
    return fake().launches.back().block[0];
  };
  for (int round = 0; round < 2; ++round) { // loaded by the first one
    CHECK(block(x, std::nullopt) == 64);
    CHECK(block(std::nullopt, x) == 128);
    CHECK(block(x, x) == 192);
    CHECK(block(some, x) == 192);
    CHECK(block(none, std::nullopt) == 256);
  }
}

TEST_CASE("an optional struct of an exported kernel is given whole or not at all") {
  TemporaryFile file;
  struct Affine {
    FakeFloat32 factor;
    std::optional<FakeTensor> bias;
  };
  struct HostAffine {
    float factor;
    std::optional<fx::TensorArg> bias;
  };
  const fx::Kernel kernel{"in_struct", [](FakeTensor, std::optional<Affine>, FakeInt32) {}};
  fx::DeviceArray<float> x({8, 8});
  const HostAffine with{2, fx::TensorArg(x)}, without{2, {}};
  const std::optional<HostAffine> none;
  kernel(x, with, 1).export_aot(file.path, {.block = 64, .archs = {"gfx942"}});
  kernel(x, none, 1).export_aot(file.path, {.block = 128, .archs = {"gfx942"}, .append = true});
  const fx::AotKernel loaded = fx::load_aot(file.path).kernel("in_struct");
  loaded(x, with, 1).launch({});
  CHECK(fake().launches.back().block[0] == 64);
  loaded(x, std::optional(with), 1).launch({});
  CHECK(fake().launches.back().block[0] == 64);
  loaded(x, none, 1).launch({});
  CHECK(fake().launches.back().block[0] == 128);
  CHECK_THROWS_WITH(loaded(x, without, 1).launch({}),
                    Contains("argument 2: it is left out, and the kernel was exported only for "
                             "calls that give it"));
}

TEST_CASE("a file of another version is refused with what to do") {
  TemporaryFile file;
  exportTo(file.path, {.archs = {"gfx942"}});
  std::ifstream in(file.path, std::ios::binary);
  std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(in), {}};
  CHECK(bytes[6] == 5);
  bytes[6] = 4;
  CHECK_THROWS_WITH(fx::load_aot(bytes),
                    Contains("version 4; this library reads version 5. Export the kernels again"));
  bytes[6] = 6;
  CHECK_THROWS_WITH(fx::load_aot(bytes), Contains("version 6") && Contains("a newer library"));
  std::ofstream(file.path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), 20);
  CHECK_THROWS_WITH(exportTo(file.path, {.archs = {"gfx942"}, .append = true}),
                    Contains("adding to") && Contains("version 6"));
}

TEST_CASE("a kernel for a target that the library does not have is refused by name") {
  TemporaryFile file;
  exportTo(file.path, {.archs = {"gfx942"}});
  std::ifstream in(file.path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::size_t at = bytes.find("gfx942");
  REQUIRE(at != std::string::npos);
  bytes.replace(at, 6, "gfx943");
  // The last eight bytes are the checksum of all others.
  const std::size_t summed = bytes.size() - sizeof(std::uint64_t);
  const std::uint64_t sum = XXH3_64bits(bytes.data(), summed);
  std::memcpy(bytes.data() + summed, &sum, sizeof sum);
  CHECK_THROWS_WITH(fx::load_aot(std::vector<unsigned char>(bytes.begin(), bytes.end())),
                    Contains("a kernel in it is for a target that this library does not have") &&
                        Contains("gfx943") && Contains("gfx942"));
}

TEST_CASE("a file that can't be written is an error with the user's line") {
  try {
    exportTo("/nowhere/x.flyaot", {.archs = {"gfx942"}});
    FAIL("no error");
  } catch (const fx::RuntimeError &error) {
    CHECK_THAT(error.what(), Contains("can't write /nowhere/x.flyaot"));
    CHECK_THAT(error.where().file, Contains("aot_test.cpp"));
  }
}

namespace {

/// A folder of a test's own.
struct Folder {
  std::string path;
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "flydsl-aot-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

void exportNamed(const char *name, const std::string &path, fx::AotConfig config) {
  const fx::Kernel named{name, [](FakeInt32) {}};
  config.archs = {"gfx942"};
  named(0).export_aot(path, config);
}

} // namespace

TEST_CASE("a file of kernels that is no regular file is refused, and nothing waits for it") {
  Folder folder;
  const flydsl::testing::TimeLimit limit(60);
  const std::string pipe = folder.path + "/pipe", holes = folder.path + "/holes";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(fx::load_aot(pipe), Contains(pipe) && Contains("a pipe"));
  CHECK_THROWS_WITH(exportNamed("k", pipe, {.append = true}), Contains("a pipe"));
  CHECK_THROWS_WITH(fx::load_aot("/dev/zero"), Contains("a device"));
  CHECK_THROWS_WITH(fx::load_aot(folder.path), Contains("a directory"));
  CHECK_THROWS_WITH(fx::load_aot(folder.path + "/none"), Contains("No such file"));
  std::ofstream(holes) << "FLYAOT";
  REQUIRE(truncate(holes.c_str(), off_t(1) << 40) == 0);
  CHECK_THROWS_WITH(fx::load_aot(holes), Contains("1099511627776"));
}

TEST_CASE("an export writes through devices and links, and tells what they answer") {
  Folder folder;
  exportNamed("k", "/dev/null", {});
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_THROWS_WITH(exportNamed("k", "/dev/full", {}), Contains("No space left"));
  CHECK(std::filesystem::is_character_file("/dev/full"));
  const std::string file = folder.path + "/file", link = folder.path + "/link";
  std::filesystem::create_symlink("file", link);
  exportNamed("k", link, {.header = "/dev/null"});
  CHECK(std::filesystem::is_symlink(link));
  CHECK(fx::load_aot(file).kernels() == std::vector<std::string>{"k"});
  CHECK_THROWS_WITH(exportNamed("k", folder.path + "/none/file", {}), Contains("No such file"));
}

// What the processes of the next case do: this program is executed, because a forked child of a
// process that used the library is refused.
TEST_CASE("adds kernels to a file", "[.adds]") {
  const std::string file = std::getenv("AOT_TEST_FILE"), name = std::getenv("AOT_TEST_NAME");
  for (int k = 0; k < std::atoi(std::getenv("AOT_TEST_COUNT")); ++k)
    exportNamed((name + std::to_string(k)).c_str(), file, {.append = true});
}

TEST_CASE("processes that add to one file lose none of each other's kernels") {
  Folder folder;
  const std::string file = folder.path + "/file";
  constexpr int processes = 6, each = 5;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("AOT_TEST_FILE", file.c_str(), 1);
      setenv("AOT_TEST_NAME", ("k" + std::to_string(p) + "_").c_str(), 1);
      setenv("AOT_TEST_COUNT", std::to_string(each).c_str(), 1);
      execl("/proc/self/exe", "test_launch", "[.adds]", nullptr);
      _exit(127);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(fx::load_aot(file).kernels().size() == processes * each);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(folder.path))
    ++files;
  CHECK(files == 1);
}

TEST_CASE("a kernel's name stays in the comment of the header") {
  Folder folder;
  const std::string header = folder.path + "/kernels.h";
  exportNamed("evil */\n#error injected\nint injected; /*", folder.path + "/kernels.aot",
              {.header = header});
  const std::string source = folder.path + "/use.cpp";
  std::ofstream(source) << "#include \"kernels.h\"\n"
                           "int injected(); // fails where the name declared it as a variable\n"
                           "static_assert(sizeof flydsl_aot_kernels > 1);\n";
  CHECK(std::system((std::string(CXX_COMPILER) + " -std=c++20 -fsyntax-only -Wall -Werror -I " +
                     folder.path + " " + source)
                        .c_str()) == 0);
}
