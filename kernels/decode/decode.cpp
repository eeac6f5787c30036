// The host's part of decoding: what is supported, the configuration, the checks of a call, its launches.
#include "decode/decode_family.h"

#include "blocks/attention/csr_rules.h"
#include "blocks/attention/scale_rules.h"
#include "blocks/attention/worklist.h"
#include "blocks/facts/gpu_size.h"
#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"
#include "worklist/worklist_family.h"

#include <bit>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Decode = Family<DecodeProblem>;

constexpr int kLargestHead = 512, kLargestLatentHead = 640, kMostLatentRows = 128,
              kLargestPage = 65536, kMostRowsOfBlock = 64, kMostSplits = 1024;
/// Elements of a head that are loaded together at least, and what heads are multiples of.
constexpr int kHeadMultiple = 8;
/// The most of a grid's rows.
constexpr std::int64_t kMostGridRows = 65535;
/// Bytes of registers of a lane for the sums of all rows and elements: half of the registers of a
/// wave that has a SIMD's to itself on RDNA, a quarter on CDNA.
constexpr int kSumBytes = 512;
/// The fewest keys of a latent part that are worth a result of its own.
constexpr int kKeysOfLatentPart = 64;
/// To add the result of a part takes as long as this many keys take a block (estimated on MI300X and R9700,
/// 512 to 16,384 keys): a sequence of n keys that one block a part has to itself is done soonest in
/// sqrt(n / kKeysOfSum) parts.
constexpr int kKeysOfSum = 8;
/// A second kernel takes as long as so many keys take a block (estimated on MI308X: 4 us, 19 ns a key, twice).
constexpr int kKeysOfLaunch = 512;
/// The most tokens of a cache, so that a token's number has 32 bits; and of a sequence.
constexpr std::int64_t kMostTokens = 0x7fffffff;

Support cacheSupported(const DecodeProblem &problem) {
  if (const Support page = rangeSupported("page", problem.page, 1, kLargestPage); !page)
    return page;
  if (problem.cache == KvCache::none)
    return Support::no("cache is KvCache::none; keys are read from a cache, KvCache::pages or "
                       "KvCache::packed");
  if (problem.cache == KvCache::pages)
    return {};
  if (problem.pack < 8 || !std::has_single_bit(static_cast<unsigned>(problem.pack)) ||
      problem.head % problem.pack)
    return Support::no(is("pack", problem.pack) +
                       "; it is a power of two from 8 that divides head, which is " +
                       std::to_string(problem.head));
  if (const int y = vPackOf(problem); y < 8 || y % 8 || problem.page % y)
    return Support::no(is("v_pack", y) + "; it is a multiple of 8 that divides page, which is " +
                       std::to_string(problem.page));
  return {};
}

Support latentSupported(const DecodeProblem &problem) {
  if (problem.kv_heads != 1 || problem.cache != KvCache::pages || problem.scales == KvScales::token)
    return Support::no(is("latent", problem.latent) +
                       "; kv_heads is 1 then, the cache KvCache::pages, and scales are "
                       "KvScales::tensor, KvScales::head or none");
  if (problem.head_v)
    return Support::no(is("head_v", problem.head_v) + " and " + is("latent", problem.latent) +
                       "; with latent a value is the start of its key, and head_v is 0");
  if (problem.latent < 128 || problem.latent % 128 || problem.latent > problem.head)
    return Support::no(is("latent", problem.latent) +
                       "; it is a multiple of 128 up to head, which is " +
                       std::to_string(problem.head));
  if (problem.head > kLargestLatentHead || problem.head % 64)
    return Support::no(is("head", problem.head) + "; with latent it is a multiple of 64 up to " +
                       std::to_string(kLargestLatentHead));
  return {};
}

Support headsSupported(const DecodeProblem &problem) {
  if (problem.kv_heads < 1 || problem.q_heads < problem.kv_heads ||
      problem.q_heads % problem.kv_heads || problem.q_heads > 65535)
    return Support::no(is("q_heads", problem.q_heads) + " and " + is("kv_heads", problem.kv_heads) +
                       "; q_heads is a multiple of kv_heads, up to 65535");
  if (problem.latent)
    return latentSupported(problem);
  const auto head = [](const char *name, int elements) {
    if (elements >= kHeadMultiple && elements <= kLargestHead && elements % kHeadMultiple == 0)
      return Support{};
    return Support::no(is(name, elements) + "; it is a multiple of 8 from 8 to " +
                       std::to_string(kLargestHead));
  };
  return firstRefusal({head("head", problem.head), head("head_v", valueOf(problem))});
}

Support scoresSupported(const DecodeProblem &problem) {
  const auto number = [](const char *name, double value) {
    if (value >= 0 && std::isfinite(static_cast<float>(value)))
      return Support{};
    return Support::no(std::string(name) + " is " + std::to_string(value) +
                       "; it is not negative, and 0 for the default");
  };
  return firstRefusal({number("scale", problem.scale), number("soft_cap", problem.soft_cap),
                       problem.bias ? floatSupported("bias_type", problem.bias_type) : Support{}});
}

/// The bytes of a lane's sums: 16 x 16 of them are 4 registers on CDNA, 8 on RDNA.
int sumBytes(const DecodeProblem &problem, int rows, const MatrixForm &form) {
  return rows / 16 * (valueInSteps(problem) / 16) * form.sums() * 4;
}
int sharesOf(const DecodeProblem &problem, int rows, const MatrixForm &form) {
  return DecodeStep::of(problem, rows, form).shares;
}

/// The blocks that a compute unit holds at a time: the waves of a latent one fill its registers.
int blocksOfUnit(const DecodeProblem &problem) { return problem.latent ? 1 : 2; }

/// What the results of one more part cost all blocks, in units of a block's time for all keys. A latent
/// row has 512 sums and more, which go to memory and come back while other blocks do the same: this takes
/// as long as about three keys (estimated on MI325X, 128 heads over 2,048 and 8,192 keys of 8 and 16 bits).
double costOfPart(const DecodeProblem &problem, const DecodeConfig &config, double blocks,
                  double together) {
  constexpr double kOfPart = 0.02, kKeysOfLatentRow = 3;
  return problem.latent ? kKeysOfLatentRow * config.rows / problem.context * blocks / together
                        : kOfPart;
}

/// Whether two parts of each sequence take a fifth less than one, where blocks are enough for the GPU: the last round
/// of blocks is fuller then. With 162 blocks on MI308X that is so by the estimate, with 256 and 512 it is not.
bool fillsByTwo(const DecodeProblem &problem, const DecodeConfig &config, std::int64_t blocks,
                const Target &target) {
  if (problem.latent)
    return false;
  // Blocks of 16 rows whose products have 8 bits leave registers for a third one on CDNA, unless tokens have scales.
  const bool isThird = decodeForm(problem, target)->accumulates() && narrowProducts(problem) &&
                       config.rows == 16 && problem.scales != KvScales::token;
  const std::int64_t together = (isThird ? 3 : 2) * gpuSize(target)->computeUnits,
                     whole = (blocks + together - 1) / together,
                     halves = (2 * blocks + together - 1) / together;
  const double gain = double(whole) - double(halves) / 2; // in keys of a block
  return gain * 5 > double(whole) && gain * problem.context > kKeysOfLaunch;
}
/// The splits whose rounds of blocks are the shortest together, with what parts cost. A GPU takes a round
/// of all its compute units for a few blocks, too.
DecodeConfig withSplits(DecodeConfig config, const DecodeProblem &problem, std::int64_t m,
                        const Target &target) {
  const std::int64_t blocks = std::max<std::int64_t>(1, m / problem.queries) * problem.kv_heads *
                              rowBlocks(problem, config),
                     together = blocksOfUnit(problem) * gpuSize(target)->computeUnits,
                     wanted = (together + blocks - 1) / blocks,
                     most = problem.latent
                                ? problem.context / kKeysOfLatentPart
                                : std::lround(std::sqrt(double(problem.context) / kKeysOfSum));
  const std::int64_t limit = std::clamp<std::int64_t>(most, 1, 64);
  config.splits = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, limit));
  if (config.splits == 1) {
    if (fillsByTwo(problem, config, blocks, target))
      config.splits = 2;
    return config;
  }
  const double ofPart = costOfPart(problem, config, double(blocks), double(together));
  const auto cost = [&](std::int64_t splits) { // of one block's time for all keys
    const std::int64_t rounds = (blocks * splits + together - 1) / together;
    const double keys = double(rounds) / double(splits);
    if (problem.latent)
      return splits == 1 ? keys : keys + ofPart * double(splits);
    return keys * (1 + ofPart * double(splits));
  };
  // Fewer latent parts than blocks would take may be better, because their results are large.
  const std::int64_t fewest = problem.latent ? 1 : std::max<std::int64_t>(2, wanted - 1);
  for (std::int64_t splits = fewest; splits <= std::min(limit, 4 * wanted); ++splits)
    if (cost(splits) < cost(config.splits))
      config.splits = static_cast<int>(splits);
  return config;
}
/// The most elements of values of a wave without accumulation registers, whose sums are a quarter of
/// all registers then.
constexpr int kLatentElements = 128;
/// Bytes of shared memory that latent attention takes for a step of keys and, where they are there,
/// for the queries.
std::int64_t latentBytes(const DecodeProblem &problem, int rows, const MatrixForm &form) {
  return latentRowBytes(problem, latentKeys(form) + (latentSharesQueries(problem, form) ? rows : 0),
                        form);
}

/// As many rows as there are, up to 64, which leave a wave's registers room for half of the
/// elements of values; of waves that share rows, each has 128 elements at least. Products of 8 bits
/// leave room for all elements and so for 128 rows, if such blocks are enough for all compute units.
DecodeConfig chooseLatent(const DecodeProblem &problem, std::int64_t m, const Target &target) {
  int rows = 16;
  const std::int64_t parts = std::max<std::int64_t>(1, m / problem.queries) *
                             std::max(1, problem.context / kKeysOfLatentPart);
  const bool many = narrowProducts(problem) && parts >= gpuSize(target)->computeUnits;
  const MatrixForm form = *decodeForm(problem, target);
  const auto fits = [&](int more) {
    return latentBytes(problem, more, form) <= static_cast<std::int64_t>(target.lds_bytes());
  };
  int shares = form.accumulates() ? 1 : problem.latent / kLatentElements;
  while (rows < rowsOf(problem) && rows < (many ? kMostLatentRows : 64) && fits(2 * rows) &&
         2 * rows / 16 * shares <= kMostLatentWaves)
    rows *= 2;
  while (form.accumulates() && rows / 16 * shares < kMostLatentWaves &&
         problem.latent % (256 * shares) == 0)
    shares *= 2;
  return withSplits({.block = rows / 16 * shares * target.wave_size(), .rows = rows}, problem, m,
                    target);
}

/// The operands of a call, checked, as the kernels take them.
class Operands {
public:
  explicit Operands(const Call<DecodeProblem> &call)
      : problem_(call.problem), args_(call.args),
        arguments_(FamilyOf<DecodeProblem>::name, call.where) {
    m_ = args_.q.shape()[0];
    n_ = sequencesOf();
    if (m_ > kMostTokens)
      arguments_.fail("q has " + std::to_string(m_) + " tokens; " + std::to_string(kMostTokens) +
                      " are the most");
    if (!problem_.varlen && (m_ % problem_.queries || m_ / problem_.queries != n_))
      arguments_.fail("q has " + std::to_string(m_) + " tokens and seq_lens " + std::to_string(n_) +
                      " sequences; each sequence has " + std::to_string(problem_.queries));
    params.q = arguments_.operand<2>(
        args_.q, {.name = "q",
                  .dtype = problem_.q,
                  .shape = {"m, q_heads, head", m_, problem_.q_heads, problem_.head},
                  .free = 2,
                  .align = queryAlign(problem_),
                  .reason = kPieces});
    params.o = arguments_.operand<2>(args_.o, {.name = "o",
                                               .dtype = problem_.y,
                                               .shape = {problem_.latent   ? "m, q_heads, latent"
                                                         : problem_.head_v ? "m, q_heads, head_v"
                                                                           : "m, q_heads, head",
                                                         m_, problem_.q_heads, valueOf(problem_)},
                                               .free = 2,
                                               .use = Use::written,
                                               .align = kCombineElements,
                                               .reason = kPieces});
    caches();
    pages();
    params.lse = arguments_.operandIf<0>(problem_.lse, args_.lse,
                                         {.name = "lse",
                                          .dtype = f32,
                                          .shape = {"m, q_heads", m_, problem_.q_heads},
                                          .use = Use::written});
    if (const std::string what = problemWithWindow(problem_.window, args_.window_left);
        !what.empty())
      arguments_.fail(what);
    params.windowLeft = args_.window_left;
    params.starts =
        arguments_.operandIf<0>(problem_.varlen, args_.cu_seqlens_q,
                                {.name = "cu_seqlens_q", .dtype = i32, .shape = {"n + 1", n_ + 1}});
    params.sequences = n_;
    terms();
    const DecodeConfig &config = call.config;
    if (args_.worklist) {
      if (!config.workers)
        arguments_.fail("worklist is given, and the configuration has no workers");
      if (problem_.csr)
        arguments_.fail("worklist is given; with csr the plan makes its own from kv_indptr and "
                        "kv_last_page_len");
      arguments_.check(*args_.worklist, {.name = "worklist",
                                         .dtype = i32,
                                         .shape = {"n + 1 + workers", n_ + 1 + config.workers}});
    }
    if (config.workers && problem_.varlen && !args_.worklist && any())
      arguments_.fail("worklist is missing; with varlen a plan makes none of its own, because its "
                      "workspace has no room for any number of sequences; WorklistPlan and "
                      "make_worklist make that of worklist_of(problem, config)");
    if (hasParts(config) && m_ > 0) {
      params.parts.values.address =
          arguments_.workspace(args_.workspace, Decode::workspaceBytes(problem_, config, m_));
      const std::int64_t parts = partsOf(problem_, config, m_);
      params.parts.lse.address = params.parts.values.address + partValueBytes(problem_, parts);
      params.worklist.address =
          args_.worklist ? address(args_.worklist) : params.parts.lse.address + parts * 4;
    }
    arguments_.expectApart();
    params.tokens = m_;
  }
  std::int64_t m() const { return m_; }
  std::int64_t sequences() const { return n_; }
  /// Whether there is anything to do.
  bool any() const { return m_ > 0 && n_ > 0; }

  DecodeParams<OnHost> params{};

private:
  static constexpr const char *kPieces = "rows are moved in pieces of 16 bytes";

  /// The sequences of the call: the numbers of the vector that has one for each.
  std::int64_t sequencesOf() const {
    const char *name = problem_.csr ? "kv_last_page_len" : "seq_lens";
    const auto &lengths = problem_.csr ? args_.kv_last_page_len : args_.seq_lens;
    arguments_.given(lengths, name, true);
    return lengths->rank() > 0 ? lengths->shape()[0] : 0;
  }
  /// Checks where the tokens of sequences are.
  void pages() {
    const bool csr = problem_.csr;
    params.seqLens = arguments_.operandIf<0>(
        !csr, args_.seq_lens, {.name = "seq_lens", .dtype = i32, .shape = {"n", n_}});
    const std::int64_t blocks =
        args_.block_table && args_.block_table->rank() == 2 ? args_.block_table->shape()[1] : 0;
    params.blockTable = arguments_.operandIf<1>(
        !csr, args_.block_table,
        {.name = "block_table", .dtype = i32, .shape = {"n, blocks", n_, blocks}, .free = 1});
    params.csr =
        csrPages(arguments_, csr, args_.kv_indptr, args_.kv_indices, args_.kv_last_page_len, n_);
  }
  /// Checks what scores have besides the products.
  void terms() {
    const std::int64_t heads = problem_.q_heads;
    if (arguments_.given(args_.bias, "bias", problem_.bias)) {
      const std::int64_t columns = args_.bias->rank() == 3 ? args_.bias->shape()[2] : 0;
      params.terms.bias =
          arguments_.operand<2>(*args_.bias, {.name = "bias",
                                              .dtype = problem_.bias_type,
                                              .shape = {"q_heads, m, keys", heads, m_, columns},
                                              .free = 2});
      if (columns == 0 && any())
        arguments_.fail("bias has no columns; it has one for each token of a sequence");
      params.terms.columns = columns;
    }
    if (arguments_.given(args_.alibi_slopes, "alibi_slopes", problem_.alibi)) {
      const bool each = args_.alibi_slopes->rank() == 2; // of each sequence
      params.terms.slopes =
          arguments_.operand<1>(*args_.alibi_slopes, {.name = "alibi_slopes",
                                                      .dtype = f32,
                                                      .shape = each ? Shape{"n, q_heads", n_, heads}
                                                                    : Shape{"q_heads", heads},
                                                      .free = each ? 1 : 0});
    }
    params.terms.sink = arguments_.operandIf<0>(
        problem_.sink, args_.sink, {.name = "sink", .dtype = f32, .shape = {"q_heads", heads}});
    if (arguments_.given(args_.tree_mask, "tree_mask", problem_.tree_mask)) {
      const std::int64_t words = args_.tree_mask->rank() == 2 ? args_.tree_mask->shape()[1] : 0;
      params.terms.mask = arguments_.operand<1>(
          *args_.tree_mask,
          {.name = "tree_mask", .dtype = i32, .shape = {"m, words", m_, words}, .free = 1});
      const std::int64_t least = problem_.varlen ? 1 : (problem_.queries + 31) / 32;
      if (words < least && any())
        arguments_.fail("tree_mask has " + std::to_string(words) +
                        " words of 32 bits for a query; " + std::to_string(least) +
                        " are the fewest that have a bit for each query" + " of a sequence");
      params.terms.words = words;
    }
  }

  void caches() {
    const std::int64_t blocks = args_.k.shape()[0], page = problem_.page, kv = problem_.kv_heads,
                       head = problem_.head, value = valueOf(problem_),
                       align = cacheAlign(problem_);
    const bool packed = problem_.cache == KvCache::packed;
    const auto [x, y] = packsOf(problem_);
    if (blocks > kMostTokens / page)
      arguments_.fail("k has " + std::to_string(blocks) + " blocks of " + std::to_string(page) +
                      " tokens; a cache has at most " + std::to_string(kMostTokens) + " tokens");
    const auto cache = [&](const TensorArg &tensor, const char *name, const Shape &pages,
                           const Shape &packs) -> Strided<OnHost, 3> {
      if (!packed)
        return arguments_.operand<3>(
            tensor, {.name = name,
                     .dtype = problem_.kv,
                     .shape = pages,
                     .free = 3,
                     .align = align,
                     .reason = kPieces,
                     .reach = {.counts = {0, page}, .bytes = kNearBytes, .what = "a block"}});
      arguments_.check(tensor, {.name = name,
                                .dtype = problem_.kv,
                                .shape = packs,
                                .free = 2,
                                .align = 8,
                                .reason = kPieces});
      return {.address = address(tensor), .stride = {strideOf(tensor, 0), 0, strideOf(tensor, 1)}};
    };
    params.k = cache(args_.k, "k", {"blocks, page, kv_heads, head", blocks, page, kv, head},
                     {"blocks, kv_heads, head / pack, page, pack", blocks, kv, head / x, page, x});
    if (arguments_.given(args_.v, "v", !problem_.latent))
      params.v =
          cache(*args_.v, "v",
                problem_.head_v ? Shape{"blocks, page, kv_heads, head_v", blocks, page, kv, value}
                                : Shape{"blocks, page, kv_heads, head", blocks, page, kv, value},
                {problem_.head_v ? "blocks, kv_heads, page / v_pack, head_v, v_pack"
                                 : "blocks, kv_heads, page / v_pack, head, v_pack",
                 blocks, kv, page / y, value, y});
    const auto scale = [&](bool has, const std::optional<TensorArg> &tensor,
                           const char *name) -> Strided<OnHost, 3> {
      if (problem_.scales == KvScales::token)
        return arguments_.operandIf<3>(
            has, tensor,
            {.name = name,
             .dtype = f32,
             .shape = {"blocks, page, kv_heads", blocks, page, kv},
             .free = 3,
             .reach = {.counts = {0, page}, .bytes = kNearBytes, .what = "the scales of a block"}});
      const auto [address, stride] =
          scales(has && scalesHeads(problem_), tensor, name, problem_.scales == KvScales::head);
      return {.address = address, .stride = {stride[0], 0, stride[1]}};
    };
    params.kScale = scale(true, args_.k_scale, "k_scale");
    params.vScale = scale(!problem_.latent, args_.v_scale, "v_scale");
    params.qScale = scales(scalesQueries(problem_), args_.q_scale, "q_scale",
                           args_.q_scale && args_.q_scale->rank() == 2);
  }
  /// Checks scales: one number, or one for each sequence and head.
  Strided<OnHost, 2> scales(bool has, const std::optional<TensorArg> &tensor, const char *name,
                            bool ofHeads) const {
    return givenScales(arguments_, has, tensor, name, ofHeads,
                       {"n, kv_heads", n_, problem_.kv_heads});
  }

  const DecodeProblem &problem_;
  const DecodeArgs &args_;
  Arguments arguments_;
  std::int64_t m_ = 0, n_ = 0;
};

} // namespace

Support Decode::supported(const DecodeProblem &problem, const Target &target) {
  const bool narrow = problem.q.bits() == 8;
  if (problem.float8_products && !hasFloat8(target, problem.kv))
    return Support::no("kv is of type " + std::string(problem.kv.name()) +
                       "; with float8_products it is a float of 8 bits; " + productTypes(target) +
                       "; without it, floats of 8 bits become q's type");
  const auto form = decodeForm(problem, target);
  if (!form || (problem.q != f16 && problem.q != bf16 && !(narrow && problem.q.is_float())))
    return Support::no("q is of type " + std::string(problem.q.name()) +
                       "; f16 and bf16 are supported, and the floats of 8 bits that products of " +
                       target.name() + " take");
  if (narrow && problem.kv != problem.q)
    return Support::no("kv is of type " + std::string(problem.kv.name()) +
                       "; it has the type of q, " + std::string(problem.q.name()));
  const bool quantised = problem.kv.bits() == 8 && problem.kv.is_float() && largestOf(problem.kv);
  if (problem.kv != problem.q && !quantised)
    return Support::no("kv is of type " + std::string(problem.kv.name()) +
                       "; it has the type of q, or is a float of 8 bits");
  if (!quantised && problem.scales != KvScales::none)
    return Support::no("scales belong to a cache of 8 bits; kv is of type " +
                       std::string(problem.kv.name()));
  if (const Support fits = firstRefusal({headsSupported(problem), scoresSupported(problem)}); !fits)
    return fits;
  if (problem.queries < 1 || problem.queries > kMostQueries)
    return Support::no(is("queries", problem.queries) + "; a sequence has 1 to " +
                       std::to_string(kMostQueries));
  const std::int64_t group = groupOf(problem),
                     blocks = problem.kv_heads * ((group * problem.queries + 15) / 16);
  if (blocks > kMostGridRows)
    return Support::no(is("queries", problem.queries) + " and " + is("q_heads", problem.q_heads) +
                       "; of 16 rows each, they make " + std::to_string(blocks) +
                       " blocks of a sequence, and there are at most " +
                       std::to_string(kMostGridRows));
  if (problem.context < 1)
    return Support::no(is("context", problem.context) + "; a sequence has tokens");
  return firstRefusal({floatSupported("y", problem.y), cacheSupported(problem)});
}

Support Decode::supported(const DecodeProblem &problem, const DecodeConfig &config,
                          const Target &target) {
  if (const Support fits = blockSupported(config.block, target); !fits)
    return fits;
  const int waves = config.block / target.wave_size();
  if (problem.latent) {
    const bool shared = config.rows >= 16 && config.rows <= kMostLatentRows &&
                        config.rows % 16 == 0 && waves % (config.rows / 16) == 0;
    if (waves > kMostLatentWaves)
      return Support::no(is("block", config.block) + "; with latent a block has up to " +
                         std::to_string(kMostLatentWaves * target.wave_size()) +
                         " threads, for whose waves there are registers");
    if (!shared || problem.latent % (128 * valueShares(config, target.wave_size())))
      return Support::no(is("rows", config.rows) + " and " + is("block", config.block) +
                         "; each wave has 16 rows, and of waves that have the same ones each has "
                         "128, 256 or all elements of values");
    const MatrixForm latentForm = *decodeForm(problem, target);
    if (const int shares = valueShares(config, target.wave_size());
        !latentForm.accumulates() && problem.latent / shares > kLatentElements)
      return Support::no(
          is("rows", config.rows) + " and " + is("block", config.block) + "; on " + target.name() +
          " each wave has " + std::to_string(kLatentElements) + " elements of values, so " +
          std::to_string(problem.latent / kLatentElements) + " waves have the same 16 rows");
    if (const std::int64_t bytes = latentBytes(problem, config.rows, latentForm);
        bytes > static_cast<std::int64_t>(target.lds_bytes()))
      return Support::no(is("rows", config.rows) + "; so many queries and a step of keys of " +
                         std::to_string(problem.head) + " take " + std::to_string(bytes) +
                         " bytes of LDS; " + target.name() + " has " +
                         std::to_string(static_cast<std::int64_t>(target.lds_bytes())));
  } else if (config.rows < 16 || config.rows % 16 || config.rows > kMostRowsOfBlock)
    return Support::no(is("rows", config.rows) + "; it is 16, 32, 48 or 64");
  const MatrixForm form = *decodeForm(problem, target);
  if (!problem.latent && config.rows > 16 && sumBytes(problem, config.rows, form) > kSumBytes)
    return Support::no(is("rows", config.rows) + "; the sums of so many rows of " +
                       std::to_string(valueOf(problem)) + " do not fit the registers");
  if (config.splits < 1 || config.splits > kMostSplits)
    return Support::no(is("splits", config.splits) + "; a sequence has 1 to " +
                       std::to_string(kMostSplits));
  if (config.workers) {
    if (problem.csr && problem.varlen)
      return Support::no(
          is("workers", config.workers) +
          "; with csr and varlen it is 0: a worklist of csr is made in the workspace, "
          "which has no room for any number of sequences; splits share their keys");
    if (config.splits > 1)
      return Support::no(is("workers", config.workers) + " and " + is("splits", config.splits) +
                         "; a worklist makes the parts, and splits is 1");
    const Support list = Family<WorklistProblem>::supported(worklist_of(problem, config), target);
    if (!list)
      return list;
  }
  const int shares = problem.latent ? 1 : sharesOf(problem, config.rows, form);
  if (waves % shares)
    return Support::no(is("block", config.block) + "; of heads of " + std::to_string(problem.head) +
                       " " + std::to_string(shares) +
                       " waves have the same keys; the waves of a block are a multiple of that");
  const int together = rowsAtOnce(problem, form, config.rows, waves / shares);
  if (!problem.latent && partBytes(problem, waves / shares, together) > kPartBytes)
    return Support::no(is("block", config.block) + "; what " + std::to_string(waves) +
                       " waves find of " + std::to_string(together) + " rows of " +
                       std::to_string(valueOf(problem)) + " does not fit shared memory");
  return {};
}

namespace {
/// As many rows as there are and as have sums of up to `most` bytes of a lane. On CDNA that is half of what is
/// supported, so that a SIMD has registers for a second wave: one alone takes 1.1 to 1.7 times as long by the
/// estimate, though keys are read half as often (MI308X and MI355X, keys of 8 and 16 bits). Steps of products of 8
/// bits have twice the keys, and leave room for 32 rows.
int rowsOfPagedBlock(const DecodeProblem &problem, int most, const MatrixForm &form) {
  const int all = rowsOf(problem),
            limit = form.accumulates() && narrowProducts(problem) ? 32 : kMostRowsOfBlock;
  int rows = 16;
  while (rows < all && rows < limit && sumBytes(problem, rows + 16, form) <= most)
    rows += 16;
  // For 33 to 48 rows, two blocks of 32 would compute 64 rows, a quarter of them or more for nothing; three
  // blocks of 16 fit.
  const bool isThree = form.accumulates() && rows == 32 && all > 32 && all <= 48;
  return isThree ? 16 : rows;
}
} // namespace

DecodeConfig Decode::choose(const DecodeProblem &problem, std::int64_t m, const Target &target) {
  const MatrixForm form = *decodeForm(problem, target);
  if (problem.latent)
    return chooseLatent(problem, m, target);
  // RDNA3's lanes hold whole rows of operands, which leaves room for fewer sums; so do RDNA4's
  // queries that are rounded, whose rows have scales.
  const bool crowded = form.replicated() || (!form.accumulates() && roundsQueries(problem));
  // Values with scales of their own take a second softmax.
  const bool twice = !form.accumulates() && scalesProbabilities(problem);
  const int most = form.accumulates() || twice ? kSumBytes / 2
                   : crowded                   ? kSumBytes * 3 / 4
                                               : kSumBytes;
  const int rows = rowsOfPagedBlock(problem, most, form);
  int waves = 4;
  while (partBytes(problem, waves, rowsAtOnce(problem, form, rows, waves)) > kPartBytes)
    waves /= 2;
  const int shares = sharesOf(problem, rows, form);
  return withSplits({.block = shares * waves * target.wave_size(), .rows = rows}, problem, m,
                    target);
}

std::vector<DecodeConfig> Decode::candidates(const DecodeProblem &problem, std::int64_t m,
                                             const Target &target) {
  const DecodeConfig chosen = choose(problem, m, target);
  std::vector<DecodeConfig> all;
  for (int waves : {1, 2, 4, 8, 16})
    for (int splits : {chosen.splits / 2, chosen.splits, chosen.splits * 2})
      all.push_back({.block = waves * target.wave_size(), .rows = chosen.rows, .splits = splits});
  if (problem.varlen)
    return all; // worklists are given
  // As many workers as the GPU runs at a time, once, twice and three times.
  const int heads = problem.kv_heads * rowBlocks(problem, chosen);
  for (int times : {1, 2, 3})
    all.push_back({.block = chosen.block,
                   .rows = chosen.rows,
                   .workers = std::max(1, times * gpuSize(target)->computeUnits / heads)});
  return all;
}

std::size_t Decode::workspaceBytes(const DecodeProblem &problem, const DecodeConfig &config,
                                   std::int64_t m) {
  if (!hasParts(config))
    return 0;
  const bool ownList = config.workers && !problem.varlen;
  const std::int64_t list = ownList ? m / problem.queries + 1 + config.workers : 0;
  const std::int64_t parts = partsOf(problem, config, m);
  return static_cast<std::size_t>(partValueBytes(problem, parts) + (parts + list) * 4);
}

void Decode::launch(const Call<DecodeProblem> &call) {
  const Operands operands(call);
  if (!operands.any())
    return;
  const DecodeProblem &problem = call.problem;
  const DecodeConfig &config = call.config;
  const DecodeParams<OnHost> &params = operands.params;
  const std::int64_t heads = problem.kv_heads * rowBlocks(problem, config);
  if (config.workers && !call.args.worklist)
    call.launches.at(2, kDecodeWorklistKernel)(call.on(1, kWorklistThreads), call.where, params);
  const Dim3 grid = config.workers ? Dim3(config.workers, heads)
                                   : Dim3(config.splits, heads, operands.sequences());
  call.launches.at(0, kDecode)(call.on(grid, config.block), call.where, params);
  if (hasParts(config))
    call.launches.at(1, kDecodeCombine)(
        call.over(operands.m() * problem.q_heads * (valueOf(problem) / kCombineElements),
                  kCombineThreads, kCombineThreads),
        call.where, params);
}

DecodeArgs Decode::args(const DecodeProblem &problem, const DecodeConfig &config, std::int64_t m,
                        const Sampler &sampler) {
  if (m % problem.queries) // Operands would be those of fewer rows, and a time theirs.
    throw Error("m is " + std::to_string(m) + " and queries " + std::to_string(problem.queries) +
                "; m counts the queries of all sequences and is a multiple of queries, such as " +
                std::to_string((m / problem.queries + 1) * problem.queries));
  const std::int64_t n = std::max<std::int64_t>(1, m / problem.queries),
                     tokens = n * problem.queries, page = problem.page,
                     each = (problem.context + page - 1) / page, blocks = n * each,
                     kv = problem.kv_heads, head = problem.head, value = valueOf(problem),
                     heads = problem.q_heads;
  const bool packed = problem.cache == KvCache::packed;
  const auto [x, y] = packsOf(problem);
  const Extents queries{tokens, heads, head}, results{tokens, heads, value},
      pages{blocks, page, kv, head}, pagesV{blocks, page, kv, value},
      packedK{blocks, kv, head / x, page, x}, packedV{blocks, kv, page / y, value, y},
      tables{n, each}, ofBlocks{blocks}, sequences{n}, one{1},
      scales = problem.scales == KvScales::token  ? Extents{blocks, page, kv}
               : problem.scales == KvScales::head ? Extents{n, kv}
                                                  : one,
      bytes{static_cast<std::int64_t>(workspaceBytes(problem, config, tokens))}, lse{tokens, heads},
      bias{heads, tokens, problem.context}, ofHeads{heads},
      mask{tokens, (problem.queries + 31) / 32}, starts{n + 1};
  const bool scaled = problem.scales != KvScales::none;
  DecodeArgs args{
      .q = sampler("q", problem.q, queries, Role::input),
      .k = sampler("k", problem.kv, packed ? packedK : pages, Role::input),
      .v = sampleIf(!problem.latent, sampler, "v", problem.kv, packed ? packedV : pagesV),
      .o = sampler("o", problem.y, results, Role::output),
      .q_scale = sampleIf(scalesQueries(problem), sampler, "q_scale", f32, one),
      .k_scale = sampleIf(scaled, sampler, "k_scale", f32, scales),
      .v_scale = sampleIf(scaled && !problem.latent, sampler, "v_scale", f32, scales),
      .cu_seqlens_q = sampleIf(problem.varlen, sampler, "cu_seqlens_q", i32, starts,
                               Role::steps(problem.queries)),
      .seq_lens =
          sampleIf(!problem.csr, sampler, "seq_lens", i32, sequences, Role::equal(problem.context)),
      .block_table = sampleIf(!problem.csr, sampler, "block_table", i32, tables, Role::index),
      .kv_indptr = sampleIf(problem.csr, sampler, "kv_indptr", i32, starts, Role::steps(each)),
      .kv_indices = sampleIf(problem.csr, sampler, "kv_indices", i32, ofBlocks, Role::index),
      .kv_last_page_len = sampleIf(problem.csr, sampler, "kv_last_page_len", i32, sequences,
                                   Role::equal(problem.context - (each - 1) * page)),
      .bias = sampleIf(problem.bias, sampler, "bias", problem.bias_type, bias),
      .alibi_slopes = sampleIf(problem.alibi, sampler, "alibi_slopes", f32, ofHeads),
      .sink = sampleIf(problem.sink, sampler, "sink", f32, ofHeads),
      .tree_mask = sampleIf(problem.tree_mask, sampler, "tree_mask", i32, mask),
      .lse = sampleIf(problem.lse, sampler, "lse", f32, lse, Role::output),
      .workspace = sampleIf(hasParts(config), sampler, "workspace", u8, bytes, Role::workspace)};
  return args;
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(DecodeProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
