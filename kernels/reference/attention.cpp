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
  const std::vector<double> bias = values("bias"), slopes = values("alibi_slopes"),
                            sink = values("sink");
  const Attended result = attended(
      problem, config,
      {length, length, -1, -1, inputs.at("q"), inputs.at("k"), inputs.at("v"), bias, slopes, sink});
  Outputs outputs{{"o", result.o}};
  if (problem.lse)
    outputs.emplace("lse", result.lse);
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
