// The rule for the operands of every family, on calls that are generated: for each operand strides
// of 0, negative, small, overlapping and huge, other extents, ranks, types and pointers.
#include "support/changed_call.h"
#include "support/whole_problems.h"

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/attention/merge_states.h>
#include <flydsl/kernels/causal_conv.h>
#include <flydsl/kernels/conv.h>
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
#include <flydsl/kernels/rows/copy_rows.h>
#include <flydsl/kernels/rows/group_norm.h>
#include <flydsl/kernels/rows/hadamard.h>
#include <flydsl/kernels/rows/permute.h>
#include <flydsl/kernels/rows/top_k.h>
#include <flydsl/kernels/sampling.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/softmax_backward.h>
#include <flydsl/kernels/topk_gating.h>
#include <flydsl/kernels/weight.h>
#include <flydsl/kernels/worklist.h>

#include <cstdio>

using namespace kernel_tests;

namespace {

/// Operands up to this size run; larger ones are looked at alone.
constexpr std::int64_t kMostBytes = 8 << 20;

/// What a change must lead to.
enum class Must : std::uint8_t {
  either,
  refuse,
  run,
  tell ///< the host may not know, but a plan that checks its indices tells
};

struct Change {
  GivenOperand operand;
  Must must = Must::either;
  bool shape = false; ///< other extents: another operand may be the one that does not fit
};

/// The operands whose extents the host cannot compare with anything: numbers in device memory say
/// how much of them is read. With fewer of these, the call is wrong by its contents, about which a
/// plan that checks its indices tells.
struct ByContents {
  const char *family, *operand;
  std::size_t mode, rank; ///< rank: with so many modes alone; 0: any
};
constexpr ByContents kByContents[] = {
    {"decode", "block_table", 1, 0},    {"decode", "k", 0, 0},
    {"attention", "block_table", 1, 0}, {"attention", "bias", 2, 0},
    {"attention", "bias", 3, 0},        {"attention", "kv_indices", 0, 0},
    {"decode", "kv_indices", 0, 0},     {"attention", "mask", 1, 0},
    {"attention", "mask", 2, 0},        {"moe_reduce", "x", 0, 2},
    {"mqa_logits", "k", 0, 3},          {"mqa_logits", "block_table", 1, 0},
    {"mqa_logits", "logits", 1, 0},     {"top_k", "block_table", 0, 0},
    {"top_k", "block_table", 1, 0},
};
/// Extents with which a call means something else: a sequence whose slot is past the state is left out,
/// and so is a pair of rows whose number is past the last one; a row has other elements.
struct OtherMeaning {
  const char *family, *operand;
  std::size_t mode = 0;
};
constexpr OtherMeaning kOtherMeaning[] = {
    {"delta_rule", "state"}, {"causal_conv", "state"}, {"copy_rows", "x"},
    {"copy_rows", "y"},      {"top_k", "x", 1},
};
bool hasOtherMeaning(std::string_view family, std::string_view operand) {
  return std::ranges::any_of(kOtherMeaning, [&](const OtherMeaning &row) {
    return family == row.family && operand == row.operand;
  });
}
bool hasOtherMeaning(std::string_view family, std::string_view operand, std::size_t mode) {
  return std::ranges::any_of(kOtherMeaning, [&](const OtherMeaning &row) {
    return family == row.family && operand == row.operand && mode == row.mode;
  });
}

/// All changes of one operand.
std::vector<Change> changesOf(const GivenOperand &own, fk::Role role, std::string_view family) {
  const bool isWritten = role == fk::Role::output || role == fk::Role::both;
  const bool isWorkspace = own.name == "workspace";
  std::vector<Change> all;
  const auto add = [&](const auto &change, Must must = Must::either, bool shape = false) {
    GivenOperand other = own;
    change(other);
    all.push_back({other, must, shape});
  };
  for (std::size_t mode = 0; mode < own.shape.size(); ++mode) {
    const std::int64_t stride = own.strides[mode], extent = own.shape[mode];
    const bool counts = extent > 1; // the stride of a mode with one element counts for nothing
    const auto strided = [&](std::int64_t to, Must must) {
      if (to != stride)
        add([&](GivenOperand &o) { o.strides[mode] = to; }, counts ? must : Must::run);
    };
    strided(0, isWritten ? Must::refuse : Must::either);
    for (const std::int64_t to : {-stride, -1l, -(stride + 16)})
      strided(to, Must::refuse);
    for (const std::int64_t to : {1l, stride / 2, stride - 1, stride + 1, stride + 4, stride + 8,
                                  stride + 16, stride * 2, stride * 3 + 16})
      strided(to, Must::either);
    for (const int bits : {20, 24, 29, 31, 32, 33, 40})
      strided(std::int64_t(1) << bits, Must::either);
    for (const int bits : {47, 50})
      strided(std::int64_t(1) << bits, Must::refuse);
    strided(-(std::int64_t(1) << 40), Must::refuse);
    if (isWorkspace)
      continue; // more is as good, and what is not there is in the test below
    for (const std::int64_t to : {extent - 1, extent + 1}) {
      const bool fewer = to < extent;
      const bool isOther = hasOtherMeaning(family, own.name, mode);
      const bool byContents =
          std::any_of(std::begin(kByContents), std::end(kByContents), [&](const ByContents &row) {
            return family == row.family && own.name == row.operand && mode == row.mode &&
                   (!row.rank || row.rank == own.shape.size());
          });
      if (to < 0)
        continue;
      add(
          [&](GivenOperand &o) {
            o.shape[mode] = to;
            o.strides = GivenOperand::contiguous(o.shape);
          },
          isOther      ? Must::either
          : byContents ? (fewer ? Must::tell : Must::either)
                       : Must::refuse,
          true);
    }
    // Two modes in the other order.
    if (mode > 0)
      add([&](GivenOperand &o) {
        std::vector<std::int64_t> turned = o.shape;
        std::swap(turned[mode], turned[mode - 1]);
        o.strides = GivenOperand::contiguous(turned);
        std::swap(o.strides[mode], o.strides[mode - 1]);
      });
  }
  if (own.name != "alibi_slopes") // which may have a mode of sequences
    add(
        [](GivenOperand &o) {
          o.shape.insert(o.shape.begin(), 1);
          o.strides = GivenOperand::contiguous(o.shape);
        },
        Must::refuse, true);
  if (own.shape.size() > 1)
    add(
        [](GivenOperand &o) {
          o.shape.erase(o.shape.begin());
          o.strides = GivenOperand::contiguous(o.shape);
        },
        Must::refuse, true);
  add([](GivenOperand &o) { o.dtype = o.dtype.memory_bits() == 32 ? fx::i16 : fx::f64; },
      Must::refuse);
  add(
      [&](GivenOperand &o) {
        o.dtype = o.dtype.memory_bits() == 8    ? (o.dtype == fx::i8 ? fx::u8 : fx::i8)
                  : o.dtype.memory_bits() == 16 ? fx::i16
                  : o.dtype.memory_bits() == 32 ? fx::u32
                                                : fx::u64;
      },
      Must::refuse);
  if (own.size() > 0 && !isWorkspace)
    add([](GivenOperand &o) { o.isNull = true; }, Must::refuse);
  add([](GivenOperand &o) { o.shift = 1; });
  return all;
}

/// Which calls of all are made: each `every`-th, from a seed on.
struct Share {
  std::uint64_t every = 1, seed = 0;
};
struct Counts {
  std::int64_t calls = 0, refused = 0, ran = 0, gaps = 0;
};

template <class P>
void expectChange(const ChangedCalls<P> &calls, const Change &change, Counts &counts) {
  const std::string family(fk::FamilyOf<P>::name);
  INFO(family << ", " << change.operand.str());
  ++counts.calls;
  const auto [low, high] = change.operand.reach();
  const bool isLarge =
      (low + high + 1) * change.operand.dtype.memory_bits() / 8 > __int128(kMostBytes);
  Outcome outcome;
  if (change.must == Must::tell) {
    CHECK_FALSE(calls.told(change.operand).empty());
    return;
  }
  if (isLarge)
    outcome.refusal = calls.refusal(change.operand);
  else
    outcome = calls.run(change.operand);
  CHECK_FALSE(outcome.touchedOthers);
  if (!outcome.refusal.empty()) {
    ++counts.refused;
    INFO(outcome.refusal);
    CHECK(change.must != Must::run);
    if (outcome.refusal.find("spans more than 2^63 bytes") != std::string::npos)
      return; // there is no such tensor: fx::tensor refuses to make it
    // "softmax: x has ...": the operand, or with other extents one that they do not fit.
    CHECK(outcome.refusal.find(family + ": ") != std::string::npos);
    bool isNamed =
        outcome.refusal.find(family + ": " + change.operand.name + " ") != std::string::npos;
    // With a huge stride it spans what another one is in: "permute: y lies in the memory of x, ...".
    isNamed |= outcome.refusal.find(" lies in the memory of " + change.operand.name + ",") !=
               std::string::npos;
    for (const GivenOperand &operand : calls.operands())
      isNamed |=
          change.shape && outcome.refusal.find(" " + operand.name + " ") != std::string::npos;
    CHECK(isNamed);
    return;
  }
  CHECK(change.must != Must::refuse);
  if (isLarge)
    return;
  ++counts.ran;
  // The numbers that the operand held, in contiguous memory.
  const bool isRead = calls.roleOf(change.operand.name).read();
  Outcome expected = calls.base();
  if (isRead && !change.shape) {
    GivenOperand same = change.operand;
    same.strides = GivenOperand::contiguous(same.shape);
    same.shift = 0;
    const std::vector<std::uint8_t> held = calls.held(change.operand);
    if (held != calls.held(same))
      expected = calls.run(same, &held);
    else
      ++counts.gaps;
  }
  if (change.shape && hasOtherMeaning(family, change.operand.name))
    return;
  if (change.shape) { // it has more elements
    outcome.outputs.erase(change.operand.name);
    expected.outputs.erase(change.operand.name);
  }
  CHECK(outcome.outputs == expected.outputs);
}

/// Operands that are written and may be another one exactly: what the families' pages say.
struct InPlace {
  std::string_view family, written, read;
};
constexpr InPlace kInPlace[] = {
    {"norm", "y", "x"},
    {"norm", "y", "gate"},
    {"norm", "y", "residual"},
    {"norm", "residual_out", "x"},
    {"norm", "residual_out", "residual"},
    {"norm_backward", "dx", "x"},
    {"norm_backward", "dx", "dy"},
    {"norm_backward", "dx", "dresidual"},
    {"softmax", "y", "x"},
    {"softmax_backward", "dx", "y"},
    {"softmax_backward", "dx", "dy"},
    {"hadamard", "y", "x"},
    {"group_norm", "y", "x"},
    {"copy_rows", "y", "x"},
    {"rope", "q_out", "q"},
    {"rope", "k_out", "k"},
    {"gemm", "c", "residual"},
    {"ggml_gemm", "c", "residual"},
    {"merge_states", "y", "a"},
    {"moe_forward", "y", "x"},
};

/// What is written shares memory with no other operand: neither where that begins, but for those
/// above, nor in its middle.
template <class P> void expectApart(const ChangedCalls<P> &calls) {
  const std::string family(fk::FamilyOf<P>::name);
  for (std::size_t i = 0; i < calls.operands().size(); ++i) {
    const GivenOperand &written = calls.operands()[i];
    const fk::Role role = calls.role(i);
    if (role.read() && role != fk::Role::both && role != fk::Role::flagged)
      continue;
    for (const GivenOperand &other : calls.operands()) {
      if (other.name == written.name || !written.size() || !other.size())
        continue;
      const bool maySame = std::ranges::any_of(kInPlace, [&](const InPlace &row) {
        return row.family == family && row.written == written.name && row.read == other.name;
      });
      const std::int64_t bytes = other.size() * other.dtype.memory_bits() / 8,
                         middle = std::max<std::int64_t>(bytes / 2 & -16, 16);
      for (const std::int64_t after : {std::int64_t(0), middle}) {
        if (after >= bytes || (after == 0 && maySame))
          continue;
        INFO(written.name << " begins " << after << " bytes after " << other.name);
        const std::string text = calls.refusalIn(written.name, other.name, after);
        const bool isTold =
            text.find(written.name + " shares memory with " + other.name) != std::string::npos ||
            text.find(other.name + " shares memory with " + written.name) != std::string::npos ||
            text.find(written.name + " lies in the memory of " + other.name) != std::string::npos;
        INFO(text);
        CHECK(isTold);
      }
    }
  }
}

template <class P> void expectRule(const std::vector<P> &problems, const Share &share) {
  const std::string family(fk::FamilyOf<P>::name);
  Counts counts;
  for (const P &problem : problems) {
    if (!fk::supported(problem))
      continue; // not on this target
    for (std::int64_t m : {8, 2}) {
      if (share.every > 1 && m != 8)
        continue;
      INFO(fx::to_config(problem).str() << ", m=" << m);
      const ChangedCalls<P> calls(problem, fk::choose(problem, m), m);
      if (m == 2 && !calls.base().refusal.empty())
        continue; // by columns, a has a multiple of 8 rows
      REQUIRE(calls.base().refusal.empty());
      if (m == 8)
        expectApart(calls);
      std::uint64_t number = 0;
      for (std::size_t i = 0; i < calls.operands().size(); ++i)
        for (const Change &change : changesOf(calls.operands()[i], calls.role(i), family))
          if (share.every == 1 || fx::detail::randomBits(share.seed, number++) % share.every == 0)
            expectChange(calls, change, counts);
    }
  }
  std::printf("%s: %lld calls, %lld refused, %lld ran, %lld of them with other strides\n",
              family.c_str(), static_cast<long long>(counts.calls),
              static_cast<long long>(counts.refused), static_cast<long long>(counts.ran),
              static_cast<long long>(counts.gaps));
  CHECK(counts.refused > 0);
  CHECK((share.every > 1 || counts.ran > 0));
}

void expectRules(const Share &share) {
  using namespace fk;
  const fx::DType small =
      fx::Device::current().target().has(fx::Feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
  expectRule<SoftmaxProblem>({{.n = 24}, {.x = fx::f32, .y = fx::bf16, .n = 9}}, share);
  expectRule<SoftmaxBackwardProblem>({{.n = 24}, {.dx = fx::f32, .n = 9}}, share);
  expectRule<NormProblem>(
      {{.kind = NormKind::layer, .n = 24, .bias = true, .residual = true, .statistics = true},
       {.y = fx::i8, .n = 16, .quantise = Quantisation::row, .smooth = true},
       {.y = fx::i8, .n = 16, .quantise = Quantisation::fixed}},
      share);
  expectRule<NormBackwardProblem>(
      {{.kind = NormKind::layer, .n = 24, .bias = true, .residual = true}, {.n = 16}}, share);
  expectRule<QuantiseProblem>({{.q = fx::i8, .n = 32, .scale = ScaleOf::row},
                               {.q = fx::i8, .n = 32, .scale = ScaleOf::tensor},
                               {.q = fx::i8, .n = 32, .scale = ScaleOf::given},
                               {.q = fx::f8E4M3FN, .n = 64, .scale = ScaleOf::block}},
                              share);
  expectRule<GroupedGemmProblem>({kWholeGroups,
                                  {.a = fx::i8,
                                   .b = fx::i8,
                                   .b_layout = OperandLayout::rows,
                                   .experts = 4,
                                   .n = 32,
                                   .k = 64,
                                   .groups = GroupLayout::masked,
                                   .capacity = 16,
                                   .scale_a = Scales::per_row,
                                   .scale_b = Scales::per_row}},
                                 share);
  MoeForwardProblem adding = kWholeMixture;
  adding.any_order = true;
  expectRule<MoeForwardProblem>({kWholeMixture, adding}, share);
  expectRule<MergeStatesProblem>(
      {{.heads = 2, .head = 16, .sink = true, .lse = true}, {.heads = 2, .head = 24, .states = 3}},
      share);
  expectRule<MoeReduceProblem>(
      {{.n = 24, .topk = 3, .weights = true, .mask = true},
       {.n = 24, .topk = 3, .places = true},
       {.x = fx::f8E4M3FN, .n = 24, .topk = 3, .group = 8, .experts = 5},
       {.x = fx::f8E5M2, .n = 64, .topk = 3, .places = true, .group = 32, .group_scale = fx::f32}},
      share);
  expectRule<MoeSortProblem>({kWholeSort, {.experts = 8, .topk = 2, .unit = 16, .capacity = 32}},
                             share);
  expectRule<SamplingProblem>({kWholeSampling, {.logits = fx::bf16, .vocabulary = 17}}, share);
  expectRule<TopkGatingProblem>({{.experts = 12, .topk = 3, .source_rows = true},
                                 {.experts = 12, .topk = 3, .bias = true, .shared = 1},
                                 {.experts = 12, .topk = 3, .given = true}},
                                share);
  expectRule<WeightProblem>({{.n = 24, .k = 40}}, share);
  expectRule<WorklistProblem>(
      {{.workers = 3, .unit = 32}, {.workers = 3, .unit = 32, .varlen = true}}, share);
  expectRule<GgmlRowsProblem>({{.n = 6, .k = 64}}, share);
  expectRule<GgmlGemmProblem>(
      {{.n = 20, .k = 64}, {.n = 20, .k = 64, .activation = Activation::silu, .gated = true}},
      share);
  expectRule<GgmlGemmProblem>({{.n = 20, .k = 64, .experts = 3, .topk = 2},
                               {.n = 20, .k = 64, .experts = 3, .topk = 2, .unit = 16}},
                              share);
  expectRule<GgmlExpertsProblem>({{.experts = 3, .topk = 2, .n = 20, .k = 64}}, share);
  expectRule<MqaLogitsProblem>({{.x = fx::bf16, .heads = 16, .head = 64, .k_scale = true},
                                {.x = small, .heads = 16, .head = 128},
                                {.x = fx::bf16, .heads = 16, .head = 64, .paged = true, .page = 4}},
                               share);
  expectRule<HadamardProblem>(
      {{.n = 32}, {.y = fx::i8, .n = 64, .quantise = Quantisation::row, .group = 16, .rows = true}},
      share);
  expectRule<GroupNormProblem>(
      {{.channels = 8, .groups = 2}, {.channels = 6, .groups = 3, .affine = false}}, share);
  expectRule<MergeStatesProblem>({{.heads = 2, .head = 16, .states = 3, .base2 = true}}, share);
  // Transposes, rows as they are, and modes that move among each other.
  expectRule<PermuteProblem>({{.type = fx::f32},
                              {.rank = 3, .order = {1, 0, 2}, .row_align = 2},
                              {.type = fx::u8, .rank = 4, .order = {0, 2, 3, 1}}},
                             share);
  expectRule<CopyRowsProblem>({{.n = 24, .gather = true, .scatter = true},
                               {.type = fx::u8, .n = 9, .gather = true, .index = fx::i64},
                               {.type = fx::f32, .n = 8, .scatter = true, .row_align = 1}},
                              share);
  expectRule<TopKProblem>({{.k = 3, .lengths = true, .n = 40},
                           {.x = fx::bf16,
                            .k = 5,
                            .indices = false,
                            .slots = true,
                            .page = 4,
                            .sequences = true,
                            .row_align = 4,
                            .n = 24}},
                          share);
  expectRule<CausalConvProblem>(
      {{.channels = 24, .bias = true, .fresh = true, .drafts = 2},
       {.x = fx::f32, .channels = 20, .order = ConvStateOrder::columns_last, .prefill = true}},
      share);
  const fk::ConvAxis three{.kernel = 3, .before = 1, .after = 1};
  // Each element of x counts with a stride of 1: with another one, up to stride - 1 more are as good.
  expectRule<ConvProblem>(
      {{.channels = 16,
        .filters = 24,
        .height = three,
        .width = three,
        .bias = true,
        .activation = Activation::relu},
       {.x = fx::i8,
        .weight = fx::i8,
        .y = fx::f16,
        .rank = 1,
        .channels = 64,
        .filters = 16,
        .groups = 2,
        .width = three,
        .scale_x = Scales::per_tensor,
        .scale_weight = Scales::per_row},
       {.rank = 1, .channels = 8, .filters = 8, .width = three, .transposed = true}},
      share);
  expectRule<fk::DepthwiseConvProblem>(
      {{.channels = 24, .height = three, .width = three, .bias = true},
       {.x = fx::f32, .rank = 1, .channels = 6, .multiplier = 2, .width = three}},
      share);
  expectRule<DeltaRuleProblem>(
      {{.heads = 2, .v_heads = 4, .key = 16, .value = 16, .fresh = true},
       {.x = fx::bf16, .heads = 1, .v_heads = 2, .key = 128, .value = 32, .prefill = true},
       {.heads = 1,
        .v_heads = 2,
        .key = 16,
        .value = 16,
        .update = fk::StateUpdate::add,
        .decay = fk::DecayGate::softplus,
        .strength = fk::UpdateStrength::step,
        .skip = true},
       {.heads = 2,
        .v_heads = 2,
        .key = 16,
        .value = 16,
        .decay = fk::DecayGate::softplus,
        .strength = fk::UpdateStrength::sigmoid,
        .by_channel = true},
       {.x = fx::bf16,
        .heads = 1,
        .v_heads = 2,
        .key = 128,
        .value = 32,
        .by_channel = true,
        .prefill = true}},
      share);
  const auto rope = [](auto change) {
    RopeProblem problem{.q_heads = 4, .kv_heads = 2, .head = 32, .page = 4};
    change(problem);
    return problem;
  };
  expectRule<RopeProblem>({rope([](RopeProblem &p) {
                             p.cache = KvCache::pages;
                             p.q_norm = p.k_norm = HeadNorm::weighted;
                             p.quantise = Quantisation::row;
                             p.y = fx::i8;
                           }),
                           rope([](RopeProblem &p) {
                             p.cache = KvCache::packed;
                             p.pack = 8;
                             p.cached = fx::i8;
                             p.cache_scales = KvScales::head;
                             p.style = RopeStyle::gptj;
                           }),
                           rope([](RopeProblem &p) {
                             p.quantise = Quantisation::fixed;
                             p.y = fx::i8;
                             p.rotary = 16;
                           })},
                          share);
  expectRule<GemmProblem>(
      {{.n = 48, .k = 64, .bias = true},
       {.b_layout = OperandLayout::rows, .n = 48, .k = 64},
       {.a_layout = OperandLayout::columns, .b_layout = OperandLayout::columns, .n = 48, .k = 64},
       {.a = fx::i8,
        .b = fx::i8,
        .c = fx::f32,
        .n = 40,
        .k = 96,
        .scale_a = Scales::per_row,
        .scale_b = Scales::per_row},
       {.a = small,
        .b = small,
        .n = 64,
        .k = 256,
        .scale_a = Scales::per_block,
        .scale_b = Scales::per_block},
       {.n = 64, .k = 2048}},
      share);
  const auto decode = [](auto change) {
    DecodeProblem problem{.q_heads = 4, .kv_heads = 2, .head = 32, .page = 16, .context = 40};
    change(problem);
    return problem;
  };
  expectRule<DecodeProblem>(
      {decode([](DecodeProblem &p) { p.lse = true; }),
       decode([](DecodeProblem &p) { p.csr = true; }),
       decode([](DecodeProblem &p) {
         p.cache = KvCache::packed;
         p.pack = 8;
       }),
       decode([&](DecodeProblem &p) {
         p.kv = small;
         p.scales = KvScales::token;
         p.context = 700;
       }),
       {.q_heads = 16, .kv_heads = 1, .head = 192, .page = 16, .latent = 128, .context = 40}},
      share);
  const auto attention = [](auto change) {
    AttentionProblem problem{.q_heads = 4, .kv_heads = 2, .head = 32};
    change(problem);
    return problem;
  };
  expectRule<AttentionProblem>(
      {attention([](AttentionProblem &p) { p.bias = p.alibi = p.sink = p.lse = true; }),
       attention([](AttentionProblem &p) { p.varlen = p.lse = p.bias = true; }),
       attention([](AttentionProblem &p) { p.mask = p.alibi = true; }),
       attention([](AttentionProblem &p) { p.varlen = p.mask = true; }),
       attention([](AttentionProblem &p) {
         p.cache = KvCache::pages;
         p.page = 4;
         p.csr = true;
       }),
       attention([&](AttentionProblem &p) {
         p.cache = KvCache::pages;
         p.page = 4;
         p.kv = small;
         p.scales = fk::KvScales::token;
       }),
       attention([](AttentionProblem &p) {
         p.cache = KvCache::packed;
         p.varlen = true;
         p.page = 16;
         p.pack = 8;
       })},
      share);
}

} // namespace

TEST_CASE("a call with a changed operand is refused, or computes what contiguous ones give",
          "[sample]") {
  expectRules({.every = 12, .seed = 1});
}

TEST_CASE("each call with a changed operand is refused, or computes what contiguous ones give",
          "[all]") {
  expectRules({});
}
