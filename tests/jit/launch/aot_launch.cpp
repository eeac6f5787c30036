// Launches the kernels that aot_export wrote. It links only libflydsl_runtime: no compiler is in
// this process.
#include "aot_config.h"

#include <flydsl/host/aot.h>
#include <flydsl/host/device_array.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace fx = flydsl;

namespace {

constexpr int kElements = 640, kBlock = 64;

double axpyError(const fx::AotModule &module) {
  auto x = fx::DeviceArray<float>::random({kElements}, 1),
       y = fx::DeviceArray<float>::random({kElements}, 2);
  const auto a = x.to_host(), before = y.to_host();
  fx::Stream stream;
  fx::AotKernel axpy = module.kernel("axpy_aot");
  axpy(x, y, 0.25f).launch({.grid = kElements / kBlock, .block = kBlock, .stream = stream});
  stream.synchronize();
  const auto after = y.to_host();
  double worst = 0;
  for (int i = 0; i < kElements; ++i)
    worst = std::fmax(worst, std::fabs(after[i] - (0.25 * a[i] + before[i])));
  return worst;
}

/// The largest error of a configuration: it sums two arrays, weighted by 0.5.
double weightedError(const fx::AotModule &module, const WeightedConfig &config) {
  const std::array x = {fx::DeviceArray<float>::random({kElements}, 3),
                        fx::DeviceArray<float>::random({kElements}, 4)};
  fx::DeviceArray<float> out({kElements});
  fx::Stream stream;
  fx::AotKernel weighted = module.kernel("weighted", fx::variant_name(config));
  weighted(x, out.data(), 0.5).launch({.grid = kElements / weightedBlock, .stream = stream});
  stream.synchronize();
  const auto a = x[0].to_host(), b = x[1].to_host(), sums = out.to_host();
  double worst = 0;
  for (int i = 0; i < kElements; ++i)
    worst = std::fmax(worst, std::fabs(sums[i] - 0.5 * (a[i] + b[i]) * config.repeats *
                                                     (config.negated ? -1 : 1)));
  return worst;
}

/// Whether a launch with elements of another type is refused, and says why.
bool refusesOtherElements(const fx::AotModule &module) {
  const std::array x = {fx::DeviceArray<float>({kElements}), fx::DeviceArray<float>({kElements})};
  fx::DeviceArray<int> out({kElements});
  try {
    module.kernel("weighted", fx::variant_name(WeightedConfig{3}))(x, out.data(), 0.5).launch({});
  } catch (const fx::TraceError &error) {
    return std::strstr(error.what(),
                       "argument 2 is pointer to i32, it was compiled for pointer to f32");
  }
  return false;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  try {
    const fx::AotModule module = fx::load_aot(argv[1]);
    for (const fx::AotInfo &info : module.contents())
      std::printf("%s for %s\n", info.symbol.c_str(), info.target.c_str());
    const double worst = std::fmax(axpyError(module), std::fmax(weightedError(module, {3, false}),
                                                                weightedError(module, {2, true})));
    std::printf("%s: largest error %g\n", fx::Device::current().str().c_str(), worst);
    if (!refusesOtherElements(module)) {
      std::fprintf(stderr, "a pointer to other elements was taken\n");
      return 1;
    }
    return worst <= 2e-6 ? 0 : 1;
  } catch (const fx::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
