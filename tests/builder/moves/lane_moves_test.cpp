// Moves of words among lanes against what their comments say, in groups of every size: the shuffles
// that serve every vendor, and the instructions of the device's own.
#include "builder/kernel/lane_moves.h"
#include "builder/vendors/vendors.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/dot.h>

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fx = flydsl;
using fx::builder::Expr;
using fx::builder::LaneGroup;
using fx::builder::LaneMoves;

namespace {

constexpr int kThreads = 128;         // two waves or more
constexpr std::int64_t kColumns = 80; // a number of each thread in each

/// Numbers that kernels store and what they are to be, by the lane of the wave. A number that is
/// not specified in a lane has no value there.
class Checks {
public:
  using Expected = std::function<std::optional<std::uint32_t>(int lane)>;

  void add(std::string name, Expr number, Expected expected) {
    rows_.push_back({std::move(name), std::move(number), std::move(expected)});
  }
  std::size_t count() const { return rows_.size(); }
  void store(const fx::Tensor &out, const fx::Int32 &thread) const {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      out(thread, static_cast<int>(i)) = rows_[i].number.number();
  }
  /// The first lane that has another number than it should have, as a sentence; empty if none has.
  std::string difference(const std::vector<std::uint32_t> &got, int wave) const {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (int thread = 0; thread < kThreads; ++thread) {
        const std::optional<std::uint32_t> expected = rows_[i].expected(thread % wave);
        const std::uint32_t here = got[static_cast<std::size_t>(thread * kColumns) + i];
        if (expected && *expected != here)
          return rows_[i].name + ", thread " + std::to_string(thread) + ": " +
                 std::to_string(here) + " instead of " + std::to_string(*expected);
      }
    return {};
  }

private:
  struct Row {
    std::string name;
    Expr number;
    Expected expected;
  };
  std::vector<Row> rows_;
};

std::uint32_t wordOf(int lane) { return static_cast<std::uint32_t>(lane) * 7 + 3; }
std::uint32_t otherOf(int lane) { return 1000 + static_cast<std::uint32_t>(lane); }

Checks checksOf(const LaneMoves &moves, const LaneGroup &group) {
  Checks checks;
  const int width = group.width, wave = group.wave;
  const Expr lane = group.laneOfWave.to(fx::u32), word = lane * 7 + 3, other = lane + 1000;
  const auto start = [width](int l) { return l & ~(width - 1); };

  for (int distance = 1; distance < 16; ++distance) {
    const std::string name = "upInRow " + std::to_string(distance);
    const auto expected = [=](int l, std::uint32_t without) {
      return l % 16 >= distance ? wordOf(l - distance) : without;
    };
    checks.add(name, moves.upInRow(word, distance, nullptr), [=](int l) { return expected(l, 0); });
    checks.add(name + ", other", moves.upInRow(word, distance, &other),
               [=](int l) { return expected(l, otherOf(l)); });
  }
  for (int step = 0; 16 << step < width; ++step) {
    const std::string name = "rowBefore " + std::to_string(step);
    const auto taken = [=](int l) -> std::optional<std::uint32_t> {
      if (!(l & (16 << step)))
        return std::nullopt;
      return wordOf((l & ~((16 << step) - 1)) - 1);
    };
    checks.add(name, moves.rowBefore(word, step, nullptr), taken);
    checks.add(name + ", other", moves.rowBefore(word, step, &other),
               [=](int l) { return taken(l).value_or(otherOf(l)); });
    checks.add("takesRow " + std::to_string(step), moves.takesRow(step).to(fx::u32),
               [=](int l) { return std::uint32_t(taken(l).has_value()); });
  }
  const auto below = [=](int l) -> std::optional<std::uint32_t> {
    if (l % width == 0)
      return std::nullopt;
    return wordOf(l - 1);
  };
  checks.add("upByOne", moves.upByOne(word, nullptr), below);
  checks.add("upByOne, first", moves.upByOne(word, &other),
             [=](int l) { return below(l).value_or(otherOf(l)); });
  for (int distance = 1; distance < std::min(width, 16); distance *= 2)
    checks.add("acrossInRow " + std::to_string(distance),
               moves.acrossInRow(lane / std::uint32_t(distance), distance),
               [=](int l) { return static_cast<std::uint32_t>((l ^ distance) / distance); });
  for (int mask = 1; mask < width; mask *= 2)
    checks.add("across " + std::to_string(mask), moves.across(word, mask),
               [=](int l) { return wordOf(l ^ mask); });
  for (int source : {0, width / 2, width - 1})
    checks.add("broadcast " + std::to_string(source), moves.broadcast(word, source),
               [=](int l) { return wordOf(start(l) + source); });
  checks.add("from", moves.from(word, (group.lane * 3 + 1) % width),
             [=](int l) { return wordOf(start(l) + (l % width * 3 + 1) % width); });
  checks.add("fromUniform", moves.fromUniform(word, Expr(fx::i32, wave - 2, group.loc())),
             [=](int) { return wordOf(wave - 2); });

  const Expr ballot = moves.ballot(group.laneOfWave % 3 == 0);
  std::uint64_t bits = 0;
  for (int l = 0; l < wave; l += 3)
    bits |= std::uint64_t(1) << l;
  checks.add("ballot, low", ballot.to(fx::u32), [=](int) { return std::uint32_t(bits); });
  if (wave > 32)
    checks.add("ballot, high", (ballot >> 32).to(fx::u32),
               [=](int) { return std::uint32_t(bits >> 32); });
  checks.add("countBelow", moves.countBelow(ballot).to(fx::u32),
             [=](int l) { return static_cast<std::uint32_t>((l + 2) / 3); });
  return checks;
}

/// Who moves: the vendor of the device, or shuffles.
enum class Mover { vendor, shuffles };

std::string differenceOf(Mover mover, int width) {
  const int wave = fx::Device::current().target().wave_size();
  std::optional<Checks> checks;
  const fx::Kernel kernel{
      "moves", [&](fx::Tensor out) {
        const fx::Loc loc = fx::Loc::current();
        const Expr laneOfWave(fx::gpu::lane_id(loc), loc);
        const LaneGroup group{width, wave, laneOfWave, laneOfWave & (width - 1)};
        const std::unique_ptr<const LaneMoves> moves =
            mover == Mover::shuffles
                ? std::make_unique<const LaneMoves>(group)
                : fx::builder::instructionsFor("the test", loc).laneMoves(group);
        checks.emplace(checksOf(*moves, group));
        checks->store(out, fx::thread_idx().x);
      }};
  fx::DeviceArray<std::uint32_t> out({kThreads, kColumns});
  out.poison();
  kernel(out).launch({.grid = 1, .block = kThreads});
  REQUIRE(checks);
  REQUIRE(checks->count() <= kColumns);
  return checks->difference(out.to_host(), wave);
}

} // namespace

TEST_CASE("the vendor's moves of words among lanes are those that their comments say") {
  for (int width = 1; width <= fx::Device::current().target().wave_size(); width *= 2) {
    CAPTURE(width);
    CHECK(differenceOf(Mover::vendor, width) == "");
  }
}

TEST_CASE("bytes of two words are permuted as their numbers say, by an instruction and by shifts") {
  const fx::Kernel kernel{
      "bytes", [](fx::Tensor out) {
        const fx::Int32 high(0x77665544), low(0x33221100);
        // Numbers that the compiler does not know.
        const fx::Int32 h(fx::rematerialised(high)), l(fx::rematerialised(low));
        const fx::Loc loc = fx::Loc::current();
        int at = 0;
        for (std::uint32_t selector : {0x07030602u, 0x00000000u, 0x01020304u}) {
          const fx::Int32 computed(fx::rematerialised(fx::Int32(std::int32_t(selector))));
          out(at++) = fx::permute_bytes(h, l, selector);
          out(at++) = fx::permute_bytes(h, l, computed);
          out(at++) = fx::builder::bytesByShifts(h, l, computed, loc);
          out(at++) = fx::builder::bytesByShifts(h, l, fx::Int32(std::int32_t(selector)), loc);
        }
      }};
  fx::DeviceArray<std::int32_t> out({12});
  out.poison();
  kernel(out).launch({.grid = 1, .block = 1});
  std::vector<std::int32_t> expected;
  for (std::int32_t word : {0x77336622, 0, 0x11223344})
    expected.insert(expected.end(), 4, word);
  CHECK(out.to_host() == expected);
}

TEST_CASE("four products of bytes are added to a sum, by an instruction and by shifts") {
  struct Words {
    std::int32_t a, b, sum, expected;
  };
  // Computed by hand: the ends of the bytes' range, signs that differ, a sum that wraps around.
  const std::vector<Words> cases = {
      {0x04030201, 0x01010101, 0, 10},
      {std::int32_t(0x80808080), std::int32_t(0x80808080), 0, 4 * 128 * 128},
      {std::int32_t(0x80808080), 0x7f7f7f7f, 5, 5 - 4 * 128 * 127},
      {std::int32_t(0xff01ff01), 0x10203040, -7, -7 - 16 + 32 - 48 + 64},
      {0x00000001, 0x00000001, INT32_MAX, INT32_MIN},
      {0x7f000000, std::int32_t(0xff000000), 0, -127}};
  const fx::Kernel kernel{"products", [&](fx::Tensor out) {
                            const fx::Loc loc = fx::Loc::current();
                            int at = 0;
                            for (const Words &words : cases) {
                              // Numbers that the compiler does not know.
                              const auto unknown = [](std::int32_t word) {
                                return fx::Int32(fx::rematerialised(fx::Int32(word)));
                              };
                              const fx::Int32 a = unknown(words.a), b = unknown(words.b),
                                              sum = unknown(words.sum);
                              out(at++) = fx::dot4(a, b, sum);
                              out(at++) = fx::builder::dotByShifts(a, b, sum, loc);
                            }
                          }};
  fx::DeviceArray<std::int32_t> out({std::int64_t(2 * cases.size())});
  out.poison();
  kernel(out).launch({.grid = 1, .block = 1});
  std::vector<std::int32_t> expected;
  for (const Words &words : cases)
    expected.insert(expected.end(), 2, words.expected);
  CHECK(out.to_host() == expected);
}

TEST_CASE("shuffles move words among lanes as vendors' instructions do") {
  for (int width = 1; width <= fx::Device::current().target().wave_size(); width *= 2) {
    CAPTURE(width);
    CHECK(differenceOf(Mover::shuffles, width) == "");
  }
}
