// Environment variables. A variable is one typed object: it knows its name, its meaning, its
// default, and how to parse its text. The objects are in support/env_variables.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flydsl::support {

/// The part that all variables share. An empty variable counts as unset.
class EnvVariable {
public:
  constexpr EnvVariable(const char *name, const char *meaning) : name_(name), meaning_(meaning) {}

  constexpr std::string_view name() const { return name_; }
  constexpr std::string_view meaning() const { return meaning_; }
  /// The variable's text; nullopt if it is not set.
  std::optional<std::string> text() const;
  bool given() const { return text().has_value(); }
  /// Throws flydsl::Error ("NAME=value: expected ...") if the text can't be parsed.
  virtual void check() const = 0;

protected:
  constexpr ~EnvVariable() = default;
  [[noreturn]] void refuse(const std::string &text, const std::string &expected) const;

private:
  const char *name_, *meaning_;
};

/// True if two words differ at most in the case of ASCII letters.
bool sameWord(std::string_view a, std::string_view b);
/// The number that a text spells, if it consists of decimal digits alone.
std::optional<std::uint64_t> parseWholeNumber(std::string_view text);

/// One accepted word and its value.
template <class T> struct EnvWord {
  std::string_view word;
  T value;
};

/// A variable of type T; `get` throws flydsl::Error as `check` does. The primary template is a
/// choice of words, in upper or lower case.
template <class T> class Env final : public EnvVariable {
public:
  constexpr Env(const char *name, T otherwise, std::span<const EnvWord<T>> words,
                const char *meaning)
      : EnvVariable(name, meaning), otherwise_(otherwise), words_(words) {}
  T get() const {
    const std::optional<std::string> given = text();
    if (!given)
      return otherwise_;
    std::string expected;
    for (const EnvWord<T> &word : words_) {
      if (sameWord(*given, word.word))
        return word.value;
      expected += (expected.empty() ? "" : &word == &words_.back() ? " or " : ", ");
      expected += word.word;
    }
    refuse(*given, expected);
  }
  void check() const override { (void)get(); }

private:
  T otherwise_;
  std::span<const EnvWord<T>> words_;
};

/// A text that is taken as it is.
template <> class Env<std::string> final : public EnvVariable {
public:
  using EnvVariable::EnvVariable;
  std::optional<std::string> get() const { return text(); }
  void check() const override {}
};

/// A truth value: 1, true, yes, on; 0, false, no, off; in upper or lower case.
template <> class Env<bool> final : public EnvVariable {
public:
  constexpr Env(const char *name, bool otherwise, const char *meaning)
      : EnvVariable(name, meaning), otherwise_(otherwise) {}
  bool get() const;
  void check() const override { (void)get(); }

private:
  bool otherwise_;
};

/// A whole number in decimal digits, within limits.
template <std::unsigned_integral T> class Env<T> final : public EnvVariable {
public:
  constexpr Env(const char *name, T otherwise, T least, T most, const char *meaning)
      : EnvVariable(name, meaning), otherwise_(otherwise), least_(least), most_(most) {}
  T get() const { return asked().value_or(otherwise_); }
  /// The number; nullopt if the variable is not set.
  std::optional<T> asked() const {
    const std::optional<std::uint64_t> number = read(least_, most_);
    return number ? std::optional<T>(static_cast<T>(*number)) : std::nullopt;
  }
  void check() const override { (void)get(); }

private:
  std::optional<std::uint64_t> read(std::uint64_t least, std::uint64_t most) const;
  T otherwise_, least_, most_;
};

/// A number of bytes: "1500", "64K", "10M", "2G", "1T" (powers of 1024, any case; "iB" or "B" may
/// follow).
struct ByteSize {
  std::uint64_t bytes = 0;
};
/// Parses a size; nullopt if the text is not one.
std::optional<ByteSize> parseByteSize(std::string_view text);
template <> class Env<ByteSize> final : public EnvVariable {
public:
  constexpr Env(const char *name, ByteSize otherwise, const char *meaning)
      : EnvVariable(name, meaning), otherwise_(otherwise) {}
  ByteSize get() const;
  void check() const override { (void)get(); }

private:
  ByteSize otherwise_;
};

template <std::unsigned_integral T>
std::optional<std::uint64_t> Env<T>::read(std::uint64_t least, std::uint64_t most) const {
  const std::optional<std::string> given = text();
  if (!given)
    return std::nullopt;
  const std::optional<std::uint64_t> number = parseWholeNumber(*given);
  if (!number || *number < least || *number > most)
    refuse(*given, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

} // namespace flydsl::support
