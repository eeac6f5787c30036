// The part of a kernel's symbol that tells its configurations apart: "128x128x64_f16".
#pragma once

#include <flydsl/dtype.h>

#include <cstdint>
#include <string>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// Collects the values of a configuration in the order of its fields. Numbers that follow one
/// another are joined by "x", other values by "_". Characters that a symbol can't have become "_".
class FLYDSL_API SymbolText {
public:
  /// 128; m5 for -5.
  void number(std::int64_t value);
  void number(std::uint64_t value);
  /// 0p5 for 0.5, in as few digits as give the value back.
  void real(double value);
  /// The name of a flag that is set; nothing where it is not.
  void flag(std::string_view name, bool value);
  /// f16, or a text.
  void word(std::string_view text);
  /// The text so far. A text of more than 128 characters is cut, and ends in a hash of the whole.
  std::string str() const;

private:
  void add(std::string_view text, bool isNumber);
  std::string text_;
  bool endsInNumber_ = false;
};

} // namespace detail
FLYDSL_NAMESPACE_END
