// A cache of keys whose tokens move, as llama.cpp's context shift has it: keys are rotated in their own
// format, where they lie.
#include "graphs.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

constexpr std::int64_t kHead = 64, kHeads = 2, kCells = 20;

/// The keys after `times` rotations of each cell by what it moves, computed by a backend.
std::vector<float> rotated(ggml_backend_t backend, ggml_type type, int times) {
  const ggml_context_ptr context = contextOf(16);
  const std::size_t rowBytes = ggml_row_size(type, kHead * kHeads),
                    headBytes = ggml_row_size(type, kHead);
  ggml_tensor *cache = ggml_new_tensor_2d(context.get(), type, kHead * kHeads, kCells),
              *moves = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, kCells);
  ggml_tensor *keys =
      ggml_view_3d(context.get(), cache, kHead, kHeads, kCells, headBytes, rowBytes, 0);
  ggml_tensor *numbers = ggml_cast(context.get(), keys, GGML_TYPE_F32),
              *moved = ggml_rope_ext_inplace(context.get(), numbers, moves, nullptr, kHead,
                                             GGML_ROPE_TYPE_NEOX, 512, 10000, 1, 0, 1, 32, 1);
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, ggml_cpy(context.get(), moved, keys));
  const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend));
  std::vector<float> all(kHead * kHeads * kCells);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>(i * 53 % 199) / 64 - 1.5f;
  std::vector<std::uint8_t> bytes(ggml_nbytes(cache));
  ggml_quantize_chunk(type, all.data(), bytes.data(), 0, kCells, kHead * kHeads, nullptr);
  ggml_backend_tensor_set(cache, bytes.data(), 0, bytes.size());
  std::vector<std::int32_t> by;
  for (std::int32_t cell = 0; cell < kCells; ++cell)
    by.push_back(cell < 4 ? 0 : -7); // the first ones are kept
  ggml_backend_tensor_set(moves, by.data(), 0, ggml_nbytes(moves));
  for (int i = 0; i < times; ++i) // graphs that come again are captured, and replayed
    REQUIRE(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
  ggml_backend_tensor_get(cache, bytes.data(), 0, bytes.size());
  ggml_get_type_traits(type)->to_float(bytes.data(), all.data(), kHead * kHeads * kCells);
  return all;
}

} // namespace

TEST_CASE("keys of a cache are rotated in its format") {
  struct Format {
    ggml_type type;
    float step; ///< between neighbouring numbers, of the largest
  };
  const Format format =
      GENERATE(Format{GGML_TYPE_F16, 0x1p-10f}, Format{GGML_TYPE_Q8_0, 1 / 127.0f},
               Format{GGML_TYPE_Q4_0, 1 / 8.0f});
  const int times = GENERATE(1, 4);
  const ggml_backend_ptr device = backendOn(),
                         cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
  REQUIRE(cpu);
  const auto found = rotated(device.get(), format.type, times),
             expected = rotated(cpu.get(), format.type, times);
  constexpr float largest = 3;
  INFO(ggml_type_name(format.type) << ", " << times << " times");
  float farthest = 0;
  std::size_t others = 0; // that a rounding has put elsewhere
  for (std::size_t i = 0; i < found.size(); ++i) {
    farthest = std::max(farthest, std::abs(found[i] - expected[i]));
    others += std::abs(found[i] - expected[i]) > largest * format.step / 100;
  }
  CHECK(farthest <= times * largest * format.step);
  CHECK(others <= found.size() / 50);
  // Cells that do not move are what they were, and the others are not.
  const auto before = rotated(cpu.get(), format.type, 0);
  const auto kept = static_cast<std::ptrdiff_t>(4 * kHead * kHeads);
  CHECK(std::equal(found.begin(), found.begin() + kept, expected.begin()));
  CHECK(!std::equal(found.begin() + kept, found.end(), before.begin() + kept));
}
