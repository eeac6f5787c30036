// Heads that are normed and rotated, in double precision, by the
// definition in flydsl/kernels/rope.h.
#pragma once

#include <flydsl/kernels/rope.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// The heads of all tokens, and how far arithmetic in f32 may be from each number, before rounding.
struct Heads {
  std::vector<double> values, error;
};

/// Heads over the root mean squares of what is normed of them. A sum of squares, which are positive, errs by as many
/// roundings as one of `lanes` lanes has numbers, and one for each step among the lanes; the root,
/// the quotient and the products by six more.
inline Heads normed(const RopeProblem &problem, std::span<const double> x, HeadNorm norm,
                    std::span<const double> weight, int lanes) {
  Heads result{{x.begin(), x.end()}, std::vector<double>(x.size())};
  if (norm == HeadNorm::none)
    return result;
  const auto head = static_cast<std::size_t>(problem.head),
             count = problem.normed ? static_cast<std::size_t>(problem.normed) : head;
  const double steps = double(count) / lanes + std::log2(double(count)) + 6;
  for (std::size_t at = 0; at < x.size(); at += head) {
    double squares = 0;
    for (std::size_t e = 0; e < count; ++e)
      squares += x[at + e] * x[at + e] / double(count);
    const double rstd = 1 / std::sqrt(squares + double(float(problem.eps)));
    for (std::size_t e = 0; e < count; ++e) {
      result.values[at + e] *= rstd * (norm == HeadNorm::weighted ? weight[e] : 1);
      result.error[at + e] = steps * 0x1p-23 * std::fabs(result.values[at + e]);
    }
  }
  return result;
}

/// `heads` heads of each token, rotated by the rows of cos and sin that `positions` name. Two
/// products and their difference err by four roundings at most; what does not rotate stays as it
/// is. A position outside of the tables makes NaNs.
inline Heads rotated(const RopeProblem &problem, const Heads &x, int heads,
                     std::span<const double> positions, std::span<const double> cos,
                     std::span<const double> sin) {
  Heads result = x;
  const int rotary = problem.rotary < 0 ? problem.head : problem.rotary, half = rotary / 2,
            start = problem.tail ? problem.head - rotary : 0;
  const bool neox = problem.style == RopeStyle::neox;
  const std::int64_t rows = half ? static_cast<std::int64_t>(cos.size()) / half : 0;
  const auto count = static_cast<std::int64_t>(x.values.size()) / problem.head;
  for (std::int64_t h = 0; h < count; ++h)
    for (int i = 0; i < half; ++i) {
      const std::int64_t first = h * problem.head + start;
      const auto at = static_cast<std::size_t>(first + (neox ? i : 2 * i)),
                 other = static_cast<std::size_t>(first + (neox ? i + half : 2 * i + 1));
      const double position = positions[static_cast<std::size_t>(h / heads)];
      const bool known = position >= 0 && position < double(rows);
      const auto angle = static_cast<std::size_t>(known ? std::int64_t(position) * half + i : 0);
      const double a = x.values[at], b = x.values[other], none = std::nan(""),
                   c = known ? cos[angle] : none, s = known ? sin[angle] : none, ea = x.error[at],
                   eb = x.error[other];
      result.values[at] = a * c - b * s;
      result.values[other] = b * c + a * s;
      result.error[at] =
          0x1p-22 * (std::fabs(a * c) + std::fabs(b * s)) + ea * std::fabs(c) + eb * std::fabs(s);
      result.error[other] =
          0x1p-22 * (std::fabs(b * c) + std::fabs(a * s)) + eb * std::fabs(c) + ea * std::fabs(s);
    }
  return result;
}

/// Where element e of head h of a token is in a cache without gaps, by the definition of KvCache.
inline std::size_t cachePlace(const RopeProblem &problem, std::int64_t slot, std::int64_t h,
                              std::int64_t e, bool isV) {
  const std::int64_t kv = problem.kv_heads, head = problem.head, page = problem.page,
                     b = slot / page, p = slot % page, x = problem.pack,
                     y = problem.v_pack ? problem.v_pack : page;
  if (problem.cache == KvCache::pages)
    return std::size_t(((b * page + p) * kv + h) * head + e);
  if (isV)
    return std::size_t((((b * kv + h) * (page / y) + p / y) * head + e) * y + p % y);
  return std::size_t((((b * kv + h) * (head / x) + e / x) * page + p) * x + e % x);
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
