// The gates of linear attention: how a token decays a state, and how strong what it adds is. In f32.
#pragma once

#include "blocks/common/exponential.h"
#include "delta_rule/delta_memory.h"

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The logarithm of a decay as a part of sums. e^-110 is 0 in the hardware's f32, so more of it says
/// nothing; sums of large numbers would lose what smaller ones after them say.
inline Numeric boundedDecay(const Numeric &decay) {
  constexpr float kLeast = -110;
  return select(decay < kLeast, kLeast, decay); // a NaN stays one
}

class DeltaGates {
public:
  /// Reads what the head has of its own.
  DeltaGates(const DeltaRuleProblem &problem, const DeltaMemory &memory)
      : problem_(problem), memory_(memory), a_(readIf(makesSteps(), &DeltaMemory::a)),
        dtBias_(readIf(makesSteps() && !problem.by_channel, &DeltaMemory::dtBias)),
        skip(readIf(problem.skip, &DeltaMemory::skip)) {}

  /// What a token has.
  struct Token {
    std::optional<Numeric> decay; ///< the logarithm; none: each channel has its own
    Numeric beta;
  };
  Token of(const Int32 &token) const {
    if (problem_.by_channel)
      return {.decay = {}, .beta = beta(token)};
    const Numeric g = memory_.g()(token).to(f32);
    if (!makesSteps())
      return {.decay = g, .beta = beta(token)};
    const Numeric dt = step(g + *dtBias_);
    const bool isBeta = problem_.strength == UpdateStrength::step;
    return {.decay = *a_ * dt, .beta = isBeta ? dt : beta(token)};
  }
  /// The logarithm of the decay of a channel, of its g and dt_bias.
  Numeric ofChannel(const Numeric &g, const std::optional<Numeric> &dtBias) const {
    return dtBias ? *a_ * step(g + *dtBias) : g;
  }
  bool makesSteps() const { return problem_.decay == DecayGate::softplus; }

private:
  std::optional<Numeric> readIf(bool has, Numeric (DeltaMemory::*number)() const) const {
    return has ? std::optional((memory_.*number)()) : std::nullopt;
  }
  Numeric beta(const Int32 &token) const {
    const Numeric given = memory_.beta()(token).to(f32);
    return problem_.strength == UpdateStrength::sigmoid ? sigmoid(given) : given;
  }
  /// dt. A NaN stays one.
  Numeric step(const Numeric &x) const {
    const auto least = static_cast<float>(problem_.dt_min),
               most = static_cast<float>(problem_.dt_max);
    const Numeric dt = softplus(x), raised = least > 0 ? select(dt < least, least, dt) : dt;
    return most > 0 ? select(raised > most, most, raised) : raised;
  }

  const DeltaRuleProblem &problem_;
  const DeltaMemory &memory_;
  std::optional<Numeric> a_, dtBias_;

public:
  std::optional<Numeric> skip; ///< the factor of v in y
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
