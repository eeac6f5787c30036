// What mixtures of experts on one device and over ranks share of their parts: the units of rows, what a
// part that refuses says, and the launches of the two products.
#pragma once

#include "frame/workspace_pieces.h"
#include "moe_forward/moe_forward_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Units of places: the rows of an expert begin at a multiple of one.
inline constexpr int kMixtureUnits[] = {16, 32, 64, 128};

/// Up to so many rows, an expert with more rows than the largest unit holds takes the second largest. The last unit of an expert is
/// half empty in the mean, and up to here those places cost more time than the largest tiles save. In units of 64 and 128, experts with
/// 143 rows by 7,168 x 512 are estimated at 67 and 75 us in MXFP4 on MI355X, and at 157 and 220 us in fp8 on MI300X. With 512 rows it is
/// 163 and 170 us on MI355X (bench/silicon).
inline constexpr int kMostRowsOfSmallUnits = 512;
/// The unit for so many rows of an expert: the smallest that holds them all, but see kMostRowsOfSmallUnits. If `places` are given, the
/// unit is a divisor of them.
inline int unitOfRows(std::int64_t rows, std::int64_t places = 0) {
  constexpr int kLargest = std::end(kMixtureUnits)[-1];
  const bool isSmall = rows > kLargest && rows <= kMostRowsOfSmallUnits;
  int unit = kMixtureUnits[0];
  for (int larger : kMixtureUnits)
    if (rows > unit && places % larger == 0 && !(isSmall && larger == kLargest))
      unit = larger;
  return unit;
}

/// The sentence of a part that refuses.
inline Support ofPart(const char *part, const Support &answer) {
  return answer ? answer : Support::no(std::string(part) + ": " + answer.why);
}

/// What the two products of a mixture read and write besides the call's own operands.
struct MixtureRows {
  TensorArg a;                                ///< rows of the first product
  std::optional<TensorArg> scaleA, sortedIds; ///< of a; where a has the rows of tokens
  TensorArg inside;                           ///< h, as the second product reads it
  std::optional<TensorArg> insideScales;
  std::optional<TensorArg> plainInside = {}; ///< h before it has scales of rows
  TensorArg results;
  std::optional<TensorArg> unitExperts, offsets; ///< of compact slots
  TensorArg counts, sortedWeights;
};

/// The arguments of the two products.
struct ProductArgs {
  GroupedGemmArgs first, second;
};
/// Those of products that `parts` names `first` and `second`, and of a call's own arguments.
template <class Parts, class Args>
ProductArgs argsOfProducts(const Parts &parts, const Args &args, const MixtureRows &rows) {
  const auto weightsOf = [&](const GroupedGemmProblem &product) {
    return product.weights == RoutedWeights::none ? std::nullopt
                                                  : std::optional(rows.sortedWeights);
  };
  return {.first = {.a = rows.a,
                    .b = args.w1,
                    .c = rows.plainInside ? *rows.plainInside : rows.inside,
                    .unit_experts = rows.unitExperts,
                    .offsets = rows.offsets,
                    .counts = rows.counts,
                    .sorted_ids = rows.sortedIds,
                    .weights = weightsOf(parts.first),
                    .scale_a = rows.scaleA,
                    .scale_b = args.scale1,
                    .scale_c = rows.plainInside ? std::nullopt : rows.insideScales,
                    .group_scales = args.group_scales1,
                    .group_zeros = args.group_zeros1,
                    .bias = args.bias1},
          .second = {.a = rows.inside,
                     .b = args.w2,
                     .c = rows.results,
                     .unit_experts = rows.unitExperts,
                     .offsets = rows.offsets,
                     .counts = rows.counts,
                     .sorted_ids =
                         parts.second.c_rows == GroupedRows::tokens ? rows.sortedIds : std::nullopt,
                     .weights = weightsOf(parts.second),
                     .scale_a = rows.insideScales,
                     .scale_b = args.scale2,
                     .group_scales = args.group_scales2,
                     .group_zeros = args.group_zeros2,
                     .bias = args.bias2}};
}
/// Launches the products, whose configurations are `first` and `second`, and what `between` launches.
template <class P, class Parts, class Between>
void launchProducts(PartLaunches<P> &launch, const Parts &parts, const ConfigOf<P> &config,
                    const ArgsOf<P> &args, const MixtureRows &rows, const Between &between) {
  const ProductArgs products = argsOfProducts(parts, args, rows);
  launch(parts.first, config.first, products.first);
  between();
  launch(parts.second, config.second, products.second);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
