// What families must give, in double precision on the host, and how far a kernel may be from it.
// `fly-kernels run` checks by it.
#pragma once

#include "reference/expected.h"

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/attention/merge_states.h>
#include <flydsl/kernels/causal_conv.h>
#include <flydsl/kernels/conv.h>
#include <flydsl/kernels/conv/depthwise_conv.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/delta_rule.h>
#include <flydsl/kernels/experts/ggml_experts.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/ggml_rows.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/norm_backward.h>
#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/rope.h>
#include <flydsl/kernels/rows/copy_rows.h>
#include <flydsl/kernels/rows/group_norm.h>
#include <flydsl/kernels/rows/hadamard.h>
#include <flydsl/kernels/rows/permute.h>
#include <flydsl/kernels/rows/top_k.h>
#include <flydsl/kernels/sampling.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/softmax_backward.h>
#include <flydsl/kernels/topk_gating.h>
#include <flydsl/kernels/weight.h>
#include <flydsl/kernels/worklist.h>

#include <map>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// The values of each input, by the name of its field in Args.
using Inputs = std::map<std::string, std::vector<double>>;
using Outputs = std::map<std::string, Expected>;

/// The neighbours of a row that share a scale; 0 if scales are none of blocks.
constexpr std::int64_t scaleBlock(Scales scales) {
  return scales == Scales::per_block ? 128 : scales == Scales::mx ? 32 : 0;
}

/// One sequence of m queries and keys; other problems give nothing.
Outputs expected(const AttentionProblem &problem, const AttentionConfig &config, std::int64_t m,
                 const Inputs &inputs);
/// Sequences as `starts` says, each with the slot that `state_slots` says.
Outputs expected(const CausalConvProblem &problem, const CausalConvConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const ConvProblem &problem, const GemmConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const DepthwiseConvProblem &problem, const DepthwiseConvConfig &config,
                 std::int64_t m, const Inputs &inputs);
Outputs expected(const SoftmaxProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const SoftmaxBackwardProblem &problem, const SoftmaxBackwardConfig &config,
                 std::int64_t m, const Inputs &inputs);
Outputs expected(const NormProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const NormBackwardProblem &problem, const NormBackwardConfig &config,
                 std::int64_t m, const Inputs &inputs);
/// Rows that no number of `to` names are not looked at.
Outputs expected(const CopyRowsProblem &problem, const CopyRowsConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const GroupNormProblem &problem, const GroupNormConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const HadamardProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const TopKProblem &problem, const TopKConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const PermuteProblem &problem, const PermuteConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const QuantiseProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs);
/// Outputs whose scales are powers of two are left out, as the blocks above.
Outputs expected(const RopeProblem &problem, const RopeConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const MergeStatesProblem &problem, const MergeStatesConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const MoeReduceProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const MoeForwardProblem &problem, const MoeForwardConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const MoeSortProblem &problem, const MoeSortConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const SamplingProblem &problem, const SamplingConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const TopkGatingProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const WeightProblem &problem, const WeightConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                 const Inputs &inputs);
/// Rows that no place has are not looked at.
Outputs expected(const GroupedGemmProblem &problem, const GemmConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const GgmlGemmProblem &problem, const GgmlGemmConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const GgmlExpertsProblem &problem, const GgmlExpertsConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const GgmlRowsProblem &problem, const GgmlRowsConfig &config, std::int64_t m,
                 const Inputs &inputs);
/// Each sequence has one token; of prefill it has many, which gives nothing.
Outputs expected(const DeltaRuleProblem &problem, const DeltaRuleConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const MqaLogitsProblem &problem, const MqaLogitsConfig &config, std::int64_t m,
                 const Inputs &inputs);
/// Caches of pages; packed ones give nothing.
Outputs expected(const DecodeProblem &problem, const DecodeConfig &config, std::int64_t m,
                 const Inputs &inputs);
Outputs expected(const WorklistProblem &problem, const WorklistConfig &config, std::int64_t m,
                 const Inputs &inputs);

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
