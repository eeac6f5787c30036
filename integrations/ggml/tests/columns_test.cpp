// Products of up to four columns, as steps of decoding have them, are computed from whole numbers to which
// columns are rounded; of one column in f32 from the weights' exact values where the model asks for it and
// wherever the column begins; those of a few columns more by matrix instructions.
#include "graphs.h"

#include <catch2/catch.hpp>
#include <flydsl/flydsl.h>

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
  /// The same where x is rounded to Q8_1: a number is off by up to 0.57 of what one stands for (docs/kernels/ggml.md).
  Sum roundedRow(std::int64_t r, const float *x) const {
    Sum sum = row(r, x);
    for (std::int64_t first = 0; first < kInner; first += 32) {
      double weights = 0, largest = 0;
      for (std::int64_t k = first; k < first + 32; ++k) {
        weights += std::abs(exact[r * kInner + k]);
        largest = std::max<double>(largest, std::abs(x[k]));
      }
      sum.bound += weights * 0.57 * largest / 127;
    }
    return sum;
  }
};

} // namespace

using Catch::Matchers::StartsWith;

TEST_CASE("columns times weights in blocks, and GLU of two such products") {
  const ggml_type type = GENERATE(GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K,
                                  GGML_TYPE_MXFP4, GGML_TYPE_F16);
  const ggml_glu_op function = GENERATE(GGML_GLU_OP_SWIGLU, GGML_GLU_OP_GEGLU_QUICK);
  const std::int64_t begin = GENERATE(0, 1); // a place that the plan of the library does not take
  const bool exact = GENERATE(false, true);  // the model asks for f32
  const std::int64_t columns = GENERATE(1, 4);
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context = contextOf(16);
  ggml_tensor *gate = ggml_new_tensor_2d(context.get(), type, kInner, kRows),
              *up = ggml_new_tensor_2d(context.get(), type, kInner, kRows),
              *memory = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, kInner * columns + 1);
  ggml_tensor *x = ggml_view_2d(context.get(), memory, kInner, columns, kInner * sizeof(float),
                                static_cast<std::size_t>(begin) * sizeof(float));
  const auto times = [&](ggml_tensor *weights) {
    ggml_tensor *of = ggml_mul_mat(context.get(), weights, x);
    if (exact) // by the rank of sums, as models have always asked for it, or by that of inputs
      of->op_params[columns == 1 ? 0 : 3] = GGML_PREC_F32;
    return of;
  };
  ggml_tensor *product = times(gate), *other = times(up),
              *glu = ggml_glu_split(context.get(), times(gate), other, function);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, product);
  ggml_build_forward_expand(graph, glu);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  const Weights first(type, 0), second(type, 5);
  ggml_backend_tensor_set(gate, first.blocks.data(), 0, first.blocks.size());
  ggml_backend_tensor_set(up, second.blocks.data(), 0, second.blocks.size());
  const std::vector<float> all = inputsOf(kInner * columns + 1);
  ggml_backend_tensor_set(memory, all.data(), 0, ggml_nbytes(memory));

  const std::vector<std::string> kernels = kernelsOf(backend.get(), graph);
  const bool whole = begin == 0 && type != GGML_TYPE_F16 && !exact;
  const int wave = flydsl::Device(0).target().wave_size();
  const bool plan = whole || (begin == 0 && columns == 1 && wave == 64);
  INFO(ggml_type_name(type) << ", from " << begin << ", " << columns << " columns"
                            << (exact ? ", in f32" : ""));
  // One kernel for both factors of GLU, unless the plan does not have the function.
  const bool apart = plan && function == GGML_GLU_OP_GEGLU_QUICK;
  REQUIRE(kernels.size() == (apart ? 4 : 2));
  for (std::size_t i = 0; i < (apart ? 3 : 2); ++i)
    CHECK_THAT(kernels[i], StartsWith(plan ? "ggml_vector_" : "ggml_mul_mat_"));
  std::vector<float> products(kRows * columns), gated(kRows * columns);
  ggml_backend_tensor_get(product, products.data(), 0, ggml_nbytes(product));
  ggml_backend_tensor_get(glu, gated.data(), 0, ggml_nbytes(glu));
  const double scale = function == GGML_GLU_OP_SWIGLU ? 1 : 1.702;
  double farthest = 0;
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float *column = all.data() + begin + c * kInner;
      const auto [g, ofG] = whole ? first.roundedRow(r, column) : first.row(r, column);
      const auto [u, ofU] = whole ? second.roundedRow(r, column) : second.row(r, column);
      const double expected = g / (1 + std::exp(-scale * g)) * u;
      const auto at = static_cast<std::size_t>(c * kRows + r);
      INFO("row " << r << ", column " << c);
      CHECK(std::abs(products[at] - g) <= ofG);
      // The slope of g / (1 + exp(-g)) is below 1.1, and its value is at most |g|.
      CHECK(std::abs(gated[at] - expected) <=
            1.1 * ofG * (std::abs(u) + ofU) + std::abs(g) * ofU + 1e-5);
      farthest = std::max(farthest, std::abs(products[at] - g) / first.row(r, column).bound);
    }
  CHECK((farthest > 1) == whole); // what is rounded to 8 bits is told from what is not
}

TEST_CASE("a few columns times weights, with an addend, and GLU of two such products") {
  const ggml_type type =
      GENERATE(GGML_TYPE_Q4_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_Q3_K, GGML_TYPE_Q6_K,
               GGML_TYPE_IQ4_XS, GGML_TYPE_NVFP4, GGML_TYPE_BF16);
  const std::int64_t columns = GENERATE(9, 37);
  const bool gates = GENERATE(false, true);
  // The library does not have NVFP4, and more columns of numbers are its product of numbers.
  const bool blocks = type != GGML_TYPE_NVFP4 && (type != GGML_TYPE_BF16 || columns <= 32);
  const std::int64_t rows = kRows - 5; // the last tile is not full
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context = contextOf(16);
  ggml_tensor *gate = ggml_new_tensor_2d(context.get(), type, kInner, rows),
              *up = ggml_new_tensor_2d(context.get(), type, kInner, rows),
              *x = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, kInner, columns),
              *addend = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, rows, columns);
  ggml_tensor *product = ggml_mul_mat(context.get(), gate, x);
  ggml_tensor *result =
      gates ? ggml_reglu_split(context.get(), product, ggml_mul_mat(context.get(), up, x))
            : ggml_add(context.get(), product, addend);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, result);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  const Weights first(type, 0), second(type, 5);
  ggml_backend_tensor_set(gate, first.blocks.data(), 0, ggml_nbytes(gate));
  ggml_backend_tensor_set(up, second.blocks.data(), 0, ggml_nbytes(up));
  const std::vector<float> inputs = inputsOf(kInner * columns);
  std::vector<float> added(rows * columns);
  for (std::size_t i = 0; i < added.size(); ++i)
    added[i] = static_cast<float>(i % 11);
  ggml_backend_tensor_set(x, inputs.data(), 0, ggml_nbytes(x));
  ggml_backend_tensor_set(addend, added.data(), 0, ggml_nbytes(addend));

  const std::vector<std::string> kernels = kernelsOf(backend.get(), graph);
  INFO(ggml_type_name(type) << ", " << columns << " columns");
  if (blocks) {
    REQUIRE(kernels.size() == (columns > 16 ? 2 : 1)); // the first makes numbers of many columns
    CHECK_THAT(kernels.back(), StartsWith("ggml_registers_"));
  }
  std::vector<float> found(added.size());
  ggml_backend_tensor_get(result, found.data(), 0, ggml_nbytes(result));
  // Columns are exact in bf16, which has 8 bits; weights are rounded to it.
  const double rounding = std::ldexp(1, -9);
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) {
      const float *column = inputs.data() + c * kInner;
      const auto sum = [&](const Weights &weights) {
        Weights::Sum of = weights.row(r, column);
        for (std::int64_t k = 0; k < kInner; ++k)
          of.bound += rounding * std::abs(weights.exact[r * kInner + k] * column[k]);
        return of;
      };
      const auto [g, ofG] = sum(first);
      const auto [u, ofU] = sum(second);
      const std::size_t at = static_cast<std::size_t>(c * rows + r);
      INFO("row " << r << ", column " << c);
      if (gates)
        CHECK(std::abs(found[at] - std::max(g, 0.0) * u) <=
              ofG * (std::abs(u) + ofU) + std::abs(g) * ofU + 1e-5);
      else
        CHECK(std::abs(found[at] - (g + added[at])) <= ofG + 1e-5);
    }
}

TEST_CASE("many columns times weights whose numbers are made before, as products load them where "
          "rows allow it") {
  const ggml_type type = GENERATE(GGML_TYPE_Q4_K, GGML_TYPE_Q5_0, GGML_TYPE_NVFP4);
  const std::int64_t rows = kRows - GENERATE(0, 5); // whole groups of 16, or not
  constexpr std::int64_t columns = 70;
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context = contextOf(8);
  ggml_tensor *w = ggml_new_tensor_2d(context.get(), type, kInner, rows),
              *x = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, kInner, columns);
  ggml_tensor *product = ggml_mul_mat(context.get(), w, x);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, product);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  const Weights weights(type, 0);
  ggml_backend_tensor_set(w, weights.blocks.data(), 0, ggml_nbytes(w));
  const std::vector<float> inputs = inputsOf(kInner * columns);
  ggml_backend_tensor_set(x, inputs.data(), 0, ggml_nbytes(x));
  const std::vector<std::string> kernels = kernelsOf(backend.get(), graph);
  const bool prepared = rows == kRows && flydsl::Device(0).target().wave_size() == 64;
  INFO(ggml_type_name(type) << ", " << rows << " rows");
  REQUIRE(kernels.size() >= 3); // numbers of columns, numbers of weights, and the product
  CHECK_THAT(kernels[1], StartsWith(prepared ? "ggml_numbers_prepared_" : "ggml_numbers_bf16"));
  CHECK_THAT(kernels[2], StartsWith("gemm"));
  std::vector<float> found(static_cast<std::size_t>(rows * columns));
  ggml_backend_tensor_get(product, found.data(), 0, ggml_nbytes(product));
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) {
      const float *column = inputs.data() + c * kInner;
      auto [value, bound] = weights.row(r, column);
      for (std::int64_t k = 0; k < kInner; ++k) // columns are exact in bf16, weights are rounded
        bound += std::ldexp(std::abs(weights.exact[r * kInner + k] * column[k]), -9);
      INFO("row " << r << ", column " << c);
      CHECK(std::abs(found[static_cast<std::size_t>(c * rows + r)] - value) <= bound);
    }
}

TEST_CASE("columns of several matrices, and columns with gaps between them") {
  const std::int64_t columns = GENERATE(3, 9);
  // The heads of one token, permuted: each is a matrix of one column, whose stride is that of all heads.
  const bool heads = GENERATE(true, false);
  constexpr std::int64_t kGap = 8;
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context = contextOf(16);
  ggml_tensor *w = ggml_new_tensor_2d(context.get(), GGML_TYPE_Q4_K, kInner, kRows),
              *memory = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, (kInner + kGap) * columns);
  const std::int64_t stride = heads ? kInner : kInner + kGap;
  ggml_tensor *x =
      heads
          ? ggml_permute(context.get(),
                         ggml_view_3d(context.get(), memory, kInner, columns, 1,
                                      kInner * sizeof(float), kInner * columns * sizeof(float), 0),
                         0, 2, 1, 3)
          : ggml_view_2d(context.get(), memory, kInner, columns,
                         static_cast<std::size_t>(stride) * sizeof(float), 0);
  REQUIRE(x->ne[1] == (heads ? 1 : columns));
  ggml_tensor *product = ggml_mul_mat(context.get(), w, x);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, product);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  const Weights weights(GGML_TYPE_Q4_K, 0);
  ggml_backend_tensor_set(w, weights.blocks.data(), 0, weights.blocks.size());
  const std::vector<float> all = inputsOf((kInner + kGap) * columns);
  ggml_backend_tensor_set(memory, all.data(), 0, ggml_nbytes(memory));
  REQUIRE(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_SUCCESS);
  std::vector<float> found(static_cast<std::size_t>(kRows * columns));
  ggml_backend_tensor_get(product, found.data(), 0, ggml_nbytes(product));
  INFO(columns << " columns" << (heads ? ", heads" : ", with gaps"));
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float *column = all.data() + c * stride;
      auto [value, bound] = weights.roundedRow(r, column);
      for (std::int64_t k = 0; k < kInner; ++k) // of nine columns, weights are rounded to bf16
        bound += std::ldexp(std::abs(weights.exact[r * kInner + k] * column[k]), -9);
      INFO("row " << r << ", column " << c);
      CHECK(std::abs(found[static_cast<std::size_t>(c * kRows + r)] - value) <= bound);
    }
}

TEST_CASE("rows of weights by their numbers, several elements at a time or one") {
  const ggml_type type = GENERATE(GGML_TYPE_Q4_0, GGML_TYPE_Q5_0, GGML_TYPE_Q4_1, GGML_TYPE_Q2_K,
                                  GGML_TYPE_Q5_K, GGML_TYPE_IQ4_NL, GGML_TYPE_F16);
  const std::int64_t begin = GENERATE(0, 1); // a result at no multiple of 16 bytes
  const std::vector<std::int32_t> ids{7, 0, kRows - 1, 7, 41};
  const auto count = static_cast<std::int64_t>(ids.size());
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context = contextOf(8);
  ggml_tensor *weights = ggml_new_tensor_2d(context.get(), type, kInner, kRows),
              *numbers = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, count),
              *memory = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, kInner * count + 1);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  ggml_tensor *rows = ggml_get_rows(context.get(), weights, numbers);
  rows->buffer = memory->buffer;
  rows->data = static_cast<float *>(memory->data) + begin;
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, rows);
  const Weights of(type, 3);
  ggml_backend_tensor_set(weights, of.blocks.data(), 0, of.blocks.size());
  ggml_backend_tensor_set(numbers, ids.data(), 0, ggml_nbytes(numbers));

  REQUIRE(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_SUCCESS);
  std::vector<float> found(static_cast<std::size_t>(kInner * count));
  ggml_backend_tensor_get(rows, found.data(), 0, ggml_nbytes(rows));
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t k = 0; k < kInner; ++k) {
      const double exact = of.exact[ids[static_cast<std::size_t>(r)] * kInner + k];
      INFO(ggml_type_name(type) << ", row " << r << ", element " << k << ", from " << begin);
      // Two roundings to f32 where the format has an offset as large as the number.
      CHECK(std::abs(found[static_cast<std::size_t>(r * kInner + k)] - exact) <= 2e-7);
    }
}
