// The caches of the estimate: which touches of workgroups come from L2, from the cache in front of
// memory and from memory, against caches that are lists.
#include "emulator/core/line_set.h"
#include "emulator/observe/reuse.h"
#include "emulator/observe/touch_sampler.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <set>

using namespace flyemu;

namespace {

constexpr uint64_t kOf(uint64_t lines) { return lines * kLine * kSampledLines; } // bytes of a cache

/// Lines, the newest first.
struct List {
  size_t most;
  std::deque<uint64_t> lines = {};
  bool hits(uint64_t line) {
    const auto at = std::find(lines.begin(), lines.end(), line);
    const bool hit = at != lines.end();
    if (hit)
      lines.erase(at);
    lines.push_front(line);
    if (lines.size() > most)
      lines.pop_back();
    return hit;
  }
};

/// A workgroup that touches lines at the times 0, 10, 20, ...
GroupTouches group(uint64_t number, const std::vector<uint64_t> &lines) {
  GroupTouches made{
      .group = number, .cycles = 10 * lines.size(), .seen = lines.size(), .touches = {}};
  for (size_t i = 0; i < lines.size(); ++i)
    made.touches.push_back({.line = lines[i], .time = 10 * i});
  return made;
}

} // namespace

TEST_CASE("workgroups of a die share its L2, those of two dies the cache in front of memory") {
  const std::vector<uint64_t> lines{1, 2, 3, 4};
  const std::vector<GroupTouches> both{group(0, lines), group(1, lines)};
  const CacheShape one{.residentOfDie = 2, .l2Bytes = kOf(8), .lastLevelBytes = kOf(64)};
  Reuse reuse = reuseOf({both}, one);
  CHECK(reuse.seen == 8);
  CHECK(reuse.ofL2 == 8);
  CHECK(reuse.distinct == 4);
  CHECK(reuse.l2Misses == 4);
  CHECK(reuse.ofMemory == 4);
  CacheShape two = one;
  two.dies = 2;
  reuse = reuseOf({both}, two);
  CHECK(reuse.l2Misses == 8);
  CHECK(reuse.ofMemory == 4);
  CHECK(reuse.fetches() == 2);
  CHECK(reuse.memoryFetches() == 1);
  two.lastLevelBytes = 0; // there is none
  CHECK(reuseOf({both}, two).ofMemory == 8);
}

TEST_CASE("workgroups that run at the same time share what those that follow one another don't") {
  // 16 lines each, and an L2 of 4: one that comes later finds the others' last lines alone.
  std::vector<uint64_t> lines(16);
  for (size_t i = 0; i < lines.size(); ++i)
    lines[i] = 100 + i;
  const std::vector<GroupTouches> both{group(1, lines), group(0, lines)};
  const CacheShape together{.residentOfDie = 2, .l2Bytes = kOf(4)};
  CHECK(reuseOf({both}, together).l2Misses == 16);
  CacheShape apart = together;
  apart.residentOfDie = 1;
  CHECK(reuseOf({both}, apart).l2Misses == 32);
}

TEST_CASE("caches forget what was used least recently, as lists do") {
  std::mt19937 random(7);
  for (const size_t l2 : {1, 5, 32, 200})
    for (const unsigned dies : {1u, 3u}) {
      std::vector<GroupTouches> groups;
      for (uint64_t g = 0; g < 12; ++g) {
        std::vector<uint64_t> lines(400);
        for (uint64_t &line : lines)
          line = random() % 8 ? random() % 60 : random() % 2000;
        groups.push_back(group(g, lines));
      }
      // One workgroup of a die at a time, all of one length: the dies are in step.
      const Reuse reuse =
          reuseOf({groups}, {.dies = dies, .l2Bytes = kOf(l2), .lastLevelBytes = kOf(500)});
      std::vector<List> near(dies, List{l2});
      List last{500};
      Reuse expected{.seen = 4800, .ofL2 = 4800};
      std::set<uint64_t> distinct;
      for (uint64_t first = 0; first < 12; first += dies)
        for (size_t i = 0; i < 400; ++i)
          for (unsigned die = 0; die < dies; ++die) {
            const uint64_t line = groups[first + die].touches[i].line;
            if (near[die].hits(line))
              continue;
            ++expected.l2Misses;
            distinct.insert(line);
            expected.ofMemory += !last.hits(line);
          }
      CHECK(reuse.l2Misses == expected.l2Misses);
      CHECK(reuse.ofMemory == expected.ofMemory);
      CHECK(reuse.distinct == distinct.size());
      CHECK(reuse.l2Misses > distinct.size());
    }
}

namespace {
class OneAllocation : public MemoryMap {
public:
  explicit OneAllocation(uint64_t base) : range_{base, uint64_t(64) << 20, false} {}
  bool find(uint64_t address, MemoryRange &range) const override {
    if (!range_.contains(address, 1))
      return false;
    range = range_;
    return true;
  }

private:
  MemoryRange range_;
};
} // namespace

TEST_CASE("a sample has an eighth of the lines, the same ones wherever the memory lies") {
  const Machine &machine = *findMachine("gfx942");
  std::vector<std::vector<uint64_t>> sampled;
  for (const uint64_t base : {uint64_t(1) << 40, (uint64_t(1) << 41) + 12345 * 4096}) {
    const OneAllocation memory(base);
    TouchSampler sampler(memory);
    sampler.beginGroup(machine, 5);
    for (uint64_t i = 0; i < 80'000; ++i) {
      const uint64_t line = base / kLine + i;
      sampler.touched({&line, 1}, i, false, false);
    }
    sampler.endGroup(80'000);
    const std::vector<GroupTouches> groups = sampler.take().groups;
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].group == 5);
    CHECK(groups[0].seen == groups[0].touches.size());
    CHECK(double(groups[0].seen) == Approx(10'000).epsilon(0.03));
    sampled.emplace_back();
    for (const SampledTouch &touch : groups[0].touches)
      sampled.back().push_back(touch.line - base / kLine);
  }
  CHECK(sampled[0] == sampled[1]);
}

TEST_CASE(
    "the compute unit's own cache serves lines that come again soon, and lets writes through") {
  const OneAllocation memory(uint64_t(1) << 40);
  const Machine &machine = *findMachine("gfx942"); // 32 KB: 256 lines
  for (const bool write : {false, true})
    for (const uint64_t lines : {200, 1000}) {
      TouchSampler sampler(memory);
      sampler.beginGroup(machine, 0);
      for (int turn = 0; turn < 2; ++turn)
        for (uint64_t i = 0; i < lines; ++i) {
          const uint64_t line = (uint64_t(1) << 40) / kLine + i;
          sampler.touched({&line, 1}, 0, write, false);
        }
      sampler.endGroup(1);
      const GroupTouches made = sampler.take().groups[0];
      INFO(lines << " lines, write " << write);
      CHECK(made.touches.size() == (lines == 200 && !write ? made.seen / 2 : made.seen));
    }
}

TEST_CASE("a sample that would take too much memory is thinned, and says of caches what the whole "
          "one says") {
  // Three workgroups read lines one after another: the second the same ones as the first, and of the third an
  // eighth are new.
  const uint64_t base = uint64_t(1) << 40, lines = uint64_t(3) << 17,
                 most = lines / kSampledLines * 5 / 4;
  const OneAllocation memory(base);
  const auto sampleOf = [&](std::initializer_list<std::pair<uint64_t, uint64_t>> groups) {
    TouchSampler sampler(memory, most);
    for (const auto &[number, first] : groups) {
      sampler.beginGroup(*findMachine("gfx942"), number);
      for (uint64_t line = base / kLine + first; line < base / kLine + first + lines; ++line)
        sampler.touched({&line, 1}, line, false, false);
      sampler.endGroup(lines);
    }
    return sampler.take();
  };
  const TouchSample one = sampleOf({{0, 0}}), three = sampleOf({{0, 0}, {1, 0}, {2, lines / 8}});
  CHECK(one.thinned == 1);
  CHECK(three.thinned == 4);
  // A cache of the lines of all; and one of half of the lines of each, which never has a line that comes again.
  const CacheShape all{.l2Bytes = 2 * lines * kLine}, half{.l2Bytes = lines / 2 * kLine};
  const Reuse large = reuseOf(three, all), small = reuseOf(three, half);
  CHECK(large.seen == Approx(3. * lines / kSampledLines).epsilon(0.01));
  CHECK(large.ofL2 == Approx(3. * lines / kSampledLines).epsilon(0.01));
  CHECK(large.distinct == Approx(1.125 * lines / kSampledLines).epsilon(0.01));
  CHECK(large.fetches() == 1);
  CHECK(small.fetches() == Approx(3 / 1.125).epsilon(0.01));
  // Threads thin by themselves. What they have together is thinned as the sample that is thinned most.
  TouchSample both = sampleOf({{3, 0}});
  both.add(three);
  CHECK(both.thinned == 4);
  CHECK(reuseOf(both, all).distinct == large.distinct);
  CHECK(reuseOf(both, all).ofL2 == Approx(4. * lines / kSampledLines).epsilon(0.01));
}
