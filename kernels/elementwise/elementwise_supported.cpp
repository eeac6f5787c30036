#include "elementwise/elementwise_family.h"

#include "blocks/quant/quant.h"

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

namespace {

constexpr int kFewestLanes = 32; // of a wave, on all targets
constexpr DType kRead[] = {f32, f16, bf16, i32, i8, u8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ};
constexpr DType kWritten[] = {f32, f16, bf16};

std::string countOf(std::size_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Whether an output may be as it is said to be.
Support outputSupported(const ElementwiseProblem &problem, std::size_t i) {
  const ChainOutput &y = problem.y[i];
  const std::string name = "y[" + std::to_string(i) + "]";
  if (!y.group)
    return std::ranges::find(kWritten, y.type) != std::end(kWritten)
               ? Support{}
               : Support::no(name + " is of type " + std::string(y.type.name()) +
                             "; f32, f16 and bf16 are supported, and others by groups");
  if (y.scale == f32)
    if (const Support quantised = quantisedSupported(name.c_str(), y.type); !quantised)
      return quantised;
  if (y.scale != f32 && (y.scale != f8E8M0FNU || !blockFormat(y.type)))
    return Support::no(name + " of " + std::string(y.type.name()) + " has scales of " +
                       std::string(y.scale.name()) +
                       "; f32 is supported, and f8E8M0FNU for f8E4M3FN, f8E5M2 and f4E2M1FN");
  if (accessOf(problem) * y.type.bits() < 8)
    return Support::no(name + " is of type " + std::string(y.type.name()) +
                       "; two elements share a byte, and a thread has one at a time: row_align, or n, "
                       "is odd");
  const int access = accessOf(problem);
  if (y.group < access || !std::has_single_bit(unsigned(y.group)) ||
      y.group / access > kFewestLanes || problem.n % y.group)
    return Support::no(name + " has groups of " + std::to_string(y.group) +
                       "; a group is a power of two from " + std::to_string(access) + " to " +
                       std::to_string(access * kFewestLanes) +
                       " that divides n: a wave has it, and its threads have " +
                       std::to_string(access) + " elements at a time");
  return {};
}

} // namespace

Support elementwiseSupported(const ElementwiseChain &chain, const ElementwiseProblem &problem) {
  const auto counted = [](const char *name, std::size_t has, std::size_t most, std::size_t takes,
                          const char *verb) {
    if (has < 1 || has > most)
      return Support::no(std::string(name) + " has " + countOf(has, "operand") + "; 1 to " +
                         std::to_string(most) + " are supported");
    if (has != takes)
      return Support::no(std::string(name) + " has " + countOf(has, "operand") +
                         ", and the chain " + verb + " " + std::to_string(takes));
    return Support{};
  };
  std::vector<Support> checks{
      counted("x", problem.x.size(), ElementwiseArgs::kMostInputs, chain.inputs(), "takes"),
      counted("y", problem.y.size(), ElementwiseArgs::kMostOutputs, chain.outputs(), "gives"),
      lengthSupported(problem.n), alignSupported(problem.row_align),
      problem.index == i32 || problem.index == i64
          ? Support{}
          : Support::no("index is " + std::string(problem.index.name()) +
                        "; i32 and i64 are supported")};
  for (std::size_t i = 0; i < problem.x.size(); ++i)
    if (const DType type = problem.x[i].type; std::ranges::find(kRead, type) == std::end(kRead))
      checks.push_back(Support::no("x[" + std::to_string(i) + "] is of type " +
                                   std::string(type.name()) +
                                   "; f32, f16, bf16, i32, i8, u8 and floats of 8 bits are "
                                   "supported"));
  if (std::ranges::all_of(checks, [](const Support &check) { return bool(check); }))
    for (std::size_t i = 0; i < problem.y.size(); ++i)
      checks.push_back(outputSupported(problem, i));
  const auto refusal = std::ranges::find_if(checks, [](const Support &check) { return !check; });
  return refusal == checks.end() ? Support{} : *refusal;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
