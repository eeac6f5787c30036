// What rotary embedding must give.
#include "reference/heads.h"
#include "reference/reference.h"
#include "reference/rows.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

/// q_out or k_out, and its scales if the kernel writes them.
void addHeads(Outputs &outputs, const RopeProblem &problem, const Inputs &inputs, const char *name,
              const char *scaleName, const Heads &heads) {
  const bool given = problem.quantise == Quantisation::fixed;
  Expected out, scales;
  if (problem.quantise == Quantisation::row && problem.scale != f32)
    return;
  const auto group = static_cast<std::size_t>(problem.group ? problem.group : problem.head);
  for (std::size_t at = 0; at < heads.values.size(); at += group) {
    const Row values = Row(heads.values).subspan(at, group),
              error = Row(heads.error).subspan(at, group);
    if (problem.quantise == Quantisation::none) {
      for (std::size_t e = 0; e < group; ++e)
        add(out, problem.y, values[e], error[e]);
      continue;
    }
    const double scale = given ? inputs.at(scaleName)[0] : scaleOf(values, problem.y),
                 worst = *std::max_element(error.begin(), error.end()),
                 most = impl::largestOf(problem.y);
    scales.values.push_back(scale);
    scales.bound.push_back(worst / most + scale * kRounding);
    for (std::size_t e = 0; e < group; ++e)
      addQuantised(out, problem.y, given, values[e],
                   error[e] + (given ? 0 : std::fabs(values[e]) * worst / (scale * most)), scale);
  }
  outputs[name] = out;
  if (problem.quantise == Quantisation::row)
    outputs[scaleName] = scales;
}

/// k_cache or v_cache: the heads of each token where its slot is; and their scales if they are written.
void addCache(Outputs &outputs, const RopeProblem &problem, std::int64_t m, const Inputs &inputs,
              const char *name, const char *scaleName, const Heads &heads, bool isV) {
  const std::int64_t kv = problem.kv_heads, head = problem.head,
                     blocks = (m + problem.page - 1) / problem.page;
  const auto size = static_cast<std::size_t>(blocks * problem.page * kv * head);
  Expected cache{std::vector<double>(size), std::vector<double>(size, HUGE_VAL)};
  const bool quantised = impl::largestOf(problem.cached) != 0,
             byToken = quantised && problem.cache_scales == KvScales::token;
  const auto places = static_cast<std::size_t>(byToken ? blocks * problem.page * kv : 0);
  Expected scales{std::vector<double>(places), std::vector<double>(places, HUGE_VAL)};
  const double most = impl::largestOf(problem.cached);
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t h = 0; h < kv; ++h) {
      double scale = 1, worst = 0;
      if (byToken) {
        const auto first = static_cast<std::size_t>((t * kv + h) * head),
                   count = static_cast<std::size_t>(head);
        const Row off = Row(heads.error).subspan(first, count);
        scale = scaleOf(Row(heads.values).subspan(first, count), problem.cached);
        worst = *std::max_element(off.begin(), off.end());
        const auto at = static_cast<std::size_t>(
            static_cast<std::int64_t>(inputs.at("slots")[static_cast<std::size_t>(t)]) * kv + h);
        scales.values[at] = scale;
        scales.bound[at] = worst / most + scale * kRounding;
      }
      for (std::int64_t e = 0; e < head; ++e) {
        const auto from = static_cast<std::size_t>((t * kv + h) * head + e);
        const auto slot =
            static_cast<std::int64_t>(inputs.at("slots")[static_cast<std::size_t>(t)]);
        const std::size_t place = cachePlace(problem, slot, h, e, isV);
        Expected one;
        if (byToken)
          addQuantised(one, problem.cached, false, heads.values[from],
                       heads.error[from] + std::fabs(heads.values[from]) * worst / (scale * most),
                       scale);
        else if (quantised)
          addQuantised(
              one, problem.cached, true, heads.values[from], heads.error[from],
              inputs.at(
                  scaleName)[problem.cache_scales == KvScales::head ? static_cast<std::size_t>(h)
                                                                    : 0]);
        else
          add(one, problem.cached, heads.values[from], heads.error[from]);
        cache.values[place] = one.values[0];
        cache.bound[place] = one.bound[0];
      }
    }
  outputs[name] = cache;
  if (byToken)
    outputs[scaleName] = scales;
}

} // namespace

Outputs expected(const RopeProblem &problem, const RopeConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  Outputs outputs;
  const auto valuesOf = [&](const char *name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? Row() : Row(found->second);
  };
  const auto heads = [&](const char *name, HeadNorm norm, const char *weight, int count) {
    return rotated(problem, normed(problem, valuesOf(name), norm, valuesOf(weight), config.lanes),
                   count, valuesOf("positions"), valuesOf("cos"), valuesOf("sin"));
  };
  if (problem.q_heads)
    addHeads(outputs, problem, inputs, "q_out", "q_scale",
             heads("q", problem.q_norm, "q_weight", problem.q_heads));
  if (problem.kv_heads == 0)
    return outputs;
  const Heads k = heads("k", problem.k_norm, "k_weight", problem.kv_heads);
  if (problem.k_out)
    addHeads(outputs, problem, inputs, "k_out", "k_scale", k);
  if (problem.cache == KvCache::none)
    return outputs;
  addCache(outputs, problem, m, inputs, "k_cache", "k_cache_scale", k, false);
  if (problem.v_cached) {
    const Row v = valuesOf("v");
    addCache(outputs, problem, m, inputs, "v_cache", "v_cache_scale",
             {{v.begin(), v.end()}, std::vector<double>(v.size())}, true);
  }
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
