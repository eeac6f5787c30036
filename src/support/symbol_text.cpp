#include <flydsl/detail/symbol_text.h>

#include <array>
#include <charconv>

#include <xxhash.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

/// Profilers and tools show this much of a symbol.
constexpr std::size_t kLongest = 128;

bool fitsSymbol(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The digits of a number with "m" for minus and "p" for the decimal point.
template <class Number> std::string digits(Number value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string result;
  for (const char *c = text.data(); c != end; ++c)
    if (*c != '+')
      result += *c == '-' ? 'm' : *c == '.' ? 'p' : *c;
  return result;
}

} // namespace

void SymbolText::add(std::string_view text, bool isNumber) {
  if (!text_.empty())
    text_ += endsInNumber_ && isNumber ? 'x' : '_';
  text_ += text;
  endsInNumber_ = isNumber;
}

void SymbolText::number(std::int64_t value) { add(digits(value), true); }
void SymbolText::number(std::uint64_t value) { add(digits(value), true); }
void SymbolText::real(double value) { add(digits(value), true); }

void SymbolText::flag(std::string_view name, bool value) {
  if (value)
    word(name);
}

void SymbolText::word(std::string_view text) {
  if (text.empty())
    return;
  std::string fitting(text);
  for (char &c : fitting)
    if (!fitsSymbol(c))
      c = '_';
  add(fitting, false);
}

std::string SymbolText::str() const {
  if (text_.size() <= kLongest)
    return text_;
  std::array<char, 17> hash{};
  const std::uint64_t bits = XXH3_64bits(text_.data(), text_.size());
  for (unsigned i = 0; i < 16; ++i)
    hash[i] = "0123456789abcdef"[bits >> (60 - 4 * i) & 15];
  return text_.substr(0, kLongest - 17) + "_" + hash.data();
}

} // namespace detail
FLYDSL_NAMESPACE_END
