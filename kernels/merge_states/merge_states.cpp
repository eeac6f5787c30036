#include "merge_states/merge_states_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Merge = Family<MergeStatesProblem>;

constexpr int kMostHeads = 65536, kLargestHead = 65536, kMostStates = 1024;
/// Elements of a head that are moved together, at least.
constexpr int kTogether = 8;
/// Threads of a call have numbers of 32 bits.
constexpr std::int64_t kMostThreads = 0xffffffff;

/// The operands of a call, checked, as the kernel takes them.
class Operands {
public:
  explicit Operands(const Call<MergeStatesProblem> &call)
      : problem_(call.problem), args_(call.args),
        arguments_(FamilyOf<MergeStatesProblem>::name, call.where),
        m_(args_.y.rank() == 3 ? args_.y.shape()[0] : 0) {
    if (m_ > kMostThreads / threadsOfToken(problem_))
      arguments_.fail("y has " + std::to_string(m_) + " tokens; of " +
                      std::to_string(problem_.heads) + " heads of " +
                      std::to_string(problem_.head) + " there are at most " +
                      std::to_string(kMostThreads / threadsOfToken(problem_)));
    params.y = arguments_.operand<2>(args_.y, ofResults("y", problem_.y, false, Use::written));
    params.lse =
        arguments_.operandIf<2>(problem_.lse, args_.lse, ofLogarithms("lse", false, Use::written));
    const bool many = problem_.states != 0;
    params.a = withStates(arguments_.operand<3>(args_.a, ofResults("a", problem_.x, many)));
    params.aLse = withStates(arguments_.operand<3>(args_.a_lse, ofLogarithms("a_lse", many)));
    params.b =
        withStates(arguments_.operandIf<3>(!many, args_.b, ofResults("b", problem_.x, false)));
    params.bLse =
        withStates(arguments_.operandIf<3>(!many, args_.b_lse, ofLogarithms("b_lse", false)));
    params.sink =
        arguments_.operandIf<0>(problem_.sink, args_.sink,
                                {.name = "sink", .dtype = f32, .shape = {"heads", problem_.heads}});
    params.m = static_cast<std::int32_t>(m_);
    if (m_ > 0)
      arguments_.expectApart({{.written = "y", .read = "a", .isLookedAt = isFirstState()}});
  }
  std::int64_t m() const { return m_; }

  MergeStatesParams<OnHost> params{};

private:
  Expected ofResults(const char *name, DType type, bool many, Use use = Use::read) const {
    const std::int64_t heads = problem_.heads, head = problem_.head;
    return {.name = name,
            .dtype = type,
            .shape = many ? Shape{"m, states, heads, head", m_, problem_.states, heads, head}
                          : Shape{"m, heads, head", m_, heads, head},
            .free = many ? 3 : 2,
            .use = use,
            .align = kTogether,
            .reason = "8 elements are moved at a time"};
  }
  Expected ofLogarithms(const char *name, bool many, Use use = Use::read) const {
    return {.name = name,
            .dtype = f32,
            .shape = many ? Shape{"m, states, heads", m_, problem_.states, problem_.heads}
                          : Shape{"m, heads", m_, problem_.heads},
            .free = many ? 3 : 2,
            .use = use};
  }
  /// The strides of tokens, states and heads.
  Strided<OnHost, 3> withStates(Strided<OnHost, 3> operand) const {
    if (!problem_.states)
      operand.stride = {operand.stride[0], 0, operand.stride[1]};
    return operand;
  }

  /// Whether y is the first state: each thread reads its elements before it writes them.
  bool isFirstState() const {
    const int heads = problem_.states ? 2 : 1;
    return args_.y.data() == args_.a.data() && problem_.x == problem_.y &&
           strideOf(args_.y, 0) == strideOf(args_.a, 0) &&
           strideOf(args_.y, 1) == strideOf(args_.a, heads);
  }

  const MergeStatesProblem &problem_;
  const MergeStatesArgs &args_;
  Arguments arguments_;
  std::int64_t m_;
};

} // namespace

Support Merge::supported(const MergeStatesProblem &problem, const Target &) {
  if (const Support fits =
          firstRefusal({floatSupported("x", problem.x), floatSupported("y", problem.y),
                        rangeSupported("heads", problem.heads, 1, kMostHeads),
                        rangeSupported("states", problem.states, 0, kMostStates)});
      !fits)
    return fits;
  if (problem.head < kTogether || problem.head > kLargestHead || problem.head % kTogether)
    return Support::no(is("head", problem.head) + "; it is a multiple of 8 from 8 to " +
                       std::to_string(kLargestHead));
  return {};
}

Support Merge::supported(const MergeStatesProblem &, const MergeStatesConfig &config,
                         const Target &target) {
  return blockSupported(config.block, target);
}

MergeStatesConfig Merge::choose(const MergeStatesProblem &, std::int64_t, const Target &) {
  return {};
}

std::vector<MergeStatesConfig> Merge::candidates(const MergeStatesProblem &, std::int64_t,
                                                 const Target &) {
  return {{.block = 64}, {.block = 128}, {.block = 256}, {.block = 512}, {.block = 1024}};
}

void Merge::launch(const Call<MergeStatesProblem> &call) {
  const Operands operands(call);
  if (operands.m() == 0)
    return;
  const int block = call.config.block;
  call.launches.at(0, kMergeStates)(
      call.over(operands.m() * threadsOfToken(call.problem), block, block), call.where,
      operands.params);
}

MergeStatesArgs Merge::args(const MergeStatesProblem &problem, const MergeStatesConfig &,
                            std::int64_t m, const Sampler &sampler) {
  const std::int64_t heads = problem.heads, head = problem.head, states = problem.states;
  const Extents one{m, heads, head}, oneLse{m, heads}, many{m, states, heads, head},
      manyLse{m, states, heads}, ofHeads{heads};
  const bool pair = states == 0;
  return {.a = sampler("a", problem.x, pair ? one : many, Role::input),
          .a_lse = sampler("a_lse", f32, pair ? oneLse : manyLse, Role::input),
          .b = sampleIf(pair, sampler, "b", problem.x, one),
          .b_lse = sampleIf(pair, sampler, "b_lse", f32, oneLse),
          .sink = sampleIf(problem.sink, sampler, "sink", f32, ofHeads),
          .y = sampler("y", problem.y, one, Role::output),
          .lse = sampleIf(problem.lse, sampler, "lse", f32, oneLse, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(MergeStatesProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
