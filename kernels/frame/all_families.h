// The problems of all families: the one list that tools, tests and the C interface go over.
#pragma once

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/attention/merge_states.h>
#include <flydsl/kernels/causal_conv.h>
#include <flydsl/kernels/collective.h>
#include <flydsl/kernels/collective_norm.h>
#include <flydsl/kernels/conv.h>
#include <flydsl/kernels/conv/depthwise_conv.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/delta_rule.h>
#include <flydsl/kernels/expert_parallel.h>
#include <flydsl/kernels/experts/ggml_experts.h>
#include <flydsl/kernels/experts/moe_ranks.h>
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

#include <type_traits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class... P> struct Problems {
  /// Calls f(std::type_identity<P>()) for each problem.
  template <class F> static void each(const F &f) { (..., f(std::type_identity<P>())); }
};

/// Those of one device: their operands are all that a call has.
using SingleProblems =
    Problems<AttentionProblem, CausalConvProblem, ConvProblem, CopyRowsProblem, DecodeProblem,
             DeltaRuleProblem, DepthwiseConvProblem, GemmProblem, GgmlExpertsProblem,
             GgmlGemmProblem, GgmlRowsProblem, GroupNormProblem, GroupedGemmProblem,
             HadamardProblem, MergeStatesProblem, MoeForwardProblem, MoeReduceProblem,
             MoeSortProblem, MqaLogitsProblem, NormBackwardProblem, NormProblem, PermuteProblem,
             QuantiseProblem, RopeProblem, SamplingProblem, SoftmaxBackwardProblem, SoftmaxProblem,
             TopKProblem, TopkGatingProblem, WeightProblem, WorklistProblem>;
/// Those of the ranks of a group, which a call has besides.
using GroupProblems = Problems<CollectiveProblem, CollectiveNormProblem, ExpertCombineProblem,
                               ExpertDispatchProblem, MoeRanksProblem>;

struct AllProblems {
  /// Calls f(std::type_identity<P>()) for each problem.
  template <class F> static void each(const F &f) {
    SingleProblems::each(f);
    GroupProblems::each(f);
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
