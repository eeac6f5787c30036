// How the elements of a head are shared among its threads.
//
// A head is a list of parts: the two halves of the rotary part, where the elements of a pair are half
// of it from each other, and the rest; or the head as a whole, where pairs are neighbours. Accesses of
// `vector` elements cover a part from its start, and access k belongs to lane k % lanes. So both
// elements of a pair are always one lane's, and no lane asks another for one. A slot is what all lanes
// access at a time.
#pragma once

#include "blocks/quant/quant_rules.h"

#include <flydsl/kernels/rope.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The largest power of two that divides n; of 0, which any number divides, a large one.
inline int powerIn(int n) { return n ? 1 << std::countr_zero(static_cast<unsigned>(n)) : 1 << 30; }
/// The elements of a quantised group.
inline int groupSize(const RopeProblem &problem) {
  return problem.group ? problem.group : problem.head;
}
/// The elements of a head that rotate.
inline int rotaryOf(const RopeProblem &problem) {
  return problem.rotary < 0 ? problem.head : problem.rotary;
}
/// The elements of a head that norms take.
inline int normedOf(const RopeProblem &problem) {
  return problem.normed ? problem.normed : problem.head;
}
/// Whether a cache holds quantised values.
inline bool quantisesCache(const RopeProblem &problem) {
  return problem.cache != KvCache::none && largestOf(problem.cached) != 0;
}
/// All heads of a token: those of q, of k, and of v if it is cached.
inline int headsOf(const RopeProblem &problem) {
  const bool v = problem.cache != KvCache::none && problem.v_cached;
  return problem.q_heads + problem.kv_heads * (v ? 2 : 1);
}
/// The elements of an access: as many as 16 bytes of the widest operand hold, and as divide every
/// part of a head and of what lies together in the cache.
inline int accessOf(const RopeProblem &problem) {
  const bool cached = problem.cache != KvCache::none;
  const int widest =
      std::max({problem.x.bytes(), problem.y.bytes(), cached ? problem.cached.bytes() : 1});
  const int rotary = rotaryOf(problem), start = problem.tail ? problem.head - rotary : rotary;
  int access =
      std::min({16 / widest, powerIn(problem.head), powerIn(start), powerIn(problem.normed)});
  if (problem.style == RopeStyle::neox)
    access = std::min(access, powerIn(rotary / 2));
  if (problem.row_align)
    access = std::min(access, problem.row_align);
  if (problem.cache == KvCache::packed)
    access = std::min(access, problem.pack);
  if (problem.quantise == Quantisation::row)
    access = std::min(access, powerIn(groupSize(problem)));
  return access;
}

/// What happens to the elements of a slot.
enum class Turn {
  none,
  low,        ///< the first elements of pairs; the second ones are in the next slots
  high,       ///< the second elements of pairs
  neighbours, ///< pairs are neighbours in an access
};

/// One access of each lane.
struct HeadSlot {
  int first = 0;    ///< the element at which lane 0's access starts
  int accesses = 0; ///< lanes from this on have none
  Turn turn = Turn::none;
  int from = 0, to = 0; ///< Turn::neighbours: the lanes whose elements rotate
  /// Turn::low, neighbours: where lane 0's access starts in the table. It may be before the table
  /// where lane 0 does not rotate.
  int angle = 0;
  /// Turn::low: the slot of the second elements, counted from this one. Turn::high: the number of
  /// the first slot of its kind.
  int partner = 0;
};

/// A head as the host and the kernel see it.
struct HeadShape {
  int vector = 1; ///< elements of an access
  int lanes = 1;
  std::vector<HeadSlot> slots;

  HeadShape(const RopeProblem &problem, int lanes);
};

inline HeadShape::HeadShape(const RopeProblem &problem, int lanes)
    : vector(accessOf(problem)), lanes(lanes) {
  const int rotary = rotaryOf(problem), start = problem.tail ? problem.head - rotary : 0;
  // Adds a part, and returns the number of its slots.
  const auto part = [&](int first, int size, Turn turn) {
    const std::size_t before = slots.size();
    for (int done = 0; done < size; done += lanes * vector)
      slots.push_back({.first = first + done,
                       .accesses = std::min(lanes, (size - done) / vector),
                       .turn = turn,
                       .angle = done});
    return static_cast<int>(slots.size() - before);
  };
  if (problem.style == RopeStyle::neox && rotary) {
    const int before = part(0, start, Turn::none), halves = part(start, rotary / 2, Turn::low);
    part(start + rotary / 2, rotary / 2, Turn::high);
    for (HeadSlot &slot : slots)
      slot.partner = slot.turn == Turn::high ? before + halves : halves;
    part(start + rotary, problem.head - start - rotary, Turn::none);
    return;
  }
  part(0, problem.head, Turn::none);
  for (HeadSlot &slot : slots) {
    slot.from = std::clamp((start - slot.first) / vector, 0, slot.accesses);
    slot.to = std::clamp((start + rotary - slot.first) / vector, slot.from, slot.accesses);
    slot.angle = (slot.first - start) / 2;
    if (slot.from < slot.to)
      slot.turn = Turn::neighbours;
  }
}

/// The groups of a head's quantised values that a slot belongs to.
struct SlotGroups {
  int first = 0; ///< the group of lane 0
  int lanes = 0; ///< lanes of a group; 0: all lanes and perhaps further slots are of one
};
/// The groups of all slots; none if a slot has parts of groups that other slots or lanes have too,
/// so that its lanes cannot find their maxima.
inline std::optional<std::vector<SlotGroups>> slotGroups(const HeadShape &shape, int group) {
  std::vector<SlotGroups> all;
  for (const HeadSlot &slot : shape.slots) {
    const int first = slot.first, end = first + slot.accesses * shape.vector,
              lanes = group / shape.vector;
    if (first / group == (end - 1) / group)
      all.push_back({.first = first / group});
    else if (first % group == 0 && end % group == 0 && std::has_single_bit(unsigned(lanes)))
      all.push_back({.first = first / group, .lanes = lanes});
    else
      return std::nullopt;
  }
  return all;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
