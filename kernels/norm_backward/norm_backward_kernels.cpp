// The kernels of the norms' gradients. A block takes one row after another and adds its part of
// dweight and dbias up; a last kernel adds the parts of all blocks, always in the same order.
#include "blocks/rows/row.h"
#include "frame/compile.h"
#include "norm_backward/norm_backward_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using SpecOf = Constexpr<Spec<NormBackwardProblem>>;
using Cursor = RowThread::Cursor;

/// The operands of the kernel over rows, as far as the problem has them.
struct Operands {
  Tensor x, dy, dx;                // (m, n)
  Tensor weight;                   // (n)
  Tensor rstd;                     // (m)
  std::optional<Tensor> dresidual; // (m, n)
  std::optional<Tensor> mean;      // (m)
};
Operands operandsOf(const NormBackwardProblem &problem, const NormBackwardParams<OnDevice> &p) {
  const RowShape shape = rowShape(problem);
  return {.x = rowsOf(p.x, problem.x, p.m, shape),
          .dy = rowsOf(p.dy, problem.dy, p.m, shape),
          .dx = rowsOf(p.dx, problem.dy, p.m, shape),
          .weight = rowOf(p.weight, problem.weight, shape),
          .rstd = p.rstd.view(f32, p.m), // (m)
          .dresidual = problem.residual ? std::optional(rowsOf(p.dresidual, problem.dy, p.m, shape))
                                        : std::nullopt,
          .mean = problem.kind == NormKind::layer ? std::optional(p.mean.view(f32, p.m))
                                                  : std::nullopt}; // (m)
}

/// One row of the partial sums: dweight's, and dbias's.
class Sums {
public:
  /// `row` of the partial sums (parts, n). The first `rows` rows are dweight's, then come dbias's.
  Sums(const NormBackwardProblem &problem, const NormBackwardConfig &config, const Tensor &sums,
       const Int32 &row, const Int32 &rows)
      : config_(config), weight_(sums(row, _)), // (n)
        bias_(sums(row + rows, _)),             // (n)
        hasBias_(problem.bias) {}

  /// Makes room for the sums of a slot of the thread, in the order of the slots.
  void start(const RowThread &thread) {
    thread.visit([&](const Cursor &at) {
      sums_.emplace_back(Vector::splat(0.0f, at.size(), f32));
      if (hasBias_)
        sums_.emplace_back(Vector::splat(0.0f, at.size(), f32));
    });
  }
  /// Adds to the sums of a slot, in registers or in memory.
  void add(const Cursor &at, const Vector &dweight, const Vector &dbias) const {
    if (config_.resident) {
      const std::size_t place = at.slot() * (hasBias_ ? 2 : 1);
      sums_[place] += dweight;
      if (hasBias_)
        sums_[place + 1] += dbias;
      return;
    }
    toMemory(at, weight_, dweight);
    if (hasBias_)
      toMemory(at, bias_, dbias);
  }
  /// Writes the sums that are in registers.
  void finish(const RowThread &thread) const {
    if (!config_.resident)
      return;
    thread.visit([&](const Cursor &at) {
      const std::size_t place = at.slot() * (hasBias_ ? 2 : 1);
      const auto write = [&](const Tensor &to, const Vector &values) {
        if (config_.atomic)
          at.atomicAdd(to, values);
        else
          at.store(to, values);
      };
      write(weight_, sums_[place].get());
      if (hasBias_)
        write(bias_, sums_[place + 1].get());
    });
  }

private:
  void toMemory(const Cursor &at, const Tensor &to, const Vector &values) const {
    if (config_.atomic)
      at.atomicAdd(to, values);
    else
      at.store(to, at.load(to, 0) + values);
  }
  const NormBackwardConfig &config_;
  Tensor weight_, bias_; // (n)
  bool hasBias_;
  std::vector<Var<Vector>> sums_;
};

/// One row: its dx, and what it adds to the sums.
void backwardRow(const NormBackwardProblem &problem, const NormBackwardConfig &config,
                 const RowThread &thread, const Operands &operands, const RowValues &weight,
                 RowReduce &reduce, const Sums &sums) {
  const bool centred = problem.kind == NormKind::layer, resident = config.resident;
  const Numeric rstd = operands.rstd(thread.row()),
                mean = centred ? Numeric((*operands.mean)(thread.row())) : Numeric(Float32(0.0f));
  const RowValues x = resident ? thread.load(operands.x, 0) : RowValues(),
                  dy = resident ? thread.load(operands.dy, 0) : RowValues();
  /// Of one access: xhat, which is 0 past the row, dy, and dy * weight.
  struct Parts {
    Vector xhat, dy, g;
  };
  const auto partsOf = [&](const Cursor &at) {
    const Vector rawX = resident ? x[at.slot()] : at.load(operands.x, 0),
                 rawDy = resident ? dy[at.slot()] : at.load(operands.dy, 0),
                 w = resident ? weight[at.slot()] : at.load(operands.weight, 0);
    const Vector centre = centred ? rawX.to(f32) - mean : rawX.to(f32);
    return Parts{at.padded(centre * rstd, 0), rawDy.to(f32), rawDy.to(f32) * w.to(f32)};
  };
  const auto each = [&](const std::function<void(const Cursor &)> &body) {
    if (resident)
      thread.visit(body);
    else
      thread.stream(body);
  };

  const Var projected(Float32{0.0f}), total(Float32{0.0f});
  each([&](const Cursor &at) {
    const Parts parts = partsOf(at);
    projected += (parts.g * parts.xhat).reduce(Reduction::add);
    if (centred)
      total += parts.g.reduce(Reduction::add);
  });
  std::vector<Numeric> means{projected.get()};
  if (centred)
    means.push_back(total.get());
  const float one = 1.0f / static_cast<float>(problem.n);
  means = reduce(means, Reduction::add);
  const Numeric along = means[0] * one, shift = centred ? means[1] * one : means[0];

  each([&](const Cursor &at) {
    const Parts parts = partsOf(at);
    const Vector inner = parts.g - parts.xhat * along;
    const Vector dx = (centred ? inner - shift : inner) * rstd;
    at.store(operands.dx, problem.residual ? dx + at.load(*operands.dresidual, 0).to(f32) : dx);
    sums.add(at, thread.zeroPastLastRow(parts.dy * parts.xhat), thread.zeroPastLastRow(parts.dy));
  });
}

const FamilyKernel backward{
    kNormBackward, [](const NormBackwardParams<OnDevice> &p, const SpecOf &spec) {
      const auto &[problem, config] = spec.value();
      const Operands operands = operandsOf(problem, p);
      const RowConfig rows = rowConfig(config);
      const int ofBlock = RowThread::rowsPerBlock(rows);
      const Int32 block = block_idx().x, blocks = grid_dim().x;
      const RowThread any(rowShape(problem), rows, p.m);
      const Int32 group(thread_idx().x / config.threads);
      const Int32 row = config.atomic ? Int32(0) : Int32(block * ofBlock + group);
      const Int32 rowsOfSums = config.atomic ? Int32(1) : Int32(blocks * ofBlock);
      const Tensor sums = p.sums.view(f32, {rowsOfSums * (problem.bias ? 2 : 1), problem.n},
                                      accessBytes(f32, rowShape(problem))); // (parts, n)
      Sums parts(problem, config, sums, row, rowsOfSums);
      RowValues columns;
      if (config.resident) {
        parts.start(any);
        columns = any.load(operands.weight, 0);
      }
      RowReduce reduce(rows, /*inLoop=*/true);
      for (Int32 first : range(block * ofBlock, p.m, blocks * ofBlock)) {
        const RowThread thread(rowShape(problem), rows, p.m, Int32(first));
        backwardRow(problem, config, thread, operands, columns, reduce, parts);
      }
      parts.finish(any);
    }};

const FamilyKernel clear{kClearSums,
                         [](const NormBackwardClearParams<OnDevice> &p, const SpecOf &) {
                           const Numeric i = block_idx().x * kClearBlock + thread_idx().x;
                           const Tensor sums = p.sums.view(f32, p.count); // (count)
                           if_(i < p.count, [&] { sums(i) = Float32(0.0f); });
                         }};

/// One column of `rows` partial sums from `firstRow` on. Each of its threads adds every
/// kThreadsOfColumn-th.
void finishColumn(const Tensor &sums, const Tensor &to, const Numeric &column, const Numeric &rows,
                  const Numeric &firstRow, SharedAllocator &shared) {
  const std::int64_t n = size(to).value();
  const Numeric inside = min(column, static_cast<std::int32_t>(n - 1));
  const Int32 thread = thread_idx().x;
  const auto plus = [](const Numeric &a, const Numeric &b) { return Numeric(a + b); };
  const Var sum(Float32{0.0f});
  for (Int32 row : range(thread / kColumns, rows, kThreadsOfColumn * kLoadsOfColumn)) {
    std::vector<Numeric> values;
    for (int i = 0; i < kLoadsOfColumn; ++i) {
      const Numeric wanted = row + i * kThreadsOfColumn;
      const Numeric value = sums(firstRow + min(wanted, rows - 1), inside);
      values.push_back(select(wanted < rows, value, Float32(0.0f)));
    }
    sum += combine(values, plus);
  }
  const Tensor parts =
      make_view(shared.allocate(kColumns * kThreadsOfColumn * 4).recast(f32),
                make_layout({kColumns, kThreadsOfColumn}, {1, kColumns})); // (columns, threads)
  parts(thread % kColumns, thread / kColumns) = sum.get();
  gpu::barrier(AddressSpace::shared);
  if_((thread < kColumns) & (column < static_cast<std::int32_t>(n)), [&] {
    std::vector<Numeric> all;
    for (int i = 0; i < kThreadsOfColumn; ++i)
      all.push_back(parts(thread, i));
    const Numeric total = combine(all, plus);
    to(column) = total.to(to.dtype());
  });
}

const FamilyKernel finish{
    kFinish, [](const NormBackwardFinishParams<OnDevice> &p, const SpecOf &spec) {
      const NormBackwardProblem &problem = spec->problem;
      const Numeric column = block_idx().x * kColumns + thread_idx().x % kColumns;
      SharedAllocator shared;
      const Tensor sums =
          p.sums.view(f32, {p.rows * (problem.bias ? 2 : 1), problem.n}); // (rows, n)
      const auto result = [&](const Strided<OnDevice, 0> &to) {
        return to.view(problem.weight, problem.n); // (n)
      };
      finishColumn(sums, result(p.dweight), column, p.rows, Int32(0), shared);
      if (problem.bias)
        finishColumn(sums, result(p.dbias), column, p.rows, p.rows, shared);
    }};

} // namespace

void Family<NormBackwardProblem>::compile(const Compiler<NormBackwardProblem> &compiler) {
  if (addsToSums(compiler.config()))
    compiler(clear, kClearBlock);
  compiler(backward, compiler.config().block);
  compiler(finish, kColumns * kThreadsOfColumn);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(NormBackwardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
