// A program outside of the source tree that uses the installed kernel library.
#include <flydsl/flydsl.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/softmax.h>

#include <cmath>
#include <cstdio>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

int main() {
  const std::int64_t m = 4, n = 128;
  const fk::SoftmaxProblem problem{.x = fx::f32, .y = fx::f32, .n = n};
  const fk::SoftmaxPlan plan(problem, fk::choose(problem, m));
  fx::DeviceArray<float> x({m, n}), y({m, n});
  x.fill(3);
  fx::Stream stream;
  plan({.x = x, .y = y}, stream);
  stream.synchronize();
  for (float value : y.to_host())
    if (value != 0x1p-7f) {
      std::printf("%g where 1/128 is expected\n", value);
      return 1;
    }
  std::puts("PASS");
  return 0;
}
