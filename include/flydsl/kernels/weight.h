// Weights in the layout that products read.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/stream.h>

#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// A matrix (n, k) of weights, made into blocks of 16 rows by 64 bytes ("preshuffled") of which a
/// wave loads one at a time:
///
///   byte (n, k) lies at [n / 16][k / 64][k % 64 / 16][n % 16][k % 16].
///
/// FlyDSL and aiter call it shuffle_weight((16, 16)). Where n is no multiple of 16 or a row none of
/// 64 bytes, the last blocks are filled with zeros.
struct FLYDSL_API WeightProblem {
  DType dtype = f16;  ///< elements of one, two or four bytes
  std::int64_t n = 0; ///< rows: columns of the product
  std::int64_t k = 0; ///< columns; a row is a multiple of 16 bytes
  friend bool operator==(const WeightProblem &, const WeightProblem &) = default;
};

/// How the preparation is shared among threads.
struct FLYDSL_API WeightConfig {
  int block = 256; ///< threads
  friend bool operator==(const WeightConfig &, const WeightConfig &) = default;
};

/// The tensors of a call.
struct FLYDSL_API WeightArgs {
  TensorArg raw; ///< (n, k), contiguous rows that start at multiples of 16 bytes
  TensorArg out; ///< a vector of prepared_size elements
};

template <> struct FamilyOf<WeightProblem> {
  using Config = WeightConfig;
  using Args = WeightArgs;
  static constexpr std::string_view name = "weight";
};
using WeightPlan = Plan<WeightProblem>;

/// The elements of the prepared weights, with those that fill the last blocks. Throws Error with
/// the reason if the problem is not supported.
FLYDSL_API std::int64_t prepared_size(const WeightProblem &problem);
/// Prepares weights in the host's memory: `raw` holds n * k elements, row after row, and `out` gets
/// prepared_size elements.
FLYDSL_API void prepare_weight(const WeightProblem &problem, const void *raw, void *out);
/// The same for gfx942, whose products take 8-bit floats of the FNUZ formats alone, of weights in
/// OCP's: `problem.dtype` is f8E4M3FNUZ or f8E5M2FNUZ, and `raw` holds f8E4M3FN or f8E5M2. A pattern
/// stands for half of the number in FNUZ, because the exponent's bias is one more; so each of
/// `scales`, those of the weights, is doubled in place, and products stay as they are, exactly. -0
/// becomes 0, because its pattern is FNUZ's NaN; what is not finite becomes NaN. Throws Error for
/// another dtype, if there are no scales, or for a scale whose double is no finite number; nothing is
/// changed then.
FLYDSL_API void prepare_weight_as_fnuz(const WeightProblem &problem, const void *raw, void *out,
                                       std::span<float> scales);

} // namespace kernels
FLYDSL_NAMESPACE_END
