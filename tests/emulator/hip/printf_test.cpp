// The text of a kernel's printf, out of formats and arguments as kernels leave them in memory.
#include "emulator/hip/launch/printf_buffer.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using flyemu::hip::formatMessage;
using flyemu::hip::formatPrintf;

namespace {

std::string printed(const std::string &format, const std::vector<uint64_t> &arguments) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(arguments.data());
  return formatPrintf(format, bytes, bytes + 8 * arguments.size());
}

/// The words of a string argument.
uint64_t wordOf(const char *text) {
  char bytes[8] = {};
  std::strncpy(bytes, text, 7);
  return std::bit_cast<uint64_t>(bytes);
}

template <class... T> std::string hosts(const char *format, T... arguments) {
  char text[8192];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

} // namespace

TEST_CASE("A kernel's printf prints what the host's prints") {
  CHECK(printed("%d|%5d|%-5d|%05d", {7, 7, 7, 7}) == hosts("%d|%5d|%-5d|%05d", 7, 7, 7, 7));
  CHECK(printed("%hhd %hu %ld", {0x1ff, 0x1ffff, ~0ull}) == "-1 65535 -1");
  CHECK(printed("%+.3f|%e", {std::bit_cast<uint64_t>(1.5), std::bit_cast<uint64_t>(-2.0)}) ==
        hosts("%+.3f|%e", 1.5, -2.0));
  CHECK(printed("%s, %c%%", {wordOf("word"), 'c'}) == "word, c%");
  CHECK(printed("%*d|%-*d|%.*f", {5, 7, 5, 7, 2, std::bit_cast<uint64_t>(1.25)}) ==
        hosts("%*d|%-*d|%.*f", 5, 7, 5, 7, 2, 1.25));
  CHECK(printed("%*d|%.*f", {~4ull, 7, ~0ull, std::bit_cast<uint64_t>(1.25)}) ==
        hosts("%*d|%.*f", -5, 7, -1, 1.25));
}

TEST_CASE("Conversions that a kernel's printf does not have are printed as they stand") {
  for (const char *format : {"%S", "%m", "%C", "%1$s", "%2$d", "%Sd is", "%9$lln"})
    CHECK(printed(format, {1}) == format);
  CHECK(printed("%S %d", {7}) == "%S 7");
}

TEST_CASE("A width or a precision makes 4095 characters at the most") {
  CHECK(printed("%2147483647d", {7}) == hosts("%4095d", 7));
  CHECK(printed("%*d", {1u << 30, 7}) == hosts("%4095d", 7));
  CHECK(printed("%-4096d|", {7}) == hosts("%-4095d|", 7));
  CHECK(printed("%04095d", {7}) == hosts("%04095d", 7));
  CHECK(printed("%.99999d", {7}) == hosts("%.4095d", 7));
}

TEST_CASE("Arguments that are missing end the text, and nothing past them is read") {
  CHECK(printed("a %d b %d", {7}) == "a 7 b ");
  CHECK(printed("a %*d", {}) == "a ");
  CHECK(printed("a %s", {~0ull}) == "a "); // characters without an end
  CHECK(printed("a %", {1}) == "a ");
  const std::vector<uint64_t> open{~0ull, ~0ull};
  const auto *bytes = reinterpret_cast<const uint8_t *>(open.data());
  CHECK(formatMessage(bytes, bytes + 16).empty()); // a format without an end
}
