// The kernel that prepares weights: a wave moves a block of 16 rows by 64 bytes, each lane 16 bytes
// of it.
#include "blocks/common/host_or_traced.h"
#include "frame/compile.h"
#include "weight/weight_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

void moveBlock(const Preshuffled &weights, int threads, const WeightParams<OnDevice> &p) {
  constexpr int rows = Preshuffled::kRows, lanes = rows * Preshuffled::kPieces;
  // Pieces are moved as they are, whatever their elements mean.
  const DType type = weights.bytes == 1 ? DType(u8) : weights.bytes == 2 ? DType(u16) : DType(u32);
  const int piece = weights.piece();
  const std::int64_t count = weights.blocksN() * weights.blocksK();
  const Tensor raw = p.raw.view(type, {weights.n, weights.k}, Preshuffled::kPieceBytes); // (n, k)
  const Tensor blocks =
      flat_divide(raw, {rows, weights.blockK()}); // (16, blockK, n / 16, k / blockK)
  const Tensor out =
      p.out.view(type, {count, lanes, piece}, Preshuffled::kPieceBytes); // (blocks, lanes, piece)
  const Int32 thread = thread_idx().x, lane = thread % lanes;
  const Int32 block = counted(block_idx().x * (threads / lanes) + gpu::uniform(thread / lanes));
  exit_if(block >= count);
  const Int32 blockN = block / weights.blocksK(), blockK = block % weights.blocksK();
  const Int32 row = lane % rows, column = lane / rows * piece; // in the block
  const auto read = [&] {
    const Tensor pieces =
        flat_divide(blocks(_, _, blockN, blockK), {1, piece}); // (1, piece, 16, 4)
    return pieces(0, _, row, lane / rows).load();              // (piece)
  };
  const bool whole = weights.n % rows == 0 && weights.k % weights.blockK() == 0;
  const Boolean inside =
      (blockN * rows + row < weights.n) & (blockK * weights.blockK() + column < weights.k);
  const Vector moved =
      whole ? read() : if_(inside, read, [&] { return Vector::splat(0, piece, type); });
  out(block, lane, _).store(moved); // (piece)
}

const FamilyKernel weight{
    kWeight, [](const WeightParams<OnDevice> &p, const Constexpr<Spec<WeightProblem>> &spec) {
      moveBlock(preshuffled(spec->problem), spec->config.block, p);
    }};

} // namespace

void Family<WeightProblem>::compile(const Compiler<WeightProblem> &compiler) {
  compiler(weight, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(WeightProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
