// The engine's layers and tokens beside those of double precision.
#pragma once

#include "engines.h"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace llama {

/// A text and what the model adds to it.
struct Text {
  std::vector<int> tokens;
  std::size_t prompt;  ///< tokens that it began with
  std::size_t checked; ///< tokens that were compared
  bool ended = false;
};

using Rows = std::vector<double>;

inline Rows weightsOf(const Matrix &matrix, std::int64_t row) {
  const fk::GgmlBlock block = fk::ggml_block(matrix.format);
  const std::int64_t blocks = matrix.columns / block.weights;
  Rows weights(std::size_t(matrix.columns));
  fk::dequantise(matrix.format, matrix.row(row), blocks, weights.data());
  return weights;
}

/// Runs body(i) for i from 0 to below count, on all processors.
template <class F> void inParallel(std::int64_t count, F body) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([=] {
      for (std::int64_t i = t; i < count; i += threads)
        body(i);
    });
  for (std::thread &worker : workers)
    worker.join();
}

inline double dot(const double *a, const double *b, std::int64_t n) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i)
    sums[0] += a[i] * b[i];
  double sum = 0;
  for (double part : sums)
    sum += part;
  return sum;
}

/// Each row of x times each row of weights.
inline Rows product(const Matrix &matrix, const Rows &x) {
  const std::int64_t k = matrix.columns, m = std::int64_t(x.size()) / k;
  Rows y(std::size_t(m * matrix.rows));
  inParallel(matrix.rows, [&](std::int64_t row) {
    const std::vector<double> weights = weightsOf(matrix, row);
    for (std::int64_t i = 0; i < m; ++i)
      y[std::size_t(i * matrix.rows + row)] = dot(&x[std::size_t(i * k)], weights.data(), k);
  });
  return y;
}

inline Rows normalised(const Rows &x, std::span<const float> weight, double eps) {
  const std::size_t n = weight.size();
  Rows y(x.size());
  for (std::size_t row = 0; row < x.size(); row += n) {
    const double mean = dot(&x[row], &x[row], std::int64_t(n)) / double(n);
    for (std::size_t i = 0; i < n; ++i)
      y[row + i] = x[row + i] / std::sqrt(mean + eps) * double(weight[i]);
  }
  return y;
}

/// Pairs of neighbours of each head turn by an angle that grows with
/// the position, the row's number.
inline void rotate(Rows &x, std::int64_t heads, const Model &model) {
  const std::int64_t across = heads * model.head;
  for (std::int64_t at = 0; at < std::int64_t(x.size()); at += 2) {
    const std::int64_t position = at / across, pair = at % model.head / 2;
    const double angle =
        double(position) * std::pow(model.ropeBase, -2.0 * double(pair) / double(model.head));
    double &a = x[std::size_t(at)], &b = x[std::size_t(at + 1)];
    const double turned = a * std::cos(angle) - b * std::sin(angle);
    b = b * std::cos(angle) + a * std::sin(angle);
    a = turned;
  }
}

/// Each token looks at those up to itself.
inline Rows attention(const Rows &q, const Rows &k, const Rows &v, const Model &model) {
  const std::int64_t head = model.head, across = model.heads * head, acrossK = model.kvHeads * head,
                     tokens = std::int64_t(q.size()) / across;
  Rows y(q.size());
  inParallel(tokens * model.heads, [&](std::int64_t job) {
    const std::int64_t token = job / model.heads, h = job % model.heads,
                       kvHead = h / (model.heads / model.kvHeads);
    std::vector<double> weights;
    for (std::int64_t j = 0; j <= token; ++j)
      weights.push_back(dot(&q[std::size_t(token * across + h * head)],
                            &k[std::size_t(j * acrossK + kvHead * head)], head) /
                        std::sqrt(double(head)));
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double &weight : weights)
      sum += weight = std::exp(weight - largest);
    for (std::int64_t j = 0; j <= token; ++j)
      for (std::int64_t i = 0; i < head; ++i)
        y[std::size_t(token * across + h * head + i)] +=
            weights[std::size_t(j)] / sum * v[std::size_t(j * acrossK + kvHead * head + i)];
  });
  return y;
}

inline void add(Rows &x, const Rows &more) {
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += more[i];
}

/// How far numbers after `layers` layers may be from the reference, as a part of their root mean
/// square. The engine rounds to half precision the operands of matrix products (prompts), the
/// cache, and what goes into attention and comes out of it: about eight roundings a layer of at
/// most 2^-11 each, which add up like independent errors.
inline double toleranceAfter(std::int64_t layers) {
  return 0x1p-11 * std::sqrt(8.0 * double(layers) + 2);
}

inline double rootMeanSquare(std::span<const double> x) {
  double sum = 0;
  for (double value : x)
    sum += value * value;
  return std::sqrt(sum / double(x.size()));
}

/// The model in double precision on the host, from the exact weights of the file.
struct Reference {
  /// Takes a whole text at once; `last` tokens of it get logits.
  Reference(const Model &model, std::span<const int> tokens, std::size_t last) {
    Rows x;
    for (int token : tokens) {
      const std::vector<double> row = weightsOf(model.embedding, token);
      x.insert(x.end(), row.begin(), row.end());
    }
    for (const Layer &layer : model.layer) {
      Rows y = normalised(x, layer.attentionNorm, model.eps);
      Rows q = product(layer.q, y), k = product(layer.k, y);
      const Rows v = product(layer.v, y);
      rotate(q, model.heads, model);
      rotate(k, model.kvHeads, model);
      add(x, product(layer.output, attention(q, k, v, model)));
      y = normalised(x, layer.mlpNorm, model.eps);
      Rows gate = product(layer.gate, y);
      const Rows up = product(layer.up, y);
      for (std::size_t i = 0; i < gate.size(); ++i)
        gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      add(x, product(layer.down, gate));
      layers.push_back(x);
    }
    const std::size_t from = x.size() - last * std::size_t(model.width);
    x.erase(x.begin(), x.begin() + std::ptrdiff_t(from));
    logits = product(model.logits, normalised(x, model.finalNorm, model.eps));
  }
  /// The rows of numbers after each layer, one row of `width` for each token.
  std::vector<std::vector<double>> layers;
  /// For the token after each of the last tokens: a row of `vocabulary` for each.
  std::vector<double> logits;
};

/// Compares, and prints what it finds.
class Checker {
public:
  Checker(const Model &model, Engines &engines) : model_(model), engines_(engines) {}

  /// Runs the first tokens, `most` of them, and compares what each layer gives.
  void layers(std::vector<int> tokens, int most) {
    tokens.resize(std::min(tokens.size(), std::size_t(most)));
    const Reference expected(model_, tokens, 1);
    double worst = 0;
    engines_.first().afterLayer = [&](std::int64_t layer, std::span<const float> rows) {
      const std::vector<double> &wanted = expected.layers[std::size_t(layer)];
      std::vector<double> off;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        off.push_back(double(rows[i]) - wanted[i]);
      const double part = rootMeanSquare(off) / rootMeanSquare(wanted) / toleranceAfter(layer + 1);
      worst = std::max(worst, part);
      if (!(part <= 1)) {
        std::printf("layer %d is off by %.3g of what rounding allows\n", int(layer), part);
        right_ = false;
      }
    };
    engines_.end(engines_.begin(tokens));
    engines_.first().afterLayer = nullptr;
    std::printf("layers: %.3g of what rounding allows\n", worst);
  }
  /// Compares the tokens of a text that were not yet. Where two logits are closer than rounding
  /// allows, either is right: the text is then cut after the reference's token, to go on from
  /// there. Returns whether it was cut.
  bool text(Text &text) {
    const std::size_t from = std::exchange(text.checked, text.tokens.size());
    const std::size_t added = text.tokens.size() - from, columns = std::size_t(model_.vocabulary);
    const Reference expected(model_, std::span(text.tokens).first(text.tokens.size() - 1), added);
    for (std::size_t i = 0; i < added; ++i) {
      const auto row = std::span(expected.logits).subspan(i * columns, columns);
      const int best = int(std::max_element(row.begin(), row.end()) - row.begin());
      int &token = text.tokens[from + i];
      if (token == best) {
        ++equal_;
        continue;
      }
      // Both logits may be off, by five deviations each.
      const double gap = row[std::size_t(best)] - row[std::size_t(token)];
      const bool close = gap <= 2 * 5 * toleranceAfter(model_.layers) * rootMeanSquare(row);
      right_ &= close;
      std::printf("token %zu: %d has a logit %.3g below that of %d, %s\n", from + i, token, gap,
                  best,
                  close ? "as close as rounding: the reference's is taken" : "which is WRONG");
      token = best;
      ++near_;
      text.tokens.resize(from + i + 1);
      text.checked = text.tokens.size();
      return true;
    }
    return false;
  }
  /// Prints what was found, and returns whether all was right.
  bool report() const {
    std::printf("%zu tokens are those of double precision, %zu are others\n%s\n", equal_, near_,
                right_ ? "PASS" : "FAIL");
    return right_;
  }

private:
  const Model &model_;
  Engines &engines_;
  bool right_ = true;
  std::size_t equal_ = 0, near_ = 0;
};

} // namespace llama
