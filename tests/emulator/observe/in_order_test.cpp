// Which operations a wait ends, against the definition: of those that end in order, those after
// which at least as many others have been issued as the wait leaves; of those without an order, all
// if it leaves none.
#include "emulator/observe/waits/in_order.h"
#include "emulator/observe/waits/operations_under_way.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <vector>

using namespace flyemu;

namespace {

/// What was issued, in order, and which counters count it still.
struct Issued {
  const WaitRule *rule;
  WaitCounterSet open;
};

/// Closes what a wait ends, one operation after the other by the definition. Returns the numbers of
/// those that no counter counts any more.
std::vector<uint64_t> waited(std::vector<Issued> &all, WaitCounter counter, size_t left) {
  std::vector<uint64_t> ended;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].open.has(counter))
      continue;
    size_t later = 0;
    for (size_t k = i + 1; k < all.size(); ++k)
      later += all[k].rule->ordered.has(counter);
    if (all[i].rule->ordered.has(counter) ? later < left : left != 0)
      continue;
    all[i].open.remove(counter);
    if (all[i].open.empty())
      ended.push_back(i + 1);
  }
  return ended;
}

WaitRule rule(WaitCounterSet counters, WaitCounterSet ordered) {
  WaitRule r;
  r.counters = counters;
  r.ordered = ordered;
  return r;
}

} // namespace

TEST_CASE("in order: what a wait ends are those after which as many were issued as it leaves") {
  std::mt19937 random(1);
  InOrder<int> queue;
  std::vector<bool> open; // by number
  for (int step = 0; step < 20000; ++step) {
    if (random() % 4) {
      queue.issue(static_cast<int>(open.size()));
      open.push_back(true);
    } else {
      const size_t left = random() % 40;
      std::vector<int> ended, expected;
      for (size_t i = 0; i < open.size(); ++i)
        if (open[i] && open.size() - 1 - i >= left) {
          open[i] = false;
          expected.push_back(static_cast<int>(i));
        }
      queue.completeDownTo(left, [&](int number) { ended.push_back(number); });
      REQUIRE(ended == expected);
    }
    // The youngest part of what was issued, without a gap.
    for (size_t i = 0; i < queue.size(); ++i)
      REQUIRE(queue[i] == static_cast<int>(open.size() - queue.size() + i));
    REQUIRE(queue.empty() == (queue.size() == 0));
  }
  CHECK(open.size() > 1000);
}

TEST_CASE("in order: a wait for none ends all, and one for more than there are ends none") {
  InOrder<int> queue;
  for (int i = 0; i < 17; ++i) // more than the ring begins with
    queue.issue(i);
  queue.completeDownTo(17, [](int) { FAIL("ended"); });
  int next = 0;
  queue.completeDownTo(0, [&](int number) { CHECK(number == next++); });
  CHECK(next == 17);
  CHECK(queue.empty());
}

TEST_CASE("operations under way: of several counters, with an order or without, as defined") {
  using enum WaitCounter;
  const WaitRule rules[] = {
      rule(Load, Load),             // loads
      rule(Ds, Ds),                 // LDS
      rule({Load, Ds}, {Load, Ds}), // flat addresses of gfx11 and gfx12
      rule({Load, Ds}, {}),         // flat addresses of gfx9
      rule(Km, {}),                 // scalar memory
      rule({Load, Km}, Load),       // ordered in one of its counters alone
      rule(Store, Store),
      rule(Async, Async), // gfx12 and gfx1250
      rule(Tensor, Tensor),
  };
  const Inst inst{};
  size_t ends = 0;
  std::map<WaitCounter, size_t> byCounter;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    OperationsUnderWay operations;
    std::vector<Issued> all;
    for (int step = 0; step < 400; ++step) {
      if (random() % 3) {
        const WaitRule &r = rules[random() % std::size(rules)];
        CHECK(operations.issue(inst, r).number == all.size() + 1);
        all.push_back({&r, r.counters});
      } else {
        const auto counter = static_cast<WaitCounter>(random() % kWaitCounters);
        const size_t left = random() % 3 ? random() % 8 : 0;
        std::vector<uint64_t> ended;
        operations.wait(counter, left, [&](CountedOperation &o) { ended.push_back(o.number); });
        INFO("seed " << seed << ", step " << step);
        REQUIRE(ended == waited(all, counter, left));
        ends += ended.size();
        byCounter[counter] += ended.size();
      }
      size_t open = 0, counted[kWaitCounters] = {}, visited = 0;
      for (const Issued &i : all) {
        open += !i.open.empty();
        for (WaitCounter c : i.open)
          ++counted[static_cast<size_t>(c)];
      }
      REQUIRE(operations.size() == open);
      for (unsigned c = 0; c < kWaitCounters; ++c)
        REQUIRE(operations.countedBy(static_cast<WaitCounter>(c)) == counted[c]);
      operations.each([&](const CountedOperation &o) {
        ++visited;
        REQUIRE(o.open == all[o.number - 1].open);
      });
      REQUIRE(visited == open);
    }
  }
  CHECK(ends > 1000);
  CHECK(byCounter.size() == kWaitCounters);
}

TEST_CASE("operations under way: the number of a wait that waits for one ends it, and no larger") {
  using enum WaitCounter;
  const WaitRule load = rule(Load, Load), flat = rule({Load, Ds}, {Load, Ds}),
                 other = rule(Load, {});
  const Inst inst{};
  OperationsUnderWay operations;
  operations.issue(inst, load);
  const CountedOperation &second = operations.issue(inst, flat);
  const CountedOperation &third = operations.issue(inst, other);
  operations.issue(inst, load);
  CHECK(operations.leftBy(second, Load) == 1);
  CHECK(operations.leftBy(second, Ds) == 0);
  CHECK(operations.leftBy(third, Load) == 0);
  const auto none = [](CountedOperation &) { FAIL("ended"); };
  operations.wait(Ds, 1, none);
  operations.wait(Load, 3, none);
  std::vector<uint64_t> ended;
  const auto note = [&](CountedOperation &o) { ended.push_back(o.number); };
  operations.wait(Load, 1, note); // the flat one is still counted by LDS's counter
  CHECK(ended == std::vector<uint64_t>{1});
  operations.wait(Ds, 0, note);
  CHECK(ended == std::vector<uint64_t>{1, 2});
}

TEST_CASE("operations under way: a full counter ends the oldest, and what has no order piles up to "
          "four times as many") {
  using enum WaitCounter;
  const WaitRule load = rule(Load, Load), scalar = rule({Km, Ds}, {});
  const Inst inst{};
  OperationsUnderWay operations;
  std::vector<uint64_t> ended;
  const auto note = [&](CountedOperation &o) { ended.push_back(o.number); };
  for (int i = 0; i < 5; ++i) {
    operations.makeRoom(Load, 3, note);
    operations.issue(inst, load);
  }
  CHECK(ended == std::vector<uint64_t>{1, 2});
  CHECK(operations.countedBy(Load) == 3);
  operations.clear();
  CHECK(operations.size() == 0);
  ended.clear();
  for (int i = 0; i < 14; ++i) {
    operations.makeRoom(Km, 3, note);
    operations.issue(inst, scalar);
  }
  CHECK(ended == std::vector<uint64_t>{1, 2});
  CHECK(operations.countedBy(Km) == 12);
  CHECK(operations.countedBy(Ds) == 12); // it has left both
}
