// The kernel that sums a token's expert outputs: all rows of a token are loaded before the first is
// added.
#include "blocks/rows/row.h"
#include "frame/compile.h"
#include "moe_reduce/moe_reduce_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Cursor = RowThread::Cursor;

const FamilyKernel reduce{
    kMoeReduce,
    [](const MoeReduceParams<OnDevice> &p, const Constexpr<Spec<MoeReduceProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const auto [pieces, shape] = piecesOf(problem, config);
      const Int32 block = block_idx().x;
      const Int32 first = pieces == 1 ? Int32(block * RowThread::rowsPerBlock(config))
                                      : Int32(block / static_cast<int>(pieces));
      const RowThread thread(shape, config, p.m, first);
      // The elements of a row in front of the block's piece.
      const Int64 before =
          pieces == 1 ? Int64(0) : Int64((block % static_cast<int>(pieces)).to(i64) * shape.n);
      const auto number = [&](const Int64 &matrix, DType dtype, int k) {
        const Numeric at = thread.row().to(i64) * problem.topk + k;
        return Pointer::from_address(matrix + at * (dtype.bits() / 8), dtype).load();
      };
      std::vector<Numeric> factors;
      std::vector<Boolean> wanted;
      for (int k = 0; k < problem.topk; ++k) {
        if (problem.weights)
          factors.push_back(number(p.weights.address, f32, k));
        if (problem.mask)
          wanted.push_back(number(p.mask.address, u8, k) != UInt8(0));
      }
      const auto token = [&](const Cursor &at) {
        std::vector<Vector> rows;
        // Each row's address is the one before it and a step: two scalar instructions a row.
        const Int64 step = p.x.stride[1] * problem.x.bytes();
        std::vector<Int64> starts{Int64(
            p.x.address + (before + thread.row().to(i64) * p.x.stride[0]) * problem.x.bytes())};
        while (std::ssize(starts) < problem.topk)
          starts.emplace_back(starts.back() + step);
        for (std::size_t i = 0; i < starts.size(); ++i) {
          const RowMemory row{starts[i], Int64(0), problem.x};
          const auto load = [&] { return at.load(row, 0); };
          rows.push_back(
              problem.mask
                  ? if_(wanted[i], load, [&] { return Vector::splat(0.0f, at.size(), problem.x); })
                  : load());
        }
        std::vector<Vector> sums;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const Vector wide = rows[i].dtype() == f32 ? rows[i] : rows[i].to(f32);
          const Vector term = problem.weights ? wide * factors[i] : wide;
          sums.push_back(sums.empty() ? term : sums.back() + term);
        }
        at.store({Int64(p.y.address + before * problem.y.bytes()), p.y.stride[0], problem.y},
                 sums.back());
      };
      if (config.resident)
        thread.visit(token);
      else
        thread.stream(token);
    }};

} // namespace

void Family<MoeReduceProblem>::compile(const Compiler<MoeReduceProblem> &compiler) {
  compiler(reduce, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MoeReduceProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
