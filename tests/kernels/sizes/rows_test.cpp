// Families over rows, and those with few sizes, at every size where what the library answers for
// them changes: see support/size_sweep.h. A share of the runs is made by default, all by "[all]".
#include "support/size_sweep.h"

using namespace kernel_tests;

namespace {

using fk::NormBackwardProblem, fk::NormProblem, fk::QuantiseProblem, fk::RowConfig,
    fk::SoftmaxBackwardProblem, fk::SoftmaxProblem, fk::TopkGatingProblem, fk::MoeReduceProblem,
    fk::MoeSortProblem, fk::SamplingProblem, fk::WeightProblem, fk::WorklistProblem,
    fk::HadamardProblem, fk::GroupNormProblem, fk::PermuteProblem, fk::CopyRowsProblem,
    fk::TopKProblem, fk::MergeStatesProblem;

fx::DType float8Here() { return here().has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN; }

/// The problems that differ by n, for each kind of them.
template <class P>
std::vector<P> ofSizes(const std::vector<P> &kinds, std::int64_t P::*size, std::int64_t most) {
  std::vector<P> all;
  for (const P &kind : kinds) {
    const std::function<P(std::int64_t)> problemOf = [&](std::int64_t n) {
      P problem = kind;
      problem.*size = n;
      return problem;
    };
    for (const std::int64_t n : rowSizes<P>(problemOf, most))
      all.push_back(problemOf(n));
  }
  return all;
}

/// One row, and a row more than a block has, if they are short.
template <class P>
std::vector<std::int64_t> blockOfRows(std::int64_t length, const fk::ConfigOf<P> &config) {
  const std::int64_t rows = config.block / config.threads;
  if (length > 20000)
    return {1};
  return rows * length > 40000 ? std::vector<std::int64_t>{1, 3}
                               : std::vector<std::int64_t>{1, rows, rows + 1};
}

/// Rows are at most a little longer than what the registers of the largest block hold.
constexpr std::int64_t kMostElements = 66000, kMostOfBackward = 40000;

template <class P>
void sweepRows(const std::vector<P> &kinds, const SweepShare &share,
               std::int64_t most = kMostElements) {
  sweep<P>(
      ofSizes<P>(kinds, &P::n, most),
      [](const P &problem, const fk::ConfigOf<P> &config) {
        return blockOfRows<P>(problem.n, config);
      },
      share);
}

void sweepSoftmax(const SweepShare &share) {
  sweepRows<SoftmaxProblem>({{}, {.x = fx::f32, .y = fx::bf16}}, share);
}
void sweepSoftmaxBackward(const SweepShare &share) {
  sweepRows<SoftmaxBackwardProblem>({{}, {.dx = fx::f32}}, share, kMostOfBackward);
}
void sweepNorm(const SweepShare &share) {
  sweepRows<NormProblem>(
      {{.x = fx::bf16, .weight = fx::bf16, .y = fx::bf16, .residual = true},
       {.kind = fk::NormKind::layer, .x = fx::f32, .bias = true, .statistics = true},
       {.y = fx::i8, .quantise = fk::Quantisation::row, .smooth = true},
       {.y = float8Here(), .residual = true, .quantise = fk::Quantisation::row}},
      share);
}
void sweepNormBackward(const SweepShare &share) {
  sweepRows<NormBackwardProblem>(
      {{}, {.kind = fk::NormKind::layer, .x = fx::f32, .bias = true, .residual = true}}, share,
      kMostOfBackward);
  // As many rows as the blocks of a call take, and one more: each number of blocks.
  std::vector<NormBackwardProblem> narrow{{.n = 8}, {.n = 40, .bias = true}};
  sweep<NormBackwardProblem>(narrow,
                             [](const NormBackwardProblem &, const fk::NormBackwardConfig &config) {
                               const std::int64_t each = config.block / config.threads;
                               return std::vector<std::int64_t>{
                                   64, 65, 512, 513, 2048, 2049, each, each * config.programs + 1};
                             },
                             {.every = share.every * 4, .seed = share.seed});
}
void sweepQuantise(const SweepShare &share) {
  sweepRows<QuantiseProblem>({{},
                              {.x = fx::f32, .q = float8Here(), .scale = fk::ScaleOf::tensor},
                              {.x = fx::bf16, .scale = fk::ScaleOf::given},
                              {.q = fx::f8E4M3FN, .scale = fk::ScaleOf::block},
                              {.x = fx::bf16, .q = fx::f4E2M1FN, .scale = fk::ScaleOf::block}},
                             share);
}
void sweepMoeReduce(const SweepShare &share) {
  const std::vector<MoeReduceProblem> kinds{{.topk = 8, .weights = true},
                                            {.x = fx::bf16, .y = fx::f32, .topk = 3, .mask = true},
                                            {.topk = 64, .weights = true, .mask = true}};
  sweep<MoeReduceProblem>(
      ofSizes<MoeReduceProblem>(kinds, &MoeReduceProblem::n, 20000),
      [](const MoeReduceProblem &problem, const RowConfig &config) {
        return blockOfRows<MoeReduceProblem>(problem.n * problem.topk, config);
      },
      share);
}
void sweepTopkGating(const SweepShare &share) {
  // DeepSeek has 256 experts of 8, Kimi 384, GLM 160, gpt-oss 128 of 4, Qwen 60 and 128, Mixtral 8 of
  // 2; up to the most, and the neighbours of what a thread has.
  std::vector<TopkGatingProblem> all;
  for (const fx::DType type : {fx::DType(fx::f32), fx::DType(fx::bf16)}) {
    const std::function<TopkGatingProblem(std::int64_t)> problemOf = [&](std::int64_t experts) {
      return TopkGatingProblem{.logits = type, .experts = experts};
    };
    std::set<std::int64_t> sizes{1,   2,   3,   8,   16,  60,  63,  64,   65,   96,  127,
                                 128, 129, 160, 256, 257, 384, 512, 1023, 2047, 2048};
    for (const std::int64_t size : limitsOf<TopkGatingProblem>(problemOf, 1, 2048))
      sizes.insert(size);
    for (const std::int64_t experts : sizes)
      for (const int topk : {1, 2, 4, 8, 33, 64})
        if (topk <= experts)
          all.push_back({.logits = type,
                         .experts = experts,
                         .topk = topk,
                         .renormalise = topk % 4 == 0,
                         .source_rows = topk % 2 == 0});
  }
  for (const std::int64_t experts : {8, 64, 128, 160, 256, 384, 512, 1024, 2048})
    for (const fk::GatingScore score :
         {fk::GatingScore::softmax, fk::GatingScore::sigmoid, fk::GatingScore::sqrt_softplus})
      for (const int groups : {1, 8}) {
        all.push_back({.logits = fx::bf16,
                       .experts = experts,
                       .topk = groups == 1 ? 4 : 3,
                       .renormalise = true,
                       .score = score,
                       .bias = true,
                       .groups = groups,
                       .topk_groups = groups == 1 ? 1 : 4,
                       .scale = 2.5f,
                       .shared = 1});
        all.push_back({.experts = experts, .topk = 2, .score = score, .given = groups == 1});
      }
  sweep<TopkGatingProblem>(
      all,
      [](const TopkGatingProblem &problem, const RowConfig &config) {
        return blockOfRows<TopkGatingProblem>(problem.experts, config);
      },
      share);
}
void sweepMoeSort(const SweepShare &share) {
  // Experts and slots of models, and the neighbours of what one block's threads and LDS hold.
  std::vector<MoeSortProblem> all;
  for (const std::int64_t experts : {1,   2,   8,   31,  32,  33,   60,   64,   65,   128, 160,
                                     255, 256, 257, 384, 512, 1023, 1024, 1025, 2047, 2048})
    for (const int topk : {1, 2, 4, 8, 10, 32, 64})
      for (const int unit : {1, 16, 48, 64, 128, 256})
        all.push_back({.experts = experts,
                       .topk = topk,
                       .unit = unit,
                       .capacity = unit % 3 ? 0 : 2 * unit,
                       .local = topk == 8 ? (experts + 7) / 8 : 0,
                       .weights = topk != 2,
                       .tokens = topk == 10,
                       .places = topk % 4 == 0});
  sweep<MoeSortProblem>(
      all,
      [](const MoeSortProblem &problem, const fk::MoeSortConfig &config) {
        const std::int64_t each = config.block / problem.topk + 1;
        return std::vector<std::int64_t>{0,  1,    2,        7,
                                         64, each, each - 1, 2 * each * config.blocks + 1};
      },
      share);
}
void sweepSampling(const SweepShare &share) {
  // Vocabularies around what a block's accesses hold, and of models.
  std::vector<SamplingProblem> all;
  for (const std::int64_t n :
       {1,    2,    31,   32,   33,   63,   64,   65,    255,   256,   257,
        1023, 1024, 1025, 4095, 4096, 4097, 8200, 16384, 16400, 32000, 50257})
    for (const fx::DType logits : {fx::f32, fx::bf16})
      for (const int cuts : {0, 1, 2, 3})
        all.push_back({.logits = logits,
                       .vocabulary = n,
                       .temperature = cuts > 0,
                       .top_k = cuts == 2 || (n % 2 == 1 && cuts == 1),
                       .top_p = cuts > 1,
                       .min_p = cuts == 3,
                       .bias = n % 4 == 1,
                       .mask = n % 8 == 7,
                       .penalties = n < 100 && cuts == 3,
                       .log_probabilities = n % 2 == 0,
                       .advance = cuts == 3});
  sweep<SamplingProblem>(
      all,
      [](const SamplingProblem &problem, const fk::SamplingConfig &) {
        return problem.vocabulary > 5000 ? std::vector<std::int64_t>{1}
                                         : std::vector<std::int64_t>{0, 1, 3};
      },
      share);
}
void sweepWeight(const SweepShare &share) {
  std::vector<WeightProblem> all;
  for (const fx::DType type :
       {fx::DType(fx::i8), fx::DType(fx::bf16), fx::DType(fx::f32), float8Here()})
    for (const std::int64_t n : {1, 15, 16, 17, 33, 576})
      for (const std::int64_t bytes : {16, 48, 64, 80, 128, 1008, 1024, 1040, 5760})
        all.push_back({.dtype = type, .n = n, .k = bytes / type.bytes()});
  sweep<WeightProblem>(
      all,
      [](const WeightProblem &problem, const fk::WeightConfig &) {
        return std::vector<std::int64_t>{problem.n};
      },
      share);
}
void sweepWorklist(const SweepShare &share) {
  std::vector<WorklistProblem> all;
  for (const int workers : {1, 2, 63, 64, 65, 256, 304, 1023, 1025, 5000})
    for (const int unit : {32, 256, 4096, 65536})
      for (const int queries : {1, 4})
        all.push_back({.workers = workers, .unit = unit, .queries = queries});
  sweep<WorklistProblem>(
      all,
      [](const WorklistProblem &, const fk::WorklistConfig &config) {
        return std::vector<std::int64_t>{1,  2,   31,  32,  33,   63,   64,
                                         65, 255, 256, 257, 1023, 1025, config.block * 3 + 1};
      },
      share);
}

void sweepHadamard(const SweepShare &share) {
  std::vector<HadamardProblem> all;
  for (std::int64_t n = 2; n <= 32768; n *= 2)
    for (const HadamardProblem &kind : {HadamardProblem{},
                                        {.x = fx::f32, .y = fx::f16, .scale = 0.125},
                                        {.y = fx::i8, .quantise = fk::Quantisation::row},
                                        {.x = fx::f16,
                                        .y = float8Here(),
                                        .quantise = fk::Quantisation::row,
                                        .group = 32,
                                        .group_scale = fx::f8E8M0FNU}}) {
      all.push_back(kind);
      all.back().n = n;
    }
  sweep<HadamardProblem>(
      all,
      [](const HadamardProblem &problem, const RowConfig &config) {
        return blockOfRows<HadamardProblem>(problem.n, config);
      },
      share);
}
void sweepGroupNorm(const SweepShare &share) {
  // Channels and groups of Stable Diffusion's and of autoencoders' blocks, and odd ones.
  std::vector<GroupNormProblem> all;
  for (const auto &[channels, groups] : {std::pair(1, 1),
                                         {3, 1},
                                         {6, 2},
                                         {32, 32},
                                         {33, 11},
                                         {128, 32},
                                         {320, 32},
                                         {512, 32},
                                         {960, 32},
                                         {1280, 32},
                                         {2560, 32},
                                         {2568, 8}})
    for (const fk::ImageLayout layout :
         {fk::ImageLayout::channels_last, fk::ImageLayout::channels_first})
      for (const bool affine : {false, true})
        all.push_back({.x = affine ? fx::DType(fx::bf16) : fx::DType(fx::f32),
                       .channels = channels,
                       .groups = groups,
                       .layout = layout,
                       .affine = affine,
                       .activation = affine ? fk::Activation::silu : fk::Activation::none});
  sweep<GroupNormProblem>(
      all,
      [](const GroupNormProblem &problem, const fk::GroupNormConfig &) {
        return problem.channels > 1000 ? std::vector<std::int64_t>{1}
                                       : std::vector<std::int64_t>{0, 1, 3};
      },
      share);
}
void sweepPermute(const SweepShare &share) {
  std::vector<PermuteProblem> all;
  for (const fx::DType type :
       {fx::DType(fx::u8), fx::DType(fx::bf16), fx::DType(fx::f32), fx::DType(fx::i64)})
    for (const int align : {1, 2, 16 / type.bytes()})
      for (const PermuteProblem &kind : {PermuteProblem{},
                                         {.rank = 3, .order = {0, 2, 1}},
                                         {.rank = 3, .order = {1, 0, 2}},
                                         {.rank = 4, .order = {0, 2, 3, 1}},
                                         {.rank = 4, .order = {0, 3, 1, 2}},
                                         {.rank = 5, .order = {4, 2, 0, 3, 1}}}) {
        all.push_back(kind);
        all.back().type = type;
        all.back().row_align = align;
      }
  sweep<PermuteProblem>(
      all,
      [](const PermuteProblem &problem, const fk::PermuteConfig &) {
        const std::int64_t align = problem.row_align;
        return std::vector<std::int64_t>{align, 6 * align, 33 * align, 64 * align, 130 * align};
      },
      share);
}
void sweepCopyRows(const SweepShare &share) {
  std::vector<CopyRowsProblem> all;
  for (const fx::DType type :
       {fx::DType(fx::u8), fx::DType(fx::f16), fx::DType(fx::f32), fx::DType(fx::i64)})
    for (const std::int64_t n : {1, 2, 7, 8, 63, 64, 65, 255, 256, 1000, 1024, 4096, 8200})
      for (const int numbers : {1, 2, 3})
        all.push_back({.type = type,
                       .n = n,
                       .gather = (numbers & 1) != 0,
                       .scatter = (numbers & 2) != 0,
                       .index = n % 2 ? fx::DType(fx::i64) : fx::DType(fx::i32)});
  sweep<CopyRowsProblem>(
      all,
      [](const CopyRowsProblem &problem, const fk::CopyRowsConfig &) {
        return problem.n > 1000 ? std::vector<std::int64_t>{0, 1, 3}
                                : std::vector<std::int64_t>{0, 1, 3, 65};
      },
      share);
}
void sweepTopK(const SweepShare &share) {
  // k around what a block holds, and rows around k, as long as a digit of their keys has places for.
  std::vector<TopKProblem> all;
  for (const int k : {1, 2, 63, 64, 65, 255, 256, 1024, 2048, 2049})
    for (const std::int64_t n : {1, 64, 65, 1000, 2048, 2050, 8200, 33000})
      for (const bool slots : {false, true})
        all.push_back({.x = n % 2 ? fx::DType(fx::f32) : fx::DType(fx::bf16),
                       .k = k,
                       .lengths = k % 2 == 0,
                       .indices = !slots,
                       .slots = slots,
                       .page = k % 2 ? 1 : 64,
                       .sequences = slots && k % 2 == 0,
                       .n = n});
  sweep<TopKProblem>(
      all,
      [](const TopKProblem &problem, const fk::TopKConfig &) {
        return problem.n > 5000 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{0, 1, 3};
      },
      share);
}
void sweepMergeStates(const SweepShare &share) {
  std::vector<MergeStatesProblem> all;
  for (const int head : {8, 64, 72, 128, 192, 256, 512, 1000})
    for (const int heads : {1, 3, 8, 32})
      for (const int states : {0, 1, 2, 5, 64})
        all.push_back({.x = head % 64 ? fx::DType(fx::f32) : fx::DType(fx::bf16),
                       .heads = heads,
                       .head = head,
                       .states = states,
                       .base2 = heads == 3,
                       .sink = states % 2 == 0,
                       .lse = heads % 2 == 0});
  sweep<MergeStatesProblem>(
      all,
      [](const MergeStatesProblem &problem, const fk::MergeStatesConfig &) {
        return problem.heads * problem.head * (problem.states + 1) > 20000
                   ? std::vector<std::int64_t>{1}
                   : std::vector<std::int64_t>{0, 1, 3, 17};
      },
      share);
}

constexpr struct {
  void (*run)(const SweepShare &);
  std::uint64_t every; ///< a long run makes one of so many calls, a default run 1 % of these
} kFamilies[] = {
    {sweepSoftmax, 16},       {sweepSoftmaxBackward, 20}, {sweepNorm, 30},
    {sweepNormBackward, 133}, {sweepQuantise, 30},        {sweepMoeReduce, 30},
    {sweepMoeSort, 66},       {sweepTopkGating, 13},      {sweepSampling, 10},
    {sweepWeight, 3},         {sweepWorklist, 5},         {sweepHadamard, 20},
    {sweepGroupNorm, 20},     {sweepPermute, 26},         {sweepCopyRows, 40},
    {sweepTopK, 20},          {sweepMergeStates, 53},
};

} // namespace

TEST_CASE("a share of the runs of rows at the limits of tables", "[run][rows]") {
  for (const auto &family : kFamilies)
    family.run({.every = 100 * family.every, .seed = 3});
}

TEST_CASE("rows at the limits of tables and of models", "[.][sizes][rows]") {
  for (const auto &family : kFamilies)
    family.run({.every = family.every, .seed = 1});
}
