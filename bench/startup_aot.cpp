// The child of bench_startup that launches a kernel compiled ahead of time; it does not link LLVM.
//   bench_startup_aot file asked
#include <flydsl/aot.h>
#include <flydsl/device_array.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace fx = flydsl;

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  const double asked = std::atof(argv[2]), inMain = now();
  fx::Device::current();
  const double device = now();
  auto x = fx::DeviceArray<float>::random({64}, 1);
  const double array = now();
  fx::Stream stream;
  fx::AotKernel shift = fx::load_aot(argv[1]).kernel("startup");
  const double file = now();
  shift(x, x, 1.0f).launch({.block = 64, .stream = stream});
  const double launched = now();
  stream.synchronize();
  std::printf("libraries loaded\t%.3f\ndevice found\t%.3f\narray filled\t%.3f\n"
              "file read\t%.3f\nlaunched\t%.3f\n",
              inMain - asked, device - asked, array - asked, file - asked, launched - asked);
}
