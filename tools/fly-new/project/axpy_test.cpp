// The kernel beside its formula in double, for sizes around those of a block.
#include "axpy.h"

#include <cmath>
#include <cstdio>
#include <vector>

static bool is_right(std::int64_t n) {
  auto x = fx::DeviceArray<float>::random({n}, /*seed=*/1);
  auto y = fx::DeviceArray<float>::random({n}, /*seed=*/2);
  const std::vector<float> before = y.to_host(), in = x.to_host();
  fx::Stream stream;
  run_axpy(0.75f, x, y, n, stream);
  stream.synchronize();
  const std::vector<float> out = y.to_host();
  for (std::size_t i = 0; i < out.size(); ++i) {
    // The product and the sum are rounded once each, to 24 bits, and are below 2.
    const double exact = 0.75 * double(in[i]) + double(before[i]);
    if (!(std::abs(double(out[i]) - exact) <= 2 * 0x1p-23)) {
      std::printf("n = %lld: y[%zu] is %g, expected %g\n", static_cast<long long>(n), i,
                  double(out[i]), exact);
      return false;
    }
  }
  return true;
}

int main() {
  bool good = true;
  for (std::int64_t n : {1, 63, 64, 65, 1000})
    good &= is_right(n);
  std::puts(good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
