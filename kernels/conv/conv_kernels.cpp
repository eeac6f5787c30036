// The kernels of convolutions: products of the windows of images and of filters.
//
// A block takes a tile of a group's product, and a part of K, from the TileScheduler; its main loop is
// the ring of products, whose rows of A are windows (conv/windows.h), and an Epilogue stores the sums
// as elements of y. The tiles of a group follow those of the group before. If K has several parts,
// their sums go through a workspace, and a second kernel adds and finishes them.
//
// The rows of a transposed convolution are the elements of one phase of y (conv/taps.h), and those of
// another have tiles of their own. They do not follow one another in y, and are stored one by one; so
// are their sums of a part of K, in the order of the elements of y.
#include "blocks/products/split_k.h"
#include "blocks/products/stored_together.h"
#include "conv/windows.h"
#include "frame/compile.h"
#include "gemm/gemm_block.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The elements of y for each filter: those that the parts of K have sums of.
Int32 elementsOfY(const ConvProblem &problem, const ConvParams<OnDevice> &p) {
  return problem.transposed ? Int32(p.images * elementsOf(p.ofY)) : Int32(p.m);
}
/// Stores sums of rows that are the elements of a phase: `to` is (elements of y, columns).
void storePhase(const ConvProblem &problem, const ConvParams<OnDevice> &p, const TileOfC &place,
                const Epilogue &stages, const SumsAt &sums,
                const std::array<Int32, kImageModes> &phase, const Tensor &to) {
  const std::array<Int32, kImageModes> &extents = p.ofY;
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  storeRows(place, stages, sums, roundTo(to.dtype()), place.width(to.dtype()), [&](int i) {
    const Int32 row = place.row(i);
    const auto [image, at] = ImageElement::numbered(Int32(place.firstRow() + row), p.out);
    const auto along = [&](std::size_t mode) {
      return Int32(at[mode] * axes[mode].stride + phase[mode]);
    };
    const Int32 d = along(0), h = along(1), w = along(2);
    return StoredRow{
        .exists = (row < place.rows()) & (d < extents[0]) & (h < extents[1]) & (w < extents[2]),
        .start = [=, &place, &to] {
          const Int32 element = ((image * extents[0] + d) * extents[1] + h) * extents[2] + w;
          return Pointer(to(element, _).iter() + place.firstColumn()); // (filters)
        }};
  });
}

/// What follows the sums of a tile of a group: scales, bias, activation.
class GroupEpilogue {
public:
  GroupEpilogue(const ConvProblem &problem, const ConvParams<OnDevice> &p, const Int32 &group)
      : problem_(problem), p_(p), group_(group), n_(productOf(problem).n) {}

  /// Finishes a tile, and stores it in y.
  void finish(const TileOfC &place, const SumsAt &sums) const {
    const Tensor y = ofY(); // (elements, filters of the group)
    stages(place).run(sums, tileFrom(y, {place.firstRow(), place.firstColumn()},
                                     place.shape())); // (tileM, tileN)
  }
  /// The same of rows that are the elements of a phase.
  void finishPhase(const TileOfC &place, const SumsAt &sums,
                   const std::array<Int32, kImageModes> &phase) const {
    storePhase(problem_, p_, place, stages(place), sums, phase, ofY());
  }

private:
  /// The group's part of something with so many numbers for each filter.
  Int64 ofGroup(const Int64 &address, DType type) const {
    return Int64(address + group_ * static_cast<std::int32_t>(n_) * Int64(type.bytes()));
  }
  Tensor vector(const Int64 &address, DType type) const {
    const Strided<OnDevice, 0> all{.address = ofGroup(address, type), .stride = {}};
    return all.view(type, n_); // (filters of the group)
  }
  Tensor ofY() const {
    const Strided<OnDevice, 1> rows{.address = ofGroup(p_.y.address, problem_.y),
                                    .stride = {Int64(std::int64_t{problem_.filters})}};
    return rows.view(problem_.y, {elementsOfY(problem_, p_), n_},
                     storedTogether(n_) * problem_.y.bytes()); // (elements of y, n)
  }
  Epilogue stages(const TileOfC &place) const {
    Epilogue epilogue(place);
    if (problem_.scale_x == Scales::per_tensor)
      epilogue.then(scaleAllBy(scaleOfTensor(p_.scaleX)));
    if (problem_.scale_weight == Scales::per_tensor)
      epilogue.then(scaleAllBy(scaleOfTensor(p_.scaleWeight)));
    if (problem_.scale_weight == Scales::per_row)
      epilogue.then(scaleColumns(place, vector(p_.scaleWeight.address, f32)));
    if (problem_.bias)
      epilogue.then(addToColumns(place, vector(p_.bias.address, problem_.y)));
    if (problem_.activation != Activation::none)
      epilogue.then(applyActivation(problem_.activation));
    return epilogue;
  }

  const ConvProblem &problem_;
  const ConvParams<OnDevice> &p_;
  Int32 group_;
  std::int64_t n_; ///< filters of a group
};

/// The sums of the parts of K, of a group's filters: (parts, elements of y, columns).
Tensor partsOfGroup(const ConvProblem &problem, const GemmConfig &config,
                    const ConvParams<OnDevice> &p, const Int32 &group) {
  const PartsShape all = partsOf(problem, config);
  const std::int64_t columns = columnsOfGroup(problem, config), row = all.columns();
  const Int64 start(p.parts.address +
                    group * static_cast<std::int32_t>(columns) * Int64(all.acc.bytes()));
  const Int32 elements = elementsOfY(problem, p);
  const Strided<OnDevice, 2> sums{.address = start,
                                  .stride = {Int64(elements * Int64(row)), Int64(row)}};
  return sums.view(all.acc, {all.parts, elements, columns},
                   kPieceBytes); // (parts, elements of y, columns)
}
PartSums partSumsOf(const ConvProblem &problem, const GemmConfig &config,
                    const ConvParams<OnDevice> &p, const Int32 &group) {
  return {partsOf(problem, config), partsOfGroup(problem, config, p, group)};
}

class ConvBlock {
public:
  ConvBlock(const ConvProblem &problem, const GemmConfig &config, const ConvParams<OnDevice> &p)
      : problem_(problem), config_(config), p_(p), product_(productOf(problem)),
        shape_(loopShape(product_, config, *convForm(problem, config, target()))),
        tiles_(quotientUp(counted(p.m), config.tile_m) *
               static_cast<std::int32_t>(tilesAcross(product_, config) * config.split_k)),
        number_(isDivided() ? Int32(counted(Int32(block_idx().x)) / tiles_) : Int32(0)),
        phases_(phasesOf(problem)),
        group_(problem.groups > 1 ? Int32(counted(number_) / phases_) : Int32(0)),
        phase_(phaseOf(Int32(counted(number_) % phases_))),
        tile_(TileScheduler<Int32>(tileGrid(product_, config), p.m)
                  .at(isDivided() ? Int32(counted(Int32(block_idx().x)) % tiles_)
                                  : Int32(block_idx().x))) {}

  void run() const {
    const TiledMma mma = weightsFirst(shape_.form, shape_.waves, shape_.wavesM, shape_.slices());
    const GroupEpilogue after(problem_, p_, group_);
    const auto place = [&](std::int64_t n) { return tileOfC(product_, config_, n, tile_); };
    if (problem_.transposed) {
      const Taps taps = tapsOfPhase(problem_, phase_);
      RingLoop<WindowTile, PhaseTile>(shape_, mma, std::make_unique<Sums>(shape_, mma),
                                      windows(taps), filtersOf(taps))
          .run([&](const Sums &sums) {
            if (config_.split_k == 1)
              return after.finishPhase(place(product_.n), sums.groups(0), phase_);
            const TileOfC ofParts = place(columnsOfGroup(problem_, config_));
            storePhase(
                problem_, p_, ofParts, Epilogue(ofParts), sums.groups(0), phase_,
                partsOfGroup(problem_, config_, p_, group_)(tile_.part, _, _)); // (row, column)
          });
      return;
    }
    RingLoop<WindowTile, OperandTile>(shape_, mma, std::make_unique<Sums>(shape_, mma),
                                      windows(tapsOf(problem_)), filters())
        .run([&](const Sums &sums) {
          if (config_.split_k == 1)
            return after.finish(place(product_.n), sums.groups(0));
          const TileOfC ofParts = place(columnsOfGroup(problem_, config_));
          Epilogue(ofParts).run(
              sums.groups(0),
              partSumsOf(problem_, config_, p_, group_).tile(tile_.part, ofParts, tile_.column));
        });
  }

private:
  /// Whether blocks have tiles of several groups or phases.
  bool isDivided() const { return problem_.groups > 1 || phasesOf(problem_) > 1; }
  std::int32_t columns() const { return static_cast<std::int32_t>(product_.n); }
  /// The remainders of a phase along each dimension.
  std::array<Int32, kImageModes> phaseOf(const Int32 &number) const {
    const std::array<ConvAxis, kImageModes> axes = axesOf(problem_);
    const Int32 lines = number / axes[2].stride;
    return {Int32(lines / axes[1].stride), Int32(lines % axes[1].stride),
            Int32(number % axes[2].stride)};
  }

  WindowTile windows(const Taps &taps) const {
    return {problem_,   p_,
            taps,       tile_.row,
            tile_.rows, Int32(group_ * (problem_.channels / problem_.groups)),
            firstOfK(), config_.tile_m};
  }
  /// The filters of the group from the tile's first column on, and how many the tile has.
  Int32 firstFilter() const { return Int32(group_ * columns() + tile_.column); }
  Int32 filtersLeft() const { return min(Int32(columns()) - tile_.column, shape_.tileN); }
  PhaseTile filtersOf(const Taps &taps) const {
    return {problem_, p_, taps, firstFilter(), filtersLeft(), firstOfK(), shape_.tileN};
  }
  Int32 firstOfK() const { return Int32(tile_.part * static_cast<std::int32_t>(shape_.k)); }
  OperandTile filters() const {
    const Tensor all = p_.weight.view(problem_.weight, {problem_.filters, product_.k},
                                      kPieceBytes); // (filters, K)
    return operandTile(all, shape_, OperandLayout::rows, shape_.tileN, firstFilter(), tile_.part,
                       filtersLeft());
  }
  const ConvProblem &problem_;
  const GemmConfig &config_;
  const ConvParams<OnDevice> &p_;
  GemmProblem product_;
  LoopShape shape_;
  Int32 tiles_;  ///< of a group, or of a phase of it
  Int32 number_; ///< of the group and the phase
  int phases_;
  Int32 group_;
  std::array<Int32, kImageModes> phase_;
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
      const Int32 elements = elementsOfY(problem, p);
      const Int32 tiles = quotientUp(counted(elements), kSumTileM) *
                          static_cast<std::int32_t>(sumTilesAcross(product));
      const Int32 number = counted(Int32(block_idx().x)), group = number / tiles;
      const BlockTile tile = TileScheduler<Int32>({kSumTileM, kSumTileN, product.n}, elements)
                                 .at(Int32(number % tiles));
      const TileOfC ofPart = tileOfSum(columnsOfGroup(problem, config), tile);
      GroupEpilogue(problem, p, group)
          .finish(tileOfSum(product.n, tile),
                  partSumsOf(problem, config, p, group).total(ofPart, 0));
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
