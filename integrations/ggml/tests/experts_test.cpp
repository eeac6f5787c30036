// Products of tokens with the experts of their slots, whose weights are in blocks: those of single slots, those
// of slots that are sorted, and two of them with GLU, each by the library's plan.
#include "graphs.h"

#include <catch2/catch.hpp>
#include <flydsl/flydsl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kExperts = 4, kSlots = 2, kRows = 48, kInner = 256;

/// The weights of all experts, as they are in blocks.
struct Weights {
  std::vector<std::uint8_t> blocks;
  std::vector<float> exact;

  Weights(ggml_type type, int first) {
    std::vector<float> numbers(kExperts * kRows * kInner);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>((i * 37 + first) % 101) / 64 - 0.75f;
    blocks.resize(kExperts * kRows * ggml_row_size(type, kInner));
    ggml_quantize_chunk(type, numbers.data(), blocks.data(), 0, kExperts * kRows, kInner, nullptr);
    exact.resize(numbers.size());
    ggml_get_type_traits(type)->to_float(blocks.data(), exact.data(), kExperts * kRows * kInner);
  }
  struct Sum {
    double value = 0, magnitude = 0;
    double rounded = 0; ///< what rounding x to Q8_1 changes at most (docs/kernels/ggml.md)
  };
  Sum row(std::int64_t expert, std::int64_t r, const float *x) const {
    const float *w = exact.data() + (expert * kRows + r) * kInner;
    Sum sum;
    for (std::int64_t k = 0; k < kInner; ++k) {
      sum.value += static_cast<double>(w[k]) * x[k];
      sum.magnitude += std::abs(w[k] * x[k]);
      const float *block = x + k / 32 * 32;
      const float largest = std::abs(*std::max_element(
          block, block + 32, [](float a, float b) { return std::abs(a) < std::abs(b); }));
      sum.rounded += std::abs(w[k]) * 0.57 * static_cast<double>(largest) / 127;
    }
    return sum;
  }
};

/// The experts of the slots of so many tokens.
std::vector<std::int32_t> expertsOf(std::int64_t tokens) {
  std::vector<std::int32_t> experts;
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t s = 0; s < kSlots; ++s)
      experts.push_back(static_cast<std::int32_t>((t * 3 + s * 2 + t / 7) % kExperts));
  return experts;
}

} // namespace

TEST_CASE("experts of single slots and of sorted ones, and GLU of two such products") {
  const ggml_type type = GENERATE(GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K);
  const std::int64_t tokens = GENERATE(1, 40);             // 20 slots of an expert are sorted
  const bool exact = tokens == 1 && GENERATE(false, true); // the model asks for inputs in f32
  INFO(ggml_type_name(type) << ", " << tokens << " tokens" << (exact ? ", in f32" : ""));
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context = contextOf(16);
  ggml_tensor *gate = ggml_new_tensor_3d(context.get(), type, kInner, kRows, kExperts),
              *up = ggml_new_tensor_3d(context.get(), type, kInner, kRows, kExperts),
              *x = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, kInner, 1, tokens),
              *ids = ggml_new_tensor_2d(context.get(), GGML_TYPE_I32, kSlots, tokens);
  const auto productWith = [&](ggml_tensor *weights) {
    ggml_tensor *of = ggml_mul_mat_id(context.get(), weights, x, ids);
    if (exact)
      of->op_params[3] = GGML_PREC_F32;
    return of;
  };
  ggml_tensor *product = productWith(gate), *other = productWith(up),
              *glu = ggml_glu_split(context.get(), productWith(gate), other, GGML_GLU_OP_SWIGLU);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, product);
  ggml_build_forward_expand(graph, glu);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  const Weights first(type, 0), second(type, 5);
  ggml_backend_tensor_set(gate, first.blocks.data(), 0, first.blocks.size());
  ggml_backend_tensor_set(up, second.blocks.data(), 0, second.blocks.size());
  const std::vector<float> inputs = inputsOf(kInner * tokens);
  ggml_backend_tensor_set(x, inputs.data(), 0, ggml_nbytes(x));
  const std::vector<std::int32_t> experts = expertsOf(tokens);
  ggml_backend_tensor_set(ids, experts.data(), 0, ggml_nbytes(ids));

  const std::vector<std::string> kernels = kernelsOf(backend.get(), graph);
  const auto count = [&](const std::string &begin) {
    return std::count_if(kernels.begin(), kernels.end(),
                         [&](const std::string &name) { return name.starts_with(begin); });
  };
  // One for the product, and one for both factors of GLU. In f32, waves of 32 lanes run the backend's own.
  const bool sorted = tokens > 1, plan = !exact || flydsl::Device(0).target().wave_size() == 64;
  if (plan) {
    CHECK(count("ggml_experts_") == 2);
    CHECK(count(sorted ? "ggml_experts_registers" : "ggml_experts_vector") >= 1);
    CHECK(count("moe_sort") == (sorted ? 2 : 0));
    CHECK(kernels.size() == (sorted ? 4 : 2));
  } else {
    CHECK(count("ggml_experts_") == 0);
  }
  std::vector<float> products(static_cast<std::size_t>(kRows * kSlots * tokens)),
      gated(products.size());
  ggml_backend_tensor_get(product, products.data(), 0, ggml_nbytes(product));
  ggml_backend_tensor_get(glu, gated.data(), 0, ggml_nbytes(glu));
  // Of sorted slots, weights and inputs are rounded to bf16; of others, inputs to Q8_1 unless the model asks for
  // f32, sums of f32 are in any order, and those of codes and of offsets may be added separately.
  const bool whole = !sorted && !exact;
  const double rounding = sorted ? std::ldexp(1, -7) : kInner * 3 * std::ldexp(1, -24);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const auto slot = static_cast<std::int64_t>(i) / kRows,
               r = static_cast<std::int64_t>(i) % kRows;
    const float *column = inputs.data() + slot / kSlots * kInner;
    const auto [g, sizeG, roundedG] = first.row(experts[static_cast<std::size_t>(slot)], r, column);
    const auto [u, sizeU, roundedU] =
        second.row(experts[static_cast<std::size_t>(slot)], r, column);
    const double ofG = rounding * sizeG + (whole ? roundedG : 0),
                 ofU = rounding * sizeU + (whole ? roundedU : 0),
                 expected = g / (1 + std::exp(-g)) * u;
    INFO("slot " << slot << ", row " << r);
    CHECK(std::abs(products[i] - g) <= ofG);
    CHECK(std::abs(gated[i] - expected) <=
          1.1 * ofG * (std::abs(u) + ofU) + std::abs(g) * ofU + 1e-5);
  }
}

TEST_CASE("experts of a format that is not in the library, by numbers that products load") {
  constexpr std::int64_t tokens = 40;
  const ggml_backend_ptr backend = backendOn();
  const ggml_context_ptr context = contextOf(8);
  ggml_tensor *w = ggml_new_tensor_3d(context.get(), GGML_TYPE_NVFP4, kInner, kRows, kExperts),
              *x = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, kInner, 1, tokens),
              *ids = ggml_new_tensor_2d(context.get(), GGML_TYPE_I32, kSlots, tokens);
  ggml_tensor *product = ggml_mul_mat_id(context.get(), w, x, ids);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, product);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  const Weights weights(GGML_TYPE_NVFP4, 0);
  ggml_backend_tensor_set(w, weights.blocks.data(), 0, weights.blocks.size());
  const std::vector<float> inputs = inputsOf(kInner * tokens);
  ggml_backend_tensor_set(x, inputs.data(), 0, ggml_nbytes(x));
  const std::vector<std::int32_t> experts = expertsOf(tokens);
  ggml_backend_tensor_set(ids, experts.data(), 0, ggml_nbytes(ids));
  const std::vector<std::string> kernels = kernelsOf(backend.get(), graph);
  const std::string numbers =
      flydsl::Device(0).target().wave_size() == 64 ? "ggml_numbers_prepared_" : "ggml_numbers_bf16";
  CHECK(std::count_if(kernels.begin(), kernels.end(),
                      [&](const std::string &name) { return name.starts_with(numbers); }) == 1);
  std::vector<float> found(static_cast<std::size_t>(kRows * kSlots * tokens));
  ggml_backend_tensor_get(product, found.data(), 0, ggml_nbytes(product));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto slot = static_cast<std::int64_t>(i) / kRows,
               r = static_cast<std::int64_t>(i) % kRows;
    const auto [value, size, unused] = weights.row(experts[static_cast<std::size_t>(slot)], r,
                                                   inputs.data() + slot / kSlots * kInner);
    INFO("slot " << slot << ", row " << r);
    CHECK(std::abs(found[i] - value) <= std::ldexp(size, -7)); // weights are rounded to bf16
  }
}
