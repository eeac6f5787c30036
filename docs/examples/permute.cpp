// Examples of docs/kernels/permute.md and docs/kernels/kv-cache.md.
#include "example.h"

#include <flydsl/kernels/rows/copy_rows.h>
#include <flydsl/kernels/rows/permute.h>


namespace fk = flydsl::kernels;

TEST_CASE("images with channels first become images with channels last") {
  constexpr std::int64_t n = 2, channels = 16, height = 6, width = 8;
  const auto nchw = fx::DeviceArray<fx::bfloat16_t>::random({n, channels, height, width}, 1);
  fx::DeviceArray<fx::bfloat16_t> nhwc({n, height, width, channels});
  const fx::Stream stream;
  // region: images
  // Images with channels first, as torch has them, become those that convolutions read.
  const fk::PermuteProblem toNhwc{
      .type = fx::bf16, .rank = 4, .order = {0, 2, 3, 1}, .row_align = 8};
  const fk::PermutePlan permute(toNhwc, fk::choose(toNhwc, n * channels * height));
  permute({.x = nchw, .y = nhwc}, stream);
  // endregion
  stream.synchronize();
  const auto x = nchw.to_host(), y = nhwc.to_host();
  std::size_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t pixel = 0; pixel < height * width; ++pixel)
        wrong += float(x[std::size_t((i * channels + c) * height * width + pixel)]) !=
                 float(y[std::size_t((i * height * width + pixel) * channels + c)]);
  CHECK(wrong == 0);
}

TEST_CASE("blocks of a cache are copied") {
  constexpr std::int64_t page = 4, heads = 2, head = 32;
  auto cache = fx::DeviceArray<fx::bfloat16_t>::random({8, page, heads, head}, 1);
  fx::DeviceArray<int> from({2}), to({2});
  from.copy_from(std::vector<int>{3, 0});
  to.copy_from(std::vector<int>{1, 5});
  const auto before = cache.to_host();
  const fx::Stream stream;
  // region: blocks
  // Blocks 3 and 0 of a cache are copied to blocks 1 and 5 of it.
  const fk::CopyRowsProblem blocks{
      .type = fx::bf16, .n = page * heads * head, .gather = true, .scatter = true};
  const fk::CopyRowsPlan copyBlocks(blocks, fk::choose(blocks, 2));
  const auto rows = fx::tensor(cache.data(), {8, page * heads * head});
  copyBlocks({.x = rows, .from = from, .to = to, .y = rows}, stream);
  // endregion
  stream.synchronize();
  const auto after = cache.to_host();
  const std::size_t size = page * heads * head;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t block = i / size;
    const std::size_t source = block == 1 ? 3 : block == 5 ? 0 : block;
    CHECK(float(after[i]) == float(before[source * size + i % size]));
  }
}
