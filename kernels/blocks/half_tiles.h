// The main loop of gfx950 for large tiles of operands that lie by rows, in which the waves of a
// block are two groups that take turns at the matrix units. FlyDSL calls it half-tile interleaving.
//
// A block has eight waves, two on each SIMD, one of each group; a group is a row of
// waves along M. The tiles of A and B come by halves, and a wave's sums are four
// quadrants. A step has four phases, each of which reads a half from LDS, meets,
// multiplies the halves of a quadrant, and meets again:
//
//   phase   reads                  multiplies   sends for, two steps ahead
//   0       A0                     A0 B0        B0
//   1       B1                     A0 B1        A0
//   2       A1                     A1 B0        B1
//   3       B0 of the next step    A1 B1        A1
//
// The second group is a meeting behind the first, so that on each SIMD one wave multiplies while
// the other reads:
//
//   first     | read 0     | multiply 0 | read 1     | multiply 1 | ...
//   second    |            | read 0     | multiply 0 | read 1     | ...
//
// A half has two places in LDS, for every other step. It is sent for a phase after its place was
// read for the last time: that is two meetings ago, before which the readers waited for their
// reads. Loads end in their order: in each phase a wave waits until the half that the next phase
// reads has landed, and all waves meet before anybody reads it. Six halves are on their way then.
#pragma once

#include "blocks/product_sums.h"
#include "blocks/ring_operand.h"
#include "blocks/wave_groups.h"

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
  int loop = 0, last = 0; ///< in the loop, and in the steps behind it
  int reads = 0;          ///< of LDS, wherever it waits for them
};

class HalfTiles {
public:
  HalfTiles(const LoopShape &shape, const TiledMma &mma, const OperandTile &a, const OperandTile &b,
            SharedAllocator &shared, const Sums &sums, const HalfTileWaits &weaker = {})
      : shape_(shape), sums_(sums), weaker_(weaker),
        second_(rocdl::readfirstlane(thread_idx().x / (shape.loaders() / 2)) == 1) {
    LoopShape half = shape;
    half.tileM /= 2;
    half.tileN /= 2;
    for (int number = 0; number < 2; ++number) {
      halves_[at(b0 + 2 * number)] =
          ringOperandB(half, mma, halfOf(b, number), shared, shape.parts());
      halves_[at(a0 + 2 * number)] =
          ringOperandA(half, mma, halfOf(a, number), shared, shape.parts());
    }
  }

  /// Adds all products to the sums.
  void run() const {
    const int steps = shape_.steps();
    for (int number = 0; number < std::min(kStages, steps) * kHalves; ++number) {
      send(number / kHalves, number);
      rocdl::sched_barrier(0); // The counts of loads that may be under way go by their order.
    }
    sums_.start();
    meetGroups(underWay(a0, std::min(kStages, steps) * kHalves) + weaker_.first, weaker_.reads);
    read(b0, 0);
    meetGroups(kMostLoads, weaker_.reads);
    if_(second_, [&] { meetGroups(); });
    // The loop runs pairs of steps that send for whole tiles; the remaining steps follow.
    const int whole = (shape_.k % shape_.tileK ? steps - 1 : steps) - kStages;
    const int looped = whole > 0 ? whole / kStages * kStages : 0;
    if (looped)
      for (Int32 first : range(0, looped, kStages))
        for (int stage = 0; stage < kStages; ++stage)
          for (int phase = 0; phase < kHalves; ++phase) {
            halves_[at(phase)]->fetch(first + (stage + kStages), stage);
            turn(stage, phase, true,
                 underWay(phase + 2, kStages * kHalves + phase + 1) + weaker_.loop);
          }
    for (int step = looped; step < steps; ++step)
      for (int phase = 0; phase < kHalves; ++phase) {
        const int ahead = (step + kStages) * kHalves + phase;
        if (step + kStages < steps)
          send(step + kStages, ahead);
        turn(step % kStages, phase, step + 1 < steps,
             underWay(step * kHalves + phase + 2, std::min(ahead + 1, steps * kHalves)) +
                 weaker_.last);
      }
    if_(!second_, [&] { meetGroups(); });
  }

private:
  /// The halves of a step, in the order in which they are sent for and read.
  enum Half { b0, a0, b1, a1 };
  static constexpr int kHalves = 4, kStages = 2;

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  OperandTile halfOf(const OperandTile &tile, int number) const {
    const int rows = tile.size / 2, before = number * rows;
    return {tile.dtype,
            rows,
            Int64(tile.first + before * tile.distance * shape_.form.bytes()),
            tile.distance,
            Int32(tile.exist - before),
            tile.layout};
  }
  /// Sends for a half, which is `number` in the order of all.
  void send(int step, int number) const {
    const RingOperand &half = *halves_[at(number % kHalves)];
    if (step == shape_.steps() - 1)
      half.fetchLast(step % kStages);
    else
      half.fetch(step, step % kStages);
  }
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
  /// A phase of a step whose halves have their places at `stage`. `more`: there is a next step.
  void turn(int stage, int phase, bool more, int loads) const {
    constexpr std::array kReads{a0, b1, a1, b0};
    const Half half = kReads[at(phase)];
    if (half != b0)
      read(half, stage);
    else if (more)
      read(half, 1 - stage);
    meetGroups(loads, weaker_.reads);
    rocdl::s_setprio(1);
    multiply(phase / 2, phase % 2, stage);
    rocdl::s_setprio(0);
    meetGroups();
  }
  /// Adds the products of half `m` of A and half `n` of B.
  void multiply(int m, int n, int stage) const {
    const int tilesM = shape_.tilesM() / 2, tilesN = shape_.tilesOfHalf() / 2;
    for (int part = 0; part < shape_.parts(); ++part) {
      const Tensor &b = halves_[at(b0 + 2 * n)]->fragment(stage, part),
                   &a = halves_[at(a0 + 2 * m)]->fragment(stage, part);
      for (int product = 0; product < shape_.form.products(); ++product)
        for (int i = 0; i < tilesM; ++i)
          for (int j = 0; j < tilesN; ++j)
            sums_.addTile(n * tilesN + j, m * tilesM + i, b(_, j, product), a(_, i, product));
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
