// What a rank's kernels do in a dispatch. Tests leave out what orders memory, and see that it is missed.
#pragma once

#include "collective/meeting.h"
#include "collective/window_rows.h"
#include "expert_dispatch/expert_dispatch_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Gives the rank's tokens to its window, and takes the slots of all ranks. A block takes the slots
/// that the blocks of its number have given.
class DispatchGive {
public:
  DispatchGive(const DispatchGiveParams<OnDevice> &params, const Spec<ExpertDispatchProblem> &spec,
               const CollectiveOrder &order = {})
      : p_(params), problem_(spec.problem), config_(spec.config), window_(dispatchWindow(problem_)),
        order_(order), meeting_(p_.group, problem_.ranks, config_.rows.block, order),
        windows_(p_.group, problem_.ranks, meeting_.turn()) {}

  void run() {
    clearWork();
    meeting_.ifGoing([&] {
      if (order_.looksAhead)
        takeSlots();
      if (!problem_.registered)
        giveRows(p_.x, problem_.x, 0, rowShape(problem_));
      if (problem_.scale && !problem_.registered)
        giveRows(p_.scales, problem_.scale, window_.scales, scaleShape(problem_));
      giveSlots();
      meeting_.meet(1);
    });
    takeSlots();
    meeting_.end();
  }

private:
  std::int32_t slots() const { return static_cast<std::int32_t>(slotsOfRank(problem_)); }
  /// What launches of the same call count by begins at 0.
  void clearWork() const {
    if_(Boolean((block_idx().x == 0) & (p_.work.address != 0)), [&] {
      const Tensor words = p_.work.view(i32, WorkLayout::kWords); // (words)
      for (Int32 word :
           range(Int32(thread_idx().x), Int32(WorkLayout::kWords), Int32(config_.rows.block)))
        words(word) = Int32(0);
    });
  }

  void giveRows(const Strided<OnDevice, 1> &operand, DType type, std::int64_t at,
                const RowShape &shape) const {
    const Tensor from = rowsOf(operand, type, p_.m, shape),
                 to = windows_.ownRows(type, at, problem_.tokens, shape); // (m, n), (tokens, n)
    const int rows = RowThread::rowsPerBlock(config_.rows);
    for (Int32 first : range(Int32(block_idx().x * rows), p_.m, Int32(grid_dim().x * rows))) {
      const RowThread thread(shape, config_.rows, p_.m, first);
      const auto give = [&](const RowThread::Cursor &at) { at.store(to, at.load(from, 0)); };
      if (config_.rows.resident)
        thread.visit(give);
      else
        thread.stream(give);
    }
  }
  /// Calls `body` with each of the block's slots, which are the same on all ranks.
  template <class F> void eachSlot(const F &body) const {
    const Int32 first = Int32(block_idx().x * config_.rows.block + thread_idx().x);
    for (Int32 slot : range(first, slots(), grid_dim().x * config_.rows.block))
      body(slot);
  }
  /// A slot of a token past m has no expert.
  void giveSlots() const {
    const Tensor ids = p_.ids.view(i32, Int32(p_.m * problem_.topk)); // (m * topk)
    const Tensor ownIds = windows_.ownVector(i32, window_.ids, slots());
    eachSlot([&](const Int32 &slot) {
      const Boolean inside(slot < p_.m * problem_.topk);
      ownIds(slot) = if_(
          inside, [&] { return Int32(ids(slot)); }, [] { return Int32(-1); });
      if (problem_.weights)
        windows_.ownVector(f32, window_.weights, slots())(slot) = if_(
            inside,
            [&] {
              return Float32(p_.weights.view(f32, Int32(p_.m * problem_.topk))(slot)); // (slots)
            },
            [] { return Float32(0.0f); });
    });
  }
  /// Where a rank did not come, no slot has an expert here, so what follows moves no row.
  void takeSlots() const {
    const int ranks = problem_.ranks;
    const auto local = static_cast<std::int32_t>(problem_.local());
    const Boolean isGoing = meeting_.isGoing();
    const Int32 firstExpert = Int32(p_.group.rank * local);
    const auto take = [&](const Strided<OnDevice, 0> &table, DType type, std::int64_t at,
                          const auto &none, const auto &made) {
      eachSlot([&](const Int32 &slot) {
        using Value = std::remove_cvref_t<decltype(none)>;
        std::vector<Value> values;
        for (int rank = 0; rank < ranks; ++rank)
          values.push_back(if_(
              isGoing, [&] { return Value(windows_.vector(rank, type, at, slots())(slot)); },
              [&] { return none; }));
        const Tensor all = table.view(type, {ranks, slots()}); // (ranks, slots)
        for (int rank = 0; rank < ranks; ++rank)
          all(rank, slot) = made(values[static_cast<std::size_t>(rank)]);
      });
    };
    take(p_.tableIds, i32, window_.ids, Int32(-1), [&](const Int32 &id) {
      const Int32 here = Int32(id - firstExpert);
      return Int32(select(Boolean((id >= 0) & (here >= 0) & (here < local)), here, Int32(-1)));
    });
    if (problem_.weights)
      take(p_.tableWeights, f32, window_.weights, Float32(0.0f),
           [](const Float32 &weight) { return weight; });
  }

  const DispatchGiveParams<OnDevice> p_;
  const ExpertDispatchProblem problem_;
  const ExpertDispatchConfig config_;
  const DispatchWindow window_;
  const CollectiveOrder order_;
  Meeting meeting_;
  WindowRows windows_;
};

/// Takes the row of each place out of the window, or the registered memory, of its token's rank.
class DispatchTake {
public:
  DispatchTake(const DispatchTakeParams<OnDevice> &params, const Spec<ExpertDispatchProblem> &spec)
      : p_(params), problem_(spec.problem), config_(spec.config), window_(dispatchWindow(problem_)),
        windows_(p_.group, problem_.ranks,
                 problem_.registered ? Int32{kRegisteredTurn} : Meeting::turnOfEnded(p_.group)) {}

  void run() const {
    const RowThread thread(rowShape(problem_), config_.rows, p_.places);
    takeRows(thread, Int32(block_idx().x * RowThread::rowsPerBlock(config_.rows)), p_.places);
    thread.once([&] { takeNumbers(thread.row()); });
    if_(Boolean(block_idx().x == 0), [&] { tellOfMissingPlaces(); });
  }
  /// Takes the rows and the scales of the block's places from one on, which are below `end`.
  void takeRows(const Int32 &first, const Int32 &end) const {
    takeRows(RowThread(rowShape(problem_), config_.rows, end, first), first, end);
  }
  /// The rank knows, and the others do when they wait for it next.
  void tellOfMissingPlaces() const {
    const Tensor totals = p_.totals.view(i32, 3); // (3)
    if_(Boolean((Int32(totals(0)) > p_.places) | (Int32(totals(2)) > 0)), [&] {
      if_(Boolean(thread_idx().x == 0), [&] {
        reportStatus(p_.group.status.view(i32, {1}), Int32(GroupMemory::no_places),
                     Boolean(false)); // (1)
      });
      Meeting::giveUp(p_.group, problem_.ranks, config_.rows.block);
    });
  }

private:
  void takeRows(const RowThread &thread, const Int32 &first, const Int32 &end) const {
    const Int32 token = Int32(p_.sortedIds.view(i32, p_.places)(thread.row())) &
                        static_cast<std::int32_t>(kTokensOfIds); // (places)
    const auto tokens = static_cast<std::int32_t>(problem_.tokens);
    // Padding has the number after the last token.
    if_(Boolean(token < tokens * problem_.ranks), [&] {
      const Int32 rank = token / tokens, own = token % tokens;
      takeRow(thread, p_.y, problem_.x, rowShape(problem_), 0, rank, own);
      if (problem_.scale)
        takeRow(RowThread(scaleShape(problem_), config_.rows, end, first), p_.scales,
                problem_.scale, scaleShape(problem_), window_.scales, rank, own);
    });
  }
  void takeRow(const RowThread &thread, const Strided<OnDevice, 1> &operand, DType type,
               const RowShape &shape, std::int64_t at, const Int32 &rank, const Int32 &own) const {
    const Tensor from = windows_.rows(rank, type, at, problem_.tokens, shape)(own, _),
                 to = rowsOf(operand, type, p_.places, shape); // (n), (places, n)
    const auto take = [&](const RowThread::Cursor &cursor) {
      cursor.store(to, cursor.load(from, 0));
    };
    if (config_.rows.resident)
      thread.visit(take);
    else
      thread.stream(take);
  }
  /// The weight of a place, and the expert of a unit.
  void takeNumbers(const Int32 &place) const {
    if (problem_.weights)
      p_.weights.view(f32, p_.places)(place) =
          Float32(p_.sortedWeights.view(f32, p_.places)(place)); // (places), (places)
    if (problem_.capacity)
      return;
    const Int32 unit = place / problem_.unit, units = p_.places / problem_.unit;
    if_(Boolean(place % problem_.unit == 0), [&] {
      p_.units.view(i32, units)(unit) =
          Int32(p_.unitExperts.view(i32, units)(unit)); // (units), (units)
    });
  }

  const DispatchTakeParams<OnDevice> p_;
  const ExpertDispatchProblem problem_;
  const ExpertDispatchConfig config_;
  const DispatchWindow window_;
  WindowRows windows_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
