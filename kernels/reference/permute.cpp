// What permutes must give: each element as it is.
#include "reference/reference.h"

#include <flydsl/kernels/operands.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

Outputs expected(const PermuteProblem &problem, const PermuteConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  // The extents of a call are those of its operands, which are made once more for it.
  std::vector<std::int64_t> x;
  (void)make_args(problem, config, m,
                  [&](const char *name, DType dtype, TensorArg::Dims shape, Role) {
                    if (std::string_view(name) == "x")
                      x.assign(shape.begin(), shape.end());
                    return TensorArg(nullptr, dtype, shape);
                  });
  const auto rank = static_cast<std::size_t>(problem.rank);
  std::vector<std::int64_t> step(rank, 1), at(rank, 0);
  for (std::size_t mode = rank - 1; mode-- > 0;)
    step[mode] = step[mode + 1] * x[mode + 1];
  Expected y;
  const std::vector<double> &values = inputs.at("x");
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t from = 0;
    for (std::size_t mode = 0; mode < rank; ++mode)
      from += at[mode] * step[static_cast<std::size_t>(problem.order[mode])];
    y.values.push_back(values[static_cast<std::size_t>(from)]);
    y.bound.push_back(0);
    for (std::size_t mode = rank; mode-- > 0;) { // the next coordinate of y
      if (++at[mode] < x[static_cast<std::size_t>(problem.order[mode])])
        break;
      at[mode] = 0;
    }
  }
  return {{"y", y}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
