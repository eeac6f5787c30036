// Which tile a block of a grouped product computes: an expert's, of those of its places that exist.
//
// How many tiles there are, the device alone knows. The grid is an upper bound, and blocks past the
// end leave at once, or go on to what else they have. Numbers in memory that are wrong lead to no tile,
// or to places that exist.
#pragma once

#include "gemm/gemm_block.h"
#include "grouped_gemm/grouped_gemm_family.h"

#include <bit>
#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A block's tile, whose row is its first place, and the expert of all of its rows.
struct GroupTile {
  BlockTile tile;
  Int32 expert;
  Boolean readsBOnce; ///< no other block reads the expert's weights: the tile has all its rows
};

class GroupTiles {
public:
  /// `otherwise`: what a block without a tile does. Without it such a block leaves the kernel, and the
  /// tiles are asked for outside of loops and branches.
  GroupTiles(const GroupedGemmProblem &problem, const GemmConfig &config,
             const GroupedGemmParams<OnDevice> &p, std::function<void()> otherwise = {})
      : problem_(problem), p_(p), grid_(tileGrid(productOf(problem), config)),
        experts_(static_cast<int>(problem.experts)), otherwise_(std::move(otherwise)) {}

  /// What is done with a tile.
  using Body = std::function<void(const GroupTile &tile)>;
  /// Calls `body` with the tile of block `block`, if it has one.
  void at(const Int32 &block, const Body &body) const {
    switch (problem_.groups) {
    case GroupLayout::units:
      return ofUnits(block, body);
    case GroupLayout::masked:
      return ofMasked(block, body);
    case GroupLayout::offsets:
      return ofOffsets(block, body);
    }
    throw Error("a layout of groups of no kind");
  }

private:
  /// Goes on with `rest` unless the block has no tile. The threads of a block have the condition in common.
  template <class F> void unless(const Boolean &without, const F &rest) const {
    if (otherwise_)
      return if_(without, otherwise_, rest);
    exit_if(without);
    rest();
  }
  int tileM() const { return grid_.tileM; }
  Tensor offsets() const { return p_.offsets.view(i32, experts_ + 1); } // (experts + 1)
  Tensor counts() const { return p_.counts.view(i32, experts_); }       // (experts)
  /// A number that all lanes have in common, from 0 to `most`.
  static Int32 within(const Numeric &number, const Int32 &most) {
    return max(min(Int32(number), most), Int32(0));
  }
  /// The first place after those of all experts.
  Int32 end() const { return within(offsets()(experts_), p_.places); }
  /// Calls `body` with the place of a block in the walk over `down` rows of tiles.
  template <class F> void walk(const Int32 &block, const Int32 &down, const F &body) const {
    unless(block >= down * static_cast<std::int32_t>(grid_.across()),
           [&] { body(TileScheduler<Int32>(grid_, down * tileM()).at(block)); });
  }
  /// Calls `body` with the tile from a place on, with so many of the expert's `all` rows; there is none if
  /// it has no rows.
  void withTileOfExpert(const BlockTile &tile, const Int32 &place, const Int32 &expert,
                        const Int32 &rows, const Int32 &all, const Body &body) const {
    unless(rows <= 0, [&] {
      body({.tile = tile.withRows(place, Int32(min(rows, tileM()))),
            .expert = expert,
            .readsBOnce = all <= tileM()});
    });
  }

  void ofUnits(const Int32 &block, const Body &body) const {
    walk(block, end() / tileM(), [&](const BlockTile &tile) {
      const Tensor experts = p_.unitExperts.view(i32, p_.places / problem_.unit); // (units)
      const Int32 expert(experts(tile.row / problem_.unit));
      unless((expert < 0) | (expert >= experts_), [&] {
        const Int32 all(counts()(expert));
        withTileOfExpert(tile, tile.row, expert, Int32(offsets()(expert) + all) - tile.row, all,
                         body);
      });
    });
  }
  void ofMasked(const Int32 &block, const Body &body) const {
    const auto capacity = static_cast<std::int32_t>(problem_.capacity);
    walk(block, p_.places / tileM(), [&](const BlockTile &tile) {
      const Int32 expert = tile.row / capacity, all = within(counts()(expert), capacity);
      withTileOfExpert(tile, tile.row, expert, all - (tile.row - expert * capacity), all, body);
    });
  }
  /// The rows of tiles of expert e have the numbers from first(e) = offsets[e] / tileM + e on: that
  /// leaves each expert as many as it has, and rises from expert to expert.
  void ofOffsets(const Int32 &block, const Body &body) const {
    walk(block, end() / tileM() + experts_, [&](const BlockTile &tile) {
      const auto start = [&](const Int32 &expert) { return within(offsets()(expert), p_.places); };
      const auto first = [&](const Int32 &expert) {
        return Int32(start(expert) / tileM() + expert);
      };
      const Var<Int32> low(Int32(0)), high(Int32{experts_});
      for (int left = experts_; left > 1; left = (left + 1) / 2) {
        const Int32 middle = (low + high) / 2;
        const Boolean isAfter(first(middle) > tile.m);
        high = select(isAfter, middle, high.get());
        low = select(isAfter, low.get(), middle);
      }
      const Int32 expert = low.get(), number = tile.m - first(expert);
      unless(number < 0, [&] {
        const Int32 place = start(expert) + number * tileM(), end = start(expert + 1);
        withTileOfExpert(tile, place, expert, end - place, end - start(expert), body);
      });
    });
  }

  GroupedGemmProblem problem_;
  const GroupedGemmParams<OnDevice> &p_;
  TileGrid grid_;
  int experts_;
  std::function<void()> otherwise_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
