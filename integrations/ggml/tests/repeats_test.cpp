// Graphs that come again are captured, with the memory that their ops have between kernels.
#include "graphs.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <memory>

TEST_CASE("a product that needs several pieces of scratch memory is captured the second time") {
  // Short columns, as many as a plan takes, and 2 MiB of numbers made of blocks: they do not fit one piece
  // of memory that is sized for either.
  constexpr std::int64_t rows = 8192, inner = 128, columns = 65;
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context(
      ggml_init({.mem_size = 8 * ggml_tensor_overhead() + ggml_graph_overhead(),
                 .mem_buffer = nullptr,
                 .no_alloc = true}));
  ggml_tensor *w = ggml_new_tensor_2d(context.get(), GGML_TYPE_Q4_0, inner, rows),
              *x = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, inner, columns);
  ggml_tensor *y = ggml_mul_mat(context.get(), w, x);
  for (int i = 0; i < 3; ++i)
    y = ggml_scale_bias(context.get(), y, 2, 1);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, y);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));

  const auto numbersOfWeights = numbers(rows * inner, 0), inputs = numbers(inner * columns, 7);
  std::vector<std::uint8_t> blocks(ggml_nbytes(w));
  ggml_quantize_chunk(GGML_TYPE_Q4_0, numbersOfWeights.data(), blocks.data(), 0, rows, inner,
                      nullptr);
  ggml_backend_tensor_set(w, blocks.data(), 0, blocks.size());
  ggml_backend_tensor_set(x, inputs.data(), 0, ggml_nbytes(x));

  const Log log;
  std::vector<float> first(rows * columns), next(first.size());
  for (int round = 0; round < 3; ++round) {
    const ggml_status status = ggml_backend_graph_compute(backend.get(), graph);
    INFO(log.text());
    REQUIRE(status == GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(y, round ? next.data() : first.data(), 0, ggml_nbytes(y));
    if (round)
      CHECK(next == first);
  }
  CHECK(std::isfinite(first.back()));
  CHECK(first.back() != 0);
  CHECK_FALSE(log.has("launched node by node"));
}

TEST_CASE("graphs that come in turns are captured, each once") {
  constexpr std::int64_t count = 256;
  const ggml_backend_ptr backend = backendOn();
  const Log log;
  const auto computed = [&](const std::vector<std::unique_ptr<Chain>> &chains, int round) {
    for (const auto &chain : chains) {
      const auto x = numbers(count, round);
      std::vector<float> y(x.size());
      ggml_backend_tensor_set(chain->x(), x.data(), 0, chain->bytes());
      REQUIRE(chain->compute(backend.get()) == GGML_STATUS_SUCCESS);
      ggml_backend_tensor_get(chain->y(), y.data(), 0, chain->bytes());
      CHECK(y == chain->of(x));
    }
  };
  const auto chainsOf = [&](std::size_t n, int rounds) {
    std::vector<std::unique_ptr<Chain>> chains;
    while (chains.size() < n)
      chains.push_back(std::make_unique<Chain>(0, count, rounds));
    return chains;
  };
  const auto three = chainsOf(3, 5);
  for (int round = 0; round < 4; ++round)
    computed(three, round);
  CHECK(log.count("a graph of 5 nodes is captured") == 3);

  // Eight are kept: the sixth of these takes the place of the one that was used longest ago, the first of
  // the three. It is launched once, and is captured again the next time; the other two never are.
  const auto six = chainsOf(6, 6);
  for (int round = 0; round < 2; ++round) {
    computed(six, round);
    computed(three, 10 + round);
  }
  CHECK(log.count("a graph of 6 nodes is captured") == 6);
  CHECK(log.count("a graph of 5 nodes is captured") == 3);
  computed(three, 12);
  CHECK(log.count("a graph of 5 nodes is captured") == 4);
  computed(three, 13);
  CHECK(log.count("a graph of 5 nodes is captured") == 4);
  // That one took the place of the first of the six, and is the longest unused when it comes back.
  for (int round = 2; round < 4; ++round)
    computed(six, round);
  CHECK(log.count("a graph of 6 nodes is captured") == 7);
  // More than are kept: they are launched, or captured again, and are right.
  const auto many = chainsOf(12, 4);
  for (int round = 0; round < 3; ++round)
    computed(many, round);
  CHECK_FALSE(log.has("launched node by node"));
}
