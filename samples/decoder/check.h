// The engine beside what Hugging Face's transformers computed with the same weights in double
// precision: expected.json and expected.safetensors of a model's folder.
#pragma once

#include "engine.h"

#include <cstdio>

namespace decoder {

inline double rootMeanSquare(std::span<const float> x) {
  double sum = 0;
  for (float value : x)
    sum += double(value) * double(value);
  return std::sqrt(sum / double(x.size()));
}

// region: tolerance
/// How far a token's numbers may be from the reference, as a part of their root mean square.
///
/// A number is off by up to 2^-8 of itself when it is rounded to the 8 bits of BF16; the root mean
/// square of that, for all mantissas between 1 and 2, is 0.43 * 2^-8. Errors that are independent
/// add up like the sides of a right angle, so their squares are added here.
///
/// A layer rounds what it normalises, q, k, v, the weights of attention and what attention gives,
/// then what it normalises again and what goes into the last product. What was normalised enters
/// products of two such numbers, q k and gate up, and counts twice there: 12 errors in all. For the
/// same reason an error of what enters a layer counts twice in what the layer adds; and it stays in
/// the sum.
class Tolerance {
public:
  /// Of what enters layer 0: embeddings, which are multiplied in f32.
  Tolerance() = default;
  /// Goes on to what enters the next layer, by the root mean squares of what enters this one, of
  /// what it adds, and of the sum.
  void layer(double entered, double added, double sum) {
    const double passed = entered * entered * squares_,
                 made = added * added * (2 * squares_ + 12 * kRounding * kRounding);
    squares_ = (passed + made) / (sum * sum);
  }
  /// Goes on to what leaves the norm after the last layer. How much that layer added is not known;
  /// this is right if it is all of the sum.
  void last() { squares_ = 2 * squares_ + 13 * kRounding * kRounding; }

  double deviation() const { return std::sqrt(squares_); }

private:
  static constexpr double kRounding = 0.43 * 0x1p-8;
  double squares_ = 0x1p-40;
};
/// A row of numbers has few sources of errors, such as the weights of a head, and so may be off by
/// more than most; a logit is one number among many.
inline constexpr double kDeviationsOfRow = 4, kDeviationsOfLogit = 7;
// endregion

/// A prompt, what the reference adds to it, and what it computed on the way.
struct Expected {
  std::vector<int> prompt, generated;
  std::vector<Floats> hidden; ///< what enters each layer and leaves the last norm: (tokens, width)
  Floats logits;              ///< (generated, vocabulary)
};

inline std::vector<Expected> readExpected(const std::string &folder, const Model &model) {
  const std::string name = folder + "/expected.json";
  const std::vector<std::uint8_t> text = readFile(name);
  const SafeTensors tensors = SafeTensors::read(folder + "/expected.safetensors");
  std::vector<Expected> all;
  try {
    for (const nlohmann::json &entry : nlohmann::json::parse(text)) {
      Expected expected{.prompt = entry.at("prompt").get<std::vector<int>>(),
                        .generated = entry.at("generated").get<std::vector<int>>(),
                        .hidden = {},
                        .logits = {}};
      const std::string number = std::to_string(all.size());
      const auto tokens = std::int64_t(expected.prompt.size()),
                 steps = std::int64_t(expected.generated.size());
      if (!tokens || !steps)
        throw FileError(name + " has a prompt or a continuation without tokens");
      const std::int64_t ofLogits[] = {steps, model.vocabulary}, ofHidden[] = {tokens, model.width};
      expected.logits = tensors.floats("logits." + number, ofLogits);
      for (std::int64_t layer = 0; layer <= model.layers; ++layer)
        expected.hidden.push_back(
            tensors.floats("hidden." + number + "." + std::to_string(layer), ofHidden));
      all.push_back(std::move(expected));
    }
  } catch (const nlohmann::json::exception &error) {
    throw FileError(name + " is no list of prompts: " + error.what());
  }
  if (all.empty())
    throw FileError(name + " has no prompt");
  tensors.expectAllUsed();
  return all;
}

/// Runs all prompts as one batch, compares, and prints what it finds.
class Checker {
public:
  Checker(const Model &model, Engine &engine, const std::vector<Expected> &expected)
      : model_(model), engine_(engine), expected_(expected) {
    for (const Expected &prompt : expected) {
      deviations_.emplace_back();
      for (std::size_t token = 0; token < prompt.prompt.size(); ++token)
        deviations_.back().push_back(deviationsOf(prompt, token));
    }
  }

  /// Whether all of it is as far from the reference as rounding allows, and no further.
  bool run() {
    engine_.watch = [this](std::int64_t layer, std::span<const Engine::Row> rows,
                           const Floats &values) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        hidden(layer, rows[i], std::span(values).subspan(i * std::size_t(model_.width)));
    };
    std::vector<std::span<const int>> tokens;
    for (const Expected &expected : expected_)
      tokens.emplace_back(expected.prompt);
    engine_.run(tokens);
    engine_.watch = nullptr;
    // Each step goes on with the reference's token, so that one that is as likely changes nothing.
    for (std::size_t step = 0;; ++step) {
      bool any = false;
      for (std::size_t i = 0; i < expected_.size(); ++i) {
        const std::vector<int> &generated = expected_[i].generated;
        if (step < generated.size())
          logits(i, step);
        const bool goesOn = step + 1 < generated.size();
        tokens[i] = goesOn ? std::span(generated).subspan(step, 1) : std::span<const int>();
        any |= goesOn;
      }
      if (!any)
        break;
      engine_.run(tokens);
    }
    std::printf("hidden states: at most %.3g of what rounding allows\n"
                "logits: at most %.3g of it, %.2g\n"
                "%d tokens are the reference's, %d others are as likely as rounding can tell\n%s\n",
                worstHidden_, worstLogit_, worstDifference_, equal_, near_,
                right_ ? "PASS" : "FAIL");
    return right_;
  }

private:
  /// Of a token at the entry of each layer and after the last norm.
  std::vector<double> deviationsOf(const Expected &prompt, std::size_t token) const {
    Tolerance tolerance;
    std::vector<double> deviations{tolerance.deviation()};
    for (std::size_t layer = 0; layer + 1 < std::size_t(model_.layers); ++layer) {
      const auto entered = expectedRow(prompt.hidden[layer], token, model_.width),
                 sum = expectedRow(prompt.hidden[layer + 1], token, model_.width);
      Floats added(sum.begin(), sum.end());
      for (std::size_t i = 0; i < added.size(); ++i)
        added[i] -= entered[i];
      tolerance.layer(rootMeanSquare(entered), rootMeanSquare(added), rootMeanSquare(sum));
      deviations.push_back(tolerance.deviation());
    }
    tolerance.last();
    deviations.push_back(tolerance.deviation());
    return deviations;
  }
  static std::span<const float> expectedRow(const Floats &all, std::size_t row,
                                            std::int64_t columns) {
    return std::span(all).subspan(row * std::size_t(columns), std::size_t(columns));
  }
  void hidden(std::int64_t layer, const Engine::Row &row, std::span<const float> found) {
    const auto wanted = expectedRow(expected_[std::size_t(row.sequence)].hidden[std::size_t(layer)],
                                    std::size_t(row.position), model_.width);
    Floats off;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      off.push_back(found[i] - wanted[i]);
    const double allowed = kDeviationsOfRow * rootMeanSquare(wanted) *
                           deviations_[std::size_t(row.sequence)][std::size_t(row.position)]
                                      [std::size_t(layer)],
                 part = rootMeanSquare(off) / allowed;
    worstHidden_ = std::max(worstHidden_, part);
    if (!(part <= 1))
      wrong("prompt %d, token %d: what enters layer %d is off by %.3g of what rounding allows\n",
            row.sequence, row.position, int(layer), part);
  }
  void logits(std::size_t prompt, std::size_t step) {
    const auto wanted = expectedRow(expected_[prompt].logits, step, model_.vocabulary),
               found = engine_.logits(int(prompt));
    double deviation = 0; // the largest of the prompt's tokens
    for (const std::vector<double> &token : deviations_[prompt])
      deviation = std::max(deviation, token.back());
    const double allowed = kDeviationsOfLogit * deviation * rootMeanSquare(wanted);
    double worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double off = std::fabs(double(found[i]) - double(wanted[i]));
      worst = off <= worst ? worst : off; // a NaN is kept
    }
    worstDifference_ = std::max(worstDifference_, worst);
    worstLogit_ = std::max(worstLogit_, worst / allowed);
    if (!(worst <= allowed))
      wrong("prompt %d, step %d: a logit is off by %.3g, and rounding allows %.3g\n", int(prompt),
            int(step), worst, allowed);
    const auto token = [](std::span<const float> of) {
      return int(std::ranges::max_element(of) - of.begin());
    };
    const int best = expected_[prompt].generated[step], mine = token(found);
    const double gap = double(wanted[std::size_t(best)]) - double(wanted[std::size_t(mine)]);
    if (mine == best)
      ++equal_;
    else if (gap <= 2 * allowed) // both logits may be off
      ++near_;
    else
      wrong("prompt %d, step %d: token %d instead of %d, whose logit is %.3g above\n", int(prompt),
            int(step), mine, best, gap);
  }
  template <class... Ts> void wrong(const char *format, Ts... values) {
    std::printf(format, values...);
    right_ = false;
  }

  const Model &model_;
  Engine &engine_;
  const std::vector<Expected> &expected_;
  std::vector<std::vector<std::vector<double>>> deviations_; ///< by prompt, token, and layer
  bool right_ = true;
  int equal_ = 0, near_ = 0;
  double worstHidden_ = 0, worstLogit_ = 0, worstDifference_ = 0;
};

} // namespace decoder
