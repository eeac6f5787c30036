// Products that move rows between the ranks while they multiply.
//
// Blocks of a launch have roles, which go by their tickets (collective/work_numbers.h), so that nothing
// depends on how many blocks a device holds at a time. Persistent blocks have one role after another:
//
//   launch                 smaller tickets               larger tickets
//   first product          copiers bring the rows        a tile waits for the copier of its rows
//   second product         a tile writes its results     combiners wait for all tiles, meet those of
//                          into the windows of ranks     their number on the other ranks, and sum up
//
// A copier waits for no block: all ranks have given their tokens in the launches before. A tile of the
// second product waits for none either. A combiner waits for tiles of its own launch, which have begun,
// and then for the combiners of its number, which need nothing of this rank but what it has given. So
// all of them end. Tests leave out what orders memory, and see that it is missed.
#pragma once

#include "collective/work_numbers.h"
#include "expert_combine/expert_combine_body.h"
#include "expert_dispatch/expert_dispatch_body.h"
#include "grouped_gemm/group_block.h"
#include "moe_ranks/moe_ranks_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What orders the accesses of fused launches.
struct FusedOrder {
  HandOver local = {};          ///< among the blocks of a launch
  CollectiveOrder between = {}; ///< among ranks
};

/// The first product, whose rows come meanwhile.
class TakeProduct {
public:
  TakeProduct(const TakeProductParams<OnDevice> &params, const RankParts &parts,
              const MoeRanksConfig &config, const FusedOrder &order = {})
      : p_(params), config_(config), parts_(parts), order_(order), work_(p_.work, order.local) {}

  void run() {
    work_.eachTicket(0, config_.persistent != 0, Int32(p_.tiles + config_.copiers),
                     [&](const Int32 &ticket) {
                       if_(
                           Boolean(ticket < config_.copiers), [&] { copyRows(ticket); },
                           [&] { multiply(Int32(ticket - config_.copiers)); });
                     });
  }

private:
  void multiply(const Int32 &number) {
    const GroupedGemmParams<OnDevice> product = p_.product;
    GroupTiles(parts_.first, config_.first, product, [] {}).at(number, [&](const GroupTile &at) {
      if (order_.between.looksAhead)
        lookAhead(at.tile);
      // Tiles do not reach over units.
      const Int32 unit = at.tile.row / config_.unit;
      work_.awaitTold(Int32(unit % config_.copiers), Int32(unit / config_.copiers + 1));
      GroupBlock(product, parts_.first, config_.first, at).run();
    });
  }
  /// Copier c brings the rows of the units c, c + copiers, and so on.
  void copyRows(const Int32 &copier) const {
    const DispatchTakeParams<OnDevice> params = p_.take;
    const DispatchTake take(params, {parts_.dispatch, copiersOf(config_)});
    const Int32 places = min(Int32(params.totals.view(i32, 3)(0)), params.places); // (3)
    const int rows = RowThread::rowsPerBlock(copiersOf(config_).rows);
    for (Int32 unit : range(copier, Int32(places / config_.unit), Int32(config_.copiers))) {
      const Int32 end = Int32((unit + 1) * config_.unit);
      for (Int32 first : range(Int32(unit * config_.unit), end, Int32(rows))) {
        work_.dawdle();
        take.takeRows(first, end);
      }
      work_.tell(copier, Int32(unit / config_.copiers + 1));
    }
    if_(Boolean(copier == 0), [&] { take.tellOfMissingPlaces(); });
  }
  /// Caches have a line of each row before it has come, as they may by themselves. The sum goes to a
  /// word that no block reads.
  void lookAhead(const BlockTile &tile) const {
    const DispatchTakeParams<OnDevice> params = p_.take;
    const RowShape row = rowShape(parts_.dispatch);
    const Tensor rows = rowsOf(params.y, parts_.dispatch.x, params.places, row); // (places, n)
    if_(Boolean(Int32(thread_idx().x) < tile.rows), [&] {
      const Tensor own = rows(Int32(tile.row + Int32(thread_idx().x)), _); // (n)
      for (Int32 at : range(Int32(0), Int32(static_cast<std::int32_t>(row.n)), Int32(16)))
        p_.work.view(f32, WorkLayout::kWords)(WorkLayout::kLine - 1) =
            Numeric(own(at)).to(f32); // (words)
    });
  }

  const TakeProductParams<OnDevice> p_;
  const MoeRanksConfig config_;
  const RankParts parts_;
  const FusedOrder order_;
  WorkNumbers work_;
};

/// The second product, whose results go to the ranks of their tokens, and the sums of this rank's.
class ProductCombine {
public:
  ProductCombine(const ProductCombineParams<OnDevice> &params, const RankParts &parts,
                 const MoeRanksConfig &config, const FusedOrder &order = {})
      : p_(params), config_(config), parts_(parts), order_(order), work_(p_.work, order.local) {}

  void run() {
    work_.eachTicket(1, config_.persistent != 0, Int32(p_.tiles + p_.combiners),
                     [&](const Int32 &ticket) {
                       if_(
                           Boolean(ticket < p_.tiles), [&] { multiply(ticket); },
                           [&] { sumUp(Int32(ticket - p_.tiles)); });
                     });
  }

private:
  void multiply(const Int32 &number) {
    const GroupedGemmParams<OnDevice> product = p_.product;
    const ExpertCombineParams<OnDevice> combine = p_.combine;
    const ExpertCombineProblem &results = parts_.combine;
    const WindowRows windows(combine.group, results.ranks, Meeting::turnOfCall(combine.group));
    const auto tokens = static_cast<std::int32_t>(results.tokens);
    GroupTiles(parts_.second, config_.second, product, [&] {
      work_.countDone(false);
    }).at(number, [&](const GroupTile &at) {
      GroupBlock(product, parts_.second, config_.second, at)
          .run({Int32(tokens * results.ranks), results.topk,
                [&](const Int32 &token, const Int32 &slot) {
                  work_.dawdle();
                  const Int32 row = token % tokens * results.topk + slot;
                  return Pointer(windows
                                     .rows(Int32(token / tokens), results.x, 0,
                                           results.tokens * results.topk,
                                           rowShape(results))(row, _) // (n)
                                     .iter());
                }});
      work_.countDone(true);
    });
  }
  void sumUp(const Int32 &number) const {
    work_.awaitDone(Int32(p_.tiles));
    const ExpertCombineParams<OnDevice> combine = p_.combine;
    ExpertCombineBody(combine, {parts_.combine, combinersOf(config_)}, order_.between,
                      {number, Int32(p_.combiners)})
        .runAfterGiving();
  }

  const ProductCombineParams<OnDevice> p_;
  const MoeRanksConfig config_;
  const RankParts parts_;
  const FusedOrder order_;
  WorkNumbers work_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
