// PlanOptions::check_memory: each operand of each family that reaches past its memory is refused with
// its name, and so is memory that the driver does not know.
#include "support/structure.h"
#include "support/whole_problems.h"

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/attention/merge_states.h>
#include <flydsl/kernels/causal_conv.h>
#include <flydsl/kernels/conv/depthwise_conv.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/delta_rule.h>
#include <flydsl/kernels/experts/ggml_experts.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/ggml_rows.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/norm_backward.h>
#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/rope.h>
#include <flydsl/kernels/sampling.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/softmax_backward.h>
#include <flydsl/kernels/topk_gating.h>
#include <flydsl/kernels/weight.h>
#include <flydsl/kernels/worklist.h>

using namespace kernel_tests;

namespace {

const fk::PlanOptions kChecked{.check_indices = false, .check_memory = true};

/// Operands of a call in memory of their own. The memory of one ends an element early.
class Short {
public:
  explicit Short(std::size_t which) : which_(which) {}
  fk::Sampler sampler() {
    return [this](const char *name, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role role) {
      std::int64_t elements = 1;
      for (const std::int64_t extent : shape)
        elements *= extent;
      std::vector<std::uint8_t> bytes =
          role.read() ? sampleBytes(role, dtype, elements, names_.size() + 1)
                      : std::vector<std::uint8_t>(
                            std::size_t((elements * dtype.memory_bits() + 7) / 8), 0xff);
      if (names_.size() == which_)
        bytes.resize(bytes.size() - std::size_t(std::max(1, dtype.memory_bits() / 8)));
      names_.emplace_back(name);
      // An empty allocation is none.
      memory_.push_back(std::make_unique<fx::DeviceArray<std::uint8_t>>(
          fx::Extents{std::max<std::size_t>(1, bytes.size())}));
      if (!bytes.empty())
        memory_.back()->copy_from(bytes);
      return fx::tensor(static_cast<void *>(memory_.back()->data()), dtype, shape);
    };
  }
  const std::vector<std::string> &names() const { return names_; }

private:
  std::size_t which_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<fx::DeviceArray<std::uint8_t>>> memory_;
};

template <class P> void expectMemory(const P &problem, std::int64_t m = 8) {
  INFO(fk::FamilyOf<P>::name);
  const auto config = fk::choose(problem, m);
  const fk::Plan<P> plan(problem, config, kChecked);
  const auto refusal = [&](Short &operands) {
    const auto args = fk::make_args(problem, config, m, operands.sampler());
    return messageOf([&] {
      const fx::Stream stream;
      plan(args, stream);
      stream.synchronize();
    });
  };
  Short whole(std::size_t(-1));
  CHECK(refusal(whole) == "no error");
  for (std::size_t i = 0; i < whole.names().size(); ++i) {
    Short operands(i);
    INFO(whole.names()[i]);
    expectPart(refusal(operands),
               std::string(fk::FamilyOf<P>::name) + ": " + whole.names()[i] + " spans ");
  }
}

} // namespace

TEST_CASE("plans that check memory refuse each operand that reaches past its own") {
  using namespace fk;
  expectMemory(SoftmaxProblem{.n = 24});
  expectMemory(SoftmaxBackwardProblem{.n = 24});
  expectMemory(NormProblem{
      .kind = NormKind::layer, .n = 24, .bias = true, .residual = true, .statistics = true});
  expectMemory(NormBackwardProblem{.kind = NormKind::layer, .n = 24, .bias = true});
  expectMemory(QuantiseProblem{.q = fx::f4E2M1FN, .n = 64, .scale = ScaleOf::block});
  expectMemory(kWholeGroups);
  expectMemory(GroupedGemmProblem{.a = fx::i8,
                                  .b = fx::i8,
                                  .experts = 4,
                                  .n = 32,
                                  .k = 64,
                                  .groups = GroupLayout::masked,
                                  .capacity = 16,
                                  .scale_a = Scales::per_row,
                                  .scale_b = Scales::per_row});
  expectMemory(kWholeMixture);
  MoeForwardProblem adding = kWholeMixture;
  adding.any_order = true;
  expectMemory(adding);
  expectMemory(MergeStatesProblem{.heads = 2, .head = 16, .sink = true, .lse = true});
  expectMemory(MergeStatesProblem{.heads = 2, .head = 16, .states = 3});
  expectMemory(MoeReduceProblem{.n = 24, .topk = 3, .places = true});
  expectMemory(MoeReduceProblem{.x = fx::f8E4M3FN, .n = 24, .topk = 3, .group = 8, .experts = 5});
  expectMemory(MoeReduceProblem{.n = 24, .topk = 3, .weights = true, .mask = true});
  expectMemory(kWholeSort);
  expectMemory(MoeSortProblem{.experts = 8, .topk = 2, .unit = 16, .capacity = 32});
  expectMemory(kWholeSampling);
  expectMemory(TopkGatingProblem{.experts = 12, .topk = 3, .bias = true, .shared = 1});
  expectMemory(TopkGatingProblem{.experts = 12, .topk = 3, .source_rows = true});
  expectMemory(WeightProblem{.n = 24, .k = 40});
  expectMemory(WorklistProblem{.workers = 3, .unit = 32});
  expectMemory(GgmlRowsProblem{.n = 6, .k = 64});
  expectMemory(GgmlGemmProblem{.n = 20, .k = 64, .activation = Activation::silu, .gated = true});
  expectMemory(GgmlGemmProblem{.n = 20, .k = 64, .experts = 3, .topk = 2});
  expectMemory(GgmlGemmProblem{.n = 20, .k = 64, .experts = 3, .topk = 2, .unit = 16});
  expectMemory(GgmlExpertsProblem{.experts = 3, .topk = 2, .n = 20, .k = 64});
  expectMemory(MqaLogitsProblem{.x = fx::bf16, .heads = 16, .head = 64});
  expectMemory(CausalConvProblem{.channels = 24, .bias = true, .fresh = true, .drafts = 2});
  expectMemory(fk::DepthwiseConvProblem{.channels = 24, .width = {.kernel = 3}, .bias = true});
  expectMemory(DeltaRuleProblem{.heads = 2, .v_heads = 4, .key = 16, .value = 16, .fresh = true});
  expectMemory(
      RopeProblem{.q_heads = 4, .kv_heads = 2, .head = 32, .cache = KvCache::pages, .page = 4});
  expectMemory(GemmProblem{.n = 48, .k = 64, .bias = true});
  expectMemory(GemmProblem{.b_layout = OperandLayout::rows, .n = 48, .k = 64});
  expectMemory(GemmProblem{.n = 64, .k = 2048}); // which has a workspace
  expectMemory(DecodeProblem{
      .q_heads = 4, .kv_heads = 2, .head = 32, .page = 16, .lse = true, .context = 40});
  expectMemory(AttentionProblem{
      .q_heads = 4, .kv_heads = 2, .head = 32, .varlen = true, .bias = true, .lse = true});
}

TEST_CASE("the memory of operands is that of their allocation, whoever made it") {
  const fk::SoftmaxProblem problem{.x = fx::f32, .y = fx::f32, .n = 8};
  const fk::SoftmaxPlan plan(problem, fk::choose(problem, 4), kChecked);
  fx::DeviceArray<float> x({8, 8}), y({4, 8});
  x.fill(1);
  const auto refusal = [&](const fx::TensorArg &x) {
    return messageOf([&] {
      plan({.x = x, .y = y});
      fx::Device::current().synchronize();
    });
  };
  const auto part = [&](std::int64_t first, std::int64_t stride) {
    return fx::tensor(x.data() + first, {4, 8}, {stride, 1});
  };
  CHECK(refusal(part(0, 8)) == "no error");
  CHECK(refusal(part(32, 8)) == "no error"); // the last rows
  CHECK(refusal(part(8, 16)) == "no error"); // every other one
  expectPart(refusal(part(40, 8)),
             "softmax: x spans 128 bytes by its extents and strides, and its memory ends after 96: "
             "it is an allocation of 256 bytes, in which x starts at byte 160");
  expectPart(refusal(part(8, 24)), "softmax: x spans 320 bytes");
  expectPart(refusal(part(0, std::int64_t(1) << 45)), "softmax: x spans ");
  // What the family's own checks refuse is theirs.
  expectPart(refusal(part(32, -8)), "the stride of m is negative");

  // The host's memory, and memory that was freed.
  std::vector<float> host(32);
  const char *unknown =
      "softmax: x points to memory that the driver does not know: it was freed, or "
      "is the host's own; give it memory of the device";
  expectPart(refusal(fx::tensor(host.data(), {4, 8})), unknown);
  std::optional<fx::DeviceArray<float>> freed(fx::Extents{4, 8});
  const fx::TensorArg gone = fx::tensor(freed->data(), {4, 8});
  freed.reset();
  expectPart(refusal(gone), unknown);

  // No rows need no memory.
  CHECK(messageOf([&] {
          plan({.x = fx::tensor(static_cast<float *>(nullptr), {0, 8}),
                .y = fx::tensor(static_cast<float *>(nullptr), {0, 8})});
        }) == "no error");
}

TEST_CASE("plans that check memory do so in captures, from files, and by the environment") {
  const fk::SoftmaxProblem problem{.x = fx::f32, .y = fx::f32, .n = 8};
  const auto config = fk::choose(problem, 4);
  fx::DeviceArray<float> x({4, 8}), y({4, 8});
  x.fill(1);
  const fk::SoftmaxArgs good{.x = x, .y = y}, bad{.x = x, .y = fx::tensor(y.data() + 8, {4, 8})};
  const char *part = "softmax: y spans 128 bytes";
  const fk::SoftmaxPlan plan(problem, config, kChecked);
  const fx::Stream stream;
  const Replay replay(stream, [&] {
    expectPart(messageOf([&] { plan(bad, stream); }), part);
    plan(good, stream);
  });
  replay();
  CHECK(y.to_host()[31] == 0.125f);

  const ScratchFile file;
  fk::export_aot(problem, config, file.path(), {});
  const fx::AotModule module = fx::load_aot(file.path());
  expectPart(messageOf([&] { fk::SoftmaxPlan::load(module, problem, config, kChecked)(bad); }),
             part);

  setenv("FLYDSL_KERNELS_CHECK_MEMORY", "1", 1);
  const fk::SoftmaxPlan byEnvironment(problem, config);
  unsetenv("FLYDSL_KERNELS_CHECK_MEMORY");
  expectPart(messageOf([&] { byEnvironment(bad); }), part);
  // Without the check, the call is launched.
  const fk::SoftmaxPlan plain(problem, config);
  fx::DeviceArray<float> room({5, 8});
  plain({.x = x, .y = fx::tensor(room.data() + 8, {4, 8})}, stream);
  stream.synchronize();
}

TEST_CASE("an address's allocation is what the driver knows of it") {
  const fx::DeviceArray<float> array({10});
  const auto found = fx::allocation_of(array.data() + 3);
  REQUIRE(found);
  CHECK(found->data == array.data());
  CHECK(found->bytes == 40);
  CHECK(!fx::allocation_of(array.data() + 10));
  int own = 0;
  CHECK(!fx::allocation_of(&own));
  CHECK(!fx::allocation_of(nullptr));
}
