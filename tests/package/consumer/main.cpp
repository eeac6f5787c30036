// A program outside of the source tree: it uses the host algebra and one kernel of the installed
// library.
#include <flydsl/flydsl.h>

#include <cstdio>
#include <vector>

namespace fx = flydsl;

int main() {
  if (fx::make_layout({8, 16}, {1, 8})(3, 5).value() != 43) {
    std::puts("the host layout algebra is wrong");
    return 1;
  }

  const fx::Kernel twice{"twice", [](fx::Tensor x, fx::Tensor y) {
                           auto i = fx::thread_idx().x;
                           y(i) = x(i) + x(i);
                         }};
  const int n = 64;
  auto x = fx::DeviceArray<float>::random({n}, /*seed=*/7);
  auto y = fx::DeviceArray<float>({n});
  fx::Stream stream;
  twice(x, y).launch({.block = n, .stream = stream});
  stream.synchronize();

  std::vector<float> in = x.to_host(), out = y.to_host();
  for (int i = 0; i < n; ++i)
    if (out[i] != 2 * in[i]) {
      std::printf("y[%d] is %g, expected %g\n", i, out[i], 2 * in[i]);
      return 1;
    }
  std::puts("PASS");
  return 0;
}
