// The choice of tokens, on the device: the most likely one, or a random one of the most likely.
#pragma once

#include "common/device_room.h"
#include "common/plans.h"

#include <flydsl/host/stream.h>
#include <flydsl/kernels/sampling.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace samples {

struct Sampling {
  double temperature = 0; ///< 0: the most likely token
  int topK = 40;          ///< tokens to choose from
  double topP = 0.95;     ///< the fewest of them that together are so likely
  std::int64_t seed = 1;  ///< equal seeds give equal texts
};

inline fk::SamplingProblem samplingProblem(const Sampling &how, std::int64_t vocabulary) {
  const bool draws = how.temperature > 0;
  return {.logits = fx::f32,
          .vocabulary = vocabulary,
          .temperature = draws,
          .top_k = draws,
          .top_p = draws,
          .advance = draws};
}

/// Chooses a token for each row of logits. Each row counts its draws in device memory, so that a
/// captured call draws anew by each replay.
class TokenChoice {
public:
  TokenChoice(const Sampling &how, Plans &plans, std::int64_t rows, std::int64_t vocabulary)
      : plan_(plans(samplingProblem(how, vocabulary), rows)), tokens_({rows}) {
    tokens_.fill(0);
    if (!plan_.problem().temperature)
      return;
    const auto all = [&]<class T>(T value) {
      return memory_.upload(std::vector<T>(std::size_t(rows), value), {rows});
    };
    std::vector<std::int64_t> first(static_cast<std::size_t>(rows));
    for (std::size_t row = 0; row < first.size(); ++row)
      first[row] = std::int64_t(row) << 32; // rows draw other numbers
    drawn_ = {all(float(how.temperature)), all(std::int32_t(how.topK)), all(float(how.topP)),
              all(how.seed), memory_.upload(first, {rows})};
  }

  /// Chooses by `logits`, those of the rows from `first` on.
  void operator()(const fx::TensorArg &logits, std::int64_t first, fx::StreamRef stream) {
    const std::int64_t count = logits.shape()[0];
    const auto rows = [&](std::size_t of) {
      return drawn_.empty() ? std::nullopt : std::optional(part(drawn_[of], 0, first, count));
    };
    plan_({.logits = logits,
           .tokens = part(tokens_, 0, first, count),
           .temperature = rows(0),
           .top_k = rows(1),
           .top_p = rows(2),
           .seeds = rows(3),
           .offsets = rows(4)},
          stream);
  }
  /// The tokens of all rows, as they were chosen last.
  std::vector<int> tokens() const { return tokens_.to_host(); }
  std::size_t bytes() const { return memory_.bytes() + tokens_.bytes(); }

private:
  fk::SamplingPlan plan_;
  DeviceRoom memory_;
  std::vector<fx::TensorArg> drawn_; ///< temperature, top_k, top_p, seeds, offsets
  fx::DeviceArray<int> tokens_;
};

} // namespace samples
