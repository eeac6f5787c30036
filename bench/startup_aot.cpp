// The child of bench_startup that launches a kernel compiled ahead of time; it does not link LLVM.
//   bench_startup_aot file asked
#include "startup_steps.h"

#include <flydsl/host/aot.h>
#include <flydsl/host/device_array.h>

#include <cstdlib>

namespace fx = flydsl;

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  bench::Steps steps(std::atof(argv[2]));
  steps.reach("libraries loaded");
  fx::Device::current();
  steps.reach("device found");
  auto x = fx::DeviceArray<float>::random({64}, 1);
  steps.reach("array filled");
  fx::Stream stream;
  fx::AotKernel shift = fx::load_aot(argv[1]).kernel("startup");
  steps.reach("file read");
  shift(x, x, 1.0f).launch({.block = 64, .stream = stream});
  steps.reach("launched");
  stream.synchronize();
  steps.reach("finished");
  steps.print();
}
