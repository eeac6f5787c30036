// The main loop of gfx950 for large tiles, in which the waves of a block are two groups that take turns
// at the matrix units. FlyDSL calls it half-tile interleaving. Operands lie by rows or columns, and
// weights may be prepared.
//
// A block has eight waves, two on each SIMD, one of each group; a group is a row of
// waves along M. The tiles of A and B come by halves, and a wave's sums are four
// quadrants. A step has four phases. Each reads a half from LDS, meets,
// multiplies the halves of a quadrant, and meets again (where pairs are gated, the halves of B are gates
// and ups):
//
//   phase   reads                  multiplies   sends for, two steps ahead
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
// A half has two places in LDS, for every other step. It is sent for a phase after its place was
// read for the last time: that is two meetings ago, before which the readers waited for their
// reads. Loads end in their order: in each phase a wave waits until the half that the next phase
// reads has landed, and all waves meet before any of them reads it. Six halves are on their way then.
#pragma once

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

/// By how many loads a wave's waits are too weak. All are 0 but in tests.
struct HalfTileWaits {
  int first = 0;          ///< before the first phase
  int loop = 0, last = 0; ///< in the loop, and in the steps after it
  int reads = 0;          ///< of LDS, wherever it waits for them
};

class HalfTiles {
public:
  /// `a` is an OperandTile or a GatheredTile, `b` an OperandTile or a PreparedTile.
  template <class A, class B>
  HalfTiles(const LoopShape &shape, const TiledMma &mma, const A &a, const B &b,
            SharedAllocator &shared, const Sums &sums, const HalfTileWaits &weaker = {})
      : shape_(shape), sums_(sums), weaker_(weaker),
        second_(gpu::uniform(thread_idx().x / (shape.loaders() / 2)) == 1) {
    LoopShape half = shape;
    half.tileM /= 2;
    half.tileN /= 2;
    half.halves = 1;
    for (int number = 0; number < 2; ++number) {
      halves_[at(b0 + 2 * number)] =
          ringOperandB(half, mma, b.half(number, half.tileN), shared, shape.parts());
      halves_[at(a0 + 2 * number)] =
          ringOperandA(half, mma, a.half(number, half.tileM), shared, shape.parts());
    }
  }

  /// Adds all products to the sums.
  void run() const { runHalves<Int32>(shape_, *this); }

  // What runHalves calls.
  void send(int step, int number) const {
    const RingOperand &half = *halves_[at(number % kHalves)];
    if (step == shape_.steps() - 1)
      half.fetchLast(step % kStages);
    else
      half.fetch(step, step % kStages);
    if (number < std::min(kStages, shape_.steps()) * kHalves)
      gpu::schedule_fence(); // The counts of loads that may be under way go by their order.
  }
  void sentFirst(int sent) const {
    sums_.start();
    meetGroups(underWay(a0, sent) + weaker_.first, weaker_.reads);
    read(b0, 0);
    meetGroups(wait_limits(target()).loads, weaker_.reads);
    if_(second_, [&] { meetGroups(); });
  }
  void fetch(int half, const Int32 &step, int stage) const {
    halves_[at(half)]->fetch(step, stage);
  }
  void turn(const HalfPhase &now) const {
    constexpr std::array kReads{a0, b1, a1, b0};
    const Half half = kReads[at(now.phase)];
    if (half != b0)
      read(half, now.stage);
    else if (now.more)
      read(half, 1 - now.stage);
    meetGroups(underWay(now.landed, now.sent) + (now.looped ? weaker_.loop : weaker_.last),
               weaker_.reads);
    gpu::wave_priority(1);
    multiply(now.phase / 2, now.phase % 2, now.stage);
    gpu::wave_priority(0);
    meetGroups();
  }
  void end() const {
    if_(!second_, [&] { meetGroups(); });
  }
  template <class Body> static void turns(int end, int stride, const Body &body) {
    for (Int32 first : range(0, end, stride))
      body(first);
  }

private:
  /// The halves of a step, in the order in which they are sent for and read.
  enum Half { b0, a0, b1, a1 };
  static constexpr int kHalves = HalvesOfStep::kHalves, kStages = HalvesOfStep::kStages;

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  /// The loads of a thread that follow those of half `number`, when so many halves were sent for.
  int underWay(int number, int sent) const {
    int loads = 0;
    for (int later = number + 1; later < sent; ++later)
      loads += halves_[at(later % kHalves)]->loads();
    return loads;
  }
  void read(Half half, int stage) const {
    for (int part = 0; part < shape_.parts(); ++part)
      halves_[at(half)]->read(stage, part);
  }
  /// Adds the products of half `m` of A and half `n` of B.
  void multiply(int m, int n, int stage) const {
    const bool gated = shape_.halves > 1;
    const int tilesM = shape_.tilesM() / 2,
              tilesN = gated ? shape_.tilesOfHalf() : shape_.tilesOfHalf() / 2,
              half = gated ? n : 0, first = gated ? 0 : n * tilesN;
    for (int part = 0; part < shape_.parts(); ++part) {
      const Tensor &b = halves_[at(b0 + 2 * n)]->fragment(stage, part),
                   &a = halves_[at(a0 + 2 * m)]->fragment(stage, part);
      for (int product = 0; product < shape_.form.products(); ++product)
        for (int i = 0; i < tilesM; ++i)
          for (int j = 0; j < tilesN; ++j)
            sums_.addTile(half, first + j, m * tilesM + i, b(_, j, product),
                          a(_, i, product)); // (V)
    }
  }

  LoopShape shape_;
  const Sums &sums_;
  HalfTileWaits weaker_;
  Boolean second_; // of the groups
  std::array<std::unique_ptr<RingOperand>, kHalves> halves_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
