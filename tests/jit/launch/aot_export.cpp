// Compiles kernels for several targets, without a device, into a file: one kernel, and another in
// two configurations.
#include "aot_config.h"
#include "scale.h"

#include <array>
#include <cstdio>

namespace fx = flydsl;

namespace {
/// out = weight * (x0 + x1) * repeats, or its negative.
const fx::Kernel weighted{"weighted", [](std::array<fx::Tensor, 2> x, fx::Pointer out,
                                         fx::Float16 weight, fx::Constexpr<WeightedConfig> config) {
                            auto i = fx::block_idx().x * weightedBlock + fx::thread_idx().x;
                            auto sum = (x[0](i) + x[1](i)) * weight.to(fx::f32) * config->repeats;
                            (out + i).store(config->negated ? -sum : sum);
                          }};
} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  float *nothing = nullptr;
  auto none = fx::tensor(nothing, {axpyBlock});
  const std::vector<std::string> targets = {"gfx942", "gfx950", "gfx1201"};
  makeAxpy("axpy_aot")(none, none, 0.0f)
      .export_aot(argv[1], {.block = axpyBlock, .archs = targets});
  for (WeightedConfig config : {WeightedConfig{3, false}, WeightedConfig{2, true}})
    weighted(std::array{none, none}, nothing, 0.0f, config)
        .export_aot(argv[1], {.block = weightedBlock, .archs = targets, .append = true});
  std::printf("wrote %s\n", argv[1]);
}
