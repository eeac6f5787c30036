// Products of one column, as a step of decoding has them, are computed in f32 from the weights' exact
// values, wherever the column begins.
#include "graphs.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

constexpr std::int64_t kRows = 96, kInner = 512;

struct Weights {
  std::vector<std::uint8_t> blocks;
  std::vector<float> exact;

  Weights(ggml_type type, int first) {
    std::vector<float> numbers(kRows * kInner);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>((i * 37 + first) % 101) / 64 - 0.75f;
    blocks.resize(kRows * ggml_row_size(type, kInner));
    ggml_quantize_chunk(type, numbers.data(), blocks.data(), 0, kRows, kInner, nullptr);
    exact.resize(numbers.size());
    ggml_get_type_traits(type)->to_float(blocks.data(), exact.data(), kRows * kInner);
  }
  /// The product of a row with x, and what a sum of f32 in any order is off by at most. The sum of a row
  /// of codes and that of an offset may stand apart: each is no larger than the largest weight.
  struct Sum {
    double value = 0, bound = 0;
  };
  Sum row(std::int64_t r, const float *x) const {
    const float *w = exact.data() + r * kInner;
    double largest = 0;
    for (std::int64_t k = 0; k < kInner; ++k)
      largest = std::max<double>(largest, std::abs(w[k]));
    Sum sum;
    for (std::int64_t k = 0; k < kInner; ++k) {
      sum.value += static_cast<double>(w[k]) * x[k];
      sum.bound += (std::abs(w[k]) + 2 * largest) * std::abs(x[k]);
    }
    sum.bound *= kInner * std::ldexp(1, -24);
    return sum;
  }
};

} // namespace

TEST_CASE("a column times weights in blocks, and GLU of two such products") {
  const ggml_type type = GENERATE(GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K,
                                  GGML_TYPE_MXFP4, GGML_TYPE_F16);
  const ggml_glu_op function = GENERATE(GGML_GLU_OP_SWIGLU, GGML_GLU_OP_GEGLU_QUICK);
  const std::int64_t begin = GENERATE(0, 1); // a place that the plan of the library does not take
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context(
      ggml_init({.mem_size = 16 * ggml_tensor_overhead() + ggml_graph_overhead(),
                 .mem_buffer = nullptr,
                 .no_alloc = true}));
  ggml_tensor *gate = ggml_new_tensor_2d(context.get(), type, kInner, kRows),
              *up = ggml_new_tensor_2d(context.get(), type, kInner, kRows),
              *memory = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, kInner + 1);
  ggml_tensor *x = ggml_view_2d(context.get(), memory, kInner, 1, kInner * sizeof(float),
                                static_cast<std::size_t>(begin) * sizeof(float));
  ggml_tensor *product = ggml_mul_mat(context.get(), gate, x),
              *other = ggml_mul_mat(context.get(), up, x),
              *glu = ggml_glu_split(context.get(), ggml_mul_mat(context.get(), gate, x), other,
                                    function);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, product);
  ggml_build_forward_expand(graph, glu);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  const Weights first(type, 0), second(type, 5);
  ggml_backend_tensor_set(gate, first.blocks.data(), 0, first.blocks.size());
  ggml_backend_tensor_set(up, second.blocks.data(), 0, second.blocks.size());
  std::vector<float> all(kInner + 1);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>(i * 29 % 67) / 32 - 1;
  ggml_backend_tensor_set(memory, all.data(), 0, ggml_nbytes(memory));

  REQUIRE(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_SUCCESS);
  std::vector<float> products(kRows), gated(kRows);
  ggml_backend_tensor_get(product, products.data(), 0, ggml_nbytes(product));
  ggml_backend_tensor_get(glu, gated.data(), 0, ggml_nbytes(glu));
  const float *column = all.data() + begin;
  const double scale = function == GGML_GLU_OP_SWIGLU ? 1 : 1.702;
  for (std::int64_t r = 0; r < kRows; ++r) {
    const auto [g, ofG] = first.row(r, column);
    const auto [u, ofU] = second.row(r, column);
    const double expected = g / (1 + std::exp(-scale * g)) * u;
    INFO(ggml_type_name(type) << ", row " << r << ", from " << begin);
    CHECK(std::abs(products[r] - g) <= ofG);
    // The slope of g / (1 + exp(-g)) is below 1.1, and its value is at most |g|.
    CHECK(std::abs(gated[r] - expected) <=
          1.1 * ofG * (std::abs(u) + ofU) + std::abs(g) * ofU + 1e-5);
  }
}
