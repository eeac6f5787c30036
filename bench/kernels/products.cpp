// Figures of products, as rows of the tables in bench/kernels/README.md: registers, instructions of a
// call in thousands, conflicts of banks, and the emulator's estimate.
//
//   bench_kernel_products [PART]        the tiles that CDNA chooses, with 128 rows
//   bench_kernel_products rows M [PART] what is worth measuring for M rows, the choice first, with
//                                       K whole or in as many parts as in the choice
//   bench_kernel_products unprepared M [PART]  the same with weights as they are
//
// FLYDSL_EMULATOR_ARCH names the target; PART is a part of the names of the rows to print.
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
  const auto thousands = [&](const char *name) {
    double sum = 0;
    for (const fx::LaunchCounters &launch : launches)
      sum += double(launch[name]) / 1000;
    return sum;
  };
  double microseconds = 0;
  for (const fx::LaunchCounters &launch : launches)
    microseconds += launch.estimate.microseconds;
  std::printf("| %s | %u | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", what.c_str(),
              plan.executables().at(0).registers(), thousands("SQ_INSTS_MFMA"),
              thousands("SQ_INSTS_LDS"), thousands("SQ_INSTS_VMEM"),
              thousands("SQ_INSTS_VALU") - thousands("SQ_INSTS_MFMA"),
              thousands("SQ_LDS_BANK_CONFLICT"), microseconds);
  std::fflush(stdout);
}

/// The problem of all rows: n = 2048, k = 4096, and scales of rows with operands of 8 bits.
fk::GemmProblem problemOf(fx::DType type, fk::OperandLayout layout = fk::OperandLayout::prepared) {
  const fk::Scales scales = type.memory_bits() == 8 ? fk::Scales::per_row : fk::Scales::none;
  return {.a = type,
          .b = type,
          .c = fx::bf16,
          .b_layout = layout,
          .n = 2048,
          .k = 4096,
          .scale_a = scales,
          .scale_b = scales};
}
std::string nameOf(fx::DType type, const fk::GemmConfig &config) {
  return std::string(type.name()) + " " + std::to_string(config.tile_m) + "x" +
         std::to_string(config.tile_n) + "x" + std::to_string(config.tile_k);
}
/// What a configuration has beside its tile.
std::string formOf(const fk::GemmConfig &config) {
  std::string form = config.loop == fk::GemmLoop::registers ? ", registers" : "";
  const auto add = [&](const char *name, int number, int usual) {
    if (number != usual)
      form += std::string(", ") + name + " " + std::to_string(number);
  };
  add("waves_k", config.waves_k, 1);
  add("waves_m", config.waves_m, 1);
  add("stages", config.stages, 2);
  add("dma", config.dma, 0);
  add("split_k", config.split_k, 1);
  if (config.parts_sum == fk::PartsSum::last_block)
    form += ", one launch";
  return form;
}

void tiles(fx::DType type, const std::string &part) {
  for (const fk::impl::GemmTile &tile : fk::impl::kCdnaTiles) {
    const fk::GemmConfig config{.tile_m = tile.m,
                                .tile_n = tile.n,
                                .tile_k = tile.bytesK * 8 / type.memory_bits(),
                                .threads = tile.threads};
    if (const std::string name = nameOf(type, config); name.find(part) != std::string::npos)
      row(name, problemOf(type), config, 128);
  }
}
void choices(const fk::GemmProblem &problem, std::int64_t m, const std::string &part) {
  const fk::GemmConfig choice = fk::choose(problem, m);
  for (const fk::GemmConfig &config : fk::configs(problem, m)) {
    const std::string name = nameOf(problem.a, config) + formOf(config);
    if (config.order == choice.order && (config.split_k == 1 || config.split_k == choice.split_k) &&
        name.find(part) != std::string::npos)
      row(name, problem, config, m);
  }
}

} // namespace

int main(int count, char **arguments) {
  const std::string mode = count > 2 ? arguments[1] : "";
  const bool unprepared = mode == "unprepared", rows = unprepared || mode == "rows";
  const int at = rows ? 3 : 1;
  const std::string part = count > at ? arguments[at] : "";
  const fx::Target target = fx::Device::current().target();
  std::printf("%s\n\n", fx::Device::current().str().c_str());
  std::printf("| product | registers | MFMA | LDS | memory | other vector | conflicts | us |\n"
              "|---|---|---|---|---|---|---|---|\n");
  const fx::DType float8 = target.has(fx::feature::ocp_fp8) ? fx::f8E4M3FN : fx::f8E4M3FNUZ;
  for (fx::DType type : {fx::DType(target.has(fx::feature::ocp_fp8) ? fx::bf16 : fx::f16), float8})
    if (!fk::supported(problemOf(type)))
      continue;
    else if (rows)
      choices(problemOf(type, unprepared ? fk::OperandLayout::rows : fk::OperandLayout::prepared),
              std::stoll(arguments[2]), part);
    else
      tiles(type, part);
}
