// What a rank's kernel does in a combine: a block gives the results of its tokens of all ranks, meets
// the blocks of its number, and sums up its own tokens. Tests leave out what orders memory.
#pragma once

#include "blocks/common/slot_sum.h"
#include "blocks/quant/quant.h"
#include "collective/meeting.h"
#include "collective/window_rows.h"
#include "expert_combine/expert_combine_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class ExpertCombineBody {
public:
  ExpertCombineBody(const ExpertCombineParams<OnDevice> &params,
                    const Spec<ExpertCombineProblem> &spec, const CollectiveOrder &order = {},
                    const MeetingBlock &at = MeetingBlock::ofLaunch())
      : p_(params), problem_(spec.problem), rows_(spec.config.rows), shape_(rowShape(problem_)),
        order_(order), meeting_(p_.group, problem_.ranks, rows_.block, order, at),
        windows_(p_.group, problem_.ranks, meeting_.turn()), thread_(thread_idx().x),
        together_(static_cast<int>(slotsTogether(problem_, rows_))) {}

  void run() {
    meeting_.ifGoing([&] {
      if (order_.looksAhead)
        take();
      give();
      meeting_.meet(1);
      meeting_.ifGoing([&] { take(); });
    });
    meeting_.end();
  }
  /// The same where all rows of this rank's experts are in the windows already.
  void runAfterGiving() {
    meeting_.ifGoing([&] {
      if (order_.looksAhead)
        take();
      meeting_.meet(1);
      meeting_.ifGoing([&] { take(); });
    });
    meeting_.end();
  }

private:
  /// The slots that a block has found.
  struct Found {
    Tensor slots; // (slots together, 2): the number of a slot, and its place
    Tensor count; // (1)
  };
  int topk() const { return problem_.topk; }
  int rowsOfBlock() const { return RowThread::rowsPerBlock(rows_); }
  std::int64_t slots() const { return problem_.tokens * topk(); } ///< of a rank's tokens
  std::int32_t tokens() const { return static_cast<std::int32_t>(problem_.tokens); }
  /// Calls `body` with the first of the tokens that the block works on together, until it has had
  /// all of its tokens below `end`.
  template <class F> void eachGroup(const Int32 &end, const F &body) const {
    const int rows = rowsOfBlock();
    for (Int32 first : range(Int32(meeting_.block() * rows), end, Int32(meeting_.blocks() * rows)))
      body(first);
  }

  void give() {
    const Found found{shared_.tensor(i32, make_layout({together_, 2}, {2, 1})),
                      shared_.tensor(i32, make_layout(1, 1))}; // (together, 2), (1)
    eachGroup(Int32{tokens()}, [&](const Int32 &first) {
      if_(thread_ == 0, [&] { found.count(0) = 0; });
      gpu::barrier();
      find(first, found);
      gpu::barrier();
      giveFound(first, found);
      gpu::barrier(); // the list is made anew
    });
  }
  /// Lists the slots of some tokens of all ranks that have a place here, in any order.
  void find(const Int32 &first, const Found &found) const {
    const int rows = rowsOfBlock();
    const Tensor places =
        p_.slotPlaces.view(i32, {problem_.ranks, tokens(), topk()}); // (ranks, tokens, topk)
    for (Int32 number : range(thread_, Int32(together_), rows_.block)) {
      const Int32 slot = number % topk(), token = first + number / topk() % rows,
                  rank = number / (topk() * rows);
      if_(Boolean(token < tokens()), [&] {
        const Int32 place(places(rank, token, slot));
        if_(Boolean((place >= 0) & (place < p_.places)), [&] {
          const Int32 at(atomic(AtomicOp::add, found.count.iter(), 1, MemoryScope::block));
          found.slots(at, 0) = number;
          found.slots(at, 1) = place;
        });
      });
    }
  }
  /// Writes the rows of the slots that were found into the windows of their tokens' ranks.
  void giveFound(const Int32 &first, const Found &found) const {
    const int rows = rowsOfBlock();
    const Int32 count(found.count(0));
    const Tensor x = rowsOf(p_.x, problem_.x, p_.places, shape_); // (places, n)
    for (Int32 at : range(Int32(0), count, rows)) {
      const RowThread thread(shape_, rows_, count, at);
      const Int32 number(found.slots(thread.row(), 0)), place(found.slots(thread.row(), 1));
      const Int32 slot = number % topk(), token = first + number / topk() % rows,
                  rank = number / (topk() * rows);
      const Int32 row = token * topk() + slot;
      const Tensor to = windows_.rows(rank, wireType(problem_), 0, slots(), shape_)(row, _),
                   from = x(place, _); // (n), (n)
      std::vector<Tensor> scales;
      if (problem_.wire)
        scales.push_back(windows_.rows(rank, u8, scalesOfWindow(problem_), slots(),
                                       wireScales(problem_))(row, _)); // (scales)
      // Threads of a row past the last one have the last one's, which others write.
      if_(Boolean(at + thread_ / rows_.threads < count), [&] {
        const auto give = [&](const RowThread::Cursor &cursor) {
          const Vector values = cursor.load(from, 0);
          if (problem_.wire)
            giveCodes(cursor, values.to(f32), to, scales.front());
          else
            cursor.store(to, values);
        };
        if (rows_.resident)
          thread.visit(give);
        else
          thread.stream(give);
      });
    }
  }

  /// Writes an access of a row as codes; the threads of a block of neighbours call together.
  void giveCodes(const RowThread::Cursor &cursor, const Vector &values, const Tensor &to,
                 const Tensor &scales) const {
    const auto lanes = static_cast<int>(kWireBlock / cursor.size());
    const Numeric largest =
        gpu::warp_reduce(magnitudes(values).reduce(Reduction::max), Reduction::max, lanes);
    const BlockExponent exponent = blockExponent(largest, problem_.wire, BlockScale::ceil);
    cursor.store(to, blockValues(values, exponent, problem_.wire));
    const Boolean first(cursor.column() % kWireBlock == 0);
    if_(cursor.valid() ? Boolean(first & *cursor.valid()) : first,
        [&] { scales(Int32(cursor.column() / kWireBlock)) = exponent.byte; });
  }
  /// An access of a row of the own window, as it came.
  Vector taken(const RowThread::Cursor &cursor, const Int32 &row) const {
    const Tensor own = windows_.ownRows(wireType(problem_), 0, slots(), shape_);
    const Vector values = cursor.load(own(row, _), 0); // (n)
    if (!problem_.wire)
      return values;
    const Tensor scales =
        windows_.ownRows(u8, scalesOfWindow(problem_), slots(), wireScales(problem_));
    const Int32 block = cursor.column() / kWireBlock,
                inRow = cursor.valid() ? Int32(select(*cursor.valid(), block, 0)) : block;
    return values.to(f32) * Numeric(scales(row, inRow)).bitcast(f8E8M0FNU).to(f32);
  }

  /// Sums up the rows of the rank's own tokens.
  void take() const {
    const Tensor y = rowsOf(p_.y, problem_.y, p_.m, shape_); // (m, n)
    eachGroup(p_.m, [&](const Int32 &first) {
      const RowThread thread(shape_, rows_, p_.m, first);
      const auto ofToken = [&](const Strided<OnDevice, 0> &matrix, DType type) {
        return matrix.view(type, {p_.m, topk()})(thread.row(), _); // (topk)
      };
      std::vector<Boolean> wanted;
      std::vector<Numeric> weights;
      for (int slot = 0; slot < topk(); ++slot) {
        const Int32 id(ofToken(p_.ids, i32)(slot));
        wanted.push_back((id >= 0) & (id < static_cast<std::int32_t>(problem_.experts)));
        if (problem_.weights)
          weights.push_back(ofToken(p_.weights, f32)(slot));
      }
      const auto sum = [&](const RowThread::Cursor &at) {
        std::vector<Vector> rows;
        for (int slot = 0; slot < topk(); ++slot)
          rows.push_back(if_(
              wanted[static_cast<std::size_t>(slot)],
              [&] { return taken(at, Int32(thread.row() * topk() + slot)); },
              [&] {
                return Vector::splat(0.0f, at.size(), problem_.wire ? DType(f32) : problem_.x);
              }));
        at.store(y, sumOfSlots(rows, weights));
      };
      if (rows_.resident)
        thread.visit(sum);
      else
        thread.stream(sum);
    });
  }

  const ExpertCombineParams<OnDevice> p_;
  const ExpertCombineProblem problem_;
  const RowConfig rows_;
  const RowShape shape_;
  const CollectiveOrder order_;
  Meeting meeting_;
  WindowRows windows_;
  Int32 thread_;
  const int together_;
  SharedAllocator shared_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
