#include "property.h"

#include "layout/error.h"

#include <algorithm>

namespace property {

using flydsl::layout::LayoutError;

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

int64_t Random::between(int64_t lo, int64_t hi) {
  if (replays_)
    return lo + (at_ < choices_.size() ? std::min(choices_[at_++], hi - lo) : 0);
  choices_.push_back(static_cast<int64_t>(next() % static_cast<uint64_t>(hi - lo + 1)));
  return lo + choices_.back();
}

std::vector<int64_t> shrink(std::vector<int64_t> choices,
                            const std::function<bool(const std::vector<int64_t> &)> &fails) {
  bool better = true;
  auto keep = [&](std::vector<int64_t> candidate) {
    if (!fails(candidate))
      return false;
    choices = std::move(candidate);
    return better = true;
  };
  while (better) {
    better = false;
    for (size_t length = choices.size() / 2; length > 0; length /= 2)
      for (size_t from = 0; from + length <= choices.size();) {
        std::vector<int64_t> without = choices;
        auto at = without.begin() + static_cast<std::ptrdiff_t>(from);
        without.erase(at, at + static_cast<std::ptrdiff_t>(length));
        if (!keep(std::move(without)))
          from += length;
      }
    for (size_t i = 0; i < choices.size(); ++i)
      for (int64_t smaller : {int64_t(0), choices[i] / 2, choices[i] - 1}) {
        if (smaller < 0 || smaller >= choices[i])
          continue;
        std::vector<int64_t> candidate = choices;
        candidate[i] = smaller;
        if (keep(std::move(candidate)))
          break;
      }
  }
  return choices;
}

std::string Case::str() const {
  std::string s;
  for (const Layout &l : layouts)
    s += (s.empty() ? "" : "  ") + l.str();
  for (int64_t n : numbers)
    s += (s.empty() ? "" : "  ") + std::to_string(n);
  return s;
}

void require(bool condition, const std::string &message) {
  if (!condition)
    throw message;
}

// --- Running and shrinking ---

namespace {

/// What is wrong, or nothing.
std::optional<std::string> failureOf(const Check &holds, const Case &c, Outcome &outcome) {
  try {
    outcome = holds(c);
    return std::nullopt;
  } catch (const LayoutError &) {
    outcome = Outcome::Refused;
    return std::nullopt;
  } catch (const std::string &message) {
    return message;
  } catch (const std::exception &e) {
    return std::string("exception: ") + e.what();
  }
}

/// Layouts that are a little simpler.
std::vector<Layout> simpler(const Layout &l) {
  std::vector<Layout> out;
  if (!l.isLeaf()) {
    for (int skip = 0; skip < l.rank() && l.rank() > 1; ++skip) {
      std::vector<IntTuple> shape, stride;
      for (int i = 0; i < l.rank(); ++i)
        if (i != skip) {
          shape.push_back(l.shape().at(i));
          stride.push_back(l.stride().at(i));
        }
      out.emplace_back(IntTuple::tuple(shape), IntTuple::tuple(stride));
    }
    if (l.rank() == 1)
      out.push_back(l.at(0));
    for (int i = 0; i < l.rank(); ++i)
      for (const Layout &m : simpler(l.at(i)))
        out.emplace_back(l.shape().replaced({i}, m.shape()), l.stride().replaced({i}, m.stride()));
    return out;
  }
  const Int &s = l.shape().leaf(), &d = l.stride().leaf();
  if (!s.isStatic() || !d.isStatic() || d.hasBasis())
    return out;
  for (int64_t smaller : {int64_t(1), s.value() / 2, s.value() - 1})
    if (smaller >= 1 && smaller < s.value())
      out.emplace_back(smaller, d);
  for (int64_t smaller : {int64_t(0), int64_t(1), d.value() / 2, d.value() - 1})
    if (smaller >= 0 && smaller < d.value())
      out.emplace_back(s, smaller);
  return out;
}

std::vector<Case> simpler(const Case &c) {
  std::vector<Case> out;
  for (size_t i = 0; i < c.layouts.size(); ++i)
    for (const Layout &l : simpler(c.layouts[i])) {
      Case smaller = c;
      smaller.layouts[i] = l;
      out.push_back(std::move(smaller));
    }
  for (size_t i = 0; i < c.numbers.size(); ++i)
    for (int64_t n : {int64_t(0), c.numbers[i] / 2, c.numbers[i] - 1})
      if (n >= 0 && n < c.numbers[i]) {
        Case smaller = c;
        smaller.numbers[i] = n;
        out.push_back(std::move(smaller));
      }
  return out;
}

} // namespace

Report check(int count, uint64_t seed, const Generate &generate, const Check &holds) {
  Report report;
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    Case c = generate(random);
    Outcome outcome = Outcome::Holds;
    std::optional<std::string> failure = failureOf(holds, c, outcome);
    ++report.cases;
    report.refused += outcome == Outcome::Refused;
    report.skipped += outcome == Outcome::Skipped;
    if (!failure)
      continue;
    bool smaller = true;
    for (int steps = 0; smaller && steps < 1000; ++steps) {
      smaller = false;
      for (Case &candidate : simpler(c))
        if (auto other = failureOf(holds, candidate, outcome)) {
          c = std::move(candidate);
          failure = std::move(other);
          smaller = true;
          break;
        }
    }
    report.failure = c.str() + "\n  " + *failure;
    return report;
  }
  return report;
}

// --- Generators ---

Limits powersOfTwo() {
  Limits limits;
  limits.shapes = {1, 2, 2, 4, 4, 8};
  limits.strides = {0, 1, 2, 4, 8, 16, 32};
  return limits;
}

static IntTuple shapeUnder(Random &random, const Limits &limits, int depth, int &leaves,
                           int64_t &room) {
  if (depth == 0 || leaves <= 1 || random.oneIn(3)) {
    std::vector<int64_t> fitting;
    for (int64_t s : limits.shapes)
      if (s <= room)
        fitting.push_back(s);
    int64_t s = fitting.empty() ? 1 : random.of(fitting);
    room /= s;
    --leaves;
    return s;
  }
  std::vector<IntTuple> modes;
  for (int64_t n = random.between(1, 3); n > 0 && leaves > 0; --n)
    modes.push_back(shapeUnder(random, limits, depth - 1, leaves, room));
  if (modes.empty())
    modes.emplace_back(1);
  return IntTuple::tuple(std::move(modes));
}

IntTuple randomShape(Random &random, const Limits &limits) {
  int leaves = static_cast<int>(random.between(1, limits.maxLeaves));
  int64_t room = limits.maxSize;
  return shapeUnder(random, limits, limits.maxDepth, leaves, room);
}

Layout randomLayout(Random &random, const Limits &limits) {
  IntTuple shape = randomShape(random, limits);
  return Layout(shape,
                shape.mapLeaves([&](const Int &) { return Int(random.of(limits.strides)); }));
}

/// Strides for the leaves in a random order; `gap` says what each stride is multiplied by on the
/// way.
static Layout countingLayout(Random &random, const Limits &limits,
                             const std::function<int64_t()> &gap) {
  IntTuple shape = randomShape(random, limits);
  std::vector<Int> extents = shape.leaves();
  std::vector<size_t> order(extents.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.between(0, int64_t(i) - 1))]);
  std::vector<int64_t> strides(extents.size());
  int64_t current = 1;
  for (size_t i : order) {
    current *= gap();
    strides[i] = current;
    current *= extents[i].value();
  }
  size_t next = 0;
  return Layout(shape, shape.mapLeaves([&](const Int &) { return Int(strides[next++]); }));
}

Layout randomCompact(Random &random, const Limits &limits) {
  return countingLayout(random, limits, [] { return int64_t(1); });
}

Layout randomInjective(Random &random, const Limits &limits) {
  return countingLayout(random, limits,
                        [&] { return random.oneIn(2) ? random.between(1, 3) : int64_t(1); });
}

// --- The definition ---

int64_t valueAt(const Layout &layout, int64_t i) {
  std::vector<Int> shape = layout.shape().leaves(), stride = layout.stride().leaves();
  int64_t value = 0;
  for (size_t k = 0; k < shape.size(); ++k) {
    const bool last = k + 1 == shape.size();
    int64_t digit = last ? i : i % shape[k].value();
    i /= shape[k].value();
    value += digit * stride[k].value();
  }
  return value;
}

int64_t sizeOf(const Layout &layout) {
  int64_t n = 1;
  for (const Int &s : layout.shape().leaves())
    n *= s.value();
  return n;
}

std::vector<int64_t> valuesOf(const Layout &layout) {
  std::vector<int64_t> out;
  for (int64_t i = 0, n = sizeOf(layout); i < n; ++i)
    out.push_back(valueAt(layout, i));
  return out;
}

} // namespace property
