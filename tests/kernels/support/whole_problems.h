// Small problems with as many operands as their family has, for what must hold of each operand.
#pragma once

#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/sampling.h>

namespace kernel_tests {

inline const flydsl::kernels::GroupedGemmProblem kWholeGroups{
    .experts = 4,
    .n = 32,
    .k = 64,
    .topk = 2,
    .a_rows = flydsl::kernels::GroupedRows::tokens,
    .c_rows = flydsl::kernels::GroupedRows::slots,
    .weights = flydsl::kernels::RoutedWeights::output,
    .bias = true};
inline const flydsl::kernels::MoeForwardProblem kWholeMixture{
    .router = {.experts = 8, .topk = 2, .bias = true},
    .hidden = 32,
    .inner = 32,
    .bias = true,
    .local = 4,
    .tokens = true};
inline const flydsl::kernels::MoeSortProblem kWholeSort{
    .experts = 12, .topk = 3, .unit = 16, .local = 5, .tokens = true, .places = true, .scales = 12};
inline const flydsl::kernels::SamplingProblem kWholeSampling{
    .vocabulary = 40,
    .temperature = true,
    .top_k = true,
    .top_p = true,
    .min_p = true,
    .bias = true,
    .mask = true,
    .penalties = true,
    .log_probabilities = true,
    .advance = true,
    .draft = flydsl::kernels::Draft::distribution};

} // namespace kernel_tests
