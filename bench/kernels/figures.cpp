// Figures of the kernels of rows, heads and blocks, as rows of the table in
// bench/kernels/README.md: registers, waves a SIMD, instructions of a wave by class, bytes over the
// least that must be moved, and the emulator's estimate. FLYDSL_EMULATOR_ARCH names the target.
#include <flydsl/flydsl.h>
#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/delta_rule.h>
#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/ggml_rows.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/norm_backward.h>
#include <flydsl/kernels/operands.h>
#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/rope.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/softmax_backward.h>
#include <flydsl/kernels/topk_gating.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace {

/// Zeroed operands of a call, and the bytes of its inputs and outputs.
class Operands {
public:
  fk::Sampler sampler() {
    return [this](const char *, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role role) {
      std::int64_t elements = 1;
      for (std::int64_t extent : shape)
        elements *= extent;
      const std::int64_t size = elements * dtype.memory_bits() / 8;
      memory_.push_back(std::make_unique<fx::DeviceArray<std::uint8_t>>(fx::Extents{size}));
      memory_.back()->fill(0);
      if (role.read() && role != fk::Role::input && role != fk::Role::both &&
          role != fk::Role::flagged && role.kind != fk::Role::Kind::blocks) {
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
        for (std::int64_t i = 0; i < elements; ++i) {
          const std::int64_t number = role.kind == fk::Role::Kind::equal     ? role.number
                                      : role.kind == fk::Role::Kind::offsets ? i * role.number
                                                                             : i;
          std::memcpy(&bytes[static_cast<std::size_t>(i * dtype.bytes())], &number,
                      static_cast<std::size_t>(dtype.bytes()));
        }
        memory_.back()->copy_from(bytes);
      }
      if (role != fk::Role::workspace && role != fk::Role::flagged)
        bytes += static_cast<std::uint64_t>(size);
      return fx::tensor(static_cast<void *>(memory_.back()->data()), dtype, shape);
    };
  }
  std::uint64_t bytes = 0;

private:
  std::vector<std::unique_ptr<fx::DeviceArray<std::uint8_t>>> memory_;
};

template <class P> void row(const char *what, const P &problem, std::int64_t m) {
  const auto config = fk::choose(problem, m);
  const fk::Plan<P> plan(problem, config);
  Operands operands;
  const auto args = fk::make_args(problem, config, m, operands.sampler());
  const fx::Stream stream;
  const auto launches = fx::Device::current().count_launches([&] {
    plan(args, stream);
    stream.synchronize();
  });
  double milliseconds = 0;
  unsigned registers = 0;
  for (const fx::Executable &code : plan.executables()) {
    milliseconds += code.trace_milliseconds() + code.compile_milliseconds();
    registers = std::max(registers, code.registers());
  }
  std::uint64_t touched = 0, vector = 0, scalar = 0, memory = 0, lds = 0, waves = 0;
  double estimate = 0, resident = 0;
  for (const fx::LaunchCounters &launch : launches) {
    touched += launch["globalBytesTouched"];
    vector += launch["SQ_INSTS_VALU"];
    scalar += launch["SQ_INSTS_SALU"];
    memory += launch["SQ_INSTS_VMEM"];
    lds += launch["SQ_INSTS_LDS"];
    waves = std::max(waves, launch["SQ_WAVES"]);
    estimate += launch.estimate.microseconds;
    resident = launch.estimate.waves_per_simd;
  }
  const auto each = [&](std::uint64_t count) { return double(count) / double(waves); };
  std::printf("| %s | %llu | %u | %.0f | %.0f | %.0f | %.1f | %.1f | %.3f | %.1f | %.0f |\n", what,
              static_cast<unsigned long long>(waves), registers, resident, each(vector),
              each(scalar), each(memory), each(lds), double(touched) / double(operands.bytes),
              estimate, milliseconds);
}

/// Steps of decoding of 4 sequences with 1024 tokens, and what other models decode with.
void decoding() {
  const auto has = [](const auto &problem) {
    return bool(fk::supported(problem, fx::Device::current().target()));
  };
  fk::DecodeProblem decode{.q_heads = 32, .kv_heads = 8, .head = 128, .context = 1024};
  row("decode bf16, 4 x 1024 tokens, 32 heads over 8 of 128", decode, 4);
  decode.kv = fx::f8E4M3FN;
  decode.scales = fk::KvScales::tensor;
  row("decode, the same of f8E4M3FN", decode, 4);
  const fk::DecodeProblem latent{
      .q_heads = 64, .head = 576, .page = 64, .latent = 512, .context = 1024};
  if (has(latent))
    row("latent decode bf16, 4 x 1024 tokens, 64 heads of 576 and 512", latent, 4);
  row("MQA logits bf16, 128 x 128 tokens, 64 heads of 128",
      fk::MqaLogitsProblem{.x = fx::bf16, .heads = 64, .head = 128}, 128);
  fk::DeltaRuleProblem delta{.heads = 16, .v_heads = 32, .normalise = true};
  row("delta rule bf16, a token of 4 sequences, 32 heads of 128", delta, 4);
  delta.v_heads = 16;
  delta.prefill = true;
  row("delta rule bf16, 256 tokens of one, 16 heads of 128", delta, 256);
  fk::DeltaRuleProblem ssd{.heads = 8,
                           .v_heads = 80,
                           .key = 128,
                           .value = 64,
                           .update = fk::StateUpdate::add,
                           .decay = fk::DecayGate::softplus,
                           .strength = fk::UpdateStrength::step,
                           .skip = true};
  row("SSD bf16, a token of 4 sequences, 80 heads of 128 x 64", ssd, 4);
  ssd.prefill = true;
  row("SSD bf16, 256 tokens of one, 80 heads of 128 x 64", ssd, 256);
}

/// Products with weights in ggml's formats, as the engine makes them:
/// of one row, and of a prompt's.
void blocks() {
  using enum fk::GgmlFormat;
  for (const fk::GgmlFormat format : {f16, q8_0, q4_0, q4_1, q4_k, q6_k}) {
    const fk::GgmlGemmProblem problem{
        .format = format, .layout = fk::GgmlLayout::planes, .n = 2048, .k = 2048};
    const std::string name(fk::ggml_block(format).name);
    row(("product of a row and " + name + ", 2048 x 2048").c_str(), problem, 1);
    row(("product of 64 rows and " + name + ", 2048 x 2048").c_str(), problem, 64);
  }
  row("gated product of a row and Q4_1, 2048 x 2048",
      fk::GgmlGemmProblem{.format = q4_1,
                          .layout = fk::GgmlLayout::planes,
                          .n = 2048,
                          .k = 2048,
                          .activation = fk::Activation::silu,
                          .gated = true},
      1);
  row("rows of Q4_1, 64 of 2048",
      fk::GgmlRowsProblem{.format = q4_1, .layout = fk::GgmlLayout::planes, .n = 64, .k = 2048},
      64);
}

/// The emulator's times of a plan's kernels, in microseconds, in the order in which they run.
template <class P> std::vector<double> timesOf(const fk::Plan<P> &plan, const fk::ArgsOf<P> &args) {
  const fx::Stream stream;
  const auto launches = fx::Device::current().count_launches([&] {
    plan(args, stream);
    plan.check(stream);
  });
  std::vector<double> times;
  for (const fx::LaunchCounters &launch : launches)
    times.push_back(launch.estimate.microseconds);
  return times;
}
/// What it costs a plan that its indices are checked.
template <class P> void checkedRow(const char *what, const P &problem, std::int64_t m) {
  const auto config = fk::choose(problem, m);
  Operands operands;
  const auto args = fk::make_args(problem, config, m, operands.sampler());
  const auto sum = [](const std::vector<double> &times, std::size_t from) {
    double all = 0;
    for (std::size_t i = from; i < times.size(); ++i)
      all += times[i];
    return all;
  };
  const auto plain = timesOf(fk::Plan<P>(problem, config, {.check_indices = false}), args),
             checked = timesOf(fk::Plan<P>(problem, config, {.check_indices = true}), args);
  std::printf("| %s | %.1f | %.1f | %.1f |\n", what, sum(plain, 0), sum(checked, 1), checked.at(0));
}

/// Checked plans: the models' steps, and many sequences and tokens, whose heads are small here
/// because the check does not read them.
void checkedPlans() {
  std::printf("\n| plan | us | checked, without the check | the check |\n|---|---|---|---|\n");
  const fk::DecodeProblem decode{.q_heads = 32, .kv_heads = 8, .head = 128, .context = 1024};
  checkedRow("decode bf16, 4 x 1024 tokens, 32 heads over 8 of 128", decode, 4);
  const fk::DecodeProblem small{.q_heads = 1, .kv_heads = 1, .head = 32, .context = 1024};
  checkedRow("decode, 64 x 1024 tokens, a head of 32", small, 64);
  checkedRow("decode, 256 x 1024 tokens, a head of 32", small, 256);
  checkedRow("delta rule bf16, a token of 4 sequences, 32 heads of 128",
             fk::DeltaRuleProblem{.heads = 16, .v_heads = 32, .normalise = true}, 4);
  checkedRow("attention bf16, 256 tokens, 8 heads of 64, causal, pages of 16",
             fk::AttentionProblem{.q = fx::bf16,
                                  .kv = fx::bf16,
                                  .y = fx::bf16,
                                  .q_heads = 8,
                                  .kv_heads = 8,
                                  .head = 64,
                                  .causal = true,
                                  .varlen = true,
                                  .cache = fk::KvCache::pages},
             256);
  fk::RopeProblem rope{.x = fx::bf16,
                       .y = fx::bf16,
                       .q_heads = 32,
                       .kv_heads = 8,
                       .head = 128,
                       .cache = fk::KvCache::pages,
                       .cached = fx::bf16};
  checkedRow("rotary embedding bf16, 32 tokens, 32 + 8 heads of 128, into pages", rope, 32);
  checkedRow("rotary embedding bf16, 512 tokens, 32 + 8 heads of 128, into pages", rope, 512);
  rope.q_heads = 0;
  rope.kv_heads = 1;
  checkedRow("rotary embedding bf16, 8192 tokens, 1 head of 128, into pages", rope, 8192);
  checkedRow(
      "rows of Q4_1, 64 of 2048",
      fk::GgmlRowsProblem{
          .format = fk::GgmlFormat::q4_1, .layout = fk::GgmlLayout::planes, .n = 64, .k = 2048},
      64);
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "checked") {
    checkedPlans();
    return 0;
  }
  std::printf("%s\n\n", fx::Device::current().str().c_str());
  std::printf("| kernel | waves | registers | waves a SIMD | vector | scalar | memory | LDS | "
              "bytes / least "
              "| us | trace and compile, ms |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  const std::int64_t m = 512;
  using fx::bf16, fx::f32, fx::i8;
  row("softmax bf16, n = 4096", fk::SoftmaxProblem{.x = bf16, .y = bf16, .n = 4096}, m);
  row("softmax f32, n = 8192", fk::SoftmaxProblem{.x = f32, .y = f32, .n = 8192}, m);
  row("softmax backward bf16, n = 4096",
      fk::SoftmaxBackwardProblem{.y = bf16, .dy = bf16, .dx = bf16, .n = 4096}, m);
  fk::NormProblem norm{.x = bf16, .weight = bf16, .y = bf16, .n = 4096};
  row("RMS norm bf16, n = 4096", norm, m);
  norm.residual = true;
  row("RMS norm bf16 + residual, n = 4096", norm, m);
  norm = {
      .kind = fk::NormKind::layer, .x = bf16, .weight = bf16, .y = bf16, .n = 8192, .bias = true};
  row("layer norm bf16, n = 8192", norm, m);
  norm.y = i8;
  norm.residual = norm.smooth = true;
  norm.quantise = fk::Quantisation::row;
  row("layer norm bf16 + residual to i8 by row, smooth, n = 8192", norm, m);
  row("RMS norm backward bf16, n = 4096",
      fk::NormBackwardProblem{.x = bf16, .weight = bf16, .dy = bf16, .n = 4096}, m);
  row("quantise bf16 to i8 by row, n = 4096", fk::QuantiseProblem{.x = bf16, .q = i8, .n = 4096},
      m);
  row("quantise bf16 to MX f8E4M3FN, n = 4096",
      fk::QuantiseProblem{.x = bf16, .q = fx::f8E4M3FN, .n = 4096, .scale = fk::ScaleOf::block}, m);
  norm.kind = fk::NormKind::rms;
  norm.n = 4096;
  norm.bias = norm.residual = norm.smooth = false;
  row("RMS norm bf16 to i8 by row, n = 4096", norm, m);
  row("MoE reduce bf16, topk = 8, n = 7168",
      fk::MoeReduceProblem{.x = bf16, .y = bf16, .n = 7168, .topk = 8}, m / 8);
  row("top-k gating bf16, 8 of 256",
      fk::TopkGatingProblem{.logits = bf16, .experts = 256, .topk = 8}, m);
  const fk::RopeProblem heads{.x = bf16,
                              .y = bf16,
                              .table = bf16,
                              .q_heads = 32,
                              .kv_heads = 8,
                              .head = 128,
                              .cache = fk::KvCache::pages,
                              .cached = bf16};
  row("rotary embedding bf16, 32 + 8 heads of 128, into pages", heads, m);
  const fk::RopeProblem quantised{.x = bf16,
                                  .y = fx::Device::current().target().has(fx::feature::fnuz_fp8)
                                           ? fx::f8E4M3FNUZ
                                           : fx::f8E4M3FN,
                                  .table = bf16,
                                  .index = fx::i64,
                                  .q_heads = 16,
                                  .kv_heads = 1,
                                  .head = 512,
                                  .rotary = 64,
                                  .style = fk::RopeStyle::gptj,
                                  .tail = true,
                                  .q_norm = fk::HeadNorm::plain,
                                  .k_norm = fk::HeadNorm::weighted,
                                  .weight = bf16,
                                  .quantise = fk::Quantisation::row,
                                  .group = 64};
  row("norm, rotary embedding and f8 by 64, 16 + 1 heads of 512", quantised, m);
  decoding();
  blocks();
}
