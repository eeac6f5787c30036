// What the error of a refused call says.
#pragma once

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <string>

namespace kernel_tests {

/// The message of an error that `f` throws.
template <class F> std::string messageOf(F f) {
  try {
    f();
  } catch (const flydsl::Error &error) {
    return error.what();
  }
  return "no error";
}
/// Checks that a message has a part, and shows all of it otherwise.
inline void expectPart(const std::string &message, const std::string &part) {
  INFO(message);
  CHECK(message.find(part) != message.npos);
}

} // namespace kernel_tests
