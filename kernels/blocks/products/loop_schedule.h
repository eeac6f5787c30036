// The order of the products' main loops: which steps are fetched when, into which stage, and which
// of the fetches are guarded, because the step or a wave's part of it may lie past the end of K.
//
// The same functions run a kernel's loop while it is traced and, with the host's integers, a model
// of it that proves what the kernel reads (tests/kernels/support/product_reach.h). What a loop does
// in a fetch or in a step is the caller's; how often it does so is here alone.
#pragma once

#include "blocks/products/loop_shape.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The loop of waves that take the steps in turn (RegistersAB): in round r, wave w has step
/// r * wavesK + w. `loop` has
///
///   fetch(const Int &round, int set, bool guarded)    into one of two sets of registers
///   multiply(int set)
///   turns(int end, int stride, body)                  body(first) for 0, stride, ... below end
template <class Int, class Loop> void runRounds(const LoopShape &shape, Loop &loop) {
  const int rounds = (shape.steps() + shape.wavesK - 1) / shape.wavesK;
  // Rounds in which every wave has all of a step.
  const int whole = static_cast<int>(shape.k / shape.tileK / shape.wavesK);
  loop.fetch(Int(0), 0, whole < 1);
  // The loop runs pairs of rounds after which two whole ones follow.
  const int looped = whole > 2 ? (whole - 1) / 2 * 2 : 0;
  if (looped)
    loop.turns(looped, 2, [&](const Int &round) {
      loop.fetch(Int(round + 1), 1, false);
      loop.multiply(0);
      loop.fetch(Int(round + 2), 0, false);
      loop.multiply(1);
    });
  for (int round = looped; round < rounds; ++round) {
    if (round + 1 < rounds)
      loop.fetch(Int(round + 1), (round + 1) % 2, round + 1 >= whole);
    loop.multiply(round % 2);
  }
}

/// A step of a ring.
struct RingStep {
  /// The step's number. In `turns` it counts from the start of the turn, so that each turn waits as
  /// strictly as the first one.
  int number;
  int stage;     ///< the stage of the ring from which this step reads
  int parts;     ///< parts of this step
  int following; ///< parts of the next step; 0 if this is the last one
  bool guarded;  ///< K ends inside of a round of the next step: fetches of B test for the end
  int later;     ///< tiles of the ring that were fetched after the next step's tile
};

/// The loop of tiles that go through shared memory (Ring). `loop` has
///
///   fetchTile(const Int &step, int stage), fetchLast(int stage)  the tiles of whole steps, and of
///                                                                the last step
///   fetchB(const Int &step, int set, int parts, bool guarded)    what goes straight into registers, into
///                                                                one of two sets of them
///   tilesFetched(), start(), meetFirst()                         between the first of these
///   step(const Int &number, const RingStep &, fetch)             calls fetch(), if there is one,
///                                                                when the stage is free
///   turns(int end, int stride, body)
template <class Int, class Loop> void runRing(const LoopShape &shape, Loop &loop) {
  const int steps = shape.steps(), stages = shape.stages;
  const auto fetch = [&](int step, int stage) {
    if (step == steps - 1)
      loop.fetchLast(stage);
    else
      loop.fetchTile(Int(step), stage);
  };
  // By registers, one tile is on its way; otherwise one for each stage but the one that is read.
  for (int step = 0; step < (shape.dma ? std::min(stages, steps) : 1); ++step)
    fetch(step, step);
  loop.tilesFetched();
  loop.fetchB(Int(0), 0, shape.partsOf(0), shape.endsInRound(0));
  loop.start();
  if (!shape.dma && steps > 1)
    fetch(1, 1);
  loop.meetFirst();
  // The loop runs rounds of steps that fetch whole tiles; the remaining steps follow. What is fetched
  // straight into registers takes turns in two sets: a round has an even number of steps.
  const int round = stages % 2 ? 2 * stages : stages;
  const int ahead = stages, whole = (shape.k % shape.tileK ? steps - 1 : steps) - ahead;
  const int looped = whole >= round ? whole / round * round : 0;
  if (looped)
    loop.turns(looped, round, [&](const Int &first) {
      for (int i = 0; i < round; ++i) {
        const int stage = i % stages;
        const RingStep step{.number = i,
                            .stage = stage,
                            .parts = shape.parts(),
                            .following = shape.parts(),
                            .guarded = false,
                            .later = ahead - 2};
        loop.step(Int(first + i), step, [&] { loop.fetchTile(Int(first + (i + ahead)), stage); });
      }
    });
  for (int k = looped; k < steps; ++k) {
    const int stage = k % stages, next = k + ahead;
    const RingStep step{.number = k,
                        .stage = stage,
                        .parts = shape.partsOf(k),
                        .following = k + 1 < steps ? shape.partsOf(k + 1) : 0,
                        .guarded = shape.endsInRound(k + 1),
                        .later = std::max(std::min(next, steps) - k - 2, 0)};
    if (next < steps)
      loop.step(Int(k), step, [&] { fetch(next, stage); });
    else
      loop.step(Int(k), step, {});
  }
}

/// The half tiles of a step: two of A and two of B. They are fetched and read in one order.
struct HalfTilesOfStep {
  static constexpr int kHalfTiles = 4, kStages = 2;
};
/// A phase of a step of HalfTiles. Half tiles are numbered from the first one of all steps on; in `turns`
/// from the first one of this step on.
struct HalfPhase {
  int stage, phase;
  bool more;   ///< there is a step after this one
  int landed;  ///< the number of the half tile that must have landed at the end of the phase
  int fetched; ///< how many half tiles were fetched by then
  bool looped; ///< the phase is in the loop
};

/// The loop of two groups of waves that take turns (HalfTiles). `loop` has
///
///   fetchNumber(int step, int number)               half tile `number` of all, which is of that step
///   firstFetched(int fetched)                       after the fetches of the first steps
///   fetch(int halfTile, const Int &step, int stage) a half tile, by its number in a whole step
///   turn(const HalfPhase &)
///   end(), turns(int end, int stride, body)
template <class Int, class Loop> void runGroups(const LoopShape &shape, Loop &loop) {
  constexpr int kHalfTiles = HalfTilesOfStep::kHalfTiles, kStages = HalfTilesOfStep::kStages;
  const int steps = shape.steps(), first = std::min(kStages, steps) * kHalfTiles;
  for (int number = 0; number < first; ++number)
    loop.fetchNumber(number / kHalfTiles, number);
  loop.firstFetched(first);
  // The loop runs pairs of steps that fetch whole tiles; the remaining steps follow.
  const int whole = (shape.k % shape.tileK ? steps - 1 : steps) - kStages;
  const int looped = whole > 0 ? whole / kStages * kStages : 0;
  if (looped)
    loop.turns(looped, kStages, [&](const Int &first) {
      for (int stage = 0; stage < kStages; ++stage)
        for (int phase = 0; phase < kHalfTiles; ++phase) {
          loop.fetch(phase, Int(first + (stage + kStages)), stage);
          loop.turn({.stage = stage,
                     .phase = phase,
                     .more = true,
                     .landed = phase + 2,
                     .fetched = kStages * kHalfTiles + phase + 1,
                     .looped = true});
        }
    });
  for (int step = looped; step < steps; ++step)
    for (int phase = 0; phase < kHalfTiles; ++phase) {
      const int ahead = (step + kStages) * kHalfTiles + phase;
      if (step + kStages < steps)
        loop.fetchNumber(step + kStages, ahead);
      loop.turn({.stage = step % kStages,
                 .phase = phase,
                 .more = step + 1 < steps,
                 .landed = step * kHalfTiles + phase + 2,
                 .fetched = std::min(ahead + 1, steps * kHalfTiles),
                 .looped = false});
    }
  loop.end();
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
