// What attention must give.
#include "reference/attention.h"
#include "reference/reference.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

Outputs expected(const AttentionProblem &problem, const AttentionConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  if (problem.varlen || problem.cache != KvCache::none)
    return {};
  const std::vector<std::int64_t> length{m};
  const auto values = [&](const char *name) -> std::vector<double> {
    const auto found = inputs.find(name);
    return found == inputs.end() ? std::vector<double>() : found->second;
  };
  // An operand of 8 bits stands for its values times its descale.
  const auto scaled = [&](const char *name, const char *descale) {
    std::vector<double> all = inputs.at(name);
    const std::vector<double> factor = values(descale);
    if (!factor.empty())
      for (double &value : all)
        value *= factor.at(0);
    return all;
  };
  const std::vector<double> q = scaled("q", "q_descale"), k = scaled("k", "k_descale"),
                            v = scaled("v", "v_descale");
  const std::vector<double> bias = values("bias"), slopes = values("alibi_slopes"),
                            sink = values("sink");
  const Attended result =
      attended(problem, config, {length, length, -1, -1, q, k, v, bias, slopes, sink});
  Outputs outputs{{"o", result.o}};
  if (problem.lse)
    outputs.emplace("lse", result.lse);
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
