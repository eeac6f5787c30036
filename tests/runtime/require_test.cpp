// Demands with the caller's line.
#include <flydsl/dtype.h>
#include <flydsl/require.h>

#include <catch2/catch.hpp>

#include <functional>

namespace fx = flydsl;

namespace {
enum class Schedule { direct, pipelined };
struct Shape {
  std::string str() const { return "(4,8)"; }
};

std::string messageOf(const std::function<void()> &call, unsigned line) {
  try {
    call();
  } catch (const fx::TraceError &e) {
    CHECK(e.where().line == line);
    CHECK(e.where().file.ends_with("require_test.cpp"));
    const std::string text = e.what();
    return text.substr(text.find(": ") + 2);
  }
  return "no error";
}
} // namespace

TEST_CASE("a demand that is met does nothing") {
  fx::require(true, "never said");
  fx::require(1 + 1 == 2, "{} is said never", 3);
}

TEST_CASE("a demand that fails says its text with the values, at the caller's line") {
  CHECK(messageOf([] { fx::require(false, "k is even"); }, __LINE__) == "k is even");
  CHECK(messageOf([] { fx::require(false, "k is {}, not {}", 16, 17u); }, __LINE__) ==
        "k is 16, not 17");
  CHECK(messageOf([] { fx::require(false, "{}{}", "a", std::string("b")); }, __LINE__) == "ab");
  CHECK(messageOf([] { fx::require(false, "{} at {}", fx::f16, Shape()); }, __LINE__) ==
        "f16 at (4,8)");
  CHECK(messageOf([] { fx::require(false, "{} {}", true, Schedule::pipelined); }, __LINE__) ==
        "true 1");
  // A value's own braces are no place for another value.
  CHECK(messageOf([] { fx::require(false, "{} and {}", "{}", "x"); }, __LINE__) == "{} and x");
}
