// README's first kernel: a whole program, which says by its status whether it was right.
// region: program
#include <flydsl/flydsl.h>
namespace fx = flydsl;

const fx::Kernel twice{"twice", [](fx::Tensor x, fx::Tensor y) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  y(i) = x(i) + x(i);
}};

int main() {
  auto x = fx::DeviceArray<float>::random({1024}, /*seed=*/1);
  fx::DeviceArray<float> y({1024});
  fx::Stream stream;
  twice(x, y).launch({.grid = 16, .block = 64, .stream = stream});
  stream.synchronize();
  return y.to_host()[1000] == 2 * x.to_host()[1000] ? 0 : 1;
}
// endregion
