// Names its device and launches a kernel, which fly_compile.sh compiles in another process.
#include "scale.h"

#include <flydsl/host/device_array.h>

#include <cstdio>

namespace fx = flydsl;

static int run() {
  std::printf("%s\n", fx::Device::current().arch().c_str());
  std::fflush(stdout);
  auto x = fx::DeviceArray<float>::random({axpyBlock}, /*seed=*/1);
  fx::DeviceArray<float> y({axpyBlock});
  y.fill(0);
  fx::Stream stream;
  makeAxpy("compiled_elsewhere")(x, y, 2.0f)
      .launch({.grid = 1, .block = axpyBlock, .stream = stream});
  stream.synchronize();
  return y.to_host()[7] == 2 * x.to_host()[7] ? 0 : 1;
}

int main() {
  try {
    return run();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "compiled_elsewhere: %s\n", error.what());
    return 1;
  }
}
