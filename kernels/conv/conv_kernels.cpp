// The kernel of convolutions: a product of the windows of images and of filters.
//
// A block takes a tile of a group's product from the TileScheduler; its main loop is the ring of
// products, whose rows of A are windows (conv/windows.h), and an Epilogue stores the sums as elements
// of y. The tiles of a group follow those of the group before.
#include "conv/windows.h"
#include "frame/compile.h"
#include "gemm/gemm_block.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

class ConvBlock {
public:
  ConvBlock(const ConvProblem &problem, const GemmConfig &config, const ConvParams<OnDevice> &p)
      : problem_(problem), config_(config), p_(p), product_(productOf(problem)),
        shape_(loopShape(product_, config, *gemmForm(product_, config, target()))),
        tiles_(quotientUp(counted(p.m), config.tile_m) *
               static_cast<std::int32_t>(tilesAcross(product_, config))),
        group_(problem.groups > 1 ? Int32(counted(Int32(block_idx().x)) / tiles_) : Int32(0)),
        tile_(TileScheduler<Int32>(tileGrid(product_, config), p.m)
                  .at(problem.groups > 1 ? Int32(counted(Int32(block_idx().x)) % tiles_)
                                         : Int32(block_idx().x))) {}

  void run() const {
    const TiledMma mma = weightsFirst(shape_.form, shape_.waves, shape_.wavesM, shape_.slices());
    RingLoop<WindowTile, OperandTile>(shape_, mma, std::make_unique<Sums>(shape_, mma), windows(),
                                      filters())
        .run([&](const Sums &sums) { finish(sums); });
  }

private:
  std::int32_t columns() const { return static_cast<std::int32_t>(product_.n); }

  WindowTile windows() const {
    return {problem_,
            p_,
            tile_.row,
            tile_.rows,
            Int32(group_ * (problem_.channels / problem_.groups)),
            config_.tile_m};
  }
  OperandTile filters() const {
    const Tensor all = p_.weight.view(problem_.weight, {problem_.filters, product_.k},
                                      kPieceBytes); // (filters, K)
    return operandTile(all, shape_, OperandLayout::rows, shape_.tileN,
                       Int32(group_ * columns() + tile_.column), Int32(0),
                       min(Int32(columns()) - tile_.column, shape_.tileN));
  }
  /// The start of the group's filters in rows of y, or in the bias.
  Int64 ofGroup(const Int64 &address) const {
    return Int64(address + wide(Int32(group_ * columns())) * std::int64_t{problem_.y.bytes()});
  }
  void finish(const Sums &sums) const {
    const TileOfC place = tileOfC(product_, config_, product_.n, tile_);
    const Strided<OnDevice, 1> rows{.address = ofGroup(p_.y.address),
                                    .stride = {Int64(std::int64_t{problem_.filters})}};
    const Tensor y = rows.view(problem_.y, {p_.m, product_.n}); // (m, filters of the group)
    Epilogue epilogue(place);
    if (problem_.bias) {
      const Strided<OnDevice, 0> bias{.address = ofGroup(p_.bias.address), .stride = {}};
      epilogue.then(addToColumns(place, bias.view(problem_.y, product_.n)));
    }
    if (problem_.activation != Activation::none)
      epilogue.then(applyActivation(problem_.activation));
    epilogue.run(sums.groups(0), tileFrom(y, {place.firstRow(), place.firstColumn()},
                                          place.shape())); // (tileM, tileN)
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

} // namespace

void Family<ConvProblem>::compile(const Compiler<ConvProblem> &compiler) {
  compiler(conv, compiler.config().threads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(ConvProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
