// The engine next to what Hugging Face's transformers computed with the same weights in double
// precision: expected.json and expected.safetensors of a model's folder.
#pragma once

#include "engine.h"

#include <cstdio>
#include <functional>
#include <map>
#include <numeric>

namespace decoder {

inline double rootMeanSquare(std::span<const float> x) {
  double sum = 0;
  for (float value : x)
    sum += double(value) * double(value);
  return std::sqrt(sum / double(x.size()));
}

// region: tolerance
// How far a token's numbers may be from the reference, as a part of their root mean square.
//
// A number is off by up to 2^-8 of itself when it is rounded to the 8 bits of BF16; the root mean
// square of that, for all mantissas between 1 and 2, is 0.43 * 2^-8. Errors that are independent
// add up like the sides of a right angle, so their squares are added here.
//
// A layer rounds what it normalises, q, k, v, the weights of attention and what attention gives,
// then what it normalises again and what goes into the last product. What was normalised enters
// products of two such numbers, q k and gate up, and counts twice there: 12 errors in all. What a
// layer adds is also off by the errors of what enters it: of the token itself in its MLP, and of all
// tokens that attention looks at, on average. And the token's own error stays in the sum.
//
// Linear attention normalises what a head gives, also where that is small. A state of one token gives
// its value times q k, a sum of numbers of both signs: where q and k are nearly orthogonal, it is off
// by more than they are, here by up to 6 times, and so by four errors, of q and k and of what they are
// made of. A state of t tokens is a sum of t such ones, which are not all small together.
//
// Their convolutions look at the last tokens alone, so where one of these is off by more, such as one with
// another expert, what follows is off by it as a part of them, not of all tokens.
//
// But a state may forget all tokens but the last, by its decays, and a state space normalises groups of
// heads, which have one B and one C. So what is normalised may be small for any token, and is off by more
// by as much as it is smaller than it is as a rule: the engine tells how large it was.
inline constexpr double kRounding = 0.43 * 0x1p-8, kOfLayer = 12 * kRounding * kRounding,
                        kOfState = 4 * 6 * 6 * kRounding * kRounding,
                        kOfGroup = 4 * 4 * kRounding * kRounding,
                        kOfLastNorm = kRounding * kRounding;
/// Of embeddings, which are multiplied in f32.
inline constexpr double kOfEmbedding = 0x1p-40;
/// Weights that are rounded, because their file has more bits, are as many errors again, and embeddings
/// one.
inline constexpr double kOfRoundedWeights = 2, kOfRoundedEmbedding = kRounding * kRounding;
/// A row of numbers has few sources of errors, such as the weights of a head, and so may be off by
/// more than most; a logit is one number among many.
inline constexpr double kDeviationsOfRow = 4, kDeviationsOfLogit = 7, kDeviationsOfGap = 5;
// endregion

// region: swap
/// Where two experts have nearly the same score, rounding may choose the other one, and that is no
/// error. What the token then gets is off by the difference of two results with the weight of the
/// last expert: returned is the square of that, as a part of the square of what all experts give.
/// Where two groups of experts have nearly the same score, it is so of all of the group's. It is 0
/// where the scores are further from each other than rounding takes them: it changes one by about
/// `off`.
inline double swapOf(const Model &model, const Floats &choiceBias, std::span<const float> scores,
                     double off) {
  const bool sigmoid = model.row.mixture->score == fk::GatingScore::sigmoid;
  const auto count = [](int of) { return std::size_t(of); };
  const std::size_t topk = count(model.experts.topk), groups = count(model.experts.groups),
                    chosenGroups = count(model.experts.topkGroups), each = scores.size() / groups;
  const double slope = sigmoid ? 0.25 : 1, // of what the choice is by, at most
      near = kDeviationsOfGap * slope * off;
  struct Expert {
    double choice, weight; ///< what the choice is by
    std::size_t group;
    bool operator>(const Expert &other) const { return choice > other.choice; }
  };
  std::vector<std::vector<Expert>> ofGroups(groups);
  for (std::size_t e = 0; e < scores.size(); ++e) {
    const double score = double(scores[e]),
                 weight = sigmoid ? 1 / (1 + std::exp(-score)) : std::exp(score),
                 bias = choiceBias.empty() ? 0 : double(choiceBias[e]);
    ofGroups[e / each].push_back({sigmoid ? weight + bias : score, weight, e / each});
  }
  // The score of a group is the sum of its two largest; both may be off.
  std::vector<std::pair<double, std::size_t>> rankedGroups;
  for (std::size_t g = 0; g < groups; ++g) {
    std::ranges::sort(ofGroups[g], std::greater());
    rankedGroups.emplace_back(ofGroups[g][0].choice + (each > 1 ? ofGroups[g][1].choice : 0), g);
  }
  std::ranges::sort(rankedGroups, std::greater());
  const bool groupsNear =
      chosenGroups < groups &&
      rankedGroups[chosenGroups - 1].first - rankedGroups[chosenGroups].first <= 2 * near;
  std::vector<Expert> ranked;
  for (std::size_t g = 0; g < chosenGroups; ++g)
    ranked.insert(ranked.end(), ofGroups[rankedGroups[g].second].begin(),
                  ofGroups[rankedGroups[g].second].end());
  std::ranges::sort(ranked, std::greater());
  const bool expertsNear =
      topk < ranked.size() && ranked[topk - 1].choice - ranked[topk].choice <= near;
  if (!groupsNear && !expertsNear)
    return 0;
  double squares = model.experts.shared + (model.experts.apart ? 1 : 0), others = 0;
  for (std::size_t i = 0; i < topk; ++i) {
    const double square = ranked[i].weight * ranked[i].weight;
    squares += square;
    if (groupsNear ? ranked[i].group == rankedGroups[chosenGroups - 1].second : i + 1 == topk)
      others += square;
  }
  // With nearly the same groups and none of the last one's experts among the chosen ones, those of
  // the other group may be.
  return 2 * std::max(others, ranked[topk - 1].weight * ranked[topk - 1].weight) / squares;
}
// endregion

// region: choice
/// Sparse attention sees the tokens with the largest scores. Where the last of these and the first of the
/// others have nearly the same one, rounding may choose the other token, and that is no error either. The
/// weight of such a token is not known, and may be most of all: returned is the square of the
/// difference of two results, as a part of that of one. It is 0 where the scores are further from each
/// other than rounding takes them: it changes one by about `off`, as a part of their root mean square.
inline double choiceOf(const Model &model, std::span<const float> scores, double off) {
  Floats seen;
  for (const float score : scores)
    if (score != -std::numeric_limits<float>::infinity())
      seen.push_back(score);
  const auto topk = std::size_t(model.indexer.topk);
  if (seen.size() <= topk)
    return 0;
  const double near = kDeviationsOfGap * off * rootMeanSquare(seen);
  std::ranges::sort(seen, std::greater());
  return double(seen[topk - 1]) - double(seen[topk]) <= near ? 2 : 0;
}
// endregion

/// A prompt, what the reference adds to it, and what it computed on the way.
struct Expected {
  std::vector<int> prompt, generated;
  std::vector<Floats> hidden; ///< what enters each layer and leaves the last norm: (tokens, width)
  Floats logits;              ///< (generated, vocabulary)
};

/// What enters the first layer.
inline Floats embedded(const Model &model, const std::vector<int> &tokens) {
  Floats all;
  for (const int token : tokens) {
    if (token < 0 || token >= model.vocabulary)
      throw FileError("a prompt has the token " + std::to_string(token) + "; the model has 0 to " +
                      std::to_string(model.vocabulary - 1));
    const Matrix row = model.embedding.part(token, 1);
    for (std::int64_t i = 0; i < model.width; ++i)
      all.push_back(float(reinterpret_cast<const fx::bfloat16_t *>(row.bytes.data())[i]) *
                    float(model.embeddingScale));
  }
  return all;
}

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
      if (model.row.hiddenOfResults) { // of the last layer's, what enters no layer is not looked at
        expected.hidden.erase(expected.hidden.end() - 2);
        expected.hidden.insert(expected.hidden.begin(), embedded(model, expected.prompt));
      }
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
      : model_(model), engine_(engine), expected_(expected), swapped_(std::size_t(model.layers)) {
    for (const Expected &prompt : expected)
      prompts_.push_back({std::vector<std::vector<double>>(
          std::size_t(model.layers + 1), std::vector<double>(prompt.prompt.size()))});
  }

  /// Whether all of it is as far from the reference as rounding allows, and no further.
  bool run() {
    engine_.watch = [this](std::int64_t layer, std::span<const Engine::Row> rows,
                           const Floats &values) {
      const Floats scores = layer > 0 ? engine_.scores(layer - 1) : Floats(),
                   groups = layer > 0 ? engine_.groups(layer - 1) : Floats(),
                   tokens = layer > 0 ? engine_.indexScores(layer - 1) : Floats();
      if (!scores.empty())
        scores_[std::size_t(layer - 1)].insert(scores_[std::size_t(layer - 1)].end(),
                                               scores.begin(), scores.end());
      for (std::size_t i = 0; i < rows.size(); ++i)
        hidden(std::size_t(layer), rows[i], row(values, i, model_.width), scoresOf(scores, i),
               groupsOf(groups, i), tokensOf(tokens, i));
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
                "logits: at most %.3g of it, %.2g\n",
                worstHidden_, worstLogit_, worstDifference_);
    if (swaps_ + choices_)
      std::printf(
          "hidden states of tokens with another expert or another token to look at: at most "
          "%.3g of what that allows\n",
          worstOther_);
    if (model_.experts.count)
      std::printf("experts: %d times another one of nearly the same score in prompts; %d of the "
                  "rows of logits allow for it\n",
                  swaps_, allowedSwaps_);
    if (model_.row.sparse)
      std::printf(
          "sparse attention: %d times another token of nearly the same score in prompts; %d "
          "of the rows of logits allow for it\n",
          choices_, allowedChoices_);
    std::printf("%d tokens are the reference's, %d others are as likely as rounding can tell\n%s\n",
                equal_, near_, right_ ? "PASS" : "FAIL");
    return right_;
  }

private:
  struct Prompt {
    /// The squares of how far tokens may be off, of what enters each layer and leaves the last norm:
    /// [layer][token].
    std::vector<std::vector<double>> squares;
    double ofSteps =
        0; ///< of the tokens that were added: what experts may have swapped, and groups
  };

  static std::span<const float> row(const Floats &all, std::size_t number, std::int64_t columns) {
    return std::span(all).subspan(number * std::size_t(columns), std::size_t(columns));
  }
  std::span<const float> scoresOf(const Floats &scores, std::size_t number) const {
    return scores.empty() ? std::span<const float>() : row(scores, number, model_.experts.count);
  }
  /// See swapOf; 0 for a layer without a mixture. What a router multiplies has the same size for each
  /// token, and so have its errors, however small the scores of one token happen to be.
  double swap(std::size_t layer, std::span<const float> scores, double square) const {
    if (scores.empty())
      return 0;
    const auto all = scores_.find(layer);
    const double size =
        std::max(rootMeanSquare(scores), all == scores_.end() ? 0 : rootMeanSquare(all->second));
    return swapOf(model_, model_.layer[layer].experts->choiceBias, scores,
                  std::sqrt(square) * size);
  }

  std::span<const float> tokensOf(const Floats &all, std::size_t number) const {
    return all.empty() ? std::span<const float>() : row(all, number, engine_.context());
  }
  std::span<const float> groupsOf(const Floats &all, std::size_t number) const {
    return all.empty() ? std::span<const float>() : row(all, number, model_.delta.groups());
  }
  /// What a layer with states adds to the square of how far a token may be off. `groups`: how large what
  /// was normalised of the token was, as 1 / the root mean square of each group.
  double ofStates(std::size_t layer, std::size_t tokens, std::span<const float> groups) {
    const double ofFew = model_.delta.isSum ? 0 : kOfState / double(tokens);
    std::vector<Floats> &all = sizes_[layer];
    all.resize(groups.size());
    double smaller = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      all[i].push_back(groups[i]);
      Floats sorted = all[i];
      const auto middle = sorted.begin() + std::ptrdiff_t(sorted.size() / 2);
      std::ranges::nth_element(sorted, middle);
      smaller += std::pow(std::max(1.0, double(groups[i]) / double(*middle)), 2);
    }
    return std::max(ofFew, kOfGroup * smaller / double(groups.size()));
  }

  static double meanOf(std::span<const double> squares) {
    return std::accumulate(squares.begin(), squares.end(), 0.0) / double(squares.size());
  }
  /// The tokens that the convolution of a layer with states looks at, and such a state most.
  std::span<const double> recent(std::span<const double> seen) const {
    return seen.last(std::min(seen.size(), std::size_t(model_.delta.taps)));
  }

  void hidden(std::size_t layer, const Engine::Row &at, std::span<const float> found,
              std::span<const float> scores, std::span<const float> groups,
              std::span<const float> tokens) {
    const Expected &expected = expected_[std::size_t(at.sequence)];
    const std::size_t token = std::size_t(at.position);
    const auto wanted = row(expected.hidden[layer], token, model_.width);
    Floats off(found.begin(), found.end());
    for (std::size_t i = 0; i < off.size(); ++i)
      off[i] -= wanted[i];
    const double error = rootMeanSquare(off) / rootMeanSquare(wanted);

    auto &squares = prompts_[std::size_t(at.sequence)].squares;
    double square = model_.rounded ? kOfRoundedEmbedding : kOfEmbedding, swapped = 0, chosen = 0;
    if (layer > 0) {
      const std::vector<double> &before = squares[layer - 1];
      const auto seen = std::span(before).first(token + 1);
      const bool isLinear = model_.mixing[layer - 1] == Mixing::delta;
      const double own = before[token],
                   added = own + kOfLayer * weights_ +
                           (isLinear ? ofStates(layer - 1, seen.size(), groups) : 0) +
                           std::max(meanOf(seen), isLinear ? meanOf(recent(seen)) : 0.0);
      // What the last layer adds is not known: as if it were all of the sum.
      double ofOwn = 0, ofAdded = 1, ofNorm = kOfLastNorm * weights_;
      if (layer < std::size_t(model_.layers)) {
        const auto entered = row(expected.hidden[layer - 1], token, model_.width);
        Floats difference(wanted.begin(), wanted.end());
        for (std::size_t i = 0; i < difference.size(); ++i)
          difference[i] -= entered[i];
        const double sum = rootMeanSquare(wanted);
        ofOwn = std::pow(rootMeanSquare(entered) / sum, 2);
        ofAdded = std::pow(rootMeanSquare(difference) / sum, 2);
        ofNorm = 0;
      }
      square = own * ofOwn + added * ofAdded + ofNorm;
      swapped = swap(layer - 1, scores, added) * ofAdded;
      chosen = choiceOf(model_, tokens, std::sqrt(added)) * ofAdded;
      swapped_[layer - 1] = std::max(swapped_[layer - 1], ofAdded);
    }
    const double most = std::pow(kDeviationsOfRow, 2);
    const bool isOther = swapped + chosen > 0 && error * error > most * square;
    if (isOther) { // another expert, or another token
      ++(chosen > 0 ? choices_ : swaps_);
      square += std::min(error * error, swapped + chosen);
    }
    // What follows is judged by what has come so far.
    squares[layer][token] = std::max(square, error * error);
    const double part = error / std::sqrt(most * square);
    double &worst = isOther ? worstOther_ : worstHidden_;
    worst = part <= worst ? worst : part; // a NaN is kept
    if (!(part <= 1))
      wrong("prompt %d, token %d: what enters layer %d is off by %.3g of what rounding allows\n",
            at.sequence, at.position, int(layer), part);
  }

  /// The square of how far the logits may be off that a sequence's last token gives.
  double squareOfLast(std::size_t prompt, std::size_t step) {
    Prompt &of = prompts_[prompt];
    if (step == 0)
      return of.squares.back().back();
    // A token that was added is like those of the prompt, and may have had other experts.
    std::vector<double> ordinary = of.squares.back();
    std::ranges::nth_element(ordinary, ordinary.begin() + std::ptrdiff_t(ordinary.size() / 2));
    double square = std::max(ordinary[ordinary.size() / 2], of.squares.back().back()) +
                    of.ofSteps / double(of.squares.back().size() + step),
           swaps = 0, choices = 0;
    for (std::size_t layer = 0; layer < std::size_t(model_.layers); ++layer) {
      const Floats scores = engine_.scores(std::int64_t(layer));
      swaps += swap(layer, scoresOf(scores, prompt), square) * swapped_[layer];
      const Floats tokens = engine_.indexScores(std::int64_t(layer));
      choices += choiceOf(model_, tokensOf(tokens, prompt), std::sqrt(square)) * swapped_[layer];
    }
    allowedSwaps_ += swaps > 0;
    allowedChoices_ += choices > 0;
    swaps += choices;
    for (std::size_t layer = 0; layer < std::size_t(model_.layers); ++layer)
      if (model_.delta.isSum && model_.mixing[layer] == Mixing::delta) {
        const Floats groups = engine_.groups(std::int64_t(layer));
        swaps += ofStates(layer, 1, groupsOf(groups, prompt)) * swapped_[layer];
      }
    of.ofSteps += swaps;
    return square + swaps;
  }
  void logits(std::size_t prompt, std::size_t step) {
    const auto wanted = row(expected_[prompt].logits, step, model_.vocabulary);
    const Floats found = engine_.logits(int(prompt));
    const double allowed =
        kDeviationsOfLogit * std::sqrt(squareOfLast(prompt, step)) * rootMeanSquare(wanted);
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
  const double weights_ = model_.rounded ? kOfRoundedWeights : 1;
  const std::vector<Expected> &expected_;
  std::vector<Prompt> prompts_;
  std::vector<double> swapped_; ///< of each layer: what it adds as a part of the sum, squared
  /// Of each layer with states and group: 1 / the root mean square of what it normalised so far.
  std::map<std::size_t, std::vector<Floats>> sizes_;
  std::map<std::size_t, Floats> scores_; ///< of the routers of each layer, of all tokens so far
  bool right_ = true;
  int equal_ = 0, near_ = 0, swaps_ = 0, allowedSwaps_ = 0, choices_ = 0, allowedChoices_ = 0;
  double worstHidden_ = 0, worstOther_ = 0, worstLogit_ = 0, worstDifference_ = 0;
};

} // namespace decoder
