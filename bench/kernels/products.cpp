// Figures of products by the tiles that CDNA chooses, as rows of the table in bench/kernels/README.md:
// registers, instructions of a launch in thousands, conflicts of banks, and the emulator's estimate.
// FLYDSL_EMULATOR_ARCH names the target; an argument is a part of the names of the rows to print.
#include "gemm/gemm_table.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/operands.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace {

void row(const std::string &what, const fk::GemmProblem &problem, const fk::GemmConfig &config,
         std::int64_t m) {
  const fk::GemmPlan plan(problem, config);
  std::vector<std::unique_ptr<fx::DeviceArray<std::uint8_t>>> memory;
  const auto args = fk::make_args(
      problem, config, m, [&](const char *, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role) {
        std::int64_t bytes = dtype.memory_bits() / 8;
        for (std::int64_t extent : shape)
          bytes *= extent;
        memory.push_back(std::make_unique<fx::DeviceArray<std::uint8_t>>(fx::Extents{bytes}));
        memory.back()->fill(0);
        return fx::tensor(static_cast<void *>(memory.back()->data()), dtype, shape);
      });
  const fx::Stream stream;
  const auto launches = fx::Device::current().count_launches([&] {
    plan(args, stream);
    stream.synchronize();
  });
  const fx::LaunchCounters &launch = launches.at(0);
  const auto thousands = [&](const char *name) { return double(launch[name]) / 1000; };
  std::printf("| %s | %u | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", what.c_str(),
              plan.executables().at(0).registers(), thousands("SQ_INSTS_MFMA"),
              thousands("SQ_INSTS_LDS"), thousands("SQ_INSTS_VMEM"),
              thousands("SQ_INSTS_VALU") - thousands("SQ_INSTS_MFMA"),
              thousands("SQ_LDS_BANK_CONFLICT"), launch.estimate.microseconds);
  std::fflush(stdout);
}

} // namespace

int main(int count, char **arguments) {
  const std::string part = count > 1 ? arguments[1] : "";
  const fx::Target target = fx::Device::current().target();
  std::printf("%s\n\n", fx::Device::current().str().c_str());
  std::printf("| product | registers | MFMA | LDS | memory | other vector | conflicts | us |\n"
              "|---|---|---|---|---|---|---|---|\n");
  const fx::DType float8 = target.has(fx::feature::ocp_fp8) ? fx::f8E4M3FN : fx::f8E4M3FNUZ;
  for (fx::DType type : {fx::DType(target.has(fx::feature::ocp_fp8) ? fx::bf16 : fx::f16), float8})
    for (const fk::impl::GemmTile &tile : fk::impl::kCdnaTiles) {
      const fk::GemmConfig config{.tile_m = tile.m,
                                  .tile_n = tile.n,
                                  .tile_k = tile.bytesK / type.bytes(),
                                  .threads = tile.threads};
      const fk::Scales scales = type == float8 ? fk::Scales::per_row : fk::Scales::none;
      const std::string what = std::string(type.name()) + " " + std::to_string(tile.m) + "x" +
                               std::to_string(tile.n) + "x" + std::to_string(config.tile_k);
      if (what.find(part) == std::string::npos)
        continue;
      row(what,
          {.a = type,
           .b = type,
           .c = fx::bf16,
           .n = 2048,
           .k = 4096,
           .scale_a = scales,
           .scale_b = scales},
          config, 128);
    }
}
