// What the host says of rows: which configurations of RowConfig fit, and which one to take.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/row.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The longest row: offsets inside a row have 32 bits, and an element up to 8 bytes.
inline constexpr std::int64_t kLongestRow = std::int64_t(1) << 28;

/// A row as the host and the kernels see it.
struct RowShape {
  std::int64_t n = 0; ///< elements
  int vector = 1;     ///< elements of an access to memory

  /// A row of n elements that start at multiples of `align` elements and whose widest operand has
  /// elements of `bytes` bytes. An access has at most 16 bytes.
  static RowShape of(std::int64_t n, int align, int bytes);
  /// The accesses of a row; the last may be narrower.
  std::int64_t accesses() const { return (n + vector - 1) / vector; }
  /// The elements that a thread holds if `threads` threads share the row.
  std::int64_t perThread(int threads) const {
    return (n / vector + threads - 1) / threads * vector + (n % vector + threads - 1) / threads;
  }
};

/// The largest power of two up to 16 that divides n: the alignment of rows without gaps.
int naturalAlign(std::int64_t n);

/// What a family needs of its rows.
struct RowLimits {
  int most = 64; ///< elements that a thread holds in registers
};

/// Whether rows may have n elements.
Support lengthSupported(std::int64_t n);
/// Whether `align`, as a problem states it, is 0 or a power of two up to 16.
Support alignSupported(int align);
/// Whether a block may have so many threads, of families whose blocks are powers of two from 64 on.
Support powerBlockSupported(int block, const Target &target);
/// Whether the threads of a configuration can share such rows.
Support rowsSupported(const RowShape &row, const RowConfig &config, const RowLimits &limits,
                      const Target &target);
/// The configuration by the table of kRowRules.
RowConfig chooseRows(const RowShape &row, const RowLimits &limits, const Target &target);
/// All configurations that do not leave most threads without work, those most like the choice first.
std::vector<RowConfig> rowCandidates(const RowShape &row, const Target &target);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
