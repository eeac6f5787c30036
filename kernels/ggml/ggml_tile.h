// What the forms of products with weights in ggml's blocks share: where a block's tile is, whose rows it
// has, and how its sums are stored.
#pragma once

#include "blocks/products/epilogue.h"
#include "frame/index_rows.h"
#include "ggml/ggml_gemm_family.h"

#include <functional>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using GgmlOperands = GgmlGemmParams<OnDevice>;

/// Where a block's tile of c begins. Blocks are numbered along the rows of c. Their number has no
/// sign, from which the compiler knows what no offset is less than.
struct TileStart {
  Int32 row, column;

  TileStart(int tileM, std::int64_t tileN, std::int64_t n)
      : TileStart(UInt32(block_idx().x.to(u32)), tileM, tileN, (n + tileN - 1) / tileN) {}

private:
  TileStart(const UInt32 &block, int tileM, std::int64_t tileN, std::int64_t across)
      : row((block / across).to(i32) * tileM), column((block % across).to(i32) * tileN) {}
};

inline Tensor rowsOf(const GgmlGemmProblem &problem, const GgmlOperands &operands) {
  return operands.a.view(problem.a, {operands.m, problem.k}, kPieceBytes); // (m, k)
}

/// c by the rows of a: (m, n), with experts (m, topk * n). Rows start at multiples of `alignment` bytes.
inline Tensor resultsOf(const GgmlGemmProblem &problem, const GgmlOperands &operands,
                        int alignment = 0) {
  return operands.c.view(problem.c,
                         {operands.m, problem.experts ? problem.topk * problem.n : problem.n},
                         alignment); // (m, n) or (m, topk * n)
}

inline Tensor residualOf(const GgmlGemmProblem &problem, const GgmlOperands &operands) {
  return operands.residual.view(problem.c, {operands.m, problem.n}); // (m, n)
}

/// Whose weights multiply the rows of a block's tile, and where these rows are in a and c.
struct TileRows {
  struct Row {
    Int32 a;        ///< its row; any number from 0 on if it does not exist
    Int32 c, first; ///< its row, and the first column of its results
    Boolean exists;
  };
  std::function<Row(const Int32 &i)> at; ///< row i of the tile, or of those after it
  std::optional<Int32> weights;          ///< the first row of the expert's weights; none: 0

  Int32 rowOfWeights(const Int32 &column) const {
    return weights ? Int32(*weights + column) : column;
  }
};

/// The rows from the tile's first on.
inline TileRows rowsFrom(const GgmlOperands &operands, const Int32 &first) {
  return {.at =
              [&operands, first](const Int32 &i) {
                const Int32 row = first + i;
                return TileRows::Row{row, row, Int32(0), row < operands.m};
              },
          .weights = std::nullopt};
}

/// The rows of slots of one expert. A block without an expert leaves the kernel. Numbers in memory that
/// are wrong lead to no rows.
inline TileRows rowsOfSlots(const GgmlGemmProblem &problem, const GgmlGemmConfig &config,
                            const GgmlExpertsParams<OnDevice> &p, const Int32 &first) {
  const int topk = problem.topk;
  const auto experts = static_cast<std::int32_t>(problem.experts),
             n = static_cast<std::int32_t>(problem.n);
  const auto rowsFor = [&](const Numeric &number, std::function<TileRows::Row(const Int32 &)> at) {
    const Int32 expert(number);
    exit_if((expert < 0) | (expert >= experts));
    return TileRows{std::move(at), Int32(expert * n)};
  };
  if (!problem.unit) {
    const Int32 token = first / topk, slot = first % topk;
    return rowsFor(p.ids.view(i32, Int32(p.product.m * topk))(first), // (m * topk)
                   [=](const Int32 &) {                               // the only one
                     return TileRows::Row{token, token, Int32(slot * n), Boolean(true)};
                   });
  }
  // Slots stand before padding, so that the first place is none's where all of them are.
  const Tensor ids = p.ids.view(i32, p.places); // (places)
  const auto rowOf = [=, m = p.product.m](const Int32 &place) {
    const Int32 id(ids(place)), token = id & static_cast<std::int32_t>(kTokensOfIds),
                                slot = id >> kTokenBitsOfIds;
    return TileRows::Row{token, token, Int32(slot * n), (token < m) & (slot >= 0) & (slot < topk)};
  };
  exit_if(!rowOf(first).exists);
  return rowsFor(
      p.unitExperts.view(i32, p.places / problem.unit)(first / problem.unit), // (units)
      [=, last = config.tile_m - 1](const Int32 &i) { return rowOf(Int32(first + min(i, last))); });
}

/// The rows of a tile that exist, as far as its number says.
inline Int32 rowsLeft(const GgmlGemmProblem &problem, const GgmlOperands &operands,
                      const TileStart &start, int tileM) {
  return problem.experts ? Int32(tileM) : Int32(min(operands.m - start.row, tileM));
}
/// Applies what follows the sums of a tile that matrix instructions made, and stores them. Columns of
/// tiles of 16 take turns if the product is gated: gate, up, gate, ...
inline void storeTile(const GgmlGemmProblem &problem, const GgmlOperands &operands,
                      const TileRows &rows, const TileStart &start, const TileOfC &tile,
                      const SumsAt &plain) {
  const SumsAt sums = !problem.gated ? plain : [&](int i, int j) {
    return activate(problem.activation, plain(i, 2 * j)) * plain(i, 2 * j + 1);
  };
  Epilogue epilogue(tile);
  if (problem.residual)
    epilogue.then(addMatrix(tile, residualOf(problem, operands), 1));
  if (!problem.gated && problem.activation != Activation::none)
    epilogue.then(applyActivation(problem.activation));
  if (!problem.experts) {
    const Tensor c = resultsOf(problem, operands); // (m, n)
    return epilogue.run(sums, tileFrom(c, {start.row, start.column}, tile.shape()));
  }
  const int width = tile.width(problem.c);
  const Tensor c = resultsOf(problem, operands, width * problem.c.bytes()); // (m, topk * n)
  storeRows(tile, epilogue, sums, roundTo(problem.c), width, [&](int i) {
    const TileRows::Row row = rows.at(tile.row(i));
    return StoredRow{.exists = row.exists, .start = [&c, row, &start] {
                       return Pointer(c(row.c, _).iter() + row.first + start.column); // (topk * n)
                     }};
  });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
