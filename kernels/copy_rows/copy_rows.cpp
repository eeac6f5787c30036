#include "copy_rows/copy_rows_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using CopyRows = Family<CopyRowsProblem>;

constexpr std::int64_t kMostThreads = 0x7fffffff;

/// Blocks of threads that move m rows.
std::int64_t blocksOf(const CopyRowsProblem &problem, const CopyRowsConfig &config,
                      std::int64_t m) {
  const std::int64_t each = std::int64_t(config.block) * kAccessesOfThread,
                     all = m * (problem.n / accessOf(problem));
  return (all + each - 1) / each;
}

} // namespace

std::int64_t CopyRows::rows(const CopyRowsArgs &args) {
  return args.from ? args.from->size() : args.to ? args.to->size() : 0;
}

Support CopyRows::supported(const CopyRowsProblem &problem, const Target &) {
  const int bits = problem.type.memory_bits();
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return Support::no("type is " + std::string(problem.type.name()) +
                       "; elements of 8, 16, 32 and 64 bits are supported");
  if (!problem.gather && !problem.scatter)
    return Support::no("neither gather nor scatter is set; a copy of all rows is the driver's");
  if (problem.index != i32 && problem.index != i64)
    return Support::no("index is of type " + std::string(problem.index.name()) +
                       "; i32 and i64 are supported");
  const Support basic =
      firstRefusal({lengthSupported(problem.n), alignSupported(problem.row_align)});
  if (!basic)
    return basic;
  if (problem.n % accessOf(problem))
    return Support::no(is("row_align", problem.row_align) +
                       ", and n = " + std::to_string(problem.n) + " is no multiple of the " +
                       std::to_string(accessOf(problem)) +
                       " elements that are moved together; take a smaller one");
  return {};
}

Support CopyRows::supported(const CopyRowsProblem &, const CopyRowsConfig &config,
                            const Target &target) {
  return powerBlockSupported(config.block, target);
}

CopyRowsConfig CopyRows::choose(const CopyRowsProblem &, std::int64_t, const Target &) {
  return {};
}

std::vector<CopyRowsConfig> CopyRows::candidates(const CopyRowsProblem &, std::int64_t,
                                                 const Target &) {
  return {{64}, {128}, {256}, {512}, {1024}};
}

void CopyRows::launch(const Call<CopyRowsProblem> &call) {
  const auto &[problem, config, args, launches, stream, where] = call;
  const Arguments arguments(FamilyOf<CopyRowsProblem>::name, where);
  arguments.given(args.from, "from", problem.gather);
  arguments.given(args.to, "to", problem.scatter);
  const std::int64_t m = rows(args), n = problem.n, rowsOfX = arguments.rows(args.x, "x"),
                     rowsOfY = arguments.rows(args.y, "y");
  for (const auto &[name, numbers] : {std::pair("from", &args.from), {"to", &args.to}})
    if (*numbers)
      arguments.check(**numbers, {.name = name, .dtype = problem.index, .shape = {"m", m}});
  const auto matrix = [&](const char *name, std::int64_t count, bool byNumber, Use use) {
    return Expected{.name = name,
                    .dtype = problem.type,
                    .shape = byNumber ? Shape{"rows, n", count, n} : Shape{"m, n", m, n},
                    .free = 1,
                    .use = use,
                    .align = accessOf(problem)};
  };
  arguments.check(args.x, matrix("x", rowsOfX, problem.gather, Use::read));
  arguments.check(args.y, matrix("y", rowsOfY, problem.scatter, Use::written));
  // Of one cache, other rows are written than are read.
  if (problem.gather && problem.scatter)
    arguments.expectApart({{"y", "x"}});
  else
    arguments.expectApart();
  if (m == 0)
    return;
  if (m > kMostThreads / (n / accessOf(problem))) [[unlikely]]
    arguments.fail(std::to_string(m) + " rows of " + std::to_string(n) + " elements are " +
                   std::to_string(accessOf(problem)) +
                   " at a time more than 2^31 accesses; copy parts of them");
  launches.at(0, kCopyRows)(call.on(blocksOf(problem, config, m), config.block), where,
                            {.x = operandOf<1>(args.x),
                             .y = operandOf<1>(args.y),
                             .from = operandOf<0>(args.from),
                             .to = operandOf<0>(args.to),
                             .rowsOfX = rowsOfX,
                             .rowsOfY = rowsOfY,
                             .m = static_cast<std::int32_t>(m)});
}

CopyRowsArgs CopyRows::args(const CopyRowsProblem &problem, const CopyRowsConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const Extents matrix{m, problem.n}, numbers{m};
  return {.x = sampler("x", problem.type, matrix, Role::input),
          .from = sampleIf(problem.gather, sampler, "from", problem.index, numbers, Role::index),
          .to = sampleIf(problem.scatter, sampler, "to", problem.index, numbers, Role::index),
          .y = sampler("y", problem.type, matrix, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(CopyRowsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
