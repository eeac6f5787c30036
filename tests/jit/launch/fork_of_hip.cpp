// A HIP library that is not the emulator: objects of the parent are useless in a child, and the
// child gets an error for them at once.
#include "scale.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace fx = flydsl;

int main() {
  if (fx::Device::current().is_emulator()) {
    std::puts("this is the emulator, not a stand-in for HIP");
    return 1;
  }
  const auto kernel = makeAxpy("axpy_hip");
  const std::vector<float> ones(64, 1.0f);
  auto x = onDevice(ones), y = onDevice(ones);
  fx::Stream stream;
  kernel(x, y, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream});
  stream.synchronize();
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int refused = 0;
    const std::function<void()> uses[] = {
        [&] { kernel(x, y, 1.0f).launch({.grid = 1, .block = axpyBlock, .stream = stream}); },
        [&] { stream.synchronize(); },
        [&] { y.to_host(); },
        [&] { fx::DeviceArray<float> mine({64}); },
        [&] { fx::Stream mine; },
        [&] { fx::Device::count(); }};
    for (const auto &use : uses)
      try {
        use();
      } catch (const fx::RuntimeError &error) {
        refused += std::strstr(error.what(), "forked after its parent had used HIP") != nullptr;
      }
    { // what the child has copies of is let go without a call
      fx::DeviceArray<float> gone(std::move(x));
      fx::Stream going(std::move(stream));
    }
    auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
    const bool compiles = makeAxpy("axpy_child")(none, none, 0.0f)
                              .compile({.block = axpyBlock, .arch = "gfx950"})
                              .registers() > 0;
    std::printf("%d of %zu refused, %s\n", refused, std::size(uses),
                compiles ? "compiles" : "compiles not");
    std::fflush(stdout);
    _exit(refused == int(std::size(uses)) && compiles ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
