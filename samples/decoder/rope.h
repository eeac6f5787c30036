// The angles of rotary position embedding, and the ways in which models stretch them to longer
// texts. The definitions are those of transformers' modeling_rope_utils.py.
#pragma once

#include "config.h"

#include <numbers>

namespace decoder {

/// The parameters of a kind of layers, and the model's config, which older files have some of them
/// in.
struct RopeConfig {
  const Config &own, &model;

  double base() const { return (own.has("rope_theta") ? own : model).real("rope_theta", 1, 1e12); }
  double original() const {
    return own.real("original_max_position_embeddings", 1, 1e9,
                    model.real("max_position_embeddings", 1, 1e9));
  }
};

/// How a kind of layers rotates: the angle of pair i of a head at a position is position *
/// frequencies[i], and cosine and sine are multiplied by `factor`.
struct Rope {
  std::vector<double> frequencies;
  double factor = 1;
  /// What latent attention multiplies scores by, twice: yarn's mscale_all_dim.
  double scores = 1;
  std::int64_t longest = 0; ///< tokens of a sequence, at most; 0: as many as the model was made for
};

namespace rope_scaling {

/// All angles are those of a text that is shorter by a factor.
inline void linear(Rope &rope, const RopeConfig &config) {
  for (double &frequency : rope.frequencies)
    frequency /= config.own.real("factor", 1, 1e6);
}

/// Llama 3.1: pairs that turn less than low_freq_factor times in the original context are
/// stretched by the factor, those that turn more than high_freq_factor times are kept, and those
/// between are mixed.
inline void llama3(Rope &rope, const RopeConfig &config) {
  const double factor = config.own.real("factor", 1, 1e6),
               low = config.own.real("low_freq_factor", 1e-3, 1e6),
               high = config.own.real("high_freq_factor", 1e-3, 1e6), original = config.original();
  if (!(low < high))
    config.own.refuse("low_freq_factor", low, "it is below high_freq_factor");
  for (double &frequency : rope.frequencies) {
    const double turns = original * frequency / (2 * std::numbers::pi),
                 kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    frequency *= kept + (1 - kept) / factor;
  }
}

/// YaRN (arXiv 2309.00071): the same with a ramp over the pairs' numbers, and the scores grow.
inline void yarn(Rope &rope, const RopeConfig &config) {
  const double factor = config.own.real("factor", 1, 1e6), original = config.original(),
               base = config.base();
  const std::size_t pairs = rope.frequencies.size();
  const auto pairOfTurns = [&](double turns) {
    return double(pairs) * std::log(original / (turns * 2 * std::numbers::pi)) / std::log(base);
  };
  double first = pairOfTurns(config.own.real("beta_fast", 1e-3, 1e6, 32)),
         last = pairOfTurns(config.own.real("beta_slow", 1e-3, 1e6, 1));
  if (config.own.flag("truncate", true)) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, 2 * double(pairs) - 1);
  for (std::size_t i = 0; i < pairs; ++i) {
    const double stretched =
        std::clamp((double(i) - first) / std::max(last - first, 1e-3), 0.0, 1.0);
    rope.frequencies[i] *= 1 - stretched + stretched / factor;
  }
  const auto scale = [&](double mscale) { return 0.1 * mscale * std::log(factor) + 1; };
  const double mscale = config.own.real("mscale", 0, 1e3, 0),
               ofAll = config.own.real("mscale_all_dim", 0, 1e3, 0);
  rope.factor = config.own.real("attention_factor", 0, 1e3,
                                mscale && ofAll ? scale(mscale) / scale(ofAll) : scale(1));
  rope.scores = scale(ofAll);
}

/// NTK-aware angles that grow with a text that is longer than max_position_embeddings. Sequences of
/// this program are not, and then the angles are as they are.
inline void dynamic(Rope &, const RopeConfig &config) {
  config.own.real("factor", 1, 1e6);
  config.own.ignore({"original_max_position_embeddings"});
}

/// LongRoPE (arXiv 2402.13753): each pair has a factor of its own, one for texts up to the original
/// length and one for longer ones. A sequence that grows past it would need new keys for all of its
/// tokens, so sequences end there.
inline void longrope(Rope &rope, const RopeConfig &config) {
  const double original = config.original(),
               factor = config.own.real(
                   "factor", 1, 1e6,
                   std::max(1.0, config.model.real("max_position_embeddings", 1, 1e9) / original));
  const std::vector<double> shorter =
      config.own.reals("short_factor", rope.frequencies.size(), 1e-6, 1e6);
  config.own.reals("long_factor", rope.frequencies.size(), 1e-6, 1e6);
  for (std::size_t i = 0; i < shorter.size(); ++i)
    rope.frequencies[i] /= shorter[i];
  rope.factor =
      config.own.real("attention_factor", 0, 1e3,
                      std::sqrt(1 + std::log(factor) / std::log(std::max(2.0, original))));
  rope.longest = std::int64_t(original);
}

struct Kind {
  std::string_view name;
  void (*apply)(Rope &, const RopeConfig &);
};
inline constexpr Kind kKinds[] = {
    {"default", [](Rope &, const RopeConfig &) {}},
    {"linear", linear},
    {"llama3", llama3},
    {"yarn", yarn},
    {"dynamic", dynamic},
    {"longrope", longrope},
};

} // namespace rope_scaling

/// For `rotary` elements of a head.
inline Rope ropeOf(const RopeConfig &config, std::int64_t rotary) {
  Rope rope;
  for (std::int64_t i = 0; i < rotary; i += 2)
    rope.frequencies.push_back(std::pow(config.base(), -double(i) / double(rotary)));
  const std::string type = config.own.word("rope_type", config.own.word("type", "default"));
  const auto *kind = std::ranges::find(rope_scaling::kKinds, type, &rope_scaling::Kind::name);
  if (kind == std::end(rope_scaling::kKinds))
    config.own.refuse("rope_type", type,
                      "this program has default, linear, llama3, yarn, dynamic and longrope");
  kind->apply(rope, config);
  config.own.expectAllKnown();
  return rope;
}

} // namespace decoder
