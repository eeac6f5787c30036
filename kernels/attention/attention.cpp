// The host's part of attention: what is supported, the configuration, the checks of a call, its launches.
#include "attention/attention_estimate.h"
#include "attention/attention_family.h"

#include "blocks/attention/csr_rules.h"
#include "blocks/attention/scale_rules.h"
#include "blocks/facts/gpu_size.h"
#include "blocks/facts/matrix_form.h"
#include "blocks/products/tile_order_rules.h"
#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <limits>
#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Attention = Family<AttentionProblem>;

constexpr int kMostHeads = 1 << 16, kLargestHead = 512, kLargestPage = 1 << 16, kMostParts = 64;
/// Lengths of sequences are below this.
constexpr std::int64_t kMostTokens = 1 << 30;

/// Tiles of queries and keys, from the one that needs the most registers. They follow those of
/// FlyDSL's flash attention (kernels/attention/flash_attn_interface.py: 128 queries of four waves,
/// or 64 where there are too few blocks, by 64 keys); large heads take fewer keys at a time, for
/// which LDS is large enough.
struct AttentionTile {
  int q, k, threads;
  AttentionLoop loop = AttentionLoop::together;
};
/// Two groups of waves take less time than as many waves together, on the emulator 0.83 of it with
/// heads of 128 and 0.82 with heads of 64 (bench/kernels/README.md).
constexpr AttentionTile kCdnaTiles[] = {
    {256, 64, 512, AttentionLoop::groups},
    {128, 64, 512, AttentionLoop::groups},
    {128, 64, 256},
    {64, 64, 256},
    {64, 64, 128},
    {64, 32, 256},
    {32, 32, 128},
};
/// Of floats of 8 bits, twice as many keys take as much of LDS, and gfx950's longest instruction
/// multiplies 128.
constexpr AttentionTile kCdnaByteTiles[] = {
    {256, 128, 512, AttentionLoop::groups},
    {128, 128, 512, AttentionLoop::groups},
    {128, 64, 256},
    {64, 64, 256},
    {64, 64, 128},
    {32, 64, 128},
};
constexpr AttentionTile kRdnaTiles[] = {
    {128, 64, 128},
    {64, 64, 128},
    {64, 32, 128},
    {32, 32, 64},
};
/// For heads whose queries do not stay in registers. With twice as many threads, heads of 256 spill a
/// few registers on gfx1201.
constexpr AttentionTile kLargeHeads = {64, 32, 128}, kLargeByteHeads = {64, 64, 128};
/// The tile for a problem for which no other one fits.
const AttentionTile &leastTile(const AttentionProblem &problem, const Target &target) {
  const bool more = problem.float8_products && fewestOfK(target, problem.q, problem.kv) > 32;
  return more ? kLargeByteHeads : kLargeHeads;
}
std::span<const AttentionTile> tiles(const AttentionProblem &problem, const Target &target) {
  if (!target.has(Feature::mfma))
    return kRdnaTiles;
  if (problem.float8_products)
    return kCdnaByteTiles;
  return kCdnaTiles;
}
/// Whether a work-group processor of RDNA holds four blocks of a tile; its LDS is twice what one of them
/// may take. Where it holds fewer, too few waves are there while others wait for LDS: with heads of 128,
/// of 64 keys, three blocks take by the estimate a fourth to a half more time than six with 32 keys on
/// gfx1201, and up to a tenth more on gfx1100.
bool leavesLds(const AttentionShape &shape, const Target &target) {
  return target.has(Feature::mfma) ||
         2 * static_cast<std::size_t>(shape.ldsBytes()) <= target.lds_bytes();
}
AttentionConfig configOf(const AttentionProblem &problem, const AttentionTile &tile,
                         const Target &target) {
  // Heads that share keys and values stay on one die, whose cache then has them.
  const int xcds = gpuSize(target)->xcds;
  return {.tile_q = tile.q,
          .tile_k = tile.k,
          .threads = tile.threads,
          .loop = tile.loop,
          .order = {.xcds = problem.kv_heads > 1 ? xcds : 1}};
}

Support headsSupported(const AttentionProblem &problem) {
  if (problem.kv_heads < 1 || problem.q_heads < 1 || problem.q_heads > kMostHeads ||
      problem.q_heads % problem.kv_heads)
    return Support::no(is("q_heads", problem.q_heads) + " and " + is("kv_heads", problem.kv_heads) +
                       "; q_heads is a multiple of kv_heads, from 1 to " +
                       std::to_string(kMostHeads));
  const int together = elementsTogether(problem, problem.kv);
  const auto head = [together](const char *name, int elements) {
    if (elements >= together && elements <= kLargestHead && elements % together == 0)
      return Support{};
    return Support::no(is(name, elements) + "; it is a multiple of " + std::to_string(together) +
                       " from " + std::to_string(together) + " to " + std::to_string(kLargestHead));
  };
  return firstRefusal({head("head", problem.head), head("head_v", headV(problem))});
}

Support scoresSupported(const AttentionProblem &problem) {
  const auto number = [](const char *name, double value) {
    if (value >= 0 && std::isfinite(value) && value < 0x1p64)
      return Support{};
    return Support::no(std::string(name) + " is " + std::to_string(value) +
                       "; it is a positive number, or 0 for the default");
  };
  if (problem.context < 0 || problem.context >= kMostTokens)
    return Support::no(is("context", problem.context) + "; it is a number of keys below " +
                       std::to_string(kMostTokens) + ", or 0 for as many as queries");
  return firstRefusal({number("scale", problem.scale), number("soft_cap", problem.soft_cap),
                       problem.bias ? floatSupported("bias_type", problem.bias_type) : Support{}});
}

/// The types of operands and of the products.
Support typesSupported(const AttentionProblem &problem, const Target &target) {
  const auto ofType = [](const char *name, DType type) {
    return std::string(name) + " is of type " + std::string(type.name()) + "; ";
  };
  if (const Support fits = floatSupported("y", problem.y); !fits)
    return fits;
  if (problem.scales == KvScales::token && !isFloat8(problem.kv))
    return Support::no(ofType("kv", problem.kv) +
                       "scales of tokens belong to keys and values of 8 bits");
  if (problem.scales != KvScales::none && !isFloat8(problem.q) && !isFloat8(problem.kv))
    return Support::no("scales belong to operands of 8 bits; " + ofType("q", problem.q) +
                       "kv of type " + std::string(problem.kv.name()));
  if (!problem.float8_products) {
    const auto has16 = [](DType type) { return type == f16 || type == bf16; };
    if (!has16(problem.q) && !isFloat8(problem.q) && problem.q != f32)
      return Support::no(ofType("q", problem.q) +
                         "f16, bf16, f32 and floats of 8 bits are supported");
    if (!has16(problem.kv) && !isFloat8(problem.kv))
      return Support::no(ofType("kv", problem.kv) + "f16, bf16 and floats of 8 bits are supported");
    if (has16(problem.q) && has16(problem.kv) && problem.q != problem.kv)
      return Support::no(ofType("kv", problem.kv) + "it has the type of q, " +
                         std::string(problem.q.name()) + ", or is a float of 8 bits");
    const DType wide = problem.type_of_products();
    if (!has16(wide))
      return Support::no("q, kv and y say no type of the products: " + ofType("products", wide) +
                         "it is f16 or bf16");
    if (problem.products && problem.products != wide)
      return Support::no(ofType("products", problem.products) + "q and kv say " +
                         std::string(wide.name()));
    return {};
  }
  if (problem.products)
    return Support::no(ofType("products", problem.products) +
                       "with float8_products they have the types of q and kv");
  const auto operand = [&](const char *name, DType type) {
    if (hasFloat8(target, type))
      return Support{};
    return Support::no(ofType(name, type) + "with float8_products it is a float of 8 bits; " +
                       productTypes(target));
  };
  return firstRefusal({operand("q", problem.q), operand("kv", problem.kv)});
}

Support cacheSupported(const AttentionProblem &problem) {
  if (problem.cache == KvCache::none) {
    if (problem.csr)
      return Support::no("csr is for keys and values in a cache; cache is KvCache::none");
    return {};
  }
  if (problem.page < 1 || problem.page > kLargestPage)
    return Support::no(is("page", problem.page) + "; a block of the cache has 1 to " +
                       std::to_string(kLargestPage) + " tokens");
  if (problem.cache == KvCache::pages)
    return {};
  const int atOnce = problem.float8_products ? 16 : 8;
  if (problem.pack < atOnce || problem.pack % atOnce || problem.head % problem.pack)
    return Support::no(is("pack", problem.pack) + "; it is a multiple of " +
                       std::to_string(atOnce) +
                       " that divides head = " + std::to_string(problem.head));
  const int together = vPackOf(problem);
  if (together < 8 || together % 8 || problem.page % together)
    return Support::no(is("v_pack", problem.v_pack) + " and " + is("page", problem.page) +
                       "; v_pack is a multiple of 8 that divides page, or 0 for all of it");
  return {};
}

/// Whether two groups of waves can take turns.
Support groupsSupported(const AttentionProblem &problem, const AttentionShape &shape,
                        const Target &target) {
  const auto no = [](const std::string &what) {
    return Support::no("two groups of waves " + what);
  };
  if (!target.has(Feature::buffer_to_lds_wide) || !target.has(Feature::lds_transpose_read))
    return no("need loads of 16 bytes to LDS and transposing reads, which gfx950 has");
  if (shape.waves() != 8)
    return no("are eight waves");
  for (int elements : {shape.keyElements, shape.valueElements})
    if (elements != 64 && elements != 128)
      return no("take heads of 64 and 128 elements; one has " + std::to_string(elements));
  if (!problem.float8_products && isFloat8(problem.kv))
    return no("take keys and values of 16 bits, or float8_products; kv is " +
              std::string(problem.kv.name()) + ", and float8_products is false");
  if (problem.scales == KvScales::token)
    return no("take no scales of tokens");
  if (problem.cache == KvCache::packed)
    return no("take keys and values side by side or in KvCache::pages");
  for (const DmaTile &tile : {shape.keyTile(), shape.valueTile()})
    if (tile.bytes() % (DmaTile::kPiece * shape.threads))
      return no("load 8 KiB at a time; a tile of " + std::to_string(shape.tileK) + " keys has " +
                std::to_string(tile.bytes()) + " bytes");
  return {};
}

/// The keys of a sequence. A problem may say that there are more of them than queries.
std::int64_t keysOf(const AttentionProblem &problem, std::int64_t m) {
  return problem.context ? problem.context : m;
}
/// The fewest keys of a part that are worth a result of its own.
constexpr std::int64_t kKeysOfPart = 64;
/// The tiles that `choose` takes one of, from the one that needs the most registers: those whose queries stay in
/// registers, or if there are none, the least one.
std::vector<AttentionConfig> choices(const AttentionProblem &problem, const Target &target) {
  std::vector<AttentionConfig> all;
  for (const AttentionTile &tile : tiles(problem, target)) {
    const AttentionConfig config = configOf(problem, tile, target);
    if (!Attention::supported(problem, config, target))
      continue;
    const AttentionShape shape = *AttentionShape::of(problem, config, target);
    if (shape.keepsQueries() && leavesLds(shape, target))
      all.push_back(config);
  }
  if (all.empty())
    all.push_back(configOf(problem, leastTile(problem, target), target));
  return all;
}
/// The most parts of the keys that `choose` takes: one, unless the problem says how many keys a sequence has.
std::int64_t mostParts(const AttentionProblem &problem) {
  return std::clamp<std::int64_t>(problem.context / kKeysOfPart, 1, kMostParts);
}

/// The operands of a call, checked, as the kernels take them.
class Operands {
public:
  Operands(const Call<AttentionProblem> &call)
      : problem_(call.problem), config_(call.config), args_(call.args),
        arguments_(FamilyOf<AttentionProblem>::name, call.where) {
    queries();
    keys();
    scores();
    parts();
    arguments_.expectApart();
  }
  /// Whether there is anything to do.
  bool any() const { return params.size.tokens > 0 && params.size.batch > 0; }
  /// Tiles of queries of all sequences and heads.
  std::int64_t tiles() const {
    const std::int64_t tiles = (params.size.queries + config_.tile_q - 1) / config_.tile_q;
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::int64_t each =
        tiles * problem_.q_heads *
        std::max(valueParts(problem_) * config_.splits,
                 config_.splits > 1 ? combineBlocks(problem_, config_) : 1); // below 2^55
    if (each > kMost || params.size.batch > kMost / std::max<std::int64_t>(1, each))
      arguments_.fail("q has " + std::to_string(params.size.batch) + " sequences of " +
                      std::to_string(each) +
                      " blocks each, which is more than the 2147483647 of a grid");
    return tiles * problem_.q_heads * params.size.batch;
  }

  AttentionParams<OnHost> params{};

private:
  /// What is expected of a tensor whose elements are moved in pieces of 16 bytes or of 8 elements.
  Expected inPieces(const char *name, DType type, const Shape &shape, int free,
                    Use use = Use::read) const {
    const int together = elementsTogether(problem_, type);
    return {.name = name,
            .dtype = type,
            .shape = shape,
            .free = free,
            .use = use,
            .align = together,
            .reason = together == 16 ? "16 elements are moved at a time"
                                     : "8 elements are moved at a time"};
  }
  /// Requires that a tensor of heads has as many modes as there are names.
  void rank(const TensorArg &tensor, const char *name, const char *modes) const {
    if (tensor.rank() != (problem_.varlen ? 3 : 4))
      arguments_.fail(std::string(name) + " has " + std::to_string(tensor.rank()) +
                      " modes; it is (" + modes + ")");
  }
  /// The names of modes, of sequences one after another or of a batch.
  const char *ofTokens(const char *varlen, const char *batch) const {
    return problem_.varlen ? varlen : batch;
  }

  void queries() {
    const char *modes = ofTokens("tokens, q_heads, head", "batch, queries, q_heads, head");
    rank(args_.q, "q", modes);
    const TensorArg::Dims shape = args_.q.shape();
    if (problem_.varlen) {
      params.sequences.startsQ = starts(true, args_.cu_seqlens_q, "cu_seqlens_q");
      params.size.batch = args_.cu_seqlens_q->shape()[0] - 1;
      params.size.tokens = shape[0];
      params.size.queries = queriesOfSequence();
      if (args_.max_seqlen_q < 0 || args_.max_seqlen_q > shape[0])
        arguments_.fail(is("max_seqlen_q", args_.max_seqlen_q) + "; q has " +
                        std::to_string(shape[0]) + " tokens");
    } else {
      arguments_.given(args_.cu_seqlens_q, "cu_seqlens_q", false);
      params.size.batch = shape[0];
      params.size.queries = shape[1];
      // Each is looked at first, so that the product has less than 64 bits.
      params.size.tokens =
          std::max(shape[0], shape[1]) < kMostTokens ? shape[0] * shape[1] : kMostTokens;
    }
    if (params.size.tokens >= kMostTokens)
      arguments_.fail("q has " + std::to_string(params.size.tokens) +
                      " queries of all sequences or more; there are less than " +
                      std::to_string(kMostTokens));
    params.q = heads(args_.q, "q", problem_.q, modes, shape, problem_.q_heads, problem_.head,
                     Use::read, false);
    params.o = heads(args_.o, "o", problem_.y,
                     ofTokens("tokens, q_heads, head_v", "batch, queries, q_heads, head_v"), shape,
                     problem_.q_heads, headV(problem_), Use::written, false);
    params.descale.q = descale(args_.q_scale, "q_scale", scalesQueries(problem_),
                               args_.q_scale && args_.q_scale->rank() == 2);
  }
  /// The queries of a sequence for which there are blocks: of the longest one, or without that
  /// number, which has to be at least 0, of an average one.
  std::int64_t queriesOfSequence() const {
    const std::int64_t batch = std::max<std::int64_t>(1, params.size.batch);
    return args_.max_seqlen_q ? args_.max_seqlen_q : (params.size.tokens + batch - 1) / batch;
  }
  /// Checks a tensor of heads, whose modes before them are as those of `tokens`.
  Strided<OnHost, 3> heads(const TensorArg &tensor, const char *name, DType type, const char *modes,
                           const TensorArg::Dims &tokens, int count, int elements, Use use,
                           bool isOfKeys) const {
    const Shape shape = problem_.varlen ? Shape{modes, tokens[0], count, elements}
                                        : Shape{modes, tokens[0], tokens[1], count, elements};
    Expected expected = inPieces(name, type, shape, shape.rank - 1, use);
    if (isOfKeys) { // those of a tile have offsets of 32 bits
      expected.reach = {.bytes = kNearBytes, .what = "a tile"};
      expected.reach.counts[problem_.varlen ? 0 : 1] = config_.tile_k;
    }
    return ofBatch(tensor, expected);
  }
  /// Checks an operand. With varlen it has no mode of sequences, whose stride is 0.
  Strided<OnHost, 3> ofBatch(const TensorArg &tensor, const Expected &expected) const {
    if (!problem_.varlen)
      return arguments_.operand<3>(tensor, expected);
    const auto [address, stride] = arguments_.operand<2>(tensor, expected);
    return {.address = address, .stride = {0, stride[0], stride[1]}};
  }

  void keys() {
    const bool cache = problem_.cache != KvCache::none;
    const std::int64_t batch = params.size.batch;
    params.sequences.startsKv =
        starts(problem_.varlen && !cache, args_.cu_seqlens_kv, "cu_seqlens_kv", batch + 1);
    const bool table = cache && !problem_.csr;
    params.csr = csrPages(arguments_, problem_.csr, args_.kv_indptr, args_.kv_indices,
                          args_.kv_last_page_len, batch);
    params.sequences.lengthsKv = arguments_.operandIf<0>(
        table, args_.seq_lens, {.name = "seq_lens", .dtype = i32, .shape = {"batch", batch}});
    if (arguments_.given(args_.block_table, "block_table", table)) {
      const std::int64_t blocks =
          args_.block_table->rank() == 2 ? args_.block_table->shape()[1] : 0;
      params.table =
          arguments_.operand<1>(*args_.block_table, {.name = "block_table",
                                                     .dtype = i32,
                                                     .shape = {"batch, blocks", batch, blocks},
                                                     .free = 1});
      if (blocks > (kMostTokens - 1) / problem_.page)
        arguments_.fail("block_table has " + std::to_string(blocks) + " blocks of " +
                        std::to_string(problem_.page) +
                        " keys for a sequence; there are less than " + std::to_string(kMostTokens) +
                        " keys");
    }
    const char *modes = ofTokens("tokens, kv_heads, head", "batch, keys, kv_heads, head");
    if (!cache)
      rank(args_.k, "k", modes);
    if (problem_.scales == KvScales::token) {
      params.tokenScale.k = tokenScale(args_.k_scale, "k_scale");
      params.tokenScale.v = tokenScale(args_.v_scale, "v_scale");
    } else {
      const bool ofHeads = problem_.scales == KvScales::head;
      params.descale.k = descale(args_.k_scale, "k_scale", scalesKeys(problem_), ofHeads);
      params.descale.v = descale(args_.v_scale, "v_scale", scalesKeys(problem_), ofHeads);
    }
    if (cache)
      return caches();
    const TensorArg::Dims shape = args_.k.shape();
    const std::int64_t keys = problem_.varlen ? shape[0] : shape[1];
    if (keys >= kMostTokens)
      arguments_.fail("k has " + std::to_string(keys) + " keys; there are less than " +
                      std::to_string(kMostTokens));
    if (!problem_.varlen && shape[0] != batch)
      arguments_.fail("k has " + std::to_string(shape[0]) + " sequences, and q has " +
                      std::to_string(batch));
    params.size.keys = keys;
    params.k = heads(args_.k, "k", problem_.kv, modes, shape, problem_.kv_heads, problem_.head,
                     Use::read, true);
    params.v = heads(args_.v, "v", problem_.kv,
                     ofTokens("tokens, kv_heads, head_v", "batch, keys, kv_heads, head_v"), shape,
                     problem_.kv_heads, headV(problem_), Use::read, true);
  }
  /// Checks the factors of tokens: as k without its last mode, of a packed cache too.
  Strided<OnHost, 3> tokenScale(const std::optional<TensorArg> &tensor, const char *name) const {
    if (!arguments_.given(tensor, name, true))
      return {};
    const std::int64_t heads = problem_.kv_heads;
    if (problem_.cache != KvCache::none) {
      const std::int64_t blocks = args_.k.shape()[0];
      return arguments_.operand<3>(
          *tensor, {.name = name,
                    .dtype = f32,
                    .shape = {"blocks, page, kv_heads", blocks, problem_.page, heads},
                    .free = 3});
    }
    const TensorArg::Dims k = args_.k.shape();
    return ofBatch(*tensor,
                   {.name = name,
                    .dtype = f32,
                    .shape = problem_.varlen ? Shape{"tokens, kv_heads", k[0], heads}
                                             : Shape{"batch, keys, kv_heads", k[0], k[1], heads},
                    .free = problem_.varlen ? 2 : 3});
  }
  /// Checks the factors of an operand, if there are some: one, or one of each sequence and head.
  Strided<OnHost, 2> descale(const std::optional<TensorArg> &tensor, const char *name, bool has,
                             bool ofHeads) const {
    return givenScales(arguments_, has, tensor, name, ofHeads,
                       {"batch, kv_heads", params.size.batch, problem_.kv_heads});
  }
  void caches() {
    const std::int64_t blocks = args_.k.shape()[0], page = problem_.page, kv = problem_.kv_heads,
                       x = problem_.pack, y = vPackOf(problem_), head = problem_.head,
                       head_v = headV(problem_);
    if (problem_.cache == KvCache::pages) {
      const auto pages = [&](const char *name, const char *modes, std::int64_t elements) {
        Expected expected = inPieces(name, problem_.kv, {modes, blocks, page, kv, elements}, 3);
        expected.reach = {.counts = {0, page}, .bytes = kNearBytes, .what = "a block"};
        return expected;
      };
      params.k = arguments_.operand<3>(args_.k, pages("k", "blocks, page, kv_heads, head", head));
      params.v =
          arguments_.operand<3>(args_.v, pages("v", "blocks, page, kv_heads, head_v", head_v));
      return;
    }
    const auto packs = [&](const TensorArg &tensor, const char *name,
                           const Shape &shape) -> Strided<OnHost, 3> {
      const auto [address, stride] =
          arguments_.operand<2>(tensor, inPieces(name, problem_.kv, shape, 2));
      return {.address = address, .stride = {stride[0], 0, stride[1]}};
    };
    params.k = packs(args_.k, "k",
                     {"blocks, kv_heads, head / pack, page, pack", blocks, kv, head / x, page, x});
    params.v =
        packs(args_.v, "v",
              {"blocks, kv_heads, page / v_pack, head_v, v_pack", blocks, kv, page / y, head_v, y});
  }

  void scores() {
    const std::int64_t batch = params.size.batch, heads = problem_.q_heads,
                       queries = params.size.queries, tokens = params.size.tokens;
    const bool own = problem_.varlen || problem_.cache != KvCache::none;
    if (arguments_.given(args_.bias, "bias", problem_.bias)) {
      const TensorArg &bias = *args_.bias;
      const std::int64_t columns = own && bias.rank() > 0
                                       ? bias.shape()[static_cast<std::size_t>(bias.rank() - 1)]
                                       : params.size.keys;
      if (own && columns == 0 && any())
        arguments_.fail("bias has no columns; it has one for each key of a sequence");
      params.bias.rows = ofBatch(
          bias, {.name = "bias",
                 .dtype = problem_.bias_type,
                 .shape = problem_.varlen ? Shape{"q_heads, tokens, keys", heads, tokens, columns}
                                          : Shape{"batch, q_heads, queries, keys", batch, heads,
                                                  queries, columns},
                 .free = problem_.varlen ? 2 : 3});
      params.bias.columns = columns;
    }
    if (arguments_.given(args_.lse, "lse", problem_.lse))
      params.lse = ofBatch(*args_.lse,
                           {.name = "lse",
                            .dtype = f32,
                            .shape = problem_.varlen
                                         ? Shape{"tokens, q_heads", tokens, heads}
                                         : Shape{"batch, queries, q_heads", batch, queries, heads},
                            .free = problem_.varlen ? 2 : 3,
                            .use = Use::written});
    const auto ofHeads = [&](bool has, const std::optional<TensorArg> &tensor, const char *name) {
      return arguments_.operandIf<0>(has, tensor,
                                     {.name = name, .dtype = f32, .shape = {"q_heads", heads}});
    };
    if (arguments_.given(args_.alibi_slopes, "alibi_slopes", problem_.alibi)) {
      const bool each = args_.alibi_slopes->rank() == 2; // of each sequence
      params.slopes = arguments_.operand<1>(
          *args_.alibi_slopes,
          {.name = "alibi_slopes",
           .dtype = f32,
           .shape = each ? Shape{"batch, q_heads", batch, heads} : Shape{"q_heads", heads},
           .free = each ? 1 : 0});
    }
    mask();
    params.sink = ofHeads(problem_.sink, args_.sink, "sink");
    const auto side = [&](std::int64_t keys, const char *name) {
      if (keys < -1 || keys >= kMostTokens)
        arguments_.fail(is(name, keys) + "; it is a number of keys, or -1 for all");
      if (!problem_.window && keys != -1)
        arguments_.fail(std::string(name) + " is given, and the problem has no window");
      return keys;
    };
    params.window.left = side(args_.window_left, "window_left");
    params.window.right = side(args_.window_right, "window_right");
  }

  void mask() {
    if (!arguments_.given(args_.mask, "mask", problem_.mask))
      return;
    const TensorArg &mask = *args_.mask;
    const bool own = problem_.varlen || problem_.cache != KvCache::none;
    const std::int64_t bytes =
        mask.rank() > 0 ? mask.shape()[static_cast<std::size_t>(mask.rank() - 1)] : 0;
    const Expected expected{.name = "mask",
                            .dtype = u8,
                            .shape = problem_.varlen
                                         ? Shape{"tokens, bytes", params.size.tokens, bytes}
                                         : Shape{"batch, queries, bytes", params.size.batch,
                                                 params.size.queries, bytes},
                            .free = problem_.varlen ? 1 : 2};
    const std::int64_t least = own ? 1 : (params.size.keys + 7) / 8;
    if (problem_.varlen) {
      const auto [address, stride] = arguments_.operand<1>(mask, expected);
      params.mask.rows = {.address = address, .stride = {0, stride[0]}};
    } else {
      params.mask.rows = arguments_.operand<2>(mask, expected);
    }
    if (bytes < least && any())
      arguments_.fail("mask has " + std::to_string(bytes) + " bytes for a query; " +
                      std::to_string(least) + " are the fewest that have a bit for each key");
    params.mask.bytes = bytes;
  }

  /// The workspace: the results of all parts, and after them the logarithms.
  void parts() {
    const std::size_t bytes =
        any() ? Attention::workspaceBytes(problem_, config_, params.size.tokens) : 0;
    params.parts.values.address = arguments_.workspace(args_.workspace, bytes);
    if (bytes > 0)
      params.parts.lse.address = params.parts.values.address +
                                 partialRows(problem_, config_).bytesOfValues(params.size.tokens);
  }

  /// Where the sequences start: so many numbers, if that is known.
  Strided<OnHost, 0> starts(bool needed, const std::optional<TensorArg> &tensor, const char *name,
                            std::optional<std::int64_t> count = {}) const {
    if (!arguments_.given(tensor, name, needed))
      return {};
    const std::int64_t size = tensor->rank() == 1 ? tensor->shape()[0] : 0;
    if (size < 1)
      arguments_.fail(std::string(name) +
                      " is a vector of the starts of all sequences and the end");
    if (count && size != *count)
      arguments_.fail(std::string(name) + " has " + std::to_string(size) +
                      " elements, and cu_seqlens_q has " + std::to_string(*count));
    return arguments_.operand<0>(*tensor,
                                 {.name = name, .dtype = i32, .shape = {"batch + 1", size}});
  }
  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  const AttentionArgs &args_;
  Arguments arguments_;
};

} // namespace

Support Attention::supported(const AttentionProblem &problem, const Target &target) {
  if (!gpuSize(target))
    return Support::no("attention has no configurations for this target");
  if (const Support fits = firstRefusal({typesSupported(problem, target), headsSupported(problem),
                                         scoresSupported(problem), cacheSupported(problem)});
      !fits)
    return fits;
  // Of large heads, the tile that needs the least has to fit.
  const Support least =
      supported(problem, configOf(problem, leastTile(problem, target), target), target);
  if (!least)
    return Support::no(is("head", problem.head) + " and " + is("head_v", headV(problem)) + " on " +
                       target.name() + "; " + least.why);
  return {};
}

Support Attention::supported(const AttentionProblem &problem, const AttentionConfig &config,
                             const Target &target) {
  const int lanes = target.wave_size(), threads = config.threads;
  const auto no = [&](const std::string &why) {
    return Support::no("tiles of " + std::to_string(config.tile_q) + " queries and " +
                       std::to_string(config.tile_k) + " keys with " + std::to_string(threads) +
                       " threads: " + why);
  };
  if (threads < lanes || threads % lanes || threads > target.max_block_size())
    return no("a block is a number of waves of " + std::to_string(lanes) + ", up to " +
              std::to_string(target.max_block_size()) + " threads");
  if (config.tile_k < 32 || config.tile_k > 256 || config.tile_k % 32)
    return no("tile_k is a multiple of 32 from 32 to 256");
  const auto found = AttentionShape::of(problem, config, target);
  if (!found)
    return no("products of floats of 8 bits take a multiple of " +
              std::to_string(fewestOfK(target, probabilityType(problem), problem.kv)) +
              " keys on " + target.name());
  const AttentionShape &shape = *found;
  if (config.loop == AttentionLoop::groups)
    if (const Support fits = groupsSupported(problem, shape, target); !fits)
      return no(fits.why);
  if (config.tile_q < 1 || config.tile_q % shape.queriesAtOnce() || shape.repeats() > 4)
    return no("tile_q is 16, 32, 48 or 64 queries for each wave");
  if (static_cast<std::size_t>(shape.ldsBytes()) > target.lds_bytes())
    return no("the tiles of k and v take " + std::to_string(shape.ldsBytes()) +
              " bytes of LDS; there are " +
              std::to_string(static_cast<std::int64_t>(target.lds_bytes())));
  const int most = std::min(registers_of_lane(target, shape.waves()), shape.registers());
  if (shape.fewestRegisters() > most)
    return no("the sums take " + std::to_string(shape.fewestRegisters()) +
              " registers of a lane; there are " + std::to_string(most));
  if (config.splits < 1 || config.splits > kMostParts)
    return no("splits is 1 to " + std::to_string(kMostParts));
  return orderSupported(config.order);
}

AttentionConfig Attention::choose(const AttentionProblem &problem, std::int64_t m,
                                  const Target &target) {
  AttentionConfig best;
  double least = std::numeric_limits<double>::infinity();
  for (AttentionConfig config : choices(problem, target)) {
    const AttentionShape shape = *AttentionShape::of(problem, config, target);
    const AttentionEstimate estimate(problem, shape, m, keysOf(problem, m), target);
    for (config.splits = 1; config.splits <= mostParts(problem); ++config.splits)
      if (const double time = estimate.with(config.splits); time < least) {
        least = time;
        best = config;
      }
  }
  return best;
}

std::vector<AttentionConfig> Attention::candidates(const AttentionProblem &problem, std::int64_t,
                                                   const Target &target) {
  std::vector<AttentionConfig> all;
  for (const AttentionTile &tile : tiles(problem, target))
    for (int splits : {1, 2, 4, 8, 16, 32}) {
      if (splits > 8 && problem.context / splits < kKeysOfPart)
        continue;
      all.push_back(configOf(problem, tile, target));
      all.back().splits = splits;
    }
  return all;
}

std::int64_t Attention::rows(const AttentionArgs &args) {
  const TensorArg::Dims shape = args.q.shape();
  return shape.empty()       ? 0
         : args.cu_seqlens_q ? shape[0]
                             : shape[0] * (shape.size() > 1 ? shape[1] : 1);
}

void Attention::launch(const Call<AttentionProblem> &call) {
  const Operands operands(call);
  if (!operands.any())
    return;
  const std::int64_t tiles = operands.tiles(), blocks = tiles * valueParts(call.problem);
  const int threads = call.config.threads;
  if (call.config.splits > 1) {
    call.launches.at(0, kAttentionParts)(call.on(blocks * call.config.splits, threads), call.where,
                                         operands.params);
    call.launches.at(1, kAttentionCombine)(
        call.on(tiles * combineBlocks(call.problem, call.config), threads), call.where,
        operands.params);
  } else {
    call.launches.at(0, kAttention)(call.on(blocks, threads), call.where, operands.params);
  }
}

AttentionArgs Attention::args(const AttentionProblem &problem, const AttentionConfig &config,
                              std::int64_t m, const Sampler &sampler) {
  const bool cache = problem.cache != KvCache::none, packed = problem.cache == KvCache::packed;
  const std::int64_t heads = problem.q_heads, kv = problem.kv_heads, head = problem.head,
                     head_v = headV(problem), page = cache ? problem.page : 1,
                     k = keysOf(problem, m), blocks = (k + page - 1) / page;
  const auto [x, y] = packsOf(problem);
  const auto ofTokens = [&](std::int64_t tokens, std::int64_t count, std::int64_t elements) {
    return problem.varlen ? Extents{tokens, count, elements} : Extents{1, tokens, count, elements};
  };
  const auto keys = [&](const char *name, std::int64_t elements, const Extents &inPacks) {
    if (!cache)
      return sampler(name, problem.kv, ofTokens(k, kv, elements), Role::input);
    return sampler(name, problem.kv, packed ? inPacks : Extents{blocks, page, kv, elements},
                   Role::input);
  };
  const auto maybe = [&](bool has, const char *name, DType dtype, const Extents &shape,
                         Role role = Role::input) {
    return sampleIf(has, sampler, name, dtype, shape, role);
  };
  const auto scale = [&](const char *name) {
    if (problem.scales != KvScales::token)
      return maybe(scalesKeys(problem), name, f32,
                   problem.scales == KvScales::head ? Extents{1, kv} : Extents{1}, Role::equal(2));
    const Extents tokens = problem.varlen ? Extents{k, kv} : Extents{1, k, kv};
    return maybe(true, name, f32, cache ? Extents{blocks, page, kv} : tokens, Role::equal(2));
  };
  const std::size_t workspace = workspaceBytes(problem, config, m);
  return {.q = sampler("q", problem.q, ofTokens(m, heads, head), Role::input),
          .k = keys("k", head, {blocks, kv, head / x, page, x}),
          .v = keys("v", head_v, {blocks, kv, page / y, head_v, y}),
          .o = sampler("o", problem.y, ofTokens(m, heads, head_v), Role::output),
          .q_scale = maybe(scalesQueries(problem), "q_scale", f32, {1}, Role::equal(2)),
          .k_scale = scale("k_scale"),
          .v_scale = scale("v_scale"),
          .cu_seqlens_q = maybe(problem.varlen, "cu_seqlens_q", i32, {2}, Role::steps(m)),
          .cu_seqlens_kv =
              maybe(problem.varlen && !cache, "cu_seqlens_kv", i32, {2}, Role::steps(k)),
          .max_seqlen_q = m,
          .seq_lens = maybe(cache && !problem.csr, "seq_lens", i32, {1}, Role::equal(k)),
          .block_table = maybe(cache && !problem.csr, "block_table", i32, {1, blocks}, Role::index),
          .kv_indptr = maybe(problem.csr, "kv_indptr", i32, {2}, Role::steps(blocks)),
          .kv_indices = maybe(problem.csr, "kv_indices", i32, {blocks}, Role::index),
          .kv_last_page_len = maybe(problem.csr, "kv_last_page_len", i32, {1},
                                    Role::equal(k - std::max<std::int64_t>(0, blocks - 1) * page)),
          .bias = maybe(problem.bias, "bias", problem.bias_type,
                        problem.varlen ? Extents{heads, m, k} : Extents{1, heads, m, k}),
          .alibi_slopes = maybe(problem.alibi, "alibi_slopes", f32, {heads}),
          .sink = maybe(problem.sink, "sink", f32, {heads}),
          .mask = maybe(problem.mask, "mask", u8,
                        problem.varlen ? Extents{m, (k + 7) / 8} : Extents{1, m, (k + 7) / 8}),
          .lse = maybe(problem.lse, "lse", f32,
                       problem.varlen ? Extents{m, heads} : Extents{1, m, heads}, Role::output),
          .workspace = maybe(workspace > 0, "workspace", u8, {workspace}, Role::workspace)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(AttentionProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
