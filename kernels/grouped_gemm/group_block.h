// The work of a block of a grouped product. It takes a tile of an expert's places from GroupTiles; its
// main loop and the stages after it are those of a product with the expert's weights. Rows may be
// found by the ids of places: those of tokens on their way in, those of slots on their way out.
#pragma once

#include "grouped_gemm/group_tiles.h"

#include <functional>
#include <memory>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Where the results of slots are stored, if not in c.
struct SlotRows {
  Int32 tokens; ///< ids of other tokens have no row
  int topk;
  std::function<Pointer(const Int32 &token, const Int32 &slot)> start;
};

/// The work of a block.
class GroupBlock {
public:
  GroupBlock(const GroupedGemmParams<OnDevice> &p, const GroupedGemmProblem &problem,
             const GemmConfig &config, const GroupTile &at)
      : p_(p), problem_(problem), config_(config), product_(productOf(problem)), at_(at),
        own_(ofExpert()), place_(tileOfC(product_, config, product_.n, at_.tile)) {}

  const BlockTile &tile() const { return at_.tile; }
  void run() const {
    loop()->run([&](const Sums &sums) { finish(sums); });
  }
  /// The same with rows of slots that are stored elsewhere.
  void run(const SlotRows &rows) {
    rows_.emplace(rows);
    run();
  }

private:
  bool isInterleaved() const { return problem_.gated == GatedPairs::interleaved; }
  /// The operands of the expert, as those of a product of all places.
  GemmParams<OnDevice> ofExpert() const {
    const auto after = [&](const Int64 &address, std::int64_t elements, DType type) {
      return Int64(address + at_.expert * Int64(elements * type.memory_bits() / 8));
    };
    const std::int64_t columns = problem_.columns();
    const bool isPrepared = problem_.b_layout == OperandLayout::prepared;
    const DType ofB = problem_.narrow() ? DType(u8) : packedB(product_).unit();
    const Int64 b =
        isPrepared ? after(p_.b.address, weightsOf(product_).size(), ofB)
                   : Int64(p_.b.address + at_.expert * p_.b.stride[0] * (ofB.memory_bits() / 8));
    const std::int64_t groups = groupsOf(problem_.b_groups, problem_.k) * columns;
    const std::int64_t scales = hasBlockScales(product_)
                                    ? scaleBlocks(columns) * scaleBlocks(problem_.k)
                                : hasMxScales(product_) ? mxScalesOfB(product_, columns)
                                : problem_.scale_b == Scales::per_tensor ? 1
                                                                         : columns;
    return {
        .a = p_.a,
        .b = {.address = b, .stride = {p_.b.stride[1]}},
        .c = {.address = p_.c.address, .stride = {p_.c.stride[0]}},
        .scaleA = p_.scaleA,
        .scaleB = {.address = after(p_.scaleB.address, scales, typeOfScales(product_)),
                   .stride = {}},
        .bias = {.address = after(p_.bias.address, columns, problem_.type_of_bias()), .stride = {}},
        .groupScales = {.address = after(p_.groupScales.address, groups, problem_.b_groups.scale),
                        .stride = {}},
        .groupZeros = {.address = after(p_.groupZeros.address, groups, u8), .stride = {}},
        .seed = Int64(0),
        .m = endOfRows(),
        .scaleC = {.address = p_.scaleC.address,
                   .stride = {Int64(scalesOfRowOfC(problem_)), Int64(1)}},
        .residual = {.address = Int64(0), .stride = {Int64(0)}},
        .rows = {.address = Int64(0), .stride = {}},
        .seedMemory = {.address = Int64(0), .stride = {}}};
  }
  /// The end of the rows that there are, as the views of the product have it. Prepared scales of rows past those of
  /// the tile may never have been written.
  Int32 endOfRows() const {
    if (problem_.scale_a_layout == OperandLayout::prepared)
      return at_.tile.row + at_.tile.rows;
    return p_.places;
  }
  Tensor ids() const { return p_.sortedIds.view(i32, p_.places); } // (places)
  /// The id of a row of the tile.
  Int32 idOf(int i) const {
    return Int32(bufferOf(tileFrom(ids(), at_.tile.row, config_.tile_m),
                          at_.tile.rows)(place_.row(i))); // (tileM)
  }

  std::unique_ptr<Mainloop> loop() const {
    if (problem_.a_rows != GroupedRows::tokens)
      return mainloopOf(product_, config_, at_.tile, at_.readsBOnce, own_);
    const Tensor a = matrixOf(p_.a, problem_.a, OperandLayout::rows, p_.tokens,
                              problem_.k); // (tokens, K)
    const GatheredTile rows{.matrix = a,
                            .rows = p_.tokens,
                            .indices = tileFrom(ids(), at_.tile.row, config_.tile_m), // (tileM)
                            .validRows = at_.tile.rows,
                            .mask = kIdTokens};
    return mainloopOver(rows, product_, config_, at_.tile, at_.readsBOnce, own_);
  }

  EpilogueStage byWeights(const TileOfC &tile) const {
    return scaleRows(tile, p_.weights.view(f32, p_.places)); // (places)
  }
  /// The scale of each row of a.
  EpilogueStage byScaleA() const {
    const Strided<OnDevice, 0> scales = packed(p_.scaleA);
    if (problem_.a_rows != GroupedRows::tokens)
      return scaleRows(place_, scales.view(f32, p_.places)); // (places)
    const Tensor all = scales.view(f32, p_.tokens);          // (tokens)
    std::vector<Numeric> factors;
    for (int i = 0; i < place_.tilesM(); ++i) {
      const Int32 token = idOf(i) & kIdTokens;
      factors.push_back(if_(
          token < p_.tokens, [&] { return Float32(all(token)); }, [] { return Float32(0.0f); }));
    }
    return scaleRowsBy(factors);
  }
  /// Rows of tokens that do not exist, for which others came (MovedGather), are zeros.
  EpilogueStage withoutMissingRows() const {
    std::vector<Boolean> exist;
    for (int i = 0; i < place_.tilesM(); ++i)
      exist.push_back((idOf(i) & kIdTokens) < p_.tokens);
    return zeroRowsUnless(std::move(exist));
  }
  /// What follows the sums of a half of b, but for the activation.
  Epilogue stages(int half) const {
    Epilogue epilogue(place_);
    if (problem_.a_rows == GroupedRows::tokens && hasMover(config_, target()))
      epilogue.then(withoutMissingRows());
    if (problem_.scale_a == Scales::per_row)
      epilogue.then(byScaleA());
    if (problem_.scale_a == Scales::per_tensor)
      epilogue.then(scaleAllBy(scaleOfTensor(packed(p_.scaleA))));
    if (problem_.weights == RoutedWeights::input)
      epilogue.then(byWeights(place_));
    addColumnStages(epilogue, product_, place_, own_, half);
    return epilogue;
  }

  void finish(const Sums &sums) const {
    const Gating gating{problem_.activation, problem_.alpha, problem_.limit, problem_.up_offset};
    switch (problem_.gated) {
    case GatedPairs::none: {
      Epilogue epilogue = stages(0);
      if (problem_.activation != Activation::none)
        epilogue.then(applyActivation(problem_.activation));
      return store(epilogue, sums.groups(0), place_);
    }
    case GatedPairs::halves:
      return store(Epilogue(place_),
                   gatedPairs(gating, stages(0), sums.groups(0), stages(1), sums.groups(1)),
                   place_);
    case GatedPairs::interleaved: {
      const TileOfC pairs = place_.pairs();
      return store(Epilogue(pairs), gatedNeighbours(gating, stages(0), sums.groups(0)), pairs);
    }
    }
    throw Error("pairs of no kind");
  }

  void store(Epilogue epilogue, const SumsAt &sums, const TileOfC &tile) const {
    if (problem_.weights == RoutedWeights::output)
      epilogue.then(byWeights(tile));
    if (rows_ || problem_.c_rows != GroupedRows::places)
      return scatter(epilogue, sums, tile);
    const Tensor to = tileOfResults(product_, tile, own_); // (tileM, tileN)
    if (problem_.scale_c_layout != OperandLayout::prepared)
      return storeTile(product_, tile, epilogue, sums, to, own_);
    const QuantGroups groups{kMxBlock, problem_.scale, BlockScale::ceil, true};
    const Tensor scales = scalesOfGroups(groups, own_.scaleC, p_.places,
                                         static_cast<int>(problem_.n)); // (places, n / 32)
    storeInBlocks(tile, epilogue, sums, to, problem_.c, scales, kMxBlock, true);
  }
  /// Adds neighbours of a row, from a column on, to what is there.
  void addTo(const Pointer &row, const Int32 &column, const Vector &values) const {
    if (problem_.c == f32) {
      for (int at = 0; at < static_cast<int>(values.size()); ++at)
        (void)atomic(AtomicOp::add, row + column + at, values.at(at));
      return;
    }
    // Two of 16 bits are added together: pointers to pairs are aligned to them.
    const Pointer pairs = row.recast(u32) + column / 2;
    for (int at = 0; at < static_cast<int>(values.size()); at += 2)
      (void)atomic(AtomicOp::add, (pairs + at / 2).recast(problem_.c), part(values, at, 2));
  }
  /// Stores the rows of the tile as rows of slots, or adds them to those of tokens.
  void scatter(const Epilogue &epilogue, const SumsAt &sums, const TileOfC &tile) const {
    const int width = tile.width(problem_.c);
    if (!rows_ && problem_.c_rows == GroupedRows::tokens)
      return addRows(epilogue, sums, tile, width);
    const SlotRows rows = rows_ ? *rows_ : rowsOfC(width);
    storeRows(tile, epilogue, sums, conversionOf(product_, own_), width, [&](int i) {
      const Int32 id = idOf(i), token = id & kIdTokens, slot = id >> kIdTokenBits;
      return StoredRow{.exists = (tile.row(i) < at_.tile.rows) & (token < rows.tokens) &
                                 (slot >= 0) & (slot < rows.topk),
                       .start = [=, &tile, &rows] {
                         return Pointer(rows.start(token, slot) + tile.firstColumn()); // (n)
                       }};
    });
  }
  SlotRows rowsOfC(int width) const {
    const Tensor c = p_.c.view(problem_.c, {p_.tokens, problem_.topk, problem_.n},
                               width * problem_.c.bytes()); // (tokens, topk, n)
    return {p_.tokens, problem_.topk, [=](const Int32 &token, const Int32 &slot) {
              return Pointer(c(token, slot, _).iter()); // (n)
            }};
  }
  /// Adds the rows of the tile to those of tokens.
  void addRows(const Epilogue &epilogue, const SumsAt &sums, const TileOfC &tile, int width) const {
    const Conversion toC = conversionOf(product_, own_);
    const Tensor c = own_.c.view(problem_.c, {p_.tokens, problem_.n},
                                 width * problem_.c.bytes()); // (tokens, n)
    for (int i = 0; i < tile.tilesM(); ++i) {
      std::vector<Vector> groups;
      for (int j = 0; j < tile.tilesN(); ++j)
        groups.push_back(toC(epilogue.group(sums, i, j)));
      const Int32 id = idOf(i), token = id & kIdTokens, slot = id >> kIdTokenBits;
      const Boolean exists = (tile.row(i) < at_.tile.rows) & (token < p_.tokens) & (slot >= 0) &
                             (slot < problem_.topk);
      if_(exists, [&] {
        const Pointer row = c(token, _).iter(); // (n)
        for (int j = 0; j < tile.tilesN(); ++j) {
          const auto add = [&] {
            addTo(row, Int32(tile.firstColumn() + tile.column(j)),
                  groups[static_cast<std::size_t>(j)]);
          };
          if (tile.ragged()) // n is a multiple of a group
            if_(tile.column(j) < tile.columnsLeft(), add);
          else
            add();
        }
      });
    }
  }

  const GroupedGemmParams<OnDevice> &p_;
  GroupedGemmProblem problem_;
  GemmConfig config_;
  GemmProblem product_;
  GroupTile at_;
  GemmParams<OnDevice> own_;
  TileOfC place_; // of the product
  std::optional<SlotRows> rows_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
