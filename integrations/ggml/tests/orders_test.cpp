// Orders of rows of every length for which the backend has a way of its own, with equal values, infinities
// and NaN: equal ones keep their order, and each element of a row stands in its order once.
#include "graphs.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace {

/// Few different values, so that many are equal, those of both zeros among them.
std::vector<float> values(std::int64_t n) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> all;
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 1664525 + 1013904223;
    const auto of = static_cast<int>(state >> 24);
    all.push_back(of < 8    ? infinity
                  : of < 16 ? -infinity
                  : of < 32 ? -0.0f
                  : of < 48 ? 0.0f
                  : of < 50 ? std::numeric_limits<float>::quiet_NaN()
                            : std::ldexp(static_cast<float>(of - 150), of % 40 - 20));
  }
  return all;
}
/// The numbers of a row's elements in order. A NaN is the largest.
std::vector<std::int32_t> expected(const float *row, std::int64_t n, bool descending) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](std::int32_t a, std::int32_t b) {
    return std::isnan(row[b]) ? !std::isnan(row[a]) : row[a] < row[b];
  };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const bool before = descending ? less(b, a) : less(a, b),
               after = descending ? less(a, b) : less(b, a);
    return before || (!after && a < b);
  });
  return order;
}

/// Rows of an input with gaps between them, as those of a view have.
struct Rows {
  ggml_backend_ptr backend = backendOn();
  ggml_context_ptr context = contextOf(8);
  std::int64_t n, rows, distance;
  ggml_tensor *memory, *x;

  Rows(std::int64_t n, std::int64_t rows)
      : n(n), rows(rows), distance(n + 3),
        memory(ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, distance, rows)),
        x(ggml_view_2d(context.get(), memory, n, rows, memory->nb[1], sizeof(float))) {}

  void check(ggml_tensor *order, bool descending, std::size_t kernels) {
    ggml_cgraph *graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, order);
    const ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
    const std::vector<float> all = values(distance * rows);
    ggml_backend_tensor_set(memory, all.data(), 0, ggml_nbytes(memory));
    CHECK(kernelsOf(backend.get(), graph).size() == kernels);
    const std::int64_t kept = order->ne[0];
    std::vector<std::int32_t> found(static_cast<std::size_t>(kept * rows));
    ggml_backend_tensor_get(order, found.data(), 0, ggml_nbytes(order));
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<std::int32_t> of = expected(all.data() + r * distance + 1, n, descending);
      of.resize(static_cast<std::size_t>(kept));
      const auto at = found.begin() + r * kept;
      INFO("row " << r);
      CHECK(std::vector(at, at + kept) == of);
    }
  }
};

} // namespace

TEST_CASE("orders of rows of all lengths") {
  struct Case {
    std::int64_t n;
    std::size_t kernels;
  };
  // By counting; by a block; by four digits with blocks for each part, three launches a digit.
  const Case of = GENERATE(Case{1, 1}, Case{64, 1}, Case{65, 1}, Case{257, 1}, Case{4096, 1},
                           Case{4097, 12}, Case{6145, 12});
  const ggml_sort_order order = GENERATE(GGML_SORT_ORDER_ASC, GGML_SORT_ORDER_DESC);
  INFO(of.n << " elements, " << (order == GGML_SORT_ORDER_DESC ? "descending" : "ascending"));
  Rows rows(of.n, 3);
  rows.check(ggml_argsort(rows.context.get(), rows.x, order), order == GGML_SORT_ORDER_DESC,
             of.kernels);
}

TEST_CASE("the largest elements of rows of all lengths") {
  struct Case {
    std::int64_t n, k;
    std::size_t kernels;
  };
  // Of several parts the first of each are sorted again, until they are one part; where that would not
  // halve them, all are sorted.
  const Case of = GENERATE(Case{50, 7, 1}, Case{300, 300, 1}, Case{4096, 40, 1}, Case{9000, 40, 2},
                           Case{9000, 2048, 3}, Case{9000, 2049, 12});
  INFO(of.k << " of " << of.n << " elements");
  Rows rows(of.n, 2);
  rows.check(ggml_top_k(rows.context.get(), rows.x, static_cast<int>(of.k)), true, of.kernels);
}
