// Kernels whose threads write columns of numbers, and what the host expects in each.
#pragma once

#include <catch2/catch.hpp>
#include <flydsl/coop.h>
#include <flydsl/flydsl.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sheet {

namespace fx = flydsl;
namespace coop = flydsl::coop;

/// Where a kernel's thread writes: its row, from left to right, as 64-bit integers.
class Row {
public:
  Row(fx::Tensor out, fx::Int32 thread) : out_(out), thread_(thread) {}
  void put(const fx::Numeric &value) { out_(thread_, column_++) = value.to(fx::i64); }
  void put(const fx::Vector &values) {
    for (int i = 0; i < values.size(); ++i)
      put(values.at(i));
  }
  template <class T> void put(const std::vector<T> &values) {
    for (const T &value : values)
      put(value);
  }

private:
  fx::Tensor out_;
  fx::Int32 thread_;
  int column_ = 0;
};

/// What came out, compared column by column from left to right.
class Sheet {
public:
  Sheet(std::vector<std::int64_t> numbers, int threads)
      : numbers_(std::move(numbers)), threads_(threads),
        columns_(static_cast<int>(numbers_.size()) / threads) {}

  /// The next column is `expected(thread)` in all threads for which `counts(thread)`.
  template <class F> void expect(const std::string &what, F expected) {
    expect(what, expected, [](int) { return true; });
  }
  template <class F, class C> void expect(const std::string &what, F expected, C counts) {
    int wrong = 0;
    std::string first;
    for (int t = 0; t < threads_; ++t) {
      const std::int64_t got = at(t, column_), wanted = static_cast<std::int64_t>(expected(t));
      if (counts(t) && got != wanted && wrong++ == 0)
        first = "thread " + std::to_string(t) + ": " + std::to_string(got) + ", expected " +
                std::to_string(wanted);
    }
    INFO(what << " (column " << column_ << "): " << wrong << " wrong, first " << first);
    CHECK(wrong == 0);
    ++column_;
  }
  std::int64_t at(int thread, int column) const {
    return numbers_[static_cast<std::size_t>(thread * columns_ + column)];
  }
  int column() const { return column_; }
  void skip(int columns) { column_ += columns; }
  bool done() const { return column_ == columns_; }

private:
  std::vector<std::int64_t> numbers_;
  int threads_, columns_, column_ = 0;
};

/// Runs a kernel of one block in which each thread calls body(row, thread).
template <class F> Sheet run(const char *name, int threads, int columns, F body) {
  const fx::Kernel kernel{name, [body](fx::Tensor out) {
                            fx::Int32 thread = fx::thread_idx().x;
                            Row row(out, thread);
                            body(row, thread);
                          }};
  fx::DeviceArray<std::int64_t> out({threads, columns});
  out.poison();
  kernel(out).launch({.grid = 1, .block = threads});
  return Sheet(out.to_host(), threads);
}

inline const std::string &target() {
  static const std::string name = fx::Device::current().target().name();
  return name;
}
inline int waveSize() {
  static const int size = fx::Device::current().target().wave_size();
  return size;
}

/// x -> scale * x + shift: composition is associative, and not commutative.
struct Affine {
  fx::UInt32 scale, shift;
};
inline Affine then(const Affine &a, const Affine &b) {
  return {a.scale * b.scale, a.shift * b.scale + b.shift};
}
struct HostAffine {
  std::uint32_t scale, shift;
  friend HostAffine operator*(HostAffine a, HostAffine b) {
    return {a.scale * b.scale, a.shift * b.scale + b.shift};
  }
};
/// Element `i` of a sequence of such maps, and of one of numbers.
inline Affine affine(const fx::Numeric &i) {
  return {fx::UInt32((i * 2 + 3).to(fx::u32)), fx::UInt32((i * 7 + 1).to(fx::u32))};
}
inline HostAffine hostAffine(int i) {
  return {static_cast<std::uint32_t>(2 * i + 3), static_cast<std::uint32_t>(7 * i + 1)};
}
inline fx::Int32 element(const fx::Numeric &i) { return fx::Int32(i * 37 % 101 - 50); }
inline int hostElement(int i) { return i * 37 % 101 - 50; }

} // namespace sheet
