// Weights in the layout that products read.
#pragma once

#include <flydsl/host/host_tensor.h>
#include <flydsl/host/stream.h>
#include <flydsl/kernels/plan.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// A matrix (n, k) of weights, made into blocks of 16 rows by 64 bytes ("preshuffled"); a wave
/// loads one block at a time:
///
///   byte (n, k) lies at [n / 16][k / 64][k % 64 / 16][n % 16][k % 16].
///
/// FlyDSL and aiter call it shuffle_weight((16, 16)). Where n is no multiple of 16 or a row none of
/// 64 bytes, the last blocks are filled with zeros.
///
/// Narrow weights are those of products whose other operand has more bits, 16 or 8 (`under`): the
/// weights become numbers of as many bits on their way to the matrix unit. Their blocks have 16 rows by
/// 64 bytes, too. The 16 bytes of a lane are every fourth run of 8 elements, so that one load brings what
/// several instructions multiply. With K elements in 64 bytes and run = k % K / 8, element (n, k) is
/// number run / 4 * 8 + k % 8 of the 16 bytes
///
///   [n / 16][k / K][run % 4][n % 16].
///
/// Of two elements of 4 bits in a byte, the first has the low bits. Under 8 bits a run has 16 elements, and
/// elements i and i + 4 of 8 neighbours share a byte, so that a mask gives four neighbours: with
/// run = k % K / 16, element (n, k) is number run / 4 * 16 + k % 16 / 8 * 8 + k % 4 * 2 + k % 8 / 4.
struct FLYDSL_API WeightProblem {
  /// Elements of one, two or four bytes, or f4E2M1FN, two elements in a byte: the blocks have
  /// rows of 64 bytes then, too, that is of 128 elements (FlyDSL's shuffle_weight_w4). Narrow: u4,
  /// i4, u8, i8, f4E2M1FN, or an 8-bit float.
  DType dtype = f16;
  std::int64_t n = 0; ///< rows: columns of the product
  std::int64_t k = 0; ///< columns; a row is a multiple of 16 bytes
  bool narrow = false;
  int under = 16; ///< of narrow weights: the bits of the other operand's elements, 16 or 8
  friend bool operator==(const WeightProblem &, const WeightProblem &) = default;
};

/// Scales of 32 elements of rows (Scales::mx), in the order in which matrix instructions of gfx950 take
/// them: a lane loads a word for two tiles of 16 rows and 256 elements. FlyDSL and aiter call the order
/// e8m0_shuffle; their rows are padded to 256, here to 32. Scale (row, s), of elements 32 s to 32 s + 31, lies at
///
///   [row / 32][s / 8][s % 4][row % 16][s % 8 / 4][row / 16 % 2].
///
/// No result depends on bytes past the last row. Those past the last element of a row are multiplied by zeros,
/// and may be anything but NaN (255).
struct FLYDSL_API PreparedScales {
  static constexpr int kRows = 32;               ///< of a block
  static constexpr int kScales = 8;              ///< of a row of a block
  static constexpr int kBlock = kRows * kScales; ///< bytes
  /// The extents of the scales of a matrix (rows, k): groups of rows, blocks along k, bytes of a block.
  static constexpr std::array<std::int64_t, 3> shape(std::int64_t rows, std::int64_t k) {
    return {(rows + kRows - 1) / kRows, (k + 32 * kScales - 1) / (32 * kScales), kBlock};
  }
  /// The place of a scale among the bytes.
  static constexpr std::int64_t place(std::int64_t row, std::int64_t scale, std::int64_t k) {
    const std::int64_t block = row / kRows * shape(1, k)[1] + scale / kScales;
    return block * kBlock + scale % 4 * 64 + row % 16 * 4 + scale % 8 / 4 * 2 + row / 16 % 2;
  }
};

/// Whether weights are narrow under activations of such a type. Under 8 bits, u4 and i4 are; f4E2M1FN is
/// what matrix units take there.
inline bool is_narrow(DType activations, DType weights) {
  const int under = activations.memory_bits();
  return under == 16 ? weights.memory_bits() < 16 : under == 8 && (weights == u4 || weights == i4);
}
/// The matrix (n, k) of weights of products with activations of such a type.
inline WeightProblem weights_under(DType activations, DType weights, std::int64_t n,
                                   std::int64_t k) {
  const bool narrow = is_narrow(activations, weights);
  return {weights, n, k, narrow, narrow ? activations.memory_bits() : 16};
}

/// Prepared weights in device memory: which matrix was prepared, and where it is.
///
/// Weights that are not prepared have the same type and often the same size, so that nothing but this
/// type tells them apart. To make one is to declare that the memory holds this matrix in the layout
/// above, or that WeightPlan is about to write it there: made by `prepare_weight` or WeightPlan in this
/// process or another, read from a file, or shuffled by FlyDSL or aiter. Plans compare the matrix with
/// that of their problem; no plan looks at the bytes. It owns nothing.
struct FLYDSL_API PreparedWeight {
  WeightProblem matrix; ///< GemmProblem::weight() of the products that take it
  /// A vector of prepared_size(matrix) elements of type matrix.dtype; of bytes (u8) if it is narrow
  /// or of elements of 4 bits.
  TensorArg memory;
};

/// The weights of a product's call: prepared ones, or a tensor (n, k) as it lies.
class WeightArg {
  struct Other {}; // what converts to this too converts to anything

public:
  WeightArg(const PreparedWeight &weight) : tensor_(weight.memory), prepared_(weight.matrix) {}
  template <std::convertible_to<TensorArg> T>
  requires(!std::convertible_to<T, Other>) WeightArg(const T &matrix) : tensor_(matrix) {}
  /// The memory of prepared weights, or the matrix.
  const TensorArg &tensor() const { return tensor_; }
  /// The matrix that was prepared; none if the weights are as they lie.
  const std::optional<WeightProblem> &prepared() const { return prepared_; }

private:
  TensorArg tensor_;
  std::optional<WeightProblem> prepared_;
};

/// How the preparation is shared among threads.
struct FLYDSL_API WeightConfig {
  int block = 256; ///< threads
  friend bool operator==(const WeightConfig &, const WeightConfig &) = default;
};

/// The tensors of a call.
struct FLYDSL_API WeightArgs {
  TensorArg raw;      ///< (n, k), contiguous rows that start at multiples of 16 bytes
  PreparedWeight out; ///< of the plan's problem; its memory is written
};

template <> struct FamilyOf<WeightProblem> {
  using Config = WeightConfig;
  using Args = WeightArgs;
  static constexpr std::string_view name = "weight";
};
using WeightPlan = Plan<WeightProblem>;

/// The elements of the prepared weights, with those that fill the last blocks; of narrow weights
/// and those of 4 bits, their bytes. Throws Error with the reason if the problem is not supported.
FLYDSL_API std::int64_t prepared_size(const WeightProblem &problem);
/// Prepares weights in the host's memory: `raw` holds n * k elements, row after row, and `out` gets
/// prepared_size elements. They do not overlap, which is an Error. Of weights of 4 bits, two are a
/// byte of `raw`, the first in the low bits, as gpt-oss has its blocks; checkpoints of GPTQ and AWQ become
/// such rows by flydsl/kernels/checkpoint.h. Throws Error for a narrow 8-bit float that is no finite
/// number.
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
/// The same with scales that are powers of two: the bytes of f8E8M0FNU. One more in each is twice the
/// scale; NaN stays. Throws Error for a scale of 2^127, which has no double.
FLYDSL_API void prepare_weight_as_fnuz(const WeightProblem &problem, const void *raw, void *out,
                                       std::span<std::uint8_t> exponents);
/// Scales of 32 elements of a matrix (rows, k), row after row, in the order of PreparedScales; k is a multiple of 32.
/// Bytes past the end are 0, which stands for 2^-127. Throws Error unless there are rows * k / 32 scales.
FLYDSL_API std::vector<std::uint8_t> prepare_scales(std::int64_t rows, std::int64_t k,
                                                    std::span<const std::uint8_t> scales);

} // namespace kernels
FLYDSL_NAMESPACE_END
