// Sets of the values of an enumeration, as bits of one word.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace flydsl::support {

/// A set of values of `Enum`, whose values count up from 0 and are fewer than the bits of `Word`. A
/// value is also a set of one: `{Colour::Red, Colour::Blue}` and `Colour::Red` both convert.
template <class Enum, class Word = std::uint64_t> class EnumSet {
  static_assert(std::is_enum_v<Enum> && std::is_unsigned_v<Word>);

public:
  constexpr EnumSet() = default;
  constexpr EnumSet(Enum value) : bits_(bit(value)) {}
  constexpr EnumSet(std::initializer_list<Enum> values) {
    for (Enum value : values)
      bits_ = static_cast<Word>(bits_ | bit(value));
  }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr unsigned size() const { return static_cast<unsigned>(std::popcount(bits_)); }
  constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
  /// Whether the two sets have a value in common.
  constexpr bool hasAny(EnumSet other) const { return (bits_ & other.bits_) != 0; }
  /// The value that the enumeration has first. The set is not empty.
  constexpr Enum first() const { return static_cast<Enum>(std::countr_zero(bits_)); }
  constexpr void add(EnumSet other) { bits_ = static_cast<Word>(bits_ | other.bits_); }
  constexpr void remove(EnumSet other) { bits_ = static_cast<Word>(bits_ & ~other.bits_); }

  friend constexpr EnumSet operator|(EnumSet a, EnumSet b) {
    a.add(b);
    return a;
  }
  friend constexpr bool operator==(EnumSet, EnumSet) = default;

  /// Goes through the values, in the order of the enumeration.
  class Iterator {
  public:
    constexpr explicit Iterator(Word left) : left_(left) {}
    constexpr Enum operator*() const { return static_cast<Enum>(std::countr_zero(left_)); }
    constexpr Iterator &operator++() {
      left_ = static_cast<Word>(left_ & (left_ - 1));
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

  private:
    Word left_;
  };
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(Word(0)); }

private:
  static constexpr Word bit(Enum value) {
    return static_cast<Word>(Word(1) << static_cast<unsigned>(value));
  }

  Word bits_ = 0;
};

} // namespace flydsl::support
