// Preparation of weights, between its host file and its kernel.
#pragma once

#include "blocks/products/narrow_rules.h"
#include "frame/expected.h"
#include "frame/family.h"

#include <flydsl/kernels/weight.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class Arguments;

template <class Side> struct WeightParams {
  Strided<Side, 1> raw; // (n, k)
  Strided<Side, 0> out; // (prepared_size)
};
inline constexpr KernelOf<WeightParams> kWeight{"weight"};

template <> struct Family<WeightProblem> : FamilyDefaults<WeightProblem, &WeightArgs::raw> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const WeightConfig &config, const Target &target);
  static WeightConfig choose(const P &, std::int64_t, const Target &) { return {}; }
  static std::vector<WeightConfig> candidates(const P &problem, std::int64_t m,
                                              const Target &target);
  static KernelNames kernels(const P &, const WeightConfig &) { return {&kWeight}; }
  static void launch(const Call<P> &call);
  static WeightArgs args(const P &problem, const WeightConfig &config, std::int64_t m,
                         const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

/// What weights can be prepared, on any target.
Support weightSupported(const WeightProblem &problem);

/// Checks prepared weights of a call: they are those of `expected`, of the problem.
void checkPrepared(const Arguments &arguments, const char *name, const WeightProblem &given,
                   const TensorArg &memory, const WeightProblem &expected, Use use);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
