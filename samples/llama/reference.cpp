#include "reference.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace fk = flydsl::kernels;

namespace llama {
namespace {

using Rows = std::vector<double>;

std::vector<double> weightsOf(const Matrix &matrix, std::int64_t row) {
  const fk::GgmlBlock block = fk::ggml_block(matrix.format);
  const std::int64_t blocks = matrix.columns / block.weights;
  std::vector<double> weights(static_cast<std::size_t>(matrix.columns));
  fk::dequantise(matrix.format, matrix.data + row * blocks * block.bytes, blocks, weights.data());
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

double dot(const double *a, const double *b, std::int64_t n) {
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
Rows product(const Matrix &matrix, const Rows &x) {
  const std::int64_t k = matrix.columns, m = std::int64_t(x.size()) / k;
  Rows y(std::size_t(m * matrix.rows));
  inParallel(matrix.rows, [&](std::int64_t row) {
    const std::vector<double> weights = weightsOf(matrix, row);
    for (std::int64_t i = 0; i < m; ++i)
      y[std::size_t(i * matrix.rows + row)] = dot(&x[std::size_t(i * k)], weights.data(), k);
  });
  return y;
}

Rows normalised(const Rows &x, std::span<const float> weight, double eps) {
  const std::size_t n = weight.size();
  Rows y(x.size());
  for (std::size_t row = 0; row < x.size(); row += n) {
    const double mean = dot(&x[row], &x[row], std::int64_t(n)) / double(n);
    for (std::size_t i = 0; i < n; ++i)
      y[row + i] = x[row + i] / std::sqrt(mean + eps) * double(weight[i]);
  }
  return y;
}

/// Pairs of neighbours of each head turn by an angle that grows with the position, the row's number.
void rotate(Rows &x, std::int64_t heads, const Model &model) {
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
Rows attention(const Rows &q, const Rows &k, const Rows &v, const Model &model) {
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

void add(Rows &x, const Rows &more) {
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += more[i];
}

} // namespace

Reference reference(const Model &model, std::span<const int> tokens, std::size_t last) {
  Reference result;
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
    result.layers.push_back(x);
  }
  const std::size_t from = x.size() - last * std::size_t(model.width);
  x.erase(x.begin(), x.begin() + std::ptrdiff_t(from));
  result.logits = product(model.logits, normalised(x, model.finalNorm, model.eps));
  return result;
}

double toleranceAfter(std::int64_t layers) { return 0x1p-11 * std::sqrt(8.0 * double(layers) + 2); }

} // namespace llama
