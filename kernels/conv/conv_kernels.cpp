// The kernels of convolutions: products of the windows of images and of filters.
//
// A block takes a tile of a group's product, and a part of K, from the TileScheduler; its main loop is
// the ring of products, whose rows of A are windows (conv/windows.h), and an Epilogue stores the sums
// as elements of y. The tiles of a group follow those of the group before. If K has several parts,
// their sums go through a workspace, and a second kernel adds and finishes them.
#include "blocks/products/split_k.h"
#include "conv/windows.h"
#include "frame/compile.h"
#include "gemm/gemm_block.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// Finishes a tile of a group's sums, and stores it in y.
void finishGroup(const ConvProblem &problem, const ConvParams<OnDevice> &p, const Int32 &group,
                 const TileOfC &place, const GroupSums &sums) {
  const std::int64_t n = productOf(problem).n;
  // The start of the group's filters in rows of y, or in the bias.
  const auto ofGroup = [&](const Int64 &address) {
    return Int64(address + wide(Int32(group * static_cast<std::int32_t>(n))) *
                               std::int64_t{problem.y.bytes()});
  };
  const Strided<OnDevice, 1> rows{.address = ofGroup(p.y.address),
                                  .stride = {Int64(std::int64_t{problem.filters})}};
  const Tensor y = rows.view(problem.y, {p.m, n}); // (m, filters of the group)
  Epilogue epilogue(place);
  if (problem.bias) {
    const Strided<OnDevice, 0> bias{.address = ofGroup(p.bias.address), .stride = {}};
    epilogue.then(addToColumns(place, bias.view(problem.y, n)));
  }
  if (problem.activation != Activation::none)
    epilogue.then(applyActivation(problem.activation));
  epilogue.run(sums, tileFrom(y, {place.firstRow(), place.firstColumn()},
                              place.shape())); // (tileM, tileN)
}

/// The sums of the parts of K, of a group's filters.
PartSums partsOfGroup(const ConvProblem &problem, const GemmConfig &config,
                      const ConvParams<OnDevice> &p, const Int32 &group) {
  const PartsShape all = partsOf(problem, config);
  const std::int64_t columns = columnsOfGroup(problem, config), row = all.columns();
  const Int64 start(p.parts.address + wide(Int32(group * static_cast<std::int32_t>(columns))) *
                                          std::int64_t{all.acc.bytes()});
  const Strided<OnDevice, 2> sums{.address = start, .stride = {Int64(wide(p.m) * row), Int64(row)}};
  return {all, sums.view(all.acc, {all.parts, p.m, columns}, kPieceBytes)};
}

class ConvBlock {
public:
  ConvBlock(const ConvProblem &problem, const GemmConfig &config, const ConvParams<OnDevice> &p)
      : problem_(problem), config_(config), p_(p), product_(productOf(problem)),
        shape_(loopShape(product_, config, *gemmForm(product_, config, target()))),
        tiles_(quotientUp(counted(p.m), config.tile_m) *
               static_cast<std::int32_t>(tilesAcross(product_, config) * config.split_k)),
        group_(problem.groups > 1 ? Int32(counted(Int32(block_idx().x)) / tiles_) : Int32(0)),
        tile_(TileScheduler<Int32>(tileGrid(product_, config), p.m)
                  .at(problem.groups > 1 ? Int32(counted(Int32(block_idx().x)) % tiles_)
                                         : Int32(block_idx().x))) {}

  void run() const {
    const TiledMma mma = weightsFirst(shape_.form, shape_.waves, shape_.wavesM, shape_.slices());
    RingLoop<WindowTile, OperandTile>(shape_, mma, std::make_unique<Sums>(shape_, mma), windows(),
                                      filters())
        .run([&](const Sums &sums) {
          if (config_.split_k == 1)
            return finishGroup(problem_, p_, group_, tileOfC(product_, config_, product_.n, tile_),
                               sums.groups(0));
          const TileOfC place =
              tileOfC(product_, config_, columnsOfGroup(problem_, config_), tile_);
          Epilogue(place).run(
              sums.groups(0),
              partsOfGroup(problem_, config_, p_, group_).tile(tile_.part, place, tile_.column));
        });
  }

private:
  std::int32_t columns() const { return static_cast<std::int32_t>(product_.n); }

  WindowTile windows() const {
    return {problem_,
            p_,
            tile_.row,
            tile_.rows,
            Int32(group_ * (problem_.channels / problem_.groups)),
            Int32(tile_.part * static_cast<std::int32_t>(shape_.k)),
            config_.tile_m};
  }
  OperandTile filters() const {
    const Tensor all = p_.weight.view(problem_.weight, {problem_.filters, product_.k},
                                      kPieceBytes); // (filters, K)
    return operandTile(all, shape_, OperandLayout::rows, shape_.tileN,
                       Int32(group_ * columns() + tile_.column), tile_.part,
                       min(Int32(columns()) - tile_.column, shape_.tileN));
  }
  const ConvProblem &problem_;
  const GemmConfig &config_;
  const ConvParams<OnDevice> &p_;
  GemmProblem product_;
  LoopShape shape_;
  Int32 tiles_; ///< of a group
  Int32 group_;
  BlockTile tile_;
};

const FamilyKernel conv{
    kConv, [](const ConvParams<OnDevice> &p, const Constexpr<Spec<ConvProblem>> &spec) {
      const ConvProblem problem = spec->problem;
      const GemmConfig config = spec->config;
      ConvBlock(problem, config, p).run();
    }};
const FamilyKernel convParts{
    kConvParts, [](const ConvParams<OnDevice> &p, const Constexpr<Spec<ConvProblem>> &spec) {
      const ConvProblem problem = spec->problem;
      const GemmConfig config = spec->config;
      ConvBlock(problem, config, p).run();
    }};

/// The sum of all parts: small tiles, because there is little work.
const FamilyKernel convSum{
    kConvSum, [](const ConvParams<OnDevice> &p, const Constexpr<Spec<ConvProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const GemmProblem product = productOf(problem);
      const Int32 tiles =
          quotientUp(counted(p.m), kSumTileM) * static_cast<std::int32_t>(sumTilesAcross(product));
      const Int32 number = counted(Int32(block_idx().x)), group = number / tiles;
      const BlockTile tile =
          TileScheduler<Int32>({kSumTileM, kSumTileN, product.n}, p.m).at(Int32(number % tiles));
      const auto over = [&](std::int64_t n) {
        return TileOfC(target().wave_size(), kSumTileM, kSumTileN, kSumThreads, n, tile.row,
                       tile.column, tile.rows);
      };
      finishGroup(
          problem, p, group, over(product.n),
          partsOfGroup(problem, config, p, group).total(over(columnsOfGroup(problem, config)), 0));
    }};

} // namespace

void Family<ConvProblem>::compile(const Compiler<ConvProblem> &compiler) {
  const int threads = compiler.config().threads;
  if (compiler.config().split_k == 1)
    return compiler(conv, threads);
  compiler(convParts, threads);
  compiler(convSum, kSumThreads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(ConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
