// What copies of rows must give.
#include "reference/reference.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

Outputs expected(const CopyRowsProblem &problem, const CopyRowsConfig &, std::int64_t m,
                 const Inputs &inputs) {
  const auto count = static_cast<std::size_t>(problem.n), rows = static_cast<std::size_t>(m);
  const std::vector<double> &x = inputs.at("x");
  Expected y{std::vector<double>(rows * count), std::vector<double>(rows * count, HUGE_VAL)};
  for (std::size_t i = 0; i < rows; ++i) {
    const double from = problem.gather ? inputs.at("from")[i] : double(i),
                 to = problem.scatter ? inputs.at("to")[i] : double(i);
    for (std::size_t e = 0; e < count; ++e) {
      y.values[static_cast<std::size_t>(to) * count + e] =
          x[static_cast<std::size_t>(from) * count + e];
      y.bound[static_cast<std::size_t>(to) * count + e] = 0;
    }
  }
  return {{"y", y}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
