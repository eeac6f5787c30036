// The kernel of group norms. A group is read twice: once for its mean and its variance, and once to be
// normalised. In the first pass each element of a thread's accesses has a running mean and sum of
// squares of its own (Welford, "Note on a method for calculating corrected sums of squares and products",
// 1962), which keep their digits where the mean is far above the deviation; they are then combined (Chan,
// Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
#include "blocks/common/host_or_traced.h"
#include "blocks/products/activation.h"
#include "blocks/rows/row.h"
#include "frame/compile.h"
#include "group_norm/group_norm_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

class GroupOfImage {
public:
  GroupOfImage(const GroupNormProblem &problem, const GroupNormConfig &config,
               const GroupNormParams<OnDevice> &p)
      : problem_(problem), shape_(problem), block_(config.block), p_(p),
        group_(block_idx().x % problem.groups), x_(imageOf(p.x, problem.x)),
        y_(imageOf(p.y, problem.y)) {}

  void run() const {
    const Var<Vector> means(zeros()), squares(zeros());
    const Var<Numeric> seen(Float32(0.0f));
    eachAccess([&](const Int32 &row, const Int32 &piece) {
      const Vector values = x_(row, piece, _).load().to(f32); // (access)
      const Vector before = values - means.get();
      seen = seen.get() + 1.0f;
      means = means.get() + before * (1.0f / seen.get());
      squares = squares.get() + before * (values - means.get());
    });
    RowReduce reduce({.threads = block_, .block = block_});
    const Numeric count =
        (p_.pixels * (shape_.isLast ? shape_.channels : shape_.channels * shape_.access)).to(f32);
    const Numeric mean = reduce.add(means.get().reduce(Reduction::add) * seen.get()) / count;
    const Vector off = means.get() - mean;
    const Numeric variance =
        reduce.add((squares.get() + off * off * seen.get()).reduce(Reduction::add)) / count;
    const Numeric rstd = math::rsqrt(variance + static_cast<float>(problem_.eps));
    eachAccess([&](const Int32 &row, const Int32 &piece) {
      const Vector xhat = (x_(row, piece, _).load().to(f32) - mean) * rstd; // (access)
      const Vector y = problem_.affine ? affine(xhat, row, piece) : xhat;
      y_(row, piece, _).store(activate(problem_.activation, y).to(problem_.y)); // (access)
    });
  }

private:
  Vector zeros() const { return Vector::splat(0.0f, shape_.access, f32); }
  /// The block's image: (pixels or channels, pieces of a row, access).
  Tensor imageOf(const Strided<OnDevice, 2> &operand, DType type) const {
    const int access = shape_.access, bytes = access * type.bytes();
    const Tensor all =
        shape_.isLast
            ? operand.view(type, {p_.images, p_.pixels, problem_.channels / access, access}, bytes)
            : operand.view(type, {p_.images, problem_.channels, p_.pixels, access},
                           bytes);                        // (images, rows, pieces of a row, access)
    return all(block_idx().x / problem_.groups, _, _, _); // (rows, pieces of a row, access)
  }
  /// Calls `body` with the row of the image and the piece of it of each access of the thread's.
  template <class F> void eachAccess(const F &body) const {
    const Int32 first = group_ * (shape_.isLast ? shape_.pieces() : shape_.channels);
    const Int32 count = counted(p_.pixels * (shape_.isLast ? shape_.pieces() : shape_.channels));
    for (Int32 access : range(Int32(thread_idx().x), count, block_))
      if (shape_.isLast)
        body(Int32(access / shape_.pieces()), Int32(first + access % shape_.pieces()));
      else
        body(Int32(first + access / p_.pixels), Int32(access % p_.pixels));
  }
  Vector affine(const Vector &xhat, const Int32 &row, const Int32 &piece) const {
    const auto of = [&](const Strided<OnDevice, 0> &operand) {
      const int access = shape_.access;
      if (shape_.isLast)
        return operand
            .view(problem_.weight, {problem_.channels / access, access},
                  std::min(16, access * problem_.weight.bytes()))(piece, _) // (access)
            .load()
            .to(f32);
      const Numeric one = operand.view(problem_.weight, problem_.channels)(row); // (channels)
      return Vector::splat(one, access).to(f32);
    };
    return xhat * of(p_.weight) + of(p_.bias);
  }

  const GroupNormProblem &problem_;
  GroupShape shape_;
  int block_;
  const GroupNormParams<OnDevice> &p_;
  Int32 group_;
  Tensor x_, y_;
};

const FamilyKernel groupNorm{kGroupNorm, [](const GroupNormParams<OnDevice> &p,
                                            const Constexpr<Spec<GroupNormProblem>> &spec) {
                               GroupOfImage(spec->problem, spec->config, p).run();
                             }};

} // namespace

void Family<GroupNormProblem>::compile(const Compiler<GroupNormProblem> &compiler) {
  compiler(groupNorm, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GroupNormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
