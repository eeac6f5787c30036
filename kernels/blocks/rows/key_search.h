// The search for a value of a row by the digits of its key, without a sort.
#pragma once

#include "blocks/common/value_order.h"
#include "blocks/rows/key_digits.h"

#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The order of what is no NaN as a number without a sign, whose digits are compared.
inline Numeric keyOf(const Numeric &value) {
  const Numeric bits = Numeric(value + 0.0f).bitcast(i32);
  return Numeric(bits ^ ((bits >> 31) | Int32(std::numeric_limits<std::int32_t>::min())))
      .bitcast(u32);
}

/// Finds where a row is cut. A `Row` is one of the block's: it has `block`, `thread` and `shared`, and
/// `each` calls a function with groups of the thread's elements, whose `values` are f32.
template <class Row> class KeySearch {
public:
  explicit KeySearch(Row &row)
      : row_(row),
        counters_(row.shared().tensor(i64, make_layout({kCounters, kDigitValues}, {1, kCounters}))),
        found_(row.shared().tensor(i64, make_layout(2, 1))) {}

  struct Found {
    Numeric key;   ///< a u32
    Numeric above; ///< what the values with larger keys have together, an i64
  };
  /// The largest key such that the values from it on have `target` together, by what `of` says a value
  /// has; all of them have it.
  template <class F> Found find(const Numeric &target, F of) {
    const Var<UInt32> prefix(UInt32(0));
    const Var<Int64> above(Int64(0)); // of values with larger digits
    // The digits of the key are found one after another, the highest first: what values have whose
    // higher digits are those that were found is added up by the next digit.
    for (Int32 step : range(kDigits)) {
      clear();
      gpu::barrier(AddressSpace::shared);
      const Numeric shift = Numeric(((kDigits - 1) - step) * kKeyDigitBits).bitcast(u32);
      row_.each([&](const auto &elements) {
        for (const Numeric &value : elements.values) {
          const Numeric digits = keyOf(value) >> shift;
          if_(Boolean((digits >> kKeyDigitBits) == prefix), [&] { add(digits, of(value)); });
        }
      });
      gpu::barrier(AddressSpace::shared);
      const Int32 digit = (kDigitValues - 1) - row_.thread();
      const Numeric own = if_(
          digit >= 0,
          [&] { return Numeric(counters_(_, digit).load().reduce(Reduction::add)); }, // (counters)
          [] { return Numeric(Int64(0)); });
      const Numeric through = above + gpu::block_inclusive_scan(own, Reduction::add, row_.shared());
      if_(Boolean((digit >= 0) & (through >= target) & (through - own < target)), [&] {
        found_(0) = joined(Int32(0), digit);
        found_(1) = through - own;
      });
      gpu::barrier(AddressSpace::shared);
      prefix = (prefix << kKeyDigitBits) | Numeric(found_(0)).to(u32);
      above = found_(1);
    }
    return {prefix.get(), above.get()};
  }
  template <class F> Numeric operator()(const Numeric &target, F of) {
    return find(target, of).key;
  }

private:
  static constexpr int kDigits = 32 / kKeyDigitBits, kDigitValues = kLeastThreadsOfSearch;
  /// Counters of a digit: neighbouring lanes have different ones, because most values of a row have
  /// the same first digit.
  static constexpr int kCounters = 8;

  void clear() const {
    const int all = kCounters * kDigitValues;
    const Tensor flat = make_view(counters_.iter(), make_layout(all, 1)); // (counters * digits)
    for (Int32 i : range(row_.thread(), Int32(all), row_.block()))
      flat(i) = Int64(0);
  }
  void add(const Numeric &digits, const Numeric &amount) const {
    const Int32 digit(Numeric(digits & (kDigitValues - 1)).bitcast(i32));
    atomic(AtomicOp::add, counters_(_, digit).iter() + row_.thread() % kCounters, amount,
           MemoryScope::block); // (counters)
  }

  Row &row_;
  Tensor counters_; // (counters, digits)
  Tensor found_;    // (2): a digit, and what values with larger ones have
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
