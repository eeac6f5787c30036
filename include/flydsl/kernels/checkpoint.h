// Narrow weights as checkpoints ship them, in the host's memory, as rows that prepare_weight takes.
#pragma once

#include <flydsl/kernels/weight.h>

#include <cstdint>
#include <span>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Weights (n, k) of a checkpoint, row after row.
struct CheckpointWeights {
  WeightProblem matrix;            ///< narrow, of type u4 or u8
  std::vector<std::uint8_t> rows;  ///< the elements, as prepare_weight takes them
  std::vector<std::uint8_t> zeros; ///< (k / group, n): GemmArgs::group_zeros
  /// Column i of the rows is column order[i] of the checkpoint. The columns of a, or the rows of
  /// the weights that make a, are to be put into the same order. Empty if columns are as they were.
  std::vector<std::int32_t> order;
};

/// How a GPTQ checkpoint stores zero points.
enum class GptqZeros : std::uint8_t {
  /// The zero point less one, in as many bits: 15 of 4 bits stands for 0. checkpoint_format "gptq",
  /// AutoGPTQ's.
  less_one,
  as_is, ///< checkpoint_format "gptq_v2"
};

/// AWQ's layout of 4 bits ("gemm"): qweight (k, n / 8) and qzeros (k / group, n / 8) of words. Bits
/// 4i to 4i + 3 of word j are column 8j + {0, 2, 4, 6, 1, 3, 5, 7}[i]. Its scales, (k / group, n),
/// are GemmArgs::group_scales as they are. Source: awq/utils/packing_utils.py of AutoAWQ. Throws
/// Error if the sizes do not fit: n is a multiple of 8, k one of `group`, and prepare_weight takes
/// both.
FLYDSL_API CheckpointWeights weights_of_awq(std::int64_t n, std::int64_t k, std::int64_t group,
                                            std::span<const std::uint32_t> qweight,
                                            std::span<const std::uint32_t> qzeros);

/// GPTQ's layout of `bits` bits, 4 or 8, whose words have p = 32 / bits elements: qweight (k / p,
/// n) and qzeros (k / group, n / p). Element e of word (i, j) of qweight has bits e * bits and up,
/// and is element p i + e of K; words of qzeros have elements of n likewise. Its scales,
/// (k / group, n), are GemmArgs::group_scales as they are. `g_idx` (k) is the group of each element
/// of K. It may be left out if element i has group i / group. Otherwise (act-order, "desc_act")
/// columns are put in the order of their groups, and each group has `group` of them. Source:
/// qlinear_cuda_old.py of AutoGPTQ. Throws Error if the sizes do not fit, or if a group has more or
/// fewer columns.
FLYDSL_API CheckpointWeights weights_of_gptq(std::int64_t n, std::int64_t k, std::int64_t group,
                                             int bits, std::span<const std::uint32_t> qweight,
                                             std::span<const std::uint32_t> qzeros,
                                             std::span<const std::int32_t> g_idx = {},
                                             GptqZeros zeros = GptqZeros::less_one);

/// Numbers of groups by rows, (experts, n, groups), as products take them, (experts, groups, n):
/// gpt-oss and other MX checkpoints have the scales of a row of blocks side by side. Dense products
/// have one expert. gpt-oss's blocks (n, k / 32, 16) are rows of type f4E2M1FN as they are. Source:
/// gpt_oss/torch/weights.py. Throws Error if the sizes do not fit.
FLYDSL_API std::vector<std::uint8_t> groups_by_columns(std::int64_t experts, std::int64_t n,
                                                       std::int64_t groups,
                                                       std::span<const std::uint8_t> rows);

} // namespace kernels
FLYDSL_NAMESPACE_END
