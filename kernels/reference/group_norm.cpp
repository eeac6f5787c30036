// What group norms must give.
#include "reference/activation.h"
#include "reference/reference.h"
#include "reference/rows.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

// A mean and a sum of squares of n numbers by t threads err by n / t + log2 n roundings, as those of
// norms do: of the mean magnitude for the mean, relative for the squares, which are positive.
Outputs expected(const GroupNormProblem &problem, const GroupNormConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  const std::vector<double> &x = inputs.at("x");
  const bool isLast = problem.layout == ImageLayout::channels_last;
  const auto channels = static_cast<std::size_t>(problem.channels),
             ofGroup = channels / static_cast<std::size_t>(problem.groups),
             images = static_cast<std::size_t>(m),
             pixels = images ? x.size() / images / channels : 0;
  const auto placeOf = [&](std::size_t image, std::size_t channel, std::size_t pixel) {
    return image * channels * pixels +
           (isLast ? pixel * channels + channel : channel * pixels + pixel);
  };
  Expected y;
  y.values.resize(x.size());
  y.bound.resize(x.size());
  const double count = double(ofGroup * pixels),
               sums = steps(static_cast<std::int64_t>(ofGroup * pixels), config.block);
  for (std::size_t image = 0; image < images; ++image)
    for (std::size_t first = 0; first < channels; first += ofGroup) {
      double mean = 0, magnitude = 0, squares = 0;
      const auto each = [&](auto body) {
        for (std::size_t channel = first; channel < first + ofGroup; ++channel)
          for (std::size_t pixel = 0; pixel < pixels; ++pixel)
            body(channel, placeOf(image, channel, pixel));
      };
      each([&](std::size_t, std::size_t at) {
        mean += x[at] / count;
        magnitude += std::fabs(x[at]) / count;
      });
      each(
          [&](std::size_t, std::size_t at) { squares += (x[at] - mean) * (x[at] - mean) / count; });
      const double rstd = 1 / std::sqrt(squares + double(float(problem.eps)));
      each([&](std::size_t channel, std::size_t at) {
        const double weight = problem.affine ? inputs.at("weight")[channel] : 1,
                     bias = problem.affine ? inputs.at("bias")[channel] : 0;
        const double scaled = (x[at] - mean) * rstd * weight, sum = scaled + bias;
        const double error =
            std::fabs(scaled) * (sums + 4) * kRounding +
            (std::fabs(bias) + std::fabs(sum)) * kRounding +
            std::fabs(weight) * rstd * sums * kRounding * (magnitude + std::fabs(mean));
        const double value = activated(problem.activation, sum);
        const double after =
            problem.activation == Activation::none
                ? error
                : passedOn(problem.activation, sum, error) + 8 * kRounding * std::fabs(value);
        y.values[at] = value;
        y.bound[at] = after + std::fabs(value) * host::unit(problem.y) + host::underflow(problem.y);
      });
    }
  return {{"y", y}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
