// How a head's elements are shared among lanes, against the definition of the pairs.
#include "rope/head_shape.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>

namespace fx = flydsl;
namespace fk = flydsl::kernels;
using namespace flydsl::kernels::impl;

namespace {

/// What a lane has of an element.
struct Owner {
  int lane, slot, place; // the place in the access
};

/// The owner of each element; none has two.
std::map<int, Owner> ownersOf(const HeadShape &shape) {
  std::map<int, Owner> owners;
  for (std::size_t s = 0; s < shape.slots.size(); ++s)
    for (int lane = 0; lane < shape.slots[s].accesses; ++lane)
      for (int i = 0; i < shape.vector; ++i)
        if (!owners
                 .emplace(shape.slots[s].first + lane * shape.vector + i,
                          Owner{lane, static_cast<int>(s), i})
                 .second)
          FAIL("an element has two owners");
  return owners;
}

/// Requires that each pair is turned by one lane by its own angle, and nothing else is turned.
void expectPairs(const fk::RopeProblem &problem, const HeadShape &shape) {
  INFO("head " << problem.head << " rotary " << problem.rotary << " tail " << problem.tail
               << " lanes " << shape.lanes << " vector " << shape.vector);
  const auto owners = ownersOf(shape);
  if (owners.size() != static_cast<std::size_t>(problem.head))
    FAIL("an element has no owner");
  const int rotary = rotaryOf(problem), half = rotary / 2,
            start = problem.tail ? problem.head - rotary : 0;
  for (int i = 0; i < half; ++i) {
    const bool neox = problem.style == fk::RopeStyle::neox;
    const Owner a = owners.at(start + (neox ? i : 2 * i)),
                b = owners.at(start + (neox ? i + half : 2 * i + 1));
    const HeadSlot &slot = shape.slots[static_cast<std::size_t>(a.slot)];
    const int each = neox ? shape.vector : shape.vector / 2,
              angle = slot.angle + a.lane * each + (neox ? a.place : a.place / 2);
    if (a.lane != b.lane || angle != i)
      FAIL("pair " << i << " belongs to the lanes " << a.lane << " and " << b.lane
                   << ", at the angle " << angle);
    if (neox) {
      const HeadSlot &other = shape.slots[static_cast<std::size_t>(b.slot)];
      if (slot.turn != Turn::low || other.turn != Turn::high || a.place != b.place ||
          a.slot + slot.partner != b.slot)
        FAIL("pair " << i << " is in slots that are not partners");
    } else if (slot.turn != Turn::neighbours || a.slot != b.slot || a.place + 1 != b.place ||
               a.lane < slot.from || a.lane >= slot.to) {
      FAIL("pair " << i << " does not rotate");
    }
  }
  int turned = 0;
  for (const HeadSlot &slot : shape.slots)
    turned += slot.turn == Turn::neighbours ? slot.to - slot.from
              : slot.turn == Turn::none     ? 0
                                            : slot.accesses;
  CHECK(turned * shape.vector == rotary);
}

/// Requires that the lanes that a group's maximum is of are those that have the group's elements.
void expectGroups(const HeadShape &shape, int group) {
  const auto groups = slotGroups(shape, group);
  if (!groups)
    return;
  for (const auto &[element, owner] : ownersOf(shape)) {
    const SlotGroups &of = (*groups)[static_cast<std::size_t>(owner.slot)];
    const int found = of.lanes ? of.first + owner.lane / of.lanes : of.first;
    if (found != element / group)
      FAIL("element " << element << " is in group " << found);
  }
  // A slot that has several groups has all of each.
  for (std::size_t s = 0; s < groups->size(); ++s)
    if ((*groups)[s].lanes && (shape.slots[s].accesses % (*groups)[s].lanes ||
                               (*groups)[s].lanes * shape.vector != group))
      FAIL("slot " << s << " has a part of a group");
}

} // namespace

TEST_CASE("each element of a head is one lane's, and so are both elements of a pair") {
  for (fk::RopeStyle style : {fk::RopeStyle::neox, fk::RopeStyle::gptj})
    for (bool tail : {false, true})
      for (int head : {2, 10, 64, 80, 96, 128, 192, 512})
        for (int rotary : {-1, 0, 2, 16, 32, 48, 64}) {
          if (rotary > head)
            continue;
          const fk::RopeProblem problem{
              .q_heads = 1, .head = head, .rotary = rotary, .style = style, .tail = tail};
          for (int lanes = 1; lanes <= 64; lanes *= 2) {
            const HeadShape shape(problem, lanes);
            expectPairs(problem, shape);
            for (int group : {32, 64, 128, head})
              if (head % group == 0 && group % shape.vector == 0)
                expectGroups(shape, group);
          }
        }
}

TEST_CASE("accesses fit the operands of a head") {
  using fk::RopeProblem;
  const auto access = [](const RopeProblem &problem) { return accessOf(problem); };
  CHECK(access({.x = fx::f16, .y = fx::f16, .q_heads = 1, .head = 128}) == 8);
  CHECK(access({.x = fx::f32, .y = fx::f16, .q_heads = 1, .head = 128}) == 4);
  CHECK(access({.x = fx::f16, .y = fx::f16, .q_heads = 1, .head = 96}) == 8);
  // Half of 24 elements is 12.
  CHECK(access({.x = fx::f16, .y = fx::f16, .q_heads = 1, .head = 96, .rotary = 24}) == 4);
  CHECK(access({.x = fx::f16,
                .y = fx::f16,
                .q_heads = 1,
                .head = 96,
                .rotary = 24,
                .style = fk::RopeStyle::gptj}) == 8);
  CHECK(access({.x = fx::f16, .y = fx::f16, .q_heads = 1, .head = 128, .row_align = 2}) == 2);
  CHECK(access({.x = fx::f16,
                .y = fx::f16,
                .kv_heads = 1,
                .head = 128,
                .cache = fk::KvCache::packed,
                .pack = 4}) == 4);
}

TEST_CASE("groups of quantised values are whole where lanes find their maxima") {
  // The last 64 of 512 elements rotate: 32 and 32 of them are far apart.
  const fk::RopeProblem problem{.q_heads = 1, .head = 512, .rotary = 64, .tail = true};
  CHECK(slotGroups(HeadShape(problem, 32), 64));
  CHECK_FALSE(slotGroups(HeadShape(problem, 32), 128));
  CHECK(slotGroups(HeadShape(problem, 8), 128));
  CHECK(slotGroups(HeadShape(problem, 32), 512));
}
