#include "rope/rope_family.h"

#include "blocks/quant/quant_rules.h"
#include "blocks/rows/row_rules.h"
#include "frame/arguments.h"

#include <bit>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Rope = Family<RopeProblem>;

/// The largest head, which fits the registers of a wave's lanes.
constexpr int kLargestHead = 4096;
/// The most tokens of a block of the cache: offsets inside a head's part of a block have 32 bits.
constexpr int kLargestPage = 65536;
/// The most heads of a token.
constexpr int kMostHeads = 65535;
/// Bytes of heads that a lane holds at a time: a quarter of the registers of four waves a SIMD.
constexpr int kLaneBytes = 256;
/// The most tokens of a cache, and the most groups of threads of a launch.
constexpr std::int64_t kMost = 0x7fffffff;

bool power(int x) { return x > 0 && std::has_single_bit(static_cast<unsigned>(x)); }

Support headsSupported(const RopeProblem &problem) {
  if (problem.q_heads < 0 || problem.kv_heads < 0 || problem.q_heads > kMostHeads ||
      problem.kv_heads > kMostHeads || problem.q_heads + problem.kv_heads == 0)
    return Support::no(is("q_heads", problem.q_heads) + " and " + is("kv_heads", problem.kv_heads) +
                       "; each is at most " + std::to_string(kMostHeads) +
                       ", and there is one of either at least");
  if (problem.head < 2 || problem.head > kLargestHead || problem.head % 2)
    return Support::no(is("head", problem.head) + "; it is an even number from 2 to " +
                       std::to_string(kLargestHead));
  if (problem.rotary < -1 || problem.rotary > problem.head ||
      (problem.rotary >= 0 && problem.rotary % 2))
    return Support::no(is("rotary", problem.rotary) + "; it is an even number from 0 to head = " +
                       std::to_string(problem.head) + ", or -1 for all of it");
  return {};
}

Support cacheSupported(const RopeProblem &problem) {
  if (problem.cache == KvCache::none) {
    if (problem.kv_heads && !problem.k_out)
      return Support::no("k goes nowhere; set k_out or a cache, or kv_heads = 0");
    return {};
  }
  if (problem.kv_heads == 0)
    return Support::no("a cache holds k, and kv_heads is 0");
  if (!quantisesCache(problem) && !floatSupported("cached", problem.cached))
    return Support::no("cached is of type " + std::string(problem.cached.name()) +
                       "; f32, f16, bf16, i8 and floats of 8 bits are supported");
  const bool byHead = problem.cache_scales == KvScales::head;
  if (!quantisesCache(problem) && (byHead || problem.cache_scales == KvScales::token))
    return Support::no(std::string("cache_scales is ") + (byHead ? "head" : "token") +
                       ", and cached of type " + std::string(problem.cached.name()) +
                       "; caches of 8 bits have scales");
  if (quantisesCache(problem) && problem.cache_scales == KvScales::none)
    return Support::no("cache_scales is none, and cached of type " +
                       std::string(problem.cached.name()) + "; a cache of 8 bits has scales");
  if (problem.page < 1 || problem.page > kLargestPage)
    return Support::no(is("page", problem.page) + "; a block of the cache has 1 to " +
                       std::to_string(kLargestPage) + " tokens");
  if (problem.cache == KvCache::pages)
    return {};
  if (!power(problem.pack) || problem.head % problem.pack)
    return Support::no(is("pack", problem.pack) + "; it is a power of two that divides head = " +
                       std::to_string(problem.head));
  if (problem.v_pack < 0 || problem.page % vPackOf(problem))
    return Support::no(is("v_pack", problem.v_pack) + "; it divides page = " +
                       std::to_string(problem.page) + ", or is 0 for all of it");
  return {};
}

Support normSupported(const RopeProblem &problem) {
  if (const Support answer = floatSupported("weight", problem.weight); !answer)
    return answer;
  if (!(problem.eps >= 0) || !std::isfinite(static_cast<float>(problem.eps)))
    return Support::no("eps is " + std::to_string(problem.eps) +
                       "; it is a finite number of at least 0");
  if (problem.q_norm != HeadNorm::none && problem.q_heads == 0)
    return Support::no("q_norm is for the heads of q, and q_heads is 0");
  if (problem.k_norm != HeadNorm::none && problem.kv_heads == 0)
    return Support::no("k_norm is for the heads of k, and kv_heads is 0");
  if (problem.normed < 0 || problem.normed > problem.head || problem.normed % 2)
    return Support::no(is("normed", problem.normed) + "; it is an even number up to head = " +
                       std::to_string(problem.head) + ", or 0 for all of it");
  if (problem.normed && problem.q_norm == HeadNorm::none && problem.k_norm == HeadNorm::none)
    return Support::no(is("normed", problem.normed) + "; it is for q_norm and k_norm, and both are none");
  return {};
}

Support quantisationSupported(const RopeProblem &problem) {
  if (problem.group && problem.quantise != Quantisation::row)
    return Support::no(is("group", problem.group) + ", and groups have scales of their own with "
                                                    "Quantisation::row alone; it is 0 here");
  if (problem.quantise == Quantisation::none)
    return floatSupported("y", problem.y);
  if (const Support answer = quantisedSupported("y", problem.y); !answer)
    return answer;
  if (problem.quantise == Quantisation::fixed)
    return {};
  if (problem.group && (!power(problem.group) || problem.head % problem.group))
    return Support::no(is("group", problem.group) + "; it is a power of two that divides head = " +
                       std::to_string(problem.head) + ", or 0 for all of it");
  if (problem.scale != f32 && problem.scale != f8E8M0FNU)
    return Support::no("scale is of type " + std::string(problem.scale.name()) +
                       "; f32 and f8E8M0FNU are supported");
  if (problem.scale == f8E8M0FNU && !problem.y.is_float())
    return Support::no("y is of type " + std::string(problem.y.name()) +
                       "; with scales of f8E8M0FNU, floats of 8 bits are supported");
  return {};
}

/// Numbers of threads of a call, and what such a call takes: few threads are spread over the
/// multiprocessors as blocks of a wave; many take several heads one after another, for which the
/// tables are read once. (FlyDSL: a wave for each head.)
struct RopeRule {
  std::int64_t threads;
  int heads, block;
};
constexpr RopeRule kRopeRules[] = {
    {1 << 14, 1, 64}, {1 << 18, 1, 256}, {1 << 20, 2, 256}, {INT64_MAX, 8, 256}};

int slotsOf(const RopeProblem &problem, int lanes) {
  return static_cast<int>(HeadShape(problem, lanes).slots.size());
}
/// The bytes of so many heads that a lane holds.
int laneBytes(const RopeProblem &problem, int lanes, int heads) {
  return slotsOf(problem, lanes) * accessOf(problem) * problem.x.bytes() * heads;
}

/// Whether its registers hold them. One head is always taken, if all lanes of a wave share it.
bool laneFits(const RopeProblem &problem, int lanes, int heads, const Target &target) {
  return laneBytes(problem, lanes, heads) <= kLaneBytes ||
         (heads == 1 && lanes == target.wave_size());
}
/// Whether lanes can find the largest magnitudes of quantised groups.
bool groupsFit(const RopeProblem &problem, int lanes) {
  return problem.quantise != Quantisation::row ||
         slotGroups(HeadShape(problem, lanes), groupSize(problem));
}

/// The lanes of a head: one for each access of the largest part, or more if that takes many slots.
int chooseLanes(const RopeProblem &problem, const Target &target) {
  const int rotary = rotaryOf(problem);
  const bool halves = problem.style == RopeStyle::neox && rotary;
  const int accesses = (halves ? rotary / 2 : problem.head) / accessOf(problem);
  int lanes = std::min(static_cast<int>(std::bit_ceil(static_cast<unsigned>(accesses))),
                       target.wave_size());
  while (lanes < target.wave_size() && slotsOf(problem, lanes) > 4)
    lanes *= 2;
  while (!groupsFit(problem, lanes))
    lanes /= 2; // one lane has whole groups, because an access is a part of one
  return lanes;
}

/// The largest number of heads up to `most` whose rounds are all heads of q, of k or of v, so that
/// no wave works on two of them; `most` if there is none.
int chooseHeads(const RopeProblem &problem, int most) {
  const int all = headsOf(problem);
  for (int heads = std::min(most, all); heads > 1; --heads)
    if (const int groups = all / heads;
        all % heads == 0 && problem.q_heads % groups == 0 && problem.kv_heads % groups == 0)
      return heads;
  return std::min(most, all);
}

/// The operands of a call, checked, as the kernel takes them.
class Operands {
public:
  Operands(const Call<RopeProblem> &call)
      : problem_(call.problem), args_(call.args),
        arguments_(FamilyOf<RopeProblem>::name, call.where) {
    align_ = accessOf(problem_);
    const bool q = problem_.q_heads > 0, k = problem_.kv_heads > 0,
               cache = problem_.cache != KvCache::none, v = cache && problem_.v_cached;
    arguments_.given(args_.q, "q", q);
    arguments_.given(args_.k, "k", k);
    m_ = Rope::rows(args_);
    if (m_ > kMost / groupsOf(problem_, call.config))
      arguments_.fail(std::string(q ? "q" : "k") + " has " + std::to_string(m_) + " tokens; " +
                      std::to_string(kMost / groupsOf(problem_, call.config)) +
                      " tokens are the most that one launch takes");
    params.q = heads(q, args_.q, "q", kOfQ, Use::read);
    params.k = heads(k, args_.k, "k", kOfK, Use::read);
    params.v = heads(v, args_.v, "v", kOfK, Use::read);
    params.qOut = heads(q, args_.q_out, "q_out", kOfQ, Use::written);
    params.kOut = heads(k && problem_.k_out, args_.k_out, "k_out", kOfK, Use::written);
    tables();
    params.slots = arguments_.operandIf<0>(
        cache, args_.slots, {.name = "slots", .dtype = problem_.index, .shape = {"m", m_}});
    caches(cache, v);
    const bool quantised = quantisesCache(problem_);
    params.kCacheScale = cacheScales(quantised, args_.k_cache_scale, "k_cache_scale");
    params.vCacheScale = cacheScales(quantised && v, args_.v_cache_scale, "v_cache_scale");
    const auto weight = [&](HeadNorm norm, const std::optional<TensorArg> &tensor,
                            const char *name) {
      return arguments_.operandIf<0>(norm == HeadNorm::weighted, tensor,
                                     {.name = name,
                                      .dtype = problem_.weight,
                                      .shape = {problem_.normed ? "normed" : "head",
                                                normedOf(problem_)},
                                      .align = align_});
    };
    params.qWeight = weight(problem_.q_norm, args_.q_weight, "q_weight");
    params.kWeight = weight(problem_.k_norm, args_.k_weight, "k_weight");
    params.qScale = scales(q, args_.q_scale, "q_scale", kOfQ);
    params.kScale = scales(k && problem_.k_out, args_.k_scale, "k_scale", kOfK);
    params.tokens = static_cast<std::int32_t>(m_);
    arguments_.expectApart({{"q_out", "q"}, {"k_out", "k"}});
  }
  std::int64_t m() const { return m_; }

  RopeParams<OnHost> params{};

private:
  /// Whose heads an operand has.
  enum OfHeads : bool { kOfQ, kOfK };

  Strided<OnHost, 2> heads(bool needed, const std::optional<TensorArg> &tensor, const char *name,
                           OfHeads of, Use use) const {
    const int count = of == kOfQ ? problem_.q_heads : problem_.kv_heads;
    return arguments_.operandIf<2>(
        needed, tensor,
        {.name = name,
         .dtype = use == Use::written ? problem_.y : problem_.x,
         .shape = {of == kOfQ ? "m, q_heads, head" : "m, kv_heads, head", m_, count, problem_.head},
         .free = 2,
         .use = use,
         .align = align_});
  }
  Strided<OnHost, 0> scales(bool needed, const std::optional<TensorArg> &tensor, const char *name,
                            OfHeads of) const {
    const bool fixed = problem_.quantise == Quantisation::fixed;
    const int count = of == kOfQ ? problem_.q_heads : problem_.kv_heads;
    return arguments_.operandIf<0>(
        needed && problem_.quantise != Quantisation::none, tensor,
        {.name = name,
         .dtype = fixed ? f32 : problem_.scale,
         .shape = fixed
                      ? Shape{"1", 1}
                      : Shape{of == kOfQ ? "m, q_heads, head / group" : "m, kv_heads, head / group",
                              m_, count, problem_.head / groupSize(problem_)},
         .use = fixed ? Use::read : Use::written});
  }
  void tables() {
    const int rotary = rotaryOf(problem_);
    params.positions =
        arguments_.operandIf<0>(rotary > 0, args_.positions,
                                {.name = "positions", .dtype = problem_.index, .shape = {"m", m_}});
    const bool pairs = problem_.style == RopeStyle::gptj;
    if (arguments_.given(args_.cos, "cos", rotary > 0)) {
      params.rows = arguments_.rows(*args_.cos, "cos");
      if (params.rows == 0)
        arguments_.fail("cos has no rows; it has one for each position");
    }
    const auto table = [&](const std::optional<TensorArg> &tensor, const char *name) {
      return arguments_.operandIf<1>(rotary > 0, tensor,
                                     {.name = name,
                                      .dtype = problem_.table,
                                      .shape = {"positions, rotary / 2", params.rows, rotary / 2},
                                      .free = 1,
                                      .align = pairs ? align_ / 2 : align_});
    };
    params.cos = table(args_.cos, "cos");
    params.sin = table(args_.sin, "sin");
  }
  Strided<OnHost, 3> cacheScales(bool needed, const std::optional<TensorArg> &tensor,
                                 const char *name) const {
    const std::int64_t page = problem_.page, kv = problem_.kv_heads;
    if (problem_.cache_scales == KvScales::token)
      return arguments_.operandIf<3>(
          needed, tensor,
          {.name = name,
           .dtype = f32,
           .shape = {"blocks, page, kv_heads", params.places / page, page, kv},
           .free = 3,
           .use = Use::written});
    if (problem_.cache_scales == KvScales::tensor && tensor && kv > 1 && tensor->rank() == 1 &&
        tensor->shape()[0] == kv)
      arguments_.fail(std::string(name) + " has " + std::to_string(kv) +
                      " numbers, one of each head; cache_scales is tensor, which takes one, and "
                      "KvScales::head takes these");
    const Shape shape =
        problem_.cache_scales == KvScales::head ? Shape{"kv_heads", kv} : Shape{"1", 1};
    const Strided<OnHost, 1> given = arguments_.operandIf<1>(
        needed, tensor, {.name = name, .dtype = f32, .shape = shape, .free = 1});
    return {.address = given.address, .stride = {0, 0, given.stride[0]}};
  }
  void caches(bool needed, bool v) {
    if (arguments_.given(args_.k_cache, "k_cache", needed)) {
      const std::int64_t blocks = args_.k_cache->shape()[0];
      if (blocks > kMost / problem_.page)
        arguments_.fail("k_cache has " + std::to_string(blocks) + " blocks of " +
                        std::to_string(problem_.page) + " tokens; a cache has at most " +
                        std::to_string(kMost) + " tokens");
      params.places = static_cast<std::int32_t>(blocks * problem_.page);
    }
    const std::int64_t blocks = params.places / problem_.page, page = problem_.page,
                       kv = problem_.kv_heads, head = problem_.head;
    const bool packed = problem_.cache == KvCache::packed;
    const auto cache = [&](const std::optional<TensorArg> &tensor, const char *name,
                           const Shape &packed, std::int64_t align) -> Strided<OnHost, 3> {
      if (!tensor)
        return {};
      if (problem_.cache == KvCache::pages)
        return arguments_.operand<3>(
            *tensor, {.name = name,
                      .dtype = problem_.cached,
                      .shape = {"blocks, page, kv_heads, head", blocks, page, kv, head},
                      .free = 3,
                      .use = Use::written,
                      .align = align_});
      arguments_.check(*tensor, {.name = name,
                                 .dtype = problem_.cached,
                                 .shape = packed,
                                 .free = 2,
                                 .use = Use::written,
                                 .align = align});
      return {.address = address(*tensor),
              .stride = {strideOf(*tensor, 0), 0, strideOf(*tensor, 1)}};
    };
    const std::int64_t x = problem_.pack, y = vPackOf(problem_);
    params.kCache = cache(
        args_.k_cache, "k_cache",
        packed ? Shape{"blocks, kv_heads, head / pack, page, pack", blocks, kv, head / x, page, x}
               : Shape{"blocks", blocks},
        align_);
    arguments_.given(args_.v_cache, "v_cache", v);
    params.vCache = cache(args_.v_cache, "v_cache",
                          packed ? Shape{"blocks, kv_heads, page / v_pack, head, v_pack", blocks,
                                         kv, page / y, head, y}
                                 : Shape{"blocks", blocks},
                          1);
  }

  const RopeProblem &problem_;
  const RopeArgs &args_;
  Arguments arguments_;
  std::int64_t align_ = 1, m_ = 0;
};

} // namespace

Support Rope::supported(const RopeProblem &problem, const Target &target) {
  const Support basic = firstRefusal(
      {floatSupported("x", problem.x), floatSupported("table", problem.table),
       alignSupported(problem.row_align), headsSupported(problem), normSupported(problem)});
  if (!basic)
    return basic;
  if (problem.index != i32 && problem.index != i64)
    return Support::no("index is of type " + std::string(problem.index.name()) +
                       "; i32 and i64 are supported");
  const Support written = firstRefusal({cacheSupported(problem), quantisationSupported(problem)});
  if (!written)
    return written;
  if (problem.style == RopeStyle::gptj && rotaryOf(problem) && accessOf(problem) < 2)
    return Support::no(is("row_align", problem.row_align) + ", " + is("pack", problem.pack) +
                       " and " + is("group", problem.group) +
                       "; the pairs of RopeStyle::gptj are neighbours, which "
                       "takes at least 2");
  if (const int lanes = chooseLanes(problem, target); !laneFits(problem, lanes, 1, target))
    return Support::no(is("rotary", rotaryOf(problem)) + " of a head of " +
                       std::to_string(problem.head) + " and " + is("group", groupSize(problem)) +
                       "; groups that the parts of a head cut take few lanes, "
                       "whose registers do "
                       "not hold such a head");
  return {};
}

Support Rope::supported(const RopeProblem &problem, const RopeConfig &config,
                        const Target &target) {
  const int wave = target.wave_size(), most = target.max_block_size();
  if (!power(config.lanes) || config.lanes > wave || !power(config.block) || config.block % wave ||
      config.block > most)
    return Support::no(is("lanes", config.lanes) + " and " + is("block", config.block) +
                       "; both are powers of two, lanes at most a wave of " + std::to_string(wave) +
                       ", and a block a number of waves, at most " + std::to_string(most) +
                       " threads");
  const int all = headsOf(problem);
  if (config.heads < 1 || config.heads > all)
    return Support::no(is("heads", config.heads) + "; a token has " + std::to_string(all));
  if (!groupsFit(problem, config.lanes))
    return Support::no(is("lanes", config.lanes) + " and " + is("group", groupSize(problem)) +
                       "; a group's elements would be those of lanes that have "
                       "other groups too; "
                       "take fewer lanes");
  if (!laneFits(problem, config.lanes, config.heads, target))
    return Support::no(is("lanes", config.lanes) + " and " + is("heads", config.heads) +
                       "; each lane would hold " +
                       std::to_string(laneBytes(problem, config.lanes, config.heads)) +
                       " bytes, and its registers hold " + std::to_string(kLaneBytes) +
                       "; take more lanes or fewer heads");
  return {};
}

RopeConfig Rope::choose(const RopeProblem &problem, std::int64_t m, const Target &target) {
  const int lanes = chooseLanes(problem, target);
  const std::int64_t threads = m * headsOf(problem) * lanes;
  const auto *rule = std::find_if(std::begin(kRopeRules), std::end(kRopeRules),
                                  [&](const RopeRule &r) { return threads <= r.threads; });
  const int fit = std::max(1, kLaneBytes / laneBytes(problem, lanes, 1));
  return {.lanes = lanes,
          .heads = chooseHeads(problem, std::min(rule->heads, fit)),
          .block = rule->block};
}

std::vector<RopeConfig> Rope::candidates(const RopeProblem &problem, std::int64_t,
                                         const Target &target) {
  std::vector<RopeConfig> all;
  const int chosen = chooseLanes(problem, target);
  for (int lanes = std::max(1, chosen / 2); lanes <= chosen * 2; lanes *= 2)
    for (int most : {1, 2, 4, 8})
      for (int block : {64, 128, 256})
        all.push_back({lanes, chooseHeads(problem, most), block});
  return all;
}

std::int64_t Rope::rows(const RopeArgs &args) {
  return args.q ? args.q->shape()[0] : args.k ? args.k->shape()[0] : 0;
}

void Rope::launch(const Call<RopeProblem> &call) {
  const Operands operands(call);
  if (operands.m() == 0)
    return;
  const std::int64_t groups = operands.m() * groupsOf(call.problem, call.config);
  call.launches.at(0, kRope)(
      call.over(groups, call.config.block / call.config.lanes, call.config.block), call.where,
      operands.params);
}

RopeArgs Rope::args(const RopeProblem &problem, const RopeConfig &, std::int64_t m,
                    const Sampler &sampler) {
  const bool cache = problem.cache != KvCache::none, v = cache && problem.v_cached,
             k = problem.kv_heads > 0, q = problem.q_heads > 0, rotates = rotaryOf(problem) > 0,
             packed = problem.cache == KvCache::packed, quantised = quantisesCache(problem);
  const auto maybe = [&](bool has, const char *name, DType dtype, const Extents &shape, Role role) {
    return sampleIf(has, sampler, name, dtype, shape, role);
  };
  const std::int64_t kv = problem.kv_heads, head = problem.head, page = cache ? problem.page : 1,
                     blocks = (m + page - 1) / page;
  const auto [x, y] = packsOf(problem);
  const Extents ofQ{m, problem.q_heads, head}, ofK{m, kv, head}, tokens{m}, one{1},
      table{std::max<std::int64_t>(m, 1), rotaryOf(problem) / 2}, pages{blocks, page, kv, head},
      packedK{blocks, kv, head / x, page, x}, packedV{blocks, kv, page / y, head, y};
  const bool fixed = problem.quantise == Quantisation::fixed,
             scaled = problem.quantise != Quantisation::none, ofKOut = k && problem.k_out;
  const std::int64_t groups = head / groupSize(problem);
  const Extents width{normedOf(problem)}, scalesQ{m, problem.q_heads, groups}, scalesK{m, kv, groups};
  const DType scale = fixed ? f32 : problem.scale;
  const Role role = fixed ? Role::input : Role::output;
  const bool byToken = problem.cache_scales == KvScales::token;
  const Extents ofScales = byToken                                  ? Extents{blocks, page, kv}
                           : problem.cache_scales == KvScales::head ? Extents{kv}
                                                                    : one;
  const Role roleOfScales = byToken ? Role::output : Role::input;
  return {
      .q = maybe(q, "q", problem.x, ofQ, Role::input),
      .k = maybe(k, "k", problem.x, ofK, Role::input),
      .v = maybe(v, "v", problem.x, ofK, Role::input),
      .positions = maybe(rotates, "positions", problem.index, tokens, Role::index),
      .cos = maybe(rotates, "cos", problem.table, table, Role::input),
      .sin = maybe(rotates, "sin", problem.table, table, Role::input),
      .slots = maybe(cache, "slots", problem.index, tokens, Role::index),
      .q_out = maybe(q, "q_out", problem.y, ofQ, Role::output),
      .k_out = maybe(ofKOut, "k_out", problem.y, ofK, Role::output),
      .k_cache = maybe(cache, "k_cache", problem.cached, packed ? packedK : pages, Role::output),
      .v_cache = maybe(v, "v_cache", problem.cached, packed ? packedV : pages, Role::output),
      .q_weight = maybe(problem.q_norm == HeadNorm::weighted, "q_weight", problem.weight, width,
                        Role::input),
      .k_weight = maybe(problem.k_norm == HeadNorm::weighted, "k_weight", problem.weight, width,
                        Role::input),
      .q_scale = maybe(q && scaled, "q_scale", scale, fixed ? one : scalesQ, role),
      .k_scale = maybe(ofKOut && scaled, "k_scale", scale, fixed ? one : scalesK, role),
      .k_cache_scale = maybe(quantised, "k_cache_scale", f32, ofScales, roleOfScales),
      .v_cache_scale = maybe(quantised && v, "v_cache_scale", f32, ofScales, roleOfScales),
  };
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(RopeProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
