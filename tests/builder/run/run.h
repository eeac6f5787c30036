// Helpers that the tests of running kernels share.
#pragma once

#include <flydsl/flydsl.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace run {

namespace fx = flydsl;

/// The target of the device that kernels run on.
inline const std::string &target() {
  static const std::string name = [] {
    const fx::Kernel empty{"empty", [] {}};
    std::string full = empty().compile({.block = 64}).target();
    return full.substr(0, full.find(':'));
  }();
  return name;
}
/// Whether that target has a feature.
inline bool has(fx::Feature feature) { return fx::Device::current().target().has(feature); }
inline int waveSize() { return target().starts_with("gfx9") ? 64 : 32; }

/// `threads` threads, each writing `columns` values of `type`: what the kernel's body gave.
template <class T, class F>
std::vector<T> values(const char *name, int threads, int columns, F body) {
  const fx::Kernel kernel{name, [body](fx::Tensor out) { body(out, fx::thread_idx().x); }};
  fx::DeviceArray<T> out({threads, columns});
  out.poison();
  kernel(out).launch({.grid = 1, .block = threads});
  return out.to_host();
}

} // namespace run
