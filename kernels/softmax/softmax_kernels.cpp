// Softmax's kernel. A row in registers is read once: its maximum is found, then the exponentials
// are made and added up. A longer row is read twice: the first pass keeps a maximum and a sum of
// each thread, and scales the sum when the maximum grows (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018).
#include "blocks/common/exponential.h"
#include "blocks/rows/row.h"
#include "frame/compile.h"
#include "softmax/softmax_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void resident(const RowThread &thread, RowReduce &reduce, const Tensor &x, const Tensor &y) {
  const RowValues row = to(thread.load(x, -kInfinity), f32);
  const Numeric largest = reduce.max(combine(row, Reduction::max));
  const RowValues powers = mapRow(row, [&](const Vector &v) { return exponential(v - largest); });
  const Numeric inverse = 1.0f / reduce.add(combine(powers, Reduction::add));
  thread.store(y, mapRow(powers, [&](const Vector &v) { return v * inverse; }));
}

void streamed(const RowThread &thread, RowReduce &reduce, const Tensor &x, const Tensor &y) {
  // The least number, not -infinity, from which nothing but a NaN can be subtracted.
  const Var largest(Float32{std::numeric_limits<float>::lowest()}), sum(Float32{0.0f});
  thread.stream([&](const RowThread::Cursor &at) {
    const Vector values = at.load(x, -kInfinity).to(f32);
    const Numeric before = largest.get(), now = max(before, values.reduce(Reduction::max));
    sum = sum * exponential(before - now) + exponential(values - now).reduce(Reduction::add);
    largest = now;
  });
  const Numeric all = reduce.max(largest.get());
  const Numeric inverse = 1.0f / reduce.add(sum * exponential(largest - all));
  thread.stream([&](const RowThread::Cursor &at) {
    at.store(y, exponential(at.load(x, 0).to(f32) - all) * inverse);
  });
}

const FamilyKernel softmax{
    kSoftmax, [](const SoftmaxParams<OnDevice> &p, const Constexpr<Spec<SoftmaxProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const RowShape shape = rowShape(problem);
      const Tensor x = rowsOf(p.x, problem.x, p.m, shape); // (m, n)
      const Tensor y = rowsOf(p.y, problem.y, p.m, shape); // (m, n)
      withRows(problem.rows, p.rows, p.m, config, [&](const Int32 &m) {
        const RowThread thread(shape, config, m);
        RowReduce reduce(config);
        if (config.resident)
          resident(thread, reduce, x, y);
        else
          streamed(thread, reduce, x, y);
      });
    }};

} // namespace

void Family<SoftmaxProblem>::compile(const Compiler<SoftmaxProblem> &compiler) {
  compiler(softmax, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(SoftmaxProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
