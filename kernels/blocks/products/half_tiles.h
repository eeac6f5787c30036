// The main loop of gfx950 for large tiles, in which the waves of a block are two groups that take turns
// at the matrix units. FlyDSL calls it half-tile interleaving. Operands lie by rows or columns, and
// weights may be prepared.
//
// A block has eight waves, two on each SIMD, one of each group; a group is a row of
// waves along M. The tiles of A and B come as half tiles, A0, A1, B0 and B1, and a wave's sums are four
// quadrants. A step has four phases. Each reads a half tile from LDS, meets, multiplies the half tiles of a
// quadrant, and meets again. (If pairs are gated, B0 has gates and B1 has ups.)
//
//   phase   reads                  multiplies   fetches, two steps ahead
//   0       A0                     A0 B0        B0
//   1       B1                     A0 B1        A0
//   2       A1                     A1 B0        B1
//   3       B0 of the next step    A1 B1        A1
//
// The second group comes a meeting after the first, so that on each SIMD one wave multiplies while
// the other reads:
//
//   first     | read 0     | multiply 0 | read 1     | multiply 1 | ...
//   second    |            | read 0     | multiply 0 | read 1     | ...
//
// A half tile has two stages in LDS, for every other step. It is fetched a phase after its stage was
// read for the last time: that is two meetings ago, before which the readers waited for their
// reads. Loads end in their order: in each phase a wave waits until the half tile that the next phase
// reads has landed, and all waves meet before any of them reads it. Six half tiles are on their way then.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/products/dma_operand.h"
#include "blocks/products/loop_schedule.h"
#include "blocks/products/product_sums.h"
#include "blocks/products/wave_groups.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// How many loads each wait of a wave leaves out that it should wait for. All are 0 but in tests.
struct HalfTileWaits {
  int first = 0;          ///< the wait before the first phase
  int loop = 0, last = 0; ///< waits in the loop, and in the steps after it
  int reads = 0;          ///< reads of LDS that all waits leave out
};

class HalfTiles {
public:
  /// `a` is an OperandTile or a GatheredTile, `b` an OperandTile or a PreparedTile.
  template <class A, class B>
  HalfTiles(const LoopShape &shape, const TiledMma &mma, const A &a, const B &b,
            SharedAllocator &shared, const Sums &sums, const HalfTileWaits &weaker = {})
      : shape_(shape), sums_(sums), weaker_(weaker),
        inSecondGroup_(gpu::uniform(thread_idx().x / (shape.loaders() / 2)) == 1) {
    LoopShape half = shape; // of a half tile, which has rows of one half of B
    half.tileM /= 2;
    half.tileN /= 2;
    half.halves = 1;
    for (int number = 0; number < 2; ++number) {
      halfTiles_[asIndex(b0 + 2 * number)] =
          ringOperandB(half, mma, b.halfTile(number, half.tileN), shared, shape.parts());
      halfTiles_[asIndex(a0 + 2 * number)] =
          ringOperandA(half, mma, a.halfTile(number, half.tileM), shared, shape.parts());
    }
  }

  /// Adds all products to the sums.
  void run() const { runGroups<Int32>(shape_, *this); }

  // What runGroups calls.
  void fetchNumber(int step, int number) const {
    const RingOperand &halfTile = *halfTiles_[asIndex(number % kHalfTiles)];
    if (step == shape_.steps() - 1)
      halfTile.fetchLast(step % kStages);
    else
      halfTile.fetch(step, step % kStages);
    if (number < std::min(kStages, shape_.steps()) * kHalfTiles)
      gpu::schedule_fence(); // The counts of loads that may be under way rely on their order.
  }
  void firstFetched(int fetched) const {
    sums_.start();
    meetGroups(underWay(a0, fetched) + weaker_.first, weaker_.reads);
    read(b0, 0);
    meetGroups(wait_limits(target()).loads, weaker_.reads);
    if_(inSecondGroup_, [&] { meetGroups(); });
  }
  void fetch(int halfTile, const Int32 &step, int stage) const {
    halfTiles_[asIndex(halfTile)]->fetch(step, stage);
  }
  void turn(const HalfPhase &now) const {
    constexpr std::array kReads{a0, b1, a1, b0};
    const HalfTile halfTile = kReads[asIndex(now.phase)];
    if (halfTile != b0)
      read(halfTile, now.stage);
    else if (now.more)
      read(halfTile, 1 - now.stage);
    meetGroups(underWay(now.landed, now.fetched) + (now.looped ? weaker_.loop : weaker_.last),
               weaker_.reads);
    gpu::wave_priority(1);
    multiply(now.phase / 2, now.phase % 2, now.stage);
    gpu::wave_priority(0);
    meetGroups();
  }
  void end() const {
    if_(!inSecondGroup_, [&] { meetGroups(); });
  }
  template <class Body> static void turns(int end, int stride, const Body &body) {
    for (Int32 first : range(0, end, stride))
      body(first);
  }

private:
  /// The half tiles of a step, in the order in which they are fetched and read.
  enum HalfTile { b0, a0, b1, a1 };
  static constexpr int kHalfTiles = HalfTilesOfStep::kHalfTiles, kStages = HalfTilesOfStep::kStages;

  /// The loads of a thread that follow those of half tile `number`, when so many were fetched.
  int underWay(int number, int fetched) const {
    int loads = 0;
    for (int later = number + 1; later < fetched; ++later)
      loads += halfTiles_[asIndex(later % kHalfTiles)]->loads();
    return loads;
  }
  void read(HalfTile halfTile, int stage) const {
    for (int part = 0; part < shape_.parts(); ++part)
      halfTiles_[asIndex(halfTile)]->read(stage, part);
  }
  /// Adds the products of half tile `m` of A and half tile `n` of B.
  void multiply(int m, int n, int stage) const {
    const bool gated = shape_.halves > 1;
    const int tilesM = shape_.tilesM() / 2,
              tilesN = gated ? shape_.tilesOfHalf() : shape_.tilesOfHalf() / 2,
              halfOfB = gated ? n : 0, first = gated ? 0 : n * tilesN;
    for (int part = 0; part < shape_.parts(); ++part) {
      const Tensor &b = halfTiles_[asIndex(b0 + 2 * n)]->fragment(stage, part),
                   &a = halfTiles_[asIndex(a0 + 2 * m)]->fragment(stage, part);
      for (int product = 0; product < shape_.form.products(); ++product)
        for (int i = 0; i < tilesM; ++i)
          for (int j = 0; j < tilesN; ++j)
            sums_.addTile(halfOfB, first + j, m * tilesM + i, b(_, j, product),
                          a(_, i, product)); // (V)
    }
  }

  LoopShape shape_;
  const Sums &sums_;
  HalfTileWaits weaker_;
  Boolean inSecondGroup_;
  std::array<std::unique_ptr<RingOperand>, kHalfTiles> halfTiles_; // as HalfTile numbers them
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
