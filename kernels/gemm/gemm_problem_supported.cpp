// Which products the kernels support.
#include "gemm/gemm_family.h"

#include "blocks/facts/lds_layout.h"
#include "blocks/products/product_rules.h"
#include "blocks/products/tile_order_rules.h"
#include "blocks/quant/quant_rules.h"
#include "gemm/gemm_table.h"
#include "gemm/mx_operands.h"
#include "gemm/narrow_operands.h"
#include "gemm/vector_form.h"
#include "weight/weight_family.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gemm = Family<GemmProblem>;
using std::to_string;

/// Elements of a column of b: the shortest tiles have 128 columns, of two bytes, in a buffer.
constexpr std::int64_t kMostColumnsOfB = kMostBufferBytes / 256 - 8;

/// Whether c has its scales, and its type and that of the bias exist.
Support resultsSupported(const GemmProblem &problem) {
  const std::string isOfType = "c is of type " + std::string(problem.c.name());
  const DType bias = problem.bias_type;
  if (bias && !problem.bias)
    return Support::no("bias_type is " + std::string(bias.name()) + ", and there is no bias");
  if (problem.bias)
    if (const Support answer = floatSupported("bias", problem.type_of_bias()); !answer)
      return answer;
  const bool isOfFour = problem.c == f4E2M1FN;
  if (problem.c.memory_bits() != 8 && !isOfFour) {
    if (problem.scale_c != Scales::none)
      return Support::no(isOfType + ", and scale_c is of c of 4 or 8 bits");
    return floatSupported("c", problem.c);
  }
  if (isOfFour && problem.scale_c != Scales::mx)
    return Support::no(isOfType + "; it has scales of 32 of its columns, scale_c of Scales::mx");
  if (const Support answer = isOfFour ? Support() : quantisedSupported("c", problem.c); !answer)
    return answer;
  if (problem.rounding != Rounding::nearest)
    return Support::no(isOfType + "; stochastic rounding is for f16 and bf16");
  switch (problem.scale_c) {
  case Scales::none:
    return Support::no(isOfType + ", which needs a scale: scale_c is per_tensor, per_block or mx");
  case Scales::per_row:
    return Support::no(
        "scale_c is per_row, and no block has all columns of a row; it is per_tensor, "
        "per_block or mx. A row's scale is made by quantise (ScaleOf::row), of c in 16 bits");
  case Scales::per_tensor:
    return {};
  case Scales::mx:
    if (problem.scale != f8E8M0FNU)
      return Support::no("scale is " + std::string(problem.scale.name()) +
                         "; with scale_c of Scales::mx it is f8E8M0FNU");
    [[fallthrough]];
  case Scales::per_block:
    if (problem.c == i8)
      return Support::no("c is of type i8; scales of blocks belong to 8-bit floats");
    if (problem.narrow() || problem.b_layout != OperandLayout::prepared ||
        problem.a_layout != OperandLayout::rows)
      return Support::no(
          "scales of blocks of c are of products of rows of a and prepared weights that are "
          "not narrow");
    if (const int block = columnsOfScaleC(problem.scale_c); problem.n % block)
      return Support::no("n is " + to_string(problem.n) +
                         "; with scales of blocks of c it is a multiple of " + to_string(block));
    return {};
  }
  throw Error("scales of no kind");
}

/// Whether a residual may be added.
Support residualSupported(const GemmProblem &problem) {
  if (!problem.residual) {
    if (problem.residual_type)
      return Support::no("residual_type is " + std::string(problem.residual_type.name()) +
                         ", and there is no residual");
    if (problem.beta != 1)
      return Support::no("beta is of a residual, and there is none");
    return {};
  }
  if (problem.gated)
    return Support::no(
        "a residual is added before the activation, which gated pairs have inside; add it to the "
        "product that follows");
  if (!std::isfinite(problem.beta))
    return Support::no("beta is a finite number");
  return floatSupported("residual", problem.type_of_residual());
}

/// Whether the problem may have a batch of matrices.
Support batchSupported(const GemmProblem &problem) {
  if (!problem.batch)
    return {};
  if (problem.batch < 0 || problem.batch > kMostMatrices)
    return Support::no("batch is " + to_string(problem.batch) +
                       "; it is 0, or about how many "
                       "matrices a call has, up to " +
                       to_string(kMostMatrices));
  if (problem.rounding != Rounding::nearest)
    return Support::no("stochastic rounding is of products that are not batched");
  if (problem.b_layout == OperandLayout::prepared && problem.columns() % Preshuffled::kRows)
    return Support::no("b has " + to_string(problem.columns()) +
                       " rows; prepared weights of a batch have a multiple of 16 each");
  return {};
}

/// Whether operands with scales of 32 elements of k exist, and how their products may lie.
Support mxSupported(const GemmProblem &problem, const Target &target) {
  const DType a = problem.a, b = problem.b;
  const std::string ofTypes =
      "a is of type " + std::string(a.name()) + " and b of type " + std::string(b.name());
  if (problem.scale_a != problem.scale_b)
    return Support::no(
        "one operand has scales of 32 elements of k, Scales::mx; both have them, or none");
  for (const DType each : {a, b})
    if (each != f8E4M3FN && each != f8E5M2 && each != f4E2M1FN)
      return Support::no(ofTypes +
                         "; with Scales::mx each is f8E4M3FN, f8E5M2 or f4E2M1FN. f8E4M3FN has "
                         "all numbers of the floats of 6 bits, too");
  if (!hasMxInstructions(target))
    return Support::no(
        target.name() +
        " has no matrix instructions that this library gives scales of 32 elements of k. "
        "With a of bf16 or f16, b may be such weights: b_groups is {32, f8E8M0FNU}");
  if (a.memory_bits() < b.memory_bits())
    return Support::no(ofTypes +
                       "; of elements of 4 and 8 bits, b has those of 4. Give the operands "
                       "the other way round for the transposed product");
  if (problem.scale != f8E8M0FNU)
    return Support::no("scale is " + std::string(problem.scale.name()) +
                       "; with Scales::mx it is f8E8M0FNU");
  if (const int unit = b.memory_bits() == 8 ? kMxTileK : kMxBlock; problem.k % unit)
    return Support::no("k is " + to_string(problem.k) + "; with Scales::mx" +
                       (unit == kMxBlock ? " it is a multiple of 32"
                                         : " and b of 8 bits it is a multiple of 128"));
  if (hasPreparedScales(problem) && !takesPreparedScales(target, a, b))
    return Support::no("scales are prepared for the matrix instructions of gfx950; on " +
                       target.name() + " scale_a_layout and scale_b_layout are rows");
  if (hasPreparedScales(problem) && problem.batch)
    return Support::no(
        "the product is one of a batch, whose scales lie by rows: scale_a_layout and "
        "scale_b_layout are rows");
  if (problem.a_layout != OperandLayout::rows || problem.b_layout == OperandLayout::columns)
    return Support::no("with Scales::mx, a lies by rows, and b is prepared or lies by rows");
  if (problem.b_layout == OperandLayout::rows && a.memory_bits() != b.memory_bits())
    return Support::no(ofTypes + "; b of elements shorter than a's is prepared");
  if (mxScalesOfB(problem, problem.columns()) >= kMostBufferBytes)
    return Support::no("the scales of b span more than 1 GiB");
  return {};
}

/// Whether narrow weights of these types and groups exist, and how their products may lie.
Support narrowSupported(const GemmProblem &problem) {
  const NarrowType *type = narrowType(problem.b);
  const ScaleGroups &groups = problem.b_groups;
  const auto ofType = [&] { return "b is of type " + std::string(problem.b.name()); };
  if (!type)
    return Support::no(ofType() +
                       "; narrow weights, under a of 16 bits, are u4, i4, u8, i8, f4E2M1FN or "
                       "8-bit floats");
  if (problem.a.memory_bits() == 8) {
    if (groups.zeros)
      return Support::no("b_groups.zeros, and a has 8 bits; zero points are of narrow weights "
                         "under a of 16 bits. Give the codes less their zero point as i4");
    if (problem.a == i8 && groups.size)
      return Support::no("b_groups.size is " + to_string(groups.size) +
                         " and a is i8, whose sums are integers over all of k; scales are of "
                         "rows, scale_b. Groups go with a of an 8-bit float");
    if (problem.b == u4 && (problem.a == f8E5M2 || problem.a == f8E5M2FNUZ))
      return Support::no("b is of type u4 and a of type " + std::string(problem.a.name()) +
                         ", which does not have 9, 11, 13 and 15; i4 it has, and f8E4M3 has both");
  }
  if (problem.b_layout != OperandLayout::prepared || problem.a_layout != OperandLayout::rows)
    return Support::no("narrow weights are prepared, and a lies by rows");
  if (problem.scale_b == Scales::per_block || problem.scale_a == Scales::per_block)
    return Support::no(
        "scales of blocks belong to operands of 8 bits; narrow weights have b_groups, in "
        "which neighbouring rows may hold the same scale");
  if (problem.columns() % Preshuffled::kRows || problem.n % 8)
    return Support::no("b has " + to_string(problem.columns()) +
                       " rows; of narrow weights they are a multiple of 16");
  if (groups.size == 0) {
    if (groups != ScaleGroups{})
      return Support::no(
          "b_groups has a type of scales or zero points and no size; sizes are 32, 64 and "
          "128");
    return type->grouped
               ? Support::no(ofType() + ", which has groups: b_groups.size is 32 in MXFP4")
               : Support{};
  }
  if (groups.size == 16)
    return Support::no(
        "b_groups.size is 16, as of NVFP4; 32, 64 and 128 are supported. An element times "
        "the scale of its group (f8E4M3FN) has 6 bits of a fraction at most: make weights of "
        "a's type of them, and of the scale of the tensor scale_b");
  if (groups.size != 32 && groups.size != 64 && groups.size != 128)
    return Support::no("b_groups.size is " + to_string(groups.size) +
                       "; 32, 64 and 128 are supported");
  if (problem.k % groups.size)
    return Support::no("k is " + to_string(problem.k) + ", no multiple of b_groups.size, " +
                       to_string(groups.size));
  if (groups.scale != f32 && groups.scale != f16 && groups.scale != bf16 &&
      groups.scale != f8E8M0FNU)
    return Support::no("b_groups.scale is " + std::string(groups.scale.name()) +
                       "; f32, f16, bf16 and f8E8M0FNU are supported");
  if (groups.zeros && problem.b != u4 && problem.b != u8)
    return Support::no(ofType() + "; zero points are of weights of type u4 or u8");
  if (groupsOf(groups, problem.k) * problem.columns() * groups.scale.memory_bits() / 8 >=
      kMostBufferBytes)
    return Support::no("the scales of groups span more than 1 GiB");
  return {};
}

/// Sums of i8 are integers of 32 bits, which hold so many products of the largest magnitudes.
Support integersFit(const GemmProblem &problem) {
  if (problem.a != i8)
    return {};
  const std::int64_t largest = problem.b == u4   ? 15
                               : problem.b == i4 ? 8
                                                 : 128,
                     most = std::numeric_limits<std::int32_t>::max() / (128 * largest);
  if (problem.k <= most)
    return {};
  return Support::no(is("k", problem.k) + ", and sums of i8 are integers of 32 bits, which hold " +
                     to_string(most) + " products with b of type " + std::string(problem.b.name()) +
                     ". Multiply parts of k by themselves, each with the result of the one before "
                     "as its residual");
}

/// Whether there is a tile for any number of rows whose scales and zero points leave a lane room for the
/// rest. (RDNA3's lanes have all of a tile's.)
bool hasTile(const GemmProblem &problem, const Target &target) {
  return std::ranges::all_of(std::array{1, fewRowsOf(problem, target) + 1}, [&](std::int64_t rows) {
    return std::ranges::any_of(gemmTiles(target, problem, rows), [&](const GemmTile &tile) {
      return bool(Gemm::supported(problem, configOf(problem, tile), target));
    });
  });
}

} // namespace

Support Gemm::supported(const GemmProblem &problem, const Target &target) {
  if (!gpuSize(target))
    return Support::no("products have no configurations for this target");
  if (problem.narrow())
    if (const Support answer = narrowSupported(problem); !answer)
      return answer;
  if (!problem.narrow() && problem.b_groups != ScaleGroups{})
    return Support::no(
        "b_groups are of narrow weights: a is f16 or bf16, and b has 4 or 8 bits, or a has 8 bits "
        "and b is u4 or i4; here a is of type " +
        std::string(problem.a.name()) + " and b of type " + std::string(problem.b.name()));
  const auto ofTypes = [&] {
    const bool hasSingles = singleForm(target, 64, 64).has_value();
    if (isOfSingles(problem) && !hasSingles)
      return Support::no("a and b are of type f32; " + target.name() +
                         " has no matrix instructions of f32, and multiplies them where both lie "
                         "by rows. Leave b as it lies (OperandLayout::rows), or give both as f16 "
                         "or bf16");
    const bool ofFour = problem.a == f4E2M1FN || problem.b == f4E2M1FN;
    return Support::no(
        "a is of type " + std::string(problem.a.name()) + " and b of type " +
        std::string(problem.b.name()) + "; " + productTypes(target) +
        (hasSingles ? ", or both f32" : "") +
        (ofFour ? ". Operands of f4E2M1FN have scale_a and scale_b of Scales::mx" : ""));
  };
  // The types come first: what weights of others are prepared for are not products.
  const bool isMx = problem.scale_a == Scales::mx || problem.scale_b == Scales::mx;
  for (const OperandLayout layout : {problem.scale_a_layout, problem.scale_b_layout})
    if (layout != OperandLayout::rows && (!isMx || layout != OperandLayout::prepared))
      return Support::no(
          layout == OperandLayout::columns
              ? "scales do not lie by columns: scale_a_layout and scale_b_layout are rows or "
                "prepared"
              : "scales that are prepared are those of Scales::mx; of others scale_a_layout and "
                "scale_b_layout are rows");
  if (isMx) {
    if (const Support answer = mxSupported(problem, target); !answer)
      return answer;
  } else if (!isOfSingles(problem) &&
             (!matrixKind(problem.a) || !matrixKind(multipliedB(problem)))) {
    return ofTypes();
  }
  for (const Support &answer :
       {weightSupported(problem.weight()), integersFit(problem), resultsSupported(problem),
        residualSupported(problem), batchSupported(problem)})
    if (!answer)
      return answer;
  const auto form = vectorForm(problem, paddedColumns(problem), target);
  if (!form && problem.b_groups.size && fewestOfK(target, problem.a, problem.a))
    return Support::no("b_groups.size is " + to_string(problem.b_groups.size) +
                       ", and a is of type " + std::string(problem.a.name()) + ": " +
                       target.name() + " multiplies " +
                       to_string(fewestOfK(target, problem.a, problem.a)) +
                       " elements of k at a time, and no group is shorter than that. Under a of "
                       "f16 or bf16 groups may have 32 elements");
  if (!form)
    return ofTypes();
  if (problem.a_layout == OperandLayout::prepared)
    return Support::no("a is never prepared; it lies by rows or by columns");
  for (const auto &[name, layout] :
       {std::pair("a", problem.a_layout), std::pair("b", problem.b_layout)})
    if (layout == OperandLayout::columns && problem.a.memory_bits() != 16)
      return Support::no(std::string(name) + " lies by columns and is of type " +
                         std::string(problem.a.name()) + "; f16 and bf16 may do so");
  if (problem.b_layout == OperandLayout::columns && problem.n % 8)
    return Support::no("n is " + to_string(problem.n) +
                       "; it is a multiple of 8 where b lies by columns");
  if (problem.b_layout == OperandLayout::columns && problem.n > kMostColumnsOfB)
    return Support::no("n is " + to_string(problem.n) + "; it is up to " +
                       to_string(kMostColumnsOfB) + " where b lies by columns");
  if (problem.rounding == Rounding::stochastic && problem.c == f32)
    return Support::no("c is of type f32, which is not rounded; stochastic rounding is for f16 and "
                       "bf16");
  if (problem.seed_in_memory && problem.rounding != Rounding::stochastic)
    return Support::no("seed_in_memory is of stochastic rounding, and c is rounded to nearest");
  if (problem.gated && problem.b_layout != OperandLayout::prepared)
    return Support::no("gated pairs take prepared weights");
  if (hasBlockScales(problem) != (problem.scale_b == Scales::per_block))
    return Support::no("one operand has scales of blocks; both have them, or none");
  const bool hasBlocks = hasBlockScales(problem) || isMx || columnsOfScaleC(problem.scale_c);
  if (problem.scale != f32 && !(hasBlocks && problem.scale == f8E8M0FNU))
    return Support::no("scales are of type " + std::string(problem.scale.name()) +
                       "; f32 is supported, and f8E8M0FNU for scales of blocks");
  if (hasBlockScales(problem) && matrixKind(problem.a) != MatrixKind::float8)
    return Support::no("scales of blocks belong to 8-bit floats; a is of type " +
                       std::string(problem.a.name()));
  if (const int blocks = hasBlockScales(problem) ? kScaleBlock : Preshuffled::kRows;
      problem.gated && problem.n % blocks)
    return Support::no(
        "n is " + to_string(problem.n) + "; in gated pairs it is a multiple of " +
        to_string(blocks) +
        (hasBlockScales(problem) ? ", the rows of a scale" : ", the rows of a block"));
  if (problem.narrow() && !hasTile(problem, target))
    return Support::no("scales and zero points of groups of " + to_string(problem.b_groups.size) +
                       ", of type " + std::string(problem.b_groups.scale.name()) +
                       ", leave a lane of " + target.name() +
                       " no room in any tile; larger groups and scales of 16 bits take less");
  return {};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
