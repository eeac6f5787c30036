// Which numbers of K are alike for the loop of a product: those for which the kernel fetches, tests and
// multiplies the same before, in and after the loop's turns, and turns twice or more where it turns so often.
#pragma once

#include "support/product_reach.h"

#include <numeric>
#include <sstream>

namespace kernel_tests {

/// Writes down what a loop is traced to. Numbers of steps count from the end of its turns on.
class LoopRecorder {
public:
  std::string text() const { return text_.str(); }

  template <class Body> void turns(int end, int stride, const Body &body) {
    text_ << "turns" << stride << (end / stride > 1 ? "more" : "once") << '(';
    body(0);
    text_ << ')';
    from_ = end;
  }
  // GemmLoop::registers and GemmLoop::vector.
  void fetch(std::int64_t round, int stage, bool guarded) {
    note('f', round - from_, stage, guarded);
  }
  void multiply(int stage) { note('m', stage); }
  // GemmLoop::ring.
  void fetchTile(std::int64_t step, int stage) { note('t', step - from_, stage); }
  void fetchLast(int stage) { note('l', stage); }
  void fetchB(std::int64_t step, int set, int parts, bool guarded) {
    note('b', step - from_, set, parts, guarded);
  }
  void tilesFetched() {}
  void start() {}
  void meetFirst() {}
  void step(std::int64_t number, const fi::RingStep &now, const std::function<void()> &ahead) {
    note('s', number - from_, now.stage, now.parts, now.following, now.guarded, now.later);
    if (ahead)
      ahead();
  }
  // GemmLoop::groups.
  void fetchNumber(int step, int number) { note('h', step - from_, number - halves(from_)); }
  void firstFetched(int fetched) { note('n', fetched); }
  void fetch(int half, std::int64_t step, int stage) { note('g', half, step - from_, stage); }
  void turn(const fi::HalfPhase &now) {
    note('p', now.stage, now.phase, now.more, now.landed - halves(from_),
         now.fetched - halves(from_));
  }
  void end() {}

private:
  static std::int64_t halves(std::int64_t steps) { return steps * fi::HalfTilesOfStep::kHalfTiles; }
  template <class... Numbers> void note(char what, Numbers... numbers) {
    text_ << what;
    ((text_ << numbers << ','), ...);
  }
  std::ostringstream text_;
  std::int64_t from_ = 0;
};

/// What a kernel's loop is traced to.
inline std::string loopText(const fk::GemmConfig &config, const fi::LoopShape &shape) {
  LoopRecorder recorder;
  if (config.loop == fk::GemmLoop::ring)
    fi::runRing<std::int64_t>(shape, recorder);
  else if (config.loop == fk::GemmLoop::groups)
    fi::runGroups<std::int64_t>(shape, recorder);
  else
    fi::runRounds<std::int64_t>(shape, recorder);
  return recorder.text();
}

/// The shortest K for which a configuration's loop is traced to the same as for the problem's own. Both end
/// alike in a step, in a block of scales and in a row of vectors.
inline std::int64_t shortestAlike(const fk::GemmProblem &problem, const fk::GemmConfig &config,
                                  const fx::Target &target) {
  const auto textOf = [&](std::int64_t k) {
    fk::GemmProblem other = problem;
    other.k = k;
    return loopText(config, fi::loopShape(other, config, *fi::gemmForm(other, config, target)));
  };
  const std::int64_t unit = std::lcm<std::int64_t>(config.tile_k, fi::kScaleBlock) * config.split_k;
  const std::string own = textOf(problem.k);
  for (std::int64_t k = (problem.k - 1) % unit + 1; k < problem.k; k += unit) {
    fk::GemmProblem other = problem;
    other.k = k;
    if (fk::supported(other, config, target) && textOf(k) == own)
      return k;
  }
  return problem.k;
}

} // namespace kernel_tests
