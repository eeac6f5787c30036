// Products with weights in ggml's block formats, in double precision.
#pragma once

#include "ggml/ggml_rules.h"
#include "host/ggml_blocks.h"
#include "reference/activation.h"
#include "reference/expected.h"

#include <flydsl/kernels/ggml_gemm.h>

#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// The blocks that prepare_weight put into a layout, as they are in a file.
inline std::vector<std::uint8_t> rawBlocks(const GgmlWeight &weight,
                                           const std::vector<std::uint8_t> &prepared) {
  if (weight.layout == GgmlLayout::blocks)
    return prepared;
  const impl::GgmlRow &row = impl::ggmlRow(weight.format);
  const std::ptrdiff_t blocks = weight.n * weight.k / row.weights, body = row.body();
  std::vector<std::uint8_t> raw;
  for (std::ptrdiff_t i = 0; i < blocks; ++i) {
    const auto ofBody = prepared.begin() + i * body,
               ofHead = prepared.begin() + blocks * body + i * row.head;
    if (!row.headLast)
      raw.insert(raw.end(), ofHead, ofHead + row.head);
    raw.insert(raw.end(), ofBody, ofBody + body);
    if (row.headLast)
      raw.insert(raw.end(), ofHead, ofHead + row.head);
  }
  return raw;
}

/// What blocks of weights stand for.
struct GgmlValues {
  std::vector<double> values, magnitudes; ///< |scale * code| + |offset| of each

  GgmlValues(GgmlFormat format, std::vector<std::uint8_t> raw) {
    const GgmlBlock block = ggml_block(format);
    const host::BlockParts parts = host::blockParts(format);
    const auto blocks = static_cast<std::int64_t>(raw.size()) / block.bytes;
    values.resize(static_cast<std::size_t>(blocks * block.weights));
    dequantise(format, raw.data(), blocks, values.data());
    // The offsets are what the weights are with the least code, which is 0 in a kernel.
    for (std::int64_t i = 0; i < blocks; ++i)
      std::fill(raw.begin() + i * block.bytes + parts.codes,
                raw.begin() + i * block.bytes + parts.end, parts.zero);
    std::vector<double> offsets(values.size());
    if (!parts.plain())
      dequantise(format, raw.data(), blocks, offsets.data());
    for (std::size_t i = 0; i < offsets.size(); ++i)
      magnitudes.push_back(std::fabs(values[i] - offsets[i]) + std::fabs(offsets[i]));
  }
};

/// The same of bytes in the weight's layout, as the values of an operand.
inline GgmlValues ggmlValues(const GgmlWeight &weight, const std::vector<double> &bytes) {
  return {weight.format, rawBlocks(weight, {bytes.begin(), bytes.end()})};
}

/// Rows of numbers rounded to Q8_1, as quantize_row_q8_1_ref of ggml-quants.c does it in f32.
inline std::vector<double> roundedToQ8(const std::vector<double> &a) {
  std::vector<double> rounded;
  for (std::size_t first = 0; first < a.size(); first += 32) {
    float largest = 0;
    for (std::size_t i = first; i < first + 32; ++i)
      largest = std::max(largest, std::fabs(static_cast<float>(a[i])));
    const float d = largest / 127;
    const double scale = static_cast<double>(half_t(d));
    const float inverse = scale > 0 ? 1 / d : 0;
    for (std::size_t i = first; i < first + 32; ++i)
      rounded.push_back(scale *
                        static_cast<double>(std::round(static_cast<float>(a[i]) * inverse)));
  }
  return rounded;
}

/// A row of a, and the expert whose weights multiply it; -1 is none, and anything is right then.
struct GgmlSlot {
  std::int64_t row, expert;
};
/// Those of tokens with so many slots each, by the experts of slots.
inline std::vector<GgmlSlot> ggmlSlots(int topk, const std::vector<double> &experts) {
  std::vector<GgmlSlot> slots;
  for (std::size_t i = 0; i < experts.size(); ++i)
    slots.push_back({static_cast<std::int64_t>(i) / topk, static_cast<std::int64_t>(experts[i])});
  return slots;
}

/// C, row after row, for slots of rows of a.
///
/// Without matrix instructions, a thread adds pairs of products of a group, which are fused, then
/// the group's scale and offset in two more; the lanes' sums follow: each of these additions is off
/// by 2^-24 of the sum of |a| (|scale code| + |offset|). With them, a and the weights are rounded
/// to the type of the product, and the products, which are exact, are added as those of a GEMM.
///
/// With q8_1 and without matrix instructions, a is rounded first, exactly as above. The sums of a
/// group's products are exact then; scale, offset and d follow, which round three times, once into the sum
/// of the groups before, and the lanes' sums. A residual is added to the sum in one more.
inline Expected ggmlProduct(const GgmlGemmProblem &problem, bool matrix,
                            const std::vector<GgmlSlot> &slots, const std::vector<double> &exact,
                            const GgmlValues &b, const GgmlValues *up,
                            const std::vector<double> *residual = nullptr) {
  const std::vector<double> a = problem.q8_1 && !matrix ? roundedToQ8(exact) : exact;
  struct Sum {
    double value = 0, bound = 0;
  };
  const std::int64_t n = problem.n, k = problem.k;
  const auto sumOf = [&](std::int64_t row, std::int64_t column, const GgmlValues &weights) {
    const double *x = &a[static_cast<std::size_t>(row * k)],
                 *w = &weights.values[static_cast<std::size_t>(column * k)],
                 *magnitudes = &weights.magnitudes[static_cast<std::size_t>(column * k)];
    Sum sum;
    double size = 0, spread = 0, ofA = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      sum.value += x[i] * w[i];
      size += std::fabs(x[i] * w[i]);
      spread += std::fabs(x[i]) * magnitudes[i];
      ofA += std::fabs(x[i]) + std::fabs(w[i]);
    }
    const double steps = static_cast<double>(k) / 16;
    if (matrix) {
      const double rounding = 2.01 * host::unit(problem.product) + 0x1p-23;
      sum.bound = (rounding + 2 * (std::ceil(steps) + 4) * 0x1p-23) * size + ofA * 0x1p-25;
    } else {
      const double group = 32,
                   additions = problem.q8_1 ? 3 + steps + 6 : group / 2 + 2 + 2 * steps + 6;
      sum.bound = 1.01 * additions * 0x1p-24 * spread;
    }
    return sum;
  };
  Expected c;
  for (const auto &[row, expert] : slots)
    for (std::int64_t of = 0; of < n; ++of) {
      if (expert < 0) {
        c.values.push_back(0);
        c.bound.push_back(std::numeric_limits<double>::infinity());
        continue;
      }
      const std::int64_t column = expert * n + of;
      Sum sum = sumOf(row, column, b);
      if (residual) {
        sum.value += (*residual)[c.values.size()];
        sum.bound += 0x1p-24 * std::fabs(sum.value);
      }
      if (problem.activation != Activation::none) {
        const double x = sum.value;
        sum.value = activated(problem.activation, x);
        sum.bound = passedOn(problem.activation, x, sum.bound) +
                    (8 + 4 * std::fabs(x)) * 0x1p-24 * std::fabs(sum.value);
      }
      if (up) {
        const Sum second = sumOf(row, column, *up);
        sum.bound = sum.bound * (std::fabs(second.value) + second.bound) +
                    std::fabs(sum.value) * second.bound;
        sum.value *= second.value;
      }
      c.values.push_back(sum.value);
      c.bound.push_back(sum.bound + host::unit(problem.c) * std::fabs(sum.value) +
                        host::underflow(problem.c));
    }
  return c;
}
/// The same of m rows and one matrix.
inline Expected ggmlProduct(const GgmlGemmProblem &problem, bool matrix, std::int64_t m,
                            const std::vector<double> &a, const GgmlValues &b, const GgmlValues *up,
                            const std::vector<double> *residual = nullptr) {
  std::vector<GgmlSlot> rows;
  for (std::int64_t row = 0; row < m; ++row)
    rows.push_back({row, 0});
  return ggmlProduct(problem, matrix, rows, a, b, up, residual);
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
