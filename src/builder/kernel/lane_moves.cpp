// The moves that every vendor has: shuffles.
#include "builder/kernel/lane_moves.h"

#include <flydsl/kernel/reduce.h>

namespace flydsl::builder {

namespace {

/// The word of a lane of the wave.
Expr shuffled(const Expr &word, const Expr &lane) {
  const Loc loc = lane.loc;
  return Expr(gpu::shuffle_idx(word.number(), lane.index(), 0, loc), loc);
}

} // namespace

Expr LaneMoves::upInRow(const Expr &word, int distance, const Expr *other) const {
  const Expr lane = group_.laneOfWave;
  const Expr below = shuffled(word, max(lane - distance, Expr(i32, 0, lane.loc)));
  return select((lane & 15) >= distance, below, other ? *other : Expr(word.type(), 0, lane.loc));
}

Expr LaneMoves::rowBefore(const Expr &word, int step, const Expr *other) const {
  const Expr lane = group_.laneOfWave, first = lane & ~((16 << step) - 1);
  const Expr moved = shuffled(word, max(first - 1, Expr(i32, 0, lane.loc)));
  return other ? select(takesRow(step), moved, *other) : moved;
}

Expr LaneMoves::upByOne(const Expr &word, const Expr *first) const {
  const Expr lane = group_.laneOfWave;
  const Expr moved = shuffled(word, max(lane - 1, Expr(i32, 0, lane.loc)));
  return first ? select(group_.lane == 0, *first, moved) : moved;
}

Expr LaneMoves::acrossInRow(const Expr &word, int distance) const { return across(word, distance); }

Expr LaneMoves::broadcast(const Expr &word, int source) const {
  return from(word, Expr(i32, source, group_.loc()));
}

Expr LaneMoves::from(const Expr &word, const Expr &source) const {
  return shuffled(word, (group_.laneOfWave & ~(group_.width - 1)) + source);
}

Expr LaneMoves::fromUniform(const Expr &word, const Expr &source) const {
  return shuffled(word, source);
}

Expr LaneMoves::across(const Expr &word, int mask) const {
  const Loc loc = group_.loc();
  return Expr(gpu::shuffle_xor(word.number(), IntTuple(mask, loc), 0, loc), loc);
}

Expr LaneMoves::ballot(const Expr &condition) const {
  const Loc loc = group_.loc();
  const Expr bit = Expr(u32, 1, loc) << (group_.laneOfWave & 31).to(u32), none(u32, 0, loc);
  // The bits of 32 lanes, in all lanes of the wave.
  auto wordOf = [&](int half) {
    Expr bits = select(condition & ((group_.laneOfWave >> 5) == half), bit, none);
    for (int distance = 1; distance < group_.wave; distance *= 2)
      bits = bits | across(bits, distance);
    return bits;
  };
  const Expr low = wordOf(0);
  return group_.wave <= 32 ? low : low.to(u64) | wordOf(1).to(u64) << 32;
}

Expr LaneMoves::countBelow(const Expr &ballot) const {
  const Loc loc = group_.loc();
  const Expr below =
      (Expr(ballot.type(), 1, loc) << group_.laneOfWave.to(ballot.type())) - 1;
  return popcount(ballot & below).to(i32);
}

} // namespace flydsl::builder
