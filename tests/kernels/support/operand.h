// Operands of kernels that show what a kernel does beside them.
//
// An input's memory ends with its last element, and the gaps between its rows hold NaNs, so that a
// read outside of it faults or spoils the result. An output lies between canaries, which also fill
// the gaps between its rows, so that a write outside of it is found.
#pragma once

#include "support/values.h"

#include <flydsl/host/device_array.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace kernel_tests {

class Operand {
public:
  /// A matrix of m rows of n values each. `gap` elements lie between the rows.
  static Operand input(fx::DType dtype, std::int64_t m, std::int64_t n,
                       std::span<const double> values, std::int64_t gap = 0) {
    Operand operand(dtype, m, n, gap, 0);
    operand.set(values);
    return operand;
  }
  /// A matrix that a kernel writes.
  static Operand output(fx::DType dtype, std::int64_t m, std::int64_t n, std::int64_t gap = 0) {
    Operand operand(dtype, m, n, gap, kCanaries);
    operand.clear();
    return operand;
  }
  /// A matrix that a kernel reads and writes.
  static Operand both(fx::DType dtype, std::int64_t m, std::int64_t n,
                      std::span<const double> values, std::int64_t gap = 0) {
    Operand operand(dtype, m, n, gap, kCanaries);
    operand.set(values);
    return operand;
  }

  /// The operand as a matrix (m, n).
  fx::TensorArg tensor() const {
    return fx::tensor(static_cast<void *>(memory_->data() + before_), dtype_, {m_, n_},
                      {n_ + gap_, 1});
  }
  /// The operand as a vector of n elements; it has one row.
  fx::TensorArg vector() const {
    return fx::tensor(static_cast<void *>(memory_->data() + before_), dtype_, {n_});
  }
  fx::DType dtype() const { return dtype_; }

  /// Replaces the values.
  void set(std::span<const double> values) {
    REQUIRE(values.size() == static_cast<std::size_t>(m_ * n_));
    std::vector<std::uint8_t> bytes = blank();
    const std::vector<std::uint8_t> encoded = encode(dtype_, values);
    for (std::int64_t row = 0; row < m_; ++row)
      std::copy_n(encoded.begin() + row * n_ * size_, n_ * size_, bytes.begin() + place(row));
    memory_->copy_from(bytes);
  }
  /// Makes all of the memory canaries.
  void clear() { memory_->copy_from(blank()); }

  /// The bytes of the elements, without gaps.
  std::vector<std::uint8_t> bytes() const {
    const std::vector<std::uint8_t> all = memory_->to_host();
    std::vector<std::uint8_t> rows;
    for (std::int64_t row = 0; row < m_; ++row)
      rows.insert(rows.end(), all.begin() + place(row), all.begin() + place(row) + n_ * size_);
    return rows;
  }
  /// The values of the elements. What surrounds them must be untouched.
  std::vector<double> values() const {
    expectUntouched();
    return decode(dtype_, bytes());
  }
  /// Requires that nothing but the elements was written.
  void expectUntouched() const {
    const std::vector<std::uint8_t> now = memory_->to_host(), blankBytes = blank();
    std::vector<bool> own(now.size());
    for (std::int64_t row = 0; row < m_; ++row)
      std::fill_n(own.begin() + place(row), n_ * size_, true);
    for (std::size_t i = 0; i < now.size(); ++i)
      if (!own[i] && now[i] != blankBytes[i]) {
        INFO("byte " << static_cast<std::int64_t>(i) - before_ << " of a matrix of " << m_ << " x "
                     << n_ << " with gaps of " << gap_);
        FAIL("written outside of the operand");
      }
  }

private:
  static constexpr std::int64_t kCanaries = 256; // bytes, which keep any alignment
  static constexpr std::uint8_t kCanary = 0xff;  // a NaN in each float type, -1 in integers

  Operand(fx::DType dtype, std::int64_t m, std::int64_t n, std::int64_t gap, std::int64_t around)
      : dtype_(dtype), m_(m), n_(n), gap_(gap), size_(dtype.memory_bits() / 8), before_(around) {
    const std::int64_t elements = m ? (m - 1) * (n + gap) + n : 0;
    const std::int64_t bytes = before_ + elements * size_ + around;
    memory_ = std::make_shared<fx::DeviceArray<std::uint8_t>>(fx::Extents{bytes});
  }
  std::int64_t place(std::int64_t row) const { return before_ + row * (n_ + gap_) * size_; }
  std::vector<std::uint8_t> blank() const {
    return std::vector<std::uint8_t>(memory_->size(), kCanary);
  }

  fx::DType dtype_;
  std::int64_t m_, n_, gap_, size_, before_;
  std::shared_ptr<fx::DeviceArray<std::uint8_t>> memory_;
};

/// Random values of [-scale, scale], of u8 their magnitudes, rounded to the type: the same for a seed on every machine.
inline std::vector<double> uniform(fx::DType dtype, std::int64_t count, std::uint64_t seed,
                                   double scale = 1) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        scale * (static_cast<double>(fx::detail::randomBits(seed, i) >> 11) * 0x1p-52 - 1.0);
    if (dtype == fx::u8)
      values[i] = std::fabs(values[i]);
  }
  return decode(dtype, encode(dtype, values));
}
/// Random integers from lowest to highest.
inline std::vector<double> integers(std::int64_t count, std::uint64_t seed, int lowest,
                                    int highest) {
  std::vector<double> values(static_cast<std::size_t>(count));
  const std::int64_t low = lowest, different = highest - low + 1;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<double>(low + static_cast<std::int64_t>(fx::detail::randomBits(seed, i) %
                                                            static_cast<std::uint64_t>(different)));
  return values;
}

/// Requires |got - expected| <= bound for each element; a NaN is equal to a NaN, an infinity to
/// itself.
inline void expectWithin(std::span<const double> got, std::span<const double> expected,
                         std::span<const double> bound) {
  REQUIRE(got.size() == expected.size());
  REQUIRE(got.size() == bound.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == expected[i];
    if (same || std::fabs(got[i] - expected[i]) <= bound[i])
      continue;
    INFO("element " << i << " of " << got.size());
    INFO("got " << got[i] << ", expected " << expected[i] << " within " << bound[i]);
    FAIL("a value outside of its bound");
  }
  SUCCEED();
}

} // namespace kernel_tests
