// What the examples of the guides share: each is a test; regions between `// region: name` and
// `// endregion` are what the guides show.
#pragma once

#include <catch2/catch.hpp>
#include <flydsl/flydsl.h>

#include <string>
#include <vector>

namespace fx = flydsl;
using fx::_;

namespace example {

/// Holds `text` against docs/examples/output/<name>, which a guide shows. Paths of the source tree
/// are cut short. With DOCS_UPDATE=1 in the environment the file is written instead.
void expectOutput(const std::string &name, std::string text);

/// A path for this process alone, in the system's directory for temporary files.
std::string scratchPath(const std::string &name);

/// Numbers of [-1, 1) in bf16.
inline std::vector<fx::bfloat16_t> numbers(std::size_t count, unsigned seed) {
  std::vector<fx::bfloat16_t> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = fx::bfloat16_t(float((i * 2654435761u + seed * 40503u) % 65536) / 32768 - 1);
  return all;
}

/// The message of the error of type E that `body` throws.
template <class E, class Body> std::string messageOf(Body body) {
  try {
    body();
  } catch (const E &error) {
    return error.what();
  }
  return "no error";
}

} // namespace example
