// The kernel that makes rows of numbers of rows of blocks.
#include "frame/compile.h"
#include "ggml/ggml_rows_family.h"
#include "ggml/ggml_unit.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// Neighbours that a thread stores at a time.
constexpr int kStored = 4;

const FamilyKernel ggmlRows{
    kGgmlRowsName,
    [](const GgmlRowsParams<OnDevice> &p, const Constexpr<Spec<GgmlRowsProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const GgmlRow &format = ggmlRow(problem.format);
      const GgmlSource source(problem.weight(), p.b);
      const Int32 m = grid_dim().x, number = block_idx().x;
      const Tensor ids = p.ids.view(problem.index, m);                                   // (m)
      const Tensor y = p.y.view(problem.y, {m, problem.k}, kStored * problem.y.bytes()); // (m, k)
      const Numeric id = ids(number);
      const Boolean there = (id >= 0) & (id < problem.n);
      const GgmlSource::Row from = source.row(select(there, id, 0).to(i32));
      const Tensor to = byUnits(y(number, _), format); // (group, groups, units)
      for (Int32 unit : range(thread_idx().x, source.unitsOfRow(), config.block)) {
        const std::vector<GgmlGroup> groups = source.groups(source.fetch(from, unit, there), unit);
        for (int g = 0; g < std::ssize(groups); ++g) {
          const GgmlGroup &group = groups[static_cast<std::size_t>(g)];
          const Tensor pieces = logical_divide(to(_, g, unit), kStored); // (kStored, pieces)
          for (int word = 0; word < std::ssize(group.codes.numbers); ++word) {
            const Vector values = group.weights(static_cast<std::size_t>(word));
            pieces(_, word).store(values.to(problem.y)); // (kStored)
          }
        }
      }
    }};

} // namespace

void Family<GgmlRowsProblem>::compile(const Compiler<GgmlRowsProblem> &compiler) {
  compiler(ggmlRows, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GgmlRowsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
