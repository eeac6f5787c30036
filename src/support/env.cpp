#include "support/env.h"

#include "support/text.h"

#include <flydsl/error.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace flydsl::support {

std::optional<std::string> EnvVariable::text() const {
  const char *value = std::getenv(name_);
  if (!value || !*value)
    return std::nullopt;
  return std::string(value);
}

void EnvVariable::refuse(const std::string &text, const std::string &expected) const {
  throw Error(std::string(name_) + "=" + printable(text) + ": expected " + expected);
}

bool sameWord(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : int(c); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool Env<bool>::get() const {
  const std::optional<std::string> given = text();
  if (!given)
    return otherwise_;
  for (const char *yes : {"1", "true", "yes", "on"})
    if (sameWord(*given, yes))
      return true;
  for (const char *no : {"0", "false", "no", "off"})
    if (sameWord(*given, no))
      return false;
  refuse(*given, "1 or 0 (or true/false, yes/no, on/off)");
}

std::optional<std::uint64_t> parseWholeNumber(std::string_view text) {
  std::uint64_t number = 0;
  const char *end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end)
    return std::nullopt;
  return number;
}

std::optional<ByteSize> parseByteSize(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::uint64_t> number = parseWholeNumber(text.substr(0, digits));
  if (!number)
    return std::nullopt;
  std::string_view unit = text.substr(digits);
  int shift = 0;
  constexpr std::string_view units = "KMGT";
  for (std::size_t i = 0; i < units.size() && !unit.empty(); ++i)
    if (sameWord(unit.substr(0, 1), units.substr(i, 1))) {
      shift = 10 * (static_cast<int>(i) + 1);
      unit.remove_prefix(1);
      if (sameWord(unit, "iB"))
        unit = {};
      break;
    }
  if (!(unit.empty() || sameWord(unit, "B")) || (shift && *number >> (64 - shift)))
    return std::nullopt;
  return ByteSize{*number << shift};
}

ByteSize Env<ByteSize>::get() const {
  const std::optional<std::string> given = text();
  if (!given)
    return otherwise_;
  if (const std::optional<ByteSize> size = parseByteSize(*given))
    return *size;
  refuse(*given, "a number of bytes, or one with K, M, G or T");
}

} // namespace flydsl::support
