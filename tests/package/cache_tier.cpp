// Compiles one kernel and prints its origin.
#include <flydsl/flydsl.h>

#include <cstdio>

namespace fx = flydsl;

int main() {
  const fx::Kernel shift{"shift", [](fx::Tensor x) {
                           auto i = fx::thread_idx().x;
                           x(i) = x(i) + 1.0f;
                         }};
  float element = 0; // never read: the kernel is only compiled
  auto compiled = shift(fx::tensor(&element, {64})).compile({.block = 64, .arch = "gfx942"});
  std::printf("%s\n", compiled.cache_tier_name());
}
