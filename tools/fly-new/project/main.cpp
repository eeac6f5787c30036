// Runs the kernel on the current device: a GPU, or the emulator where there is none.
#include "axpy.h"

#include <cstdio>

int main() {
  const std::int64_t n = 1000;
  auto x = fx::DeviceArray<float>::random({n}, /*seed=*/1);
  auto y = fx::DeviceArray<float>::random({n}, /*seed=*/2);
  fx::Stream stream;
  run_axpy(2.0f, x, y, n, stream);
  stream.synchronize();
  std::printf("%s: y[0] = %g\n", fx::Device::current().str().c_str(), double(y.to_host()[0]));
}
