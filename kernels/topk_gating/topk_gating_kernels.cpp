// The kernel that chooses experts. A logit and its expert are one number of 64 bits, whose order is
// that of the logits and, of equal logits, of falling experts: the largest is found by a maximum,
// and then taken out, as often as experts are chosen.
#include "blocks/rows/row.h"
#include "frame/compile.h"
#include "topk_gating/topk_gating_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr float kLog2E = 1.44269504088896341f;
constexpr std::int64_t kNone = INT64_MIN;
constexpr int kLastExpert = 0x7fffffff;

/// An integer that has the order of the floats: negative ones have their lower bits inverted. It is
/// its own inverse.
Numeric ordered(const Numeric &bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

/// The number of a logit and its expert. A zero that is added makes -0 the same as 0.
Numeric candidate(const Numeric &logit, const Numeric &expert) {
  const Numeric high = ordered((logit + 0.0f).bitcast(i32));
  return (high.to(i64) << 32) | (kLastExpert - expert).to(i64);
}

const FamilyKernel gating{
    kTopkGating,
    [](const TopkGatingParams<OnDevice> &p, const Constexpr<Spec<TopkGatingProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const RowShape shape = rowShape(problem);
      const Tensor logits = rowsOf(p.logits, problem.logits, p.m, shape); // (m, experts)
      const RowThread thread(shape, config, p.m);
      RowReduce reduce(config);
      const RowValues row = to(thread.load(logits, -kInfinity), f32);

      const Numeric largest = reduce.max(combine(row, Reduction::max));
      const auto power = [&](const auto &x) {
        const FastMathScope approximate(FastMath::afn);
        return math::exp2((x - largest) * kLog2E);
      };
      const Numeric sum = reduce.add(
          combine(mapRow(row, [&](const Vector &v) { return power(v); }), Reduction::add));

      std::vector<Numeric> left;
      thread.visit([&](const RowThread::Cursor &at) {
        const Vector &values = row[at.slot()];
        for (std::int64_t i = 0; i < values.size(); ++i) {
          const Numeric number = candidate(values.at(i), at.column() + i);
          const std::optional<Boolean> &valid = at.valid();
          left.push_back(valid ? select(*valid, number, Int64(kNone)) : number);
        }
      });
      std::vector<Numeric> chosen, powers;
      for (int k = 0; k < problem.topk; ++k) {
        const Numeric best =
            reduce.max(combine(left, [](const Numeric &a, const Numeric &b) { return max(a, b); }));
        std::vector<Numeric> rest;
        for (const Numeric &number : left)
          rest.push_back(select(number == best, Int64(kNone), number));
        left.swap(rest);
        chosen.push_back(kLastExpert - best.to(i32));
        powers.push_back(power(ordered((best >> 32).to(i32)).bitcast(f32)));
      }

      // A NaN that was not chosen comes in by the sum of all.
      const auto both = [](const Numeric &a, const Numeric &b) { return Numeric(a + b); };
      const Numeric whole = problem.renormalise ? combine(powers, both) + sum * 0.0f : sum;
      const Numeric inverse = 1.0f / whole;
      thread.once([&] {
        const auto ofRow = [&](const Strided<OnDevice, 0> &matrix, DType dtype) {
          return matrix.view(dtype, {p.m, problem.topk})(thread.row(), _); // (topk)
        };
        const Tensor weights = ofRow(p.weights, f32), ids = ofRow(p.ids, i32);
        for (int k = 0; k < problem.topk; ++k) {
          const std::size_t i = static_cast<std::size_t>(k);
          weights(k) = powers[i] * inverse;
          ids(k) = chosen[i];
          if (problem.source_rows)
            ofRow(p.sourceRows, i32)(k) = p.m * k + thread.row();
        }
      });
    }};

} // namespace

void Family<TopkGatingProblem>::compile(const Compiler<TopkGatingProblem> &compiler) {
  compiler(gating, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(TopkGatingProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
