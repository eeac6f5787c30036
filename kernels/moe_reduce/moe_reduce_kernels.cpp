// The kernel that sums a token's expert outputs: all rows of a token are loaded before the first is
// added.
#include "blocks/common/slot_sum.h"
#include "blocks/rows/row.h"
#include "frame/compile.h"
#include "moe_reduce/moe_reduce_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Cursor = RowThread::Cursor;

/// A matrix whose rows have the first of the strides.
Strided<OnDevice, 1> firstMode(const Strided<OnDevice, 2> &operand) {
  return {.address = operand.address, .stride = {operand.stride[0]}};
}

const FamilyKernel reduce{
    kMoeReduce,
    [](const MoeReduceParams<OnDevice> &p, const Constexpr<Spec<MoeReduceProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const auto [pieces, shape] = piecesOf(problem, config);
      const Int32 block = block_idx().x;
      const Int32 first = pieces == 1 ? Int32(block * RowThread::rowsPerBlock(config))
                                      : Int32(block / static_cast<int>(pieces));
      const RowThread thread(shape, config, p.m, first);
      const int piece = static_cast<int>(shape.n), number = static_cast<int>(pieces);
      const int access = accessBytes(problem.x, shape);
      const auto inPieces = [&]() -> Tensor {
        if (problem.places)
          return logical_divide(firstMode(p.x).view(problem.x, {p.places, problem.n}, access),
                                make_tile(_, piece)); // (places, (piece, pieces))
        return logical_divide(p.x.view(problem.x, {p.m, problem.topk, problem.n}, access),
                              make_tile(_, _, piece)); // (m, topk, (piece, pieces))
      };
      const Tensor x = inPieces();
      const Tensor y =
          logical_divide(p.y.view(problem.y, {p.m, problem.n}, accessBytes(problem.y, shape)),
                         make_tile(_, piece)); // (m, (piece, pieces))
      const Int32 own = block % number;
      const Tensor sum = y(_, IntTuple{_, own}); // (m, piece)
      const auto ofToken = [&](const Strided<OnDevice, 0> &matrix, DType dtype) {
        return matrix.view(dtype, {p.m, problem.topk})(thread.row(), _); // (topk)
      };
      std::vector<Numeric> factors;
      std::vector<Boolean> wanted;
      std::vector<Int32> places;
      for (int k = 0; k < problem.topk; ++k) {
        if (problem.weights)
          factors.push_back(ofToken(p.weights, f32)(k));
        if (problem.mask)
          wanted.push_back(ofToken(p.mask, u8)(k) != UInt8(0));
        if (problem.experts) {
          const Int32 id(ofToken(p.ids, i32)(k));
          const Boolean isExpert((id >= 0) & (id < static_cast<std::int32_t>(problem.experts)));
          const Tensor counts = p.expertMask.view(i32, problem.experts); // (experts)
          wanted.push_back(Int32(counts(Int32(select(isExpert, id, 0)))) != 0 & isExpert);
        }
        if (problem.places) {
          places.push_back(Int32(ofToken(p.slotPlaces, i32)(k)));
          wanted.push_back((places.back() >= 0) & (places.back() < p.places));
        }
      }
      const auto codes = [&](const Cursor &at, int k) {
        if (!problem.places)
          return at.load(x(_, k, IntTuple{_, own}), 0);                  // (m, piece)
        const Tensor rows = x(_, IntTuple{_, own});                      // (places, piece)
        return at.load(rows(places[static_cast<std::size_t>(k)], _), 0); // (piece)
      };
      // The scale of an access, which is in one group.
      const auto scaleAt = [&](const Cursor &at, int k) -> Numeric {
        const std::int64_t groups = problem.n / problem.group;
        const Int32 column = own * piece + at.column(), group = column / problem.group,
                    inRow = at.valid() ? Int32(select(*at.valid(), group, 0)) : group;
        const Tensor row =
            problem.places
                ? firstMode(p.scales).view(problem.group_scale, {p.places, groups})(
                      places[static_cast<std::size_t>(k)], _)
                : p.scales.view(problem.group_scale, {p.m, problem.topk, groups})(thread.row(), k,
                                                                                  _); // (groups)
        return Numeric(row(inRow)).to(f32);
      };
      const auto token = [&](const Cursor &at) {
        std::vector<Vector> rows;
        for (int k = 0; k < problem.topk; ++k) {
          const auto load = [&] {
            const Vector values = codes(at, k);
            return problem.group ? Vector(values.to(f32) * scaleAt(at, k)) : values;
          };
          rows.push_back(!wanted.empty()
                             ? if_(wanted[static_cast<std::size_t>(k)], load,
                                   [&] {
                                     return Vector::splat(0.0f, at.size(),
                                                          problem.group ? DType(f32) : problem.x);
                                   })
                             : load());
        }
        at.store(sum, sumOfSlots(rows, factors));
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
