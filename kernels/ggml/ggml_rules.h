// What follows from ggml's block formats, for the host and for kernels.
#pragma once

#include <flydsl/kernels/ggml.h>
#include <flydsl/kernels/plan.h>

#include <iterator>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class Arguments;

/// A format: its blocks, and the pieces in which threads take them.
///
/// A block is a head of factors and a body whose length is a multiple of 16 bytes; formats whose
/// blocks are such multiples have no head. A thread takes a unit of a block at a time: one or
/// several groups of neighbours. The units of a span, a part of the block, interleave their groups.
struct GgmlRow {
  GgmlFormat format;
  std::uint32_t type; ///< the number in ggml's enumeration
  std::string_view name;
  int weights, bytes; ///< of a block
  int head;           ///< bytes of the head
  bool headLast;      ///< it stands behind the body
  int units;          ///< of a block
  int groups, group;  ///< of a unit, and the weights of a group
  int span;           ///< weights
  bool factors;       ///< whether weights are scale * code + offset

  int unitWeights() const { return weights / units; }
  int body() const { return bytes - head; }
  /// The units of a span.
  int unitsOfSpan() const { return span / unitWeights(); }
  /// The place of a unit's first weight among its row's, and the distance of its groups.
  template <class N> N firstOf(const N &unit) const {
    const int of = unitsOfSpan();
    return of == 1 ? N(unit * span) : N(unit / of * span + unit % of * group);
  }
  int apart() const { return group * unitsOfSpan(); }
};
/// Source: see GgmlFormat; the numbers are those of `enum ggml_type` in ggml.h.
inline constexpr GgmlRow kGgmlRows[] = {
    {GgmlFormat::f32, 0, "F32", 4, 16, 0, false, 1, 1, 4, 4, false},
    {GgmlFormat::f16, 1, "F16", 8, 16, 0, false, 1, 1, 8, 8, false},
    {GgmlFormat::bf16, 30, "BF16", 8, 16, 0, false, 1, 1, 8, 8, false},
    {GgmlFormat::q8_0, 8, "Q8_0", 32, 34, 2, false, 1, 1, 32, 32, true},
    {GgmlFormat::q4_0, 2, "Q4_0", 32, 18, 2, false, 1, 2, 16, 32, true},
    {GgmlFormat::q4_1, 3, "Q4_1", 32, 20, 4, false, 1, 2, 16, 32, true},
    {GgmlFormat::q4_k, 12, "Q4_K", 256, 144, 0, false, 4, 2, 32, 64, true},
    {GgmlFormat::q6_k, 14, "Q6_K", 256, 210, 2, true, 4, 4, 16, 128, true},
};
static_assert([] {
  for (std::size_t i = 0; i < std::size(kGgmlRows); ++i)
    if (kGgmlRows[i].format != static_cast<GgmlFormat>(i))
      return false;
  return true;
}());
inline const GgmlRow &ggmlRow(GgmlFormat format) {
  return kGgmlRows[static_cast<std::size_t>(format)];
}

/// Whether there is such a matrix.
Support ggmlSupported(const GgmlWeight &weight);

/// Checks weights of a call: they are those of `expected`, of the problem.
void checkBlocks(const Arguments &arguments, const char *name, const GgmlTensor &given,
                 const GgmlWeight &expected);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
