// The kernel of softmax's gradient: a pass for the sum of dy * y, and one for the result. Operands
// stay in registers as far as a configuration says.
#include "blocks/rows/row.h"
#include "frame/compile.h"
#include "softmax_backward/softmax_backward_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Cursor = RowThread::Cursor;

void backwardRow(const SoftmaxBackwardConfig &config, const RowThread &thread, const Tensor &fromY,
                 const Tensor &fromDy, const Tensor &dx) {
  RowReduce reduce(rowConfig(config));
  const auto product = [](const Vector &y, const Vector &dy) { return y.to(f32) * dy.to(f32); };
  const auto result = [](const Vector &y, const Vector &dy, const Numeric &sum) {
    return y.to(f32) * (dy.to(f32) - sum);
  };
  if (config.resident == Resident::none) {
    const Var sum(Float32{0.0f});
    thread.stream([&](const Cursor &at) {
      sum += product(at.load(fromY, 0), at.load(fromDy, 0)).reduce(Reduction::add);
    });
    const Numeric all = reduce.add(sum.get());
    thread.stream([&](const Cursor &at) {
      at.store(dx, result(at.load(fromY, 0), at.load(fromDy, 0), all));
    });
    return;
  }
  const bool both = config.resident == Resident::both;
  const RowValues y = thread.load(fromY, 0), kept = both ? thread.load(fromDy, 0) : RowValues();
  const auto dy = [&](const Cursor &at) {
    if (both)
      return kept[at.slot()];
    at.limitLoadsAhead();
    return at.load(fromDy, 0);
  };
  RowValues products;
  thread.visit([&](const Cursor &at) { products.push_back(product(y[at.slot()], dy(at))); });
  const Numeric all = reduce.add(combine(products, Reduction::add));
  thread.visit([&](const Cursor &at) { at.store(dx, result(y[at.slot()], dy(at), all)); });
}

const FamilyKernel backward{
    kSoftmaxBackward, [](const SoftmaxBackwardParams<OnDevice> &p,
                         const Constexpr<Spec<SoftmaxBackwardProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const RowShape shape = rowShape(problem);
      const Tensor y = rowsOf(p.y, problem.y, p.m, shape);    // (m, n)
      const Tensor dy = rowsOf(p.dy, problem.dy, p.m, shape); // (m, n)
      const Tensor dx = rowsOf(p.dx, problem.dx, p.m, shape); // (m, n)
      backwardRow(config, RowThread(shape, rowConfig(config), p.m), y, dy, dx);
    }};

} // namespace

void Family<SoftmaxBackwardProblem>::compile(const Compiler<SoftmaxBackwardProblem> &compiler) {
  compiler(backward, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(SoftmaxBackwardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
