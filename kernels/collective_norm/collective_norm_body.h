// What a rank's kernel does: a block gives its rows to the windows, meets the blocks of the other ranks
// that have the same rows, and normalises what all of them gave. Tests leave out what orders memory.
#pragma once

#include "collective/meeting.h"
#include "collective_norm/collective_norm_family.h"
#include "norm/norm_row.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class CollectiveNormBody {
public:
  CollectiveNormBody(const CollectiveNormParams<OnDevice> &params,
                     const Spec<CollectiveNormProblem> &spec, const CollectiveOrder &order = {})
      : p_(params), norm_(spec.problem.norm), rows_(spec.config.rows), shape_(rowShape(norm_)),
        operands_(normOperands(norm_, p_.norm)), order_(order),
        meeting_(p_.group, spec.problem.ranks, rows_.block, order) {}

  void run() {
    meeting_.ifGoing([&] {
      if (order_.looksAhead)
        lookAhead();
      const Tensor x = rowsOf(p_.norm.x, norm_.x, p_.norm.m, shape_),
                   own = windowOf(p_.group.own); // (m, n) both
      eachRow([&](const RowThread &thread) {
        const auto give = [&](const RowThread::Cursor &at) { at.store(own, at.load(x, 0)); };
        if (rows_.resident)
          thread.visit(give);
        else
          thread.stream(give);
      });
      meeting_.meet(1);
      meeting_.ifGoing([&] {
        RowReduce reduce(rows_, true);
        eachRow([&](const RowThread &thread) {
          normRow(norm_, rows_, operands_, thread, reduce, ofAll(),
                  [&](const std::vector<Vector> &x) { return sum(x); });
        });
      });
    });
    meeting_.end();
  }

private:
  /// Rows in this turn of a window: (m, n).
  Tensor windowOf(const WindowParams<OnDevice> &window) const {
    const Tensor turns = window.data.view(norm_.x, {2, 2, windowStride(norm_)},
                                          accessBytes(norm_.x, shape_)); // (turns, regions, stride)
    return make_view(turns(meeting_.turn(), 0, _).iter(),
                     make_layout({p_.norm.m, norm_.n}, {windowStride(norm_), 1})); // (m, n)
  }
  std::vector<Tensor> ofAll() const {
    std::vector<Tensor> rows;
    for (int rank = 0; rank < meeting_.ranks(); ++rank)
      rows.push_back(windowOf(p_.group.windows[static_cast<std::size_t>(rank)]));
    return rows;
  }
  /// Calls `body` until the block has had all of its rows. Each call works on as many rows as the
  /// block has threads for.
  template <class F> void eachRow(const F &body) const {
    const int rows = RowThread::rowsPerBlock(rows_);
    for (Int32 first : range(Int32(block_idx().x * rows), p_.norm.m, Int32(grid_dim().x * rows)))
      body(RowThread(shape_, rows_, p_.norm.m, first));
  }
  /// What all ranks gave, summed up in their order and rounded as an all-reduce rounds it.
  Vector sum(const std::vector<Vector> &x) const {
    std::vector<Vector> sums{x.front().to(f32)};
    for (std::size_t rank = 1; rank < x.size(); ++rank)
      sums.push_back(sums.back() + x[rank].to(f32));
    return sums.back().to(norm_.x).to(f32);
  }
  /// Reads the windows into caches, into memory that is written again.
  void lookAhead() const {
    eachRow([&](const RowThread &thread) {
      for (const Tensor &rows : ofAll())
        thread.visit([&](const RowThread::Cursor &at) {
          at.store(*operands_.residualOut, at.load(rows, 0) + at.load(*operands_.residualOut, 0));
        });
    });
  }

  const CollectiveNormParams<OnDevice> p_;
  const NormProblem norm_;
  const RowConfig rows_;
  const RowShape shape_;
  const NormOperands operands_;
  const CollectiveOrder order_;
  Meeting meeting_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
