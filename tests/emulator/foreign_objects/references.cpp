#include "references.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace foreign {

namespace {

using Vector = std::vector<double>;
using Slots = std::vector<std::optional<double>>;

std::size_t at(int n) { return static_cast<std::size_t>(n); }

void add(const Case &c) {
  for (int i = 0; i < c.size("n"); ++i)
    c.out["z"][at(i)] = c.in.at("x")[at(i)] + c.in.at("y")[at(i)];
}

/// The softmax of scores, in place.
void softmaxOf(Vector &scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double &s : scores)
    sum += s = std::exp(s - largest);
  for (double &s : scores)
    s /= sum;
}

void softmax(const Case &c) {
  const int columns = c.size("columns");
  for (int row = 0; row < c.size("rows"); ++row) {
    const auto first = c.in.at("x").begin() + row * columns;
    Vector values(first, first + columns);
    softmaxOf(values);
    std::copy(values.begin(), values.end(), c.out["y"].begin() + row * columns);
  }
}

void layerNorm(const Case &c) {
  const int columns = c.size("columns");
  for (int row = 0; row < c.size("rows"); ++row) {
    const double *x = &c.in.at("x")[at(row * columns)];
    double mean = 0, variance = 0;
    for (int j = 0; j < columns; ++j)
      mean += x[j] / columns;
    for (int j = 0; j < columns; ++j)
      variance += (x[j] - mean) * (x[j] - mean) / columns;
    for (int j = 0; j < columns; ++j)
      c.out["y"][at(row * columns + j)] =
          (x[j] - mean) / std::sqrt(variance + 1) * c.in.at("weight")[at(j)] +
          c.in.at("bias")[at(j)];
  }
}

/// Sum, largest, smallest, place of the largest, exclusive or.
void reduce(const Case &c) {
  const int columns = c.size("columns");
  for (int row = 0; row < c.size("rows"); ++row) {
    const auto first = c.in.at("x").begin() + row * columns, last = first + columns;
    double sum = 0;
    std::int32_t bits = 0;
    for (auto x = first; x != last; ++x) {
      sum += *x;
      bits ^= static_cast<std::int32_t>(*x);
    }
    const double results[] = {sum, *std::max_element(first, last), *std::min_element(first, last),
                              double(std::max_element(first, last) - first), double(bits)};
    std::copy(std::begin(results), std::end(results), c.out["out"].begin() + 5 * row);
  }
}

/// Element (k, j) of B is at `atB`.
template <class AtB> void product(const Case &c, AtB atB) {
  const int M = c.size("M"), N = c.size("N"), K = c.size("K");
  const Vector &a = c.in.at("a"), &b = c.in.at("b");
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += a[at(i * K + k)] * b[at(atB(k, j))];
      c.out["c"][at(i * N + j)] = sum;
    }
}

void matmul(const Case &c) {
  product(c, [n = c.size("N")](int k, int j) { return k * n + j; });
}

/// B is (N, K).
void matmulNT(const Case &c) {
  product(c, [K = c.size("K")](int k, int j) { return j * K + k; });
}

/// Both operands have a scale for each 32 in k; elements (i, k) of A and (j, k) of B are at `atA`
/// and `atB`.
template <class AtA, class AtB> void scaledProduct(const Case &c, AtA atA, AtB atB) {
  const int M = c.size("M"), N = c.size("N"), K = c.size("K");
  const Vector &a = c.in.at("a"), &b = c.in.at("b"), &scaleA = c.in.at("a_scale"),
               &scaleB = c.in.at("b_scale");
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += a[at(atA(i, k))] * scaleA[at(i * (K / 32) + k / 32)] * b[at(atB(j, k))] *
               scaleB[at(j * (K / 32) + k / 32)];
      c.out["c"][at(i * N + j)] = sum;
    }
}

/// A is (M, K), B is (N, K).
void scaledMatmul(const Case &c) {
  const auto along = [K = c.size("K")](int row, int k) { return row * K + k; };
  scaledProduct(c, along, along);
}

/// A is (K, M), B is (K, N).
void scaledMatmulTN(const Case &c) {
  scaledProduct(
      c, [M = c.size("M")](int i, int k) { return k * M + i; },
      [N = c.size("N")](int j, int k) { return k * N + j; });
}

/// A is (M, K), B is (K, N).
void scaledMatmulNN(const Case &c) {
  scaledProduct(
      c, [K = c.size("K")](int i, int k) { return i * K + k; },
      [N = c.size("N")](int j, int k) { return k * N + j; });
}

void transpose(const Case &c) {
  const int M = c.size("M"), N = c.size("N");
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      c.out["y"][at(j * M + i)] = c.in.at("x")[at(i * N + j)];
}

void histogram(const Case &c) {
  Slots &counts = c.out["counts"];
  std::fill(counts.begin(), counts.end(), 0.0);
  for (int i = 0; i < c.size("n"); ++i)
    *counts[at(static_cast<int>(c.in.at("x")[at(i)]))] += 1;
}

/// Sums of what lies before and with an element; the largest of it and what lies behind it.
void scan(const Case &c) {
  const int columns = c.size("columns");
  for (int row = 0; row < c.size("rows"); ++row) {
    const double *x = &c.in.at("x")[at(row * columns)];
    double sum = 0, largest = x[columns - 1];
    for (int j = 0; j < columns; ++j)
      c.out["sums"][at(row * columns + j)] = sum += x[j];
    for (int j = columns - 1; j >= 0; --j)
      c.out["largest"][at(row * columns + j)] = largest = std::max(largest, x[j]);
  }
}

/// Through memory into y, between lanes into z.
void gather(const Case &c) {
  for (int i = 0; i < c.size("n"); ++i)
    for (const char *to : {"y", "z"})
      c.out[to][at(i)] = c.in.at("x")[at(static_cast<int>(c.in.at("index")[at(i)]))];
}

void sort(const Case &c) {
  const int columns = c.size("columns");
  for (int row = 0; row < c.size("rows"); ++row) {
    const auto first = c.in.at("x").begin() + row * columns;
    Vector values(first, first + columns);
    std::sort(values.begin(), values.end());
    std::copy(values.begin(), values.end(), c.out["y"].begin() + row * columns);
  }
}

/// Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3"), the counter
/// (n, 0, 0, 0) and the key (seed, 0).
std::array<std::uint32_t, 4> philox(std::uint32_t n, std::uint32_t seed) {
  std::array<std::uint32_t, 4> x{n, 0, 0, 0};
  std::uint32_t key[2] = {seed, 0};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t(0xD2511F53) * x[0], b = std::uint64_t(0xCD9E8D57) * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

void random(const Case &c) {
  for (int i = 0; i < c.size("n"); ++i) {
    const auto x =
        philox(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(c.size("seed")));
    for (std::size_t part = 0; part < 4; ++part)
      c.out["out"][at(i) * 4 + part] = static_cast<std::int32_t>(x[part]);
  }
}

void cast(const Case &c) {
  const Vector &x = c.in.at("x");
  for (std::size_t i = 0; i < x.size(); ++i)
    c.out["y"][i] = c.round("y", x[i]);
}

void norm(const Case &c) {
  const int columns = c.size("columns");
  for (int row = 0; row < c.size("rows"); ++row) {
    double sum = 0;
    for (int j = 0; j < columns; ++j)
      sum += c.in.at("x")[at(row * columns + j)] * c.in.at("x")[at(row * columns + j)];
    c.out["out"][at(row)] = std::sqrt(sum);
  }
}

/// softmax(q k^T / 8) v, of (rows, width), (keys, width), (keys, width).
void attention(const Case &c) {
  const int keys = c.size("keys"), width = c.size("width");
  const Vector &q = c.in.at("q"), &k = c.in.at("k"), &v = c.in.at("v");
  for (int i = 0; i < c.size("rows"); ++i) {
    Vector scores(at(keys));
    for (int j = 0; j < keys; ++j)
      for (int w = 0; w < width; ++w)
        scores[at(j)] += q[at(i * width + w)] * k[at(j * width + w)] / 8;
    softmaxOf(scores);
    for (int w = 0; w < width; ++w) {
      double sum = 0;
      for (int j = 0; j < keys; ++j)
        sum += scores[at(j)] * v[at(j * width + w)];
      c.out["out"][at(i * width + w)] = sum;
    }
  }
}

} // namespace

const References &tensorReferences() {
  static const References all = {
      {"add", add},
      {"softmax", softmax},
      {"layer_norm", layerNorm},
      {"reduce", reduce},
      {"matmul", matmul},
      {"matmul_nt", matmulNT},
      {"scaled_matmul", scaledMatmul},
      {"scaled_matmul_tn", scaledMatmulTN},
      {"scaled_matmul_nn", scaledMatmulNN},
      {"transpose", transpose},
      {"histogram", histogram},
      {"scan", scan},
      {"gather", gather},
      {"sort", sort},
      {"random", random},
      {"cast", cast},
      {"norm", norm},
      {"attention", attention},
  };
  return all;
}

void reference(std::string_view name, const Case &c) {
  for (const References *references : {&tensorReferences(), &hipReferences()})
    if (const auto found = references->find(name); found != references->end())
      return found->second(c);
  throw std::invalid_argument("no reference " + std::string(name));
}

} // namespace foreign
