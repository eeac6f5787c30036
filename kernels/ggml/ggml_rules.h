// What follows from ggml's block formats, for the host and for kernels.
#pragma once

#include "blocks/quant/codebook.h"

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
  bool headLast;      ///< it stands after the body
  int units;          ///< of a block
  int groups, group;  ///< of a unit, and the weights of a group
  int span;           ///< weights
  bool factors;       ///< whether weights are scale * code + offset
  int largest;        ///< the largest code of a kernel, if they are
  int zero;           ///< the code of a weight of 0; -1 if it differs from group to group

  constexpr int unitWeights() const { return weights / units; }
  constexpr int body() const { return bytes - head; }
  /// The units of a span.
  constexpr int unitsOfSpan() const { return span / unitWeights(); }
  /// What codes are less so that they are bytes with a sign.
  constexpr int signedBy() const { return largest > 127 ? 128 : 0; }
};
/// Source: see GgmlFormat; the numbers are those of `enum ggml_type` in ggml.h.
inline constexpr GgmlRow kGgmlRows[] = {
    {GgmlFormat::f32, 0, "F32", 4, 16, 0, false, 1, 1, 4, 4, false, 0, -1},
    {GgmlFormat::f16, 1, "F16", 8, 16, 0, false, 1, 1, 8, 8, false, 0, -1},
    {GgmlFormat::bf16, 30, "BF16", 8, 16, 0, false, 1, 1, 8, 8, false, 0, -1},
    {GgmlFormat::q8_0, 8, "Q8_0", 32, 34, 2, false, 1, 1, 32, 32, true, 255, 128},
    {GgmlFormat::q4_0, 2, "Q4_0", 32, 18, 2, false, 1, 2, 16, 32, true, 15, 8},
    {GgmlFormat::q4_1, 3, "Q4_1", 32, 20, 4, false, 1, 2, 16, 32, true, 15, -1},
    {GgmlFormat::q4_k, 12, "Q4_K", 256, 144, 0, false, 4, 2, 32, 64, true, 15, -1},
    {GgmlFormat::q6_k, 14, "Q6_K", 256, 210, 2, true, 4, 4, 16, 128, true, 63, 32},
    {GgmlFormat::q5_0, 6, "Q5_0", 32, 22, 6, false, 1, 2, 16, 32, true, 31, 16},
    {GgmlFormat::q5_1, 7, "Q5_1", 32, 24, 8, false, 1, 2, 16, 32, true, 31, -1},
    {GgmlFormat::q2_k, 10, "Q2_K", 256, 84, 4, true, 4, 4, 16, 128, true, 3, -1},
    {GgmlFormat::q3_k, 11, "Q3_K", 256, 110, 14, true, 4, 4, 16, 128, true, 7, 4},
    {GgmlFormat::q5_k, 13, "Q5_K", 256, 176, 0, false, 4, 2, 32, 64, true, 31, -1},
    {GgmlFormat::iq4_nl, 20, "IQ4_NL", 32, 18, 2, false, 1, 2, 16, 32, true, 240, 127},
    {GgmlFormat::iq4_xs, 23, "IQ4_XS", 256, 136, 8, false, 8, 2, 16, 32, true, 240, 127},
    {GgmlFormat::mxfp4, 39, "MXFP4", 32, 17, 1, false, 1, 2, 16, 32, true, 24, 12},
};
static_assert([] {
  for (std::size_t i = 0; i < std::size(kGgmlRows); ++i)
    if (kGgmlRows[i].format != static_cast<GgmlFormat>(i))
      return false;
  return true;
}());
static_assert([] {
  for (const GgmlRow &row : kGgmlRows)
    if (row.body() % 16 || row.weights % row.units || row.group * row.groups != row.unitWeights() ||
        row.weights % row.span || row.span % row.unitWeights())
      return false;
  return true;
}());
inline const GgmlRow &ggmlRow(GgmlFormat format) {
  return kGgmlRows[static_cast<std::size_t>(format)];
}

/// The values of the codes of IQ4_NL and IQ4_XS. Source: kvalues_iq4nl of ggml-common.h. MXFP4's are
/// kFp4Halves.
inline constexpr Codebook kIq4Values{-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};

/// Whether there is such a matrix.
Support ggmlSupported(const GgmlWeight &weight);

/// Checks weights of a call: they are those of `expected`, of the problem.
void checkBlocks(const Arguments &arguments, const char *name, const GgmlTensor &given,
                 const GgmlWeight &expected);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
