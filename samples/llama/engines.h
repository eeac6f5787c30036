// The engine of one device, or of several that share each layer: tensor parallelism.
#pragma once

#include "common/rank_threads.h"
#include "engine.h"

#include <memory>

namespace llama {

/// Engines that do the same at a time, each with its part of the model. All of them choose the same
/// tokens, because a sum over the ranks has the same bits on each.
class Engines {
public:
  /// An engine for each device: 1, 2, 4 or 8.
  Engines(const Model &model, Plans &plans, const EngineOptions &options,
          const std::vector<fx::Device> &devices)
      : threads_(devices) {
    // region: ranks
    const int ranks = int(devices.size());
    std::vector<fx::Group> groups;
    if (ranks > 1)
      groups = fx::Group::of(devices, {.capacity = Engine::sumBytes(model, options)});
    for (int rank = 0; rank < ranks; ++rank) {
      devices[std::size_t(rank)].make_current();
      parts_.push_back(std::make_unique<const Model>(model.part(rank, ranks)));
      engines_.push_back(std::make_unique<Engine>(
          *parts_.back(), plans, options,
          ranks > 1 ? std::optional(groups[std::size_t(rank)]) : std::nullopt));
    }
    devices[0].make_current();
    each([](Engine &engine) { engine.warmUp(); });
    // endregion
  }

  /// As those of an engine.
  int begin(std::span<const int> tokens) {
    int number = 0;
    each([&](Engine &engine) {
      const int begun = engine.begin(tokens);
      if (&engine == engines_[0].get())
        number = begun;
    });
    return number;
  }
  void step(std::span<const int> tokens) {
    each([&](Engine &engine) { engine.step(tokens); });
  }
  void end(int number) {
    for (const auto &engine : engines_)
      engine->end(number);
  }
  int token(int sequence) const { return first().token(sequence); }

  /// The first rank's.
  Engine &first() { return *engines_[0]; }
  const Engine &first() const { return *engines_[0]; }

private:
  template <class Body> void each(Body body) {
    threads_.each([&](std::size_t rank) { body(*engines_[rank]); });
  }

  std::vector<std::unique_ptr<const Model>> parts_;
  std::vector<std::unique_ptr<Engine>> engines_;
  samples::RankThreads threads_; ///< end first
};

} // namespace llama
