// A program outside of the source tree that has memory and a stream of HIP's, and one HIP: the
// emulator's, which it was linked with.
#include <flydsl/flydsl.h>

#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <vector>

namespace fx = flydsl;

int main() {
  const fx::Kernel twice{"twice", [](fx::Tensor x, fx::Tensor y) {
                           auto i = fx::thread_idx().x;
                           y(i) = x(i) + x(i);
                         }};
  constexpr int n = 64;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i)
    in[i] = float(i) - 7.5f;
  float *x = nullptr, *y = nullptr;
  hipStream_t stream = nullptr;
  const std::size_t bytes = n * sizeof(float);
  bool good = hipMalloc(reinterpret_cast<void **>(&x), bytes) == hipSuccess &&
              hipMalloc(reinterpret_cast<void **>(&y), bytes) == hipSuccess &&
              hipStreamCreate(&stream) == hipSuccess &&
              hipMemcpy(x, in.data(), bytes, hipMemcpyHostToDevice) == hipSuccess;
  if (good)
    twice(fx::tensor(x, {n}), fx::tensor(y, {n})).launch({.block = n, .stream = stream});
  good = good && hipStreamSynchronize(stream) == hipSuccess &&
         hipMemcpy(out.data(), y, bytes, hipMemcpyDeviceToHost) == hipSuccess;
  for (int i = 0; i < n; ++i)
    good = good && out[i] == 2 * in[i];
  std::puts(good && fx::Device::current().is_emulator() ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
