// Figures of products, as rows of the tables in bench/kernels/README.md: registers, instructions of
// a call in thousands, conflicts of banks, and the emulator's estimate.
//
//   bench_kernel_products [PART]           the tiles that CDNA chooses, with 128 rows
//   bench_kernel_products rows M [PART]    what is worth measuring for M rows, the choice first,
//                                          with K whole or in as many parts as in the choice
//   bench_kernel_products LAYOUTS M [PART] the same with operands as they are: LAYOUTS, of a and b,
//                                          is rows_rows, rows_columns, columns_rows or
//                                          columns_columns
//   bench_kernel_products blocks M [PART]  the same with scales of blocks
//   bench_kernel_products conv [PART]      shapes of FlyDSL's convolutions: the choice, and tiles of
//                                          128 rows and 128 columns as FlyDSL's are
//
// `loops` before these words prints the instructions of the hot loops instead, without a run.
// FLYDSL_EMULATOR_ARCH names the target; PART is a part of the names of the rows to print.
#include "gemm/gemm_table.h"
#include "support/hot_loop.h"
#include "support/zero_operands.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/conv.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/operands.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace {

template <class P>
void row(const std::string &what, const fk::Plan<P> &plan, const fk::ArgsOf<P> &args) {
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

void row(const std::string &what, const fk::GemmProblem &problem, const fk::GemmConfig &config,
         std::int64_t m) {
  kernel_tests::ZeroOperands zeros;
  row(what, fk::GemmPlan(problem, config), fk::make_args(problem, config, m, zeros.sampler()));
}

/// The instructions of a round of the hot loop, which is as many steps as the ring has stages.
void loopRow(const std::string &what, const fk::GemmProblem &problem,
             const fk::GemmConfig &config) {
  const fx::Executable code = fk::GemmPlan(problem, config).executables().at(0);
  const kernel_tests::HotLoop loop = kernel_tests::hotLoop(code);
  std::printf("| %s | %u | %u | %d | %d + %d | %d | %d | %d | %d | %d |\n", what.c_str(),
              code.registers(), code.spills(), loop.matrix, loop.ldsReads, loop.ldsWrites,
              loop.loads, loop.barriers, loop.waits, loop.vector, loop.scalar);
  std::fflush(stdout);
}

/// How the operands of all rows of a table lie and are scaled.
struct Form {
  fk::OperandLayout a = fk::OperandLayout::rows, b = fk::OperandLayout::prepared;
  bool blocks = false;
};
/// The form that a word of the command line names; none if it names none.
std::optional<Form> formNamed(const std::string &word) {
  using enum fk::OperandLayout;
  if (word == "rows")
    return Form{};
  if (word == "blocks")
    return Form{.blocks = true};
  if (word == "rows_rows")
    return Form{rows, rows};
  if (word == "rows_columns")
    return Form{rows, columns};
  if (word == "columns_rows")
    return Form{columns, rows};
  if (word == "columns_columns")
    return Form{columns, columns};
  return std::nullopt;
}

/// The problem of all rows: n = 2048, k = 4096, and scales of rows with operands of 8 bits.
fk::GemmProblem problemOf(fx::DType type, const Form &form = {}) {
  const fk::Scales scales = form.blocks               ? fk::Scales::per_block
                            : type.memory_bits() == 8 ? fk::Scales::per_row
                                                      : fk::Scales::none;
  return {.a = type,
          .b = type,
          .c = fx::bf16,
          .a_layout = form.a,
          .b_layout = form.b,
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
  std::string form = config.loop == fk::GemmLoop::registers ? ", registers"
                     : config.loop == fk::GemmLoop::groups  ? ", groups"
                                                            : "";
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
  for (const fk::impl::GemmTile &tile :
       fk::impl::cdnaTiles(fx::Device::current().target(), problemOf(type))) {
    const fk::GemmConfig config{.tile_m = tile.m,
                                .tile_n = tile.n,
                                .tile_k = tile.bytesK * 8 / type.memory_bits(),
                                .threads = tile.threads};
    if (const std::string name = nameOf(type, config); name.find(part) != std::string::npos)
      row(name, problemOf(type), config, 128);
  }
}
void choices(const fk::GemmProblem &problem, std::int64_t m, bool loops, const std::string &part) {
  const fk::GemmConfig choice = fk::choose(problem, m);
  for (const fk::GemmConfig &config : fk::configs(problem, m)) {
    const std::string name = nameOf(problem.a, config) + formOf(config);
    // A single row of tiles, and waves that share K of the ring's, come in one order alone.
    const bool ordered = config.order == choice.order || config.tile_m >= m ||
                         (config.loop == fk::GemmLoop::ring && config.waves_k > 1);
    if (!ordered || name.find(part) == std::string::npos)
      continue;
    if (loops && config.split_k == 1)
      loopRow(name, problem, config);
    else if (!loops && (config.split_k == 1 || config.split_k == choice.split_k))
      row(name, problem, config, m);
  }
}

/// A shape of FlyDSL's convolutions (tests/kernels/test_conv3d_implicit.py): x (n, d, h, w, c).
struct ConvShape {
  const char *name;
  fx::DType type;
  std::int64_t images, depth, height, width;
  fk::ConvProblem problem;
};
void convolutions(const std::string &part) {
  const fk::ConvAxis one = {}, three{.kernel = 3, .before = 1, .after = 1},
                     half{.kernel = 3, .stride = 2, .before = 1, .after = 1};
  const ConvShape shapes[] = {
      {"3x3x3 taps, 2 of 6x18x18, 64 to 192",
       fx::bf16,
       2,
       6,
       18,
       18,
       {.channels = 64, .filters = 192, .depth = three, .height = three, .width = three}},
      {"1x3x3 taps, 1 of 6x18x20, 64 to 128",
       fx::bf16,
       1,
       6,
       18,
       20,
       {.channels = 64, .filters = 128, .depth = one, .height = three, .width = three}},
      {"3x3 taps, stride 2, 1 of 32x32, 128 to 128",
       fx::bf16,
       1,
       1,
       32,
       32,
       {.channels = 128, .filters = 128, .depth = one, .height = half, .width = half}},
      {"3x3x3 taps, 1 of 6x18x18, 64 to 128",
       fx::f8E4M3FN,
       1,
       6,
       18,
       18,
       {.channels = 64, .filters = 128, .depth = three, .height = three, .width = three}},
      {"3x3 taps, stride 2, 1 of 64x64, 128 to 128",
       fx::f8E4M3FN,
       1,
       1,
       64,
       64,
       {.channels = 128, .filters = 128, .depth = one, .height = half, .width = half}},
      {"3x3x3 taps, 1 of 3x16x16, 128 to 256",
       fx::f8E4M3FN,
       1,
       3,
       16,
       16,
       {.channels = 128, .filters = 256, .depth = three, .height = three, .width = three}}};
  for (const ConvShape &shape : shapes) {
    fk::ConvProblem problem = shape.problem;
    problem.rank = 3;
    problem.x = problem.weight = shape.type;
    const std::int64_t d = problem.depth.outputs(shape.depth),
                       h = problem.height.outputs(shape.height),
                       w = problem.width.outputs(shape.width), m = shape.images * d * h * w;
    const fk::GemmConfig choice = fk::choose(problem, m);
    for (const fk::GemmConfig &config : fk::configs(problem, m)) {
      const bool isTheirs = config.tile_m == 128 && config.tile_n == 128 && config.split_k == 1 &&
                            config.order == choice.order;
      const std::string name =
          std::string(shape.name) + ": " + nameOf(shape.type, config) + formOf(config);
      if ((config != choice && !isTheirs) || name.find(part) == std::string::npos)
        continue;
      kernel_tests::ZeroOperands zeros;
      const auto tensor = [&, sampler = zeros.sampler()](fx::DType type,
                                                         std::vector<std::int64_t> extents) {
        return sampler("", type, extents, fk::Role::input);
      };
      const fk::ConvPlan plan(problem, config);
      row(name, plan,
          {.x = tensor(shape.type,
                       {shape.images, shape.depth, shape.height, shape.width, problem.channels}),
           .weight =
               tensor(shape.type, {problem.filters, problem.depth.kernel, problem.height.kernel,
                                   problem.width.kernel, problem.channels}),
           .y = tensor(problem.y, {shape.images, d, h, w, problem.filters}),
           .workspace = tensor(fx::u8, {std::int64_t(plan.workspace_bytes(m))})});
    }
  }
}

} // namespace

int main(int count, char **arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  const bool loops = !words.empty() && words[0] == "loops";
  if (loops)
    words.erase(words.begin());
  const std::optional<Form> form = words.size() > 1 ? formNamed(words[0]) : std::nullopt;
  if (loops && !form) {
    std::fprintf(stderr, "bench_kernel_products loops: a form and a number of rows follow\n");
    return 2;
  }
  const bool isConv = !loops && !words.empty() && words[0] == "conv";
  const std::size_t at = form ? 2 : isConv ? 1 : 0;
  const std::string part = words.size() > at ? words[at] : "";
  const fx::Target target = fx::Device::current().target();
  std::printf("%s\n\n", fx::Device::current().str().c_str());
  std::printf("%s\n",
              loops ? "| product | registers | spills | matrix | LDS | loads | barriers | "
                      "waits | other vector | scalar |\n|---|---|---|---|---|---|---|---|---|---|"
                    : "| product | registers | MFMA | LDS | memory | other vector | conflicts "
                      "| us |\n|---|---|---|---|---|---|---|---|");
  if (isConv) {
    convolutions(part);
    return 0;
  }
  const fx::DType float8 = target.has(fx::feature::ocp_fp8) ? fx::f8E4M3FN : fx::f8E4M3FNUZ;
  for (fx::DType type : {fx::DType(target.has(fx::feature::ocp_fp8) ? fx::bf16 : fx::f16), float8})
    if (const fk::GemmProblem problem = problemOf(type, form.value_or(Form{}));
        !fk::supported(problem))
      continue;
    else if (form)
      choices(problem, std::stoll(words[1]), loops, part);
    else
      tiles(type, part);
}
