// Launches the kernels that aot_export wrote. It links only libflydsl_runtime: no compiler is in
// this process.
#include <flydsl/aot.h>
#include <flydsl/device_array.h>

#include <cmath>
#include <cstdio>

namespace fx = flydsl;

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  try {
    constexpr int n = 640, block = 64;
    auto x = fx::DeviceArray<float>::random({n}, 1), y = fx::DeviceArray<float>::random({n}, 2);
    const auto a = x.to_host(), before = y.to_host();
    fx::Stream stream;
    fx::AotKernel axpy = fx::load_aot(argv[1]).kernel("axpy_aot");
    axpy(x, y, 0.25f).launch({.grid = n / block, .block = block, .stream = stream});
    stream.synchronize();
    const auto after = y.to_host();
    double worst = 0;
    for (int i = 0; i < n; ++i)
      worst = std::fmax(worst, std::fabs(after[i] - (0.25 * a[i] + before[i])));
    std::printf("%s: largest error %g\n", fx::Device::current().str().c_str(), worst);
    return worst <= 1e-6 ? 0 : 1;
  } catch (const fx::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
