// The output of the samples: the device, the figures of a compiled kernel, and the distance of a
// result from its reference.
#pragma once

#include <flydsl/flydsl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

namespace samples {

inline void reportDevice() {
  std::printf("device      %s\n", flydsl::Device::current().str().c_str());
}

/// Prints a line for each figure of a compiled kernel.
inline void report(const flydsl::Executable &kernel) {
  const std::string tier = kernel.cache_tier_name();
  std::printf("kernel      %s\n", kernel.name().c_str());
  std::printf("trace       %.3f ms\n", kernel.trace_milliseconds());
  std::printf("IR hash     %s\n", kernel.ir_hash().c_str());
  std::printf("cache       %s\n", kernel.cache_tier() == flydsl::CacheTier::compiled
                                      ? "miss"
                                      : ("hit (" + tier + ")").c_str());
  std::printf("compile     %.3f ms\n", kernel.compile_milliseconds());
  std::printf("registers   %u vector, %u scalar, %u spilled\n", kernel.registers(),
              kernel.scalar_registers(), kernel.spills());
  std::printf("code size   %zu bytes\n", kernel.code_size());
}

/// The largest difference seen so far; a NaN counts as infinite.
class Worst {
public:
  void add(double difference) {
    worst_ = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                    : std::max(worst_, std::fabs(difference));
  }
  double value() const { return worst_; }

private:
  double worst_ = 0;
};

/// Prints the verdict on `worst` and returns the exit status. `of` says what was compared: "100 x
/// 1000".
inline int verdict(const char *kind, const std::string &of, const Worst &worst, double allowed) {
  const bool pass = worst.value() <= allowed;
  std::printf("%s of %s: %g\n%s\n", kind, of.c_str(), worst.value(), pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}

/// The sizes as text: "2 x 3 x 4".
template <class... Ts> std::string dims(const Ts &...sizes) {
  std::string text;
  (..., (text += (text.empty() ? "" : " x ") + std::to_string(sizes)));
  return text;
}

} // namespace samples
