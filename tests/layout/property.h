// Properties over random cases: a seeded generator, a check per case, and a shrinker that returns
// the smallest failing case that it finds.
#pragma once

#include "layout/layout.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace property {

using flydsl::layout::Int;
using flydsl::layout::IntTuple;
using flydsl::layout::Layout;

/// Random numbers that are the same everywhere. What was drawn can be kept, made simpler, and drawn
/// again.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// Gives the choices again, then always the smallest number.
  explicit Random(std::vector<int64_t> choices) : choices_(std::move(choices)), replays_(true) {}
  /// In [lo, hi].
  int64_t between(int64_t lo, int64_t hi);
  bool oneIn(int64_t n) { return between(1, n) == 1; }
  template <class T> const T &of(const std::vector<T> &choices) {
    return choices[static_cast<size_t>(between(0, static_cast<int64_t>(choices.size()) - 1))];
  }

  /// What was drawn, as distances from the lower bounds.
  const std::vector<int64_t> &choices() const { return choices_; }

private:
  uint64_t next();

  uint64_t state_ = 0;
  std::vector<int64_t> choices_;
  size_t at_ = 0;
  bool replays_ = false;
};

/// Makes choices simpler as long as `fails` says that what is drawn from them still fails: fewer,
/// or closer to the lower bounds.
std::vector<int64_t> shrink(std::vector<int64_t> choices,
                            const std::function<bool(const std::vector<int64_t> &)> &fails);

/// What a property is checked on.
struct Case {
  std::vector<Layout> layouts;
  std::vector<int64_t> numbers;
  std::string str() const;
};

/// What a check found.
enum class Outcome {
  Holds,
  Skipped, ///< the case is none for this property
  Refused, ///< a LayoutError: the operation says that it can't
};

/// A property: throws std::string where it does not hold.
using Check = std::function<Outcome(const Case &)>;
using Generate = std::function<Case(Random &)>;

struct Report {
  int cases = 0;
  int refused = 0;
  int skipped = 0;
  std::optional<std::string> failure; ///< smallest case and what is wrong with it
};

/// Checks `count` cases from `seed` on; stops at the first failure and shrinks it. An exception
/// other than LayoutError is a failure too.
Report check(int count, uint64_t seed, const Generate &generate, const Check &holds);

// --- Generators ---

/// Limits of a random layout.
struct Limits {
  int maxLeaves = 4;
  int maxDepth = 2;
  int64_t maxSize = 128;
  std::vector<int64_t> shapes = {1, 1, 2, 2, 3, 4, 4, 5, 6, 8};
  std::vector<int64_t> strides = {0, 1, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32};
};
/// Shapes and strides that are powers of two, so that everything divides.
Limits powersOfTwo();

IntTuple randomShape(Random &random, const Limits &limits);
/// Any strides.
Layout randomLayout(Random &random, const Limits &limits);
/// Strides that count, in a random order of the modes: a bijection onto [0, size).
Layout randomCompact(Random &random, const Limits &limits);
/// Compact with gaps: strides multiplied on the way, so that no value is hit twice and each stride
/// is a multiple of the ones below.
Layout randomInjective(Random &random, const Limits &limits);

// --- The definition ---

/// The layout's value at position i, by the definition alone: digits of i in the mixed radix of the
/// shape, times strides. The last digit is not bounded.
int64_t valueAt(const Layout &layout, int64_t i);
int64_t sizeOf(const Layout &layout);
/// All values in order.
std::vector<int64_t> valuesOf(const Layout &layout);

/// Throws the message where the condition does not hold.
void require(bool condition, const std::string &message);

} // namespace property
