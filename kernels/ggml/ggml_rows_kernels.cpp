// The kernel that makes rows of numbers of rows of blocks.
#include "frame/compile.h"
#include "ggml/ggml_rows_family.h"
#include "ggml/ggml_unit.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel ggmlRows{
    kGgmlRowsName,
    [](const GgmlRowsParams<OnDevice> &p, const Constexpr<Spec<GgmlRowsProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const GgmlRow &format = ggmlRow(problem.format);
      const GgmlSource source(problem.weight(), p.b.address);
      const Int64 row = block_idx().x.to(i64);
      const Int64 id =
          Pointer::from_address(p.ids.address + row * problem.index.bytes(), problem.index)
              .load()
              .to(i64);
      const Boolean there = (id >= 0) & (id < problem.n);
      const GgmlSource::Row from = source.row(Int32(select(there, id, Int64(0)).to(i32)));
      const Int64 to = p.y.address + row * p.y.stride[0] * problem.y.bytes();
      for (Int32 unit : range(thread_idx().x, source.unitsOfRow(), config.block)) {
        const GgmlRaw raw = source.fetch(from, unit, there);
        const Int32 first = format.firstOf(Int32(unit));
        int place = 0; // of four weights, from the unit's first on
        for (const GgmlGroup &group : source.groups(raw, unit)) {
          for (std::size_t word = 0; word < group.codes.size(); ++word) {
            const Vector values = group.weights(word);
            const Int64 at =
                to + ((first + (place + static_cast<int>(word) * 4)) * problem.y.bytes()).to(i64);
            Pointer::from_address(at, problem.y, AddressSpace::global, 4 * problem.y.bytes())
                .store(problem.y == f32 ? values : values.to(problem.y));
          }
          place += format.apart();
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
