// Graphs that come again are captured, with the memory that their ops have between kernels.
#include "graphs.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>

TEST_CASE("a product that needs several pieces of scratch memory is captured the second time") {
  // Sixteen short columns, and 2 MiB of numbers made of blocks: they do not fit one piece of memory that
  // is sized for either.
  constexpr std::int64_t rows = 8192, inner = 128, columns = 16;
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
