// Compiles a kernel for gfx942 and prints its key and its origin. With an argument, it searches for
// a configuration and prints the origin of the result.
#include "scale.h"

#include <flydsl/host/autotune.h>
#include <flydsl/host/device_array.h>

#include <cstdio>

namespace fx = flydsl;

static int search() {
  fx::DeviceArray<float> x({axpyBlock}), y({axpyBlock});
  const fx::Kernel kernel = makeAxpy("axpy_tuned");
  auto build = [&](const fx::Config &) {
    auto compiled = kernel(x, y, 1.0f).compile({.block = axpyBlock});
    return fx::Candidate{
        compiled, [=, &x, &y](fx::StreamRef stream, int) {
          compiled(x, y, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream});
        }};
  };
  const auto found = fx::autotune("axpy", {{{"n", 1}}, {{"n", 2}}}, {}, build);
  std::printf("%s\n", found.source == fx::AutotuneResult::Source::cache ? "cache" : "search");
  return 0;
}

static int run(int argc) {
  if (argc > 1)
    return search();
  const auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
  const fx::Executable executable =
      makeAxpy("axpy_key")(none, none, 0.0f).compile({.block = axpyBlock, .arch = "gfx942"});
  std::printf("%s %s\n", executable.ir_hash().c_str(), executable.cache_tier_name());
  return 0;
}

int main(int argc, char **) {
  try {
    return run(argc);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cache_key: %s\n", error.what());
    return 1;
  }
}
