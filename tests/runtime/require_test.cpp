// Demands with the caller's line.
#include <flydsl/dtype.h>
#include <flydsl/kernel/require.h>

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

// Each call stands on the line that it names.
TEST_CASE("a demand that fails says its text with the values, at the caller's line") {
  // clang-format off
  const std::string plain = messageOf([] { fx::require(false, "k is even"); }, __LINE__);
  const std::string two = messageOf([] { fx::require(false, "k is {}, not {}", 16, 17u); }, __LINE__);
  const std::string texts = messageOf([] { fx::require(false, "{}{}", "a", std::string("b")); }, __LINE__);
  const std::string named = messageOf([] { fx::require(false, "{} at {}", fx::f16, Shape()); }, __LINE__);
  const std::string values = messageOf([] { fx::require(false, "{} {}", true, Schedule::pipelined); }, __LINE__);
  const std::string braces = messageOf([] { fx::require(false, "{} and {}", "{}", "x"); }, __LINE__);
  // clang-format on
  CHECK(plain == "k is even");
  CHECK(two == "k is 16, not 17");
  CHECK(texts == "ab");
  CHECK(named == "f16 at (4,8)");
  CHECK(values == "true 1");
  CHECK(braces == "{} and x"); // a value's own braces are no place for another value
}
