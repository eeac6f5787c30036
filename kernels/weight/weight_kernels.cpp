// The kernel that prepares weights: a wave moves a block of 16 rows by 64 bytes, each lane 16 bytes
// of it.
#include "frame/compile.h"
#include "weight/weight_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

void moveBlock(const Preshuffled &weights, int threads, const WeightParams<OnDevice> &p) {
  constexpr int lanes = Preshuffled::kRows * Preshuffled::kPieces;
  // Pieces are moved as they are, whatever their elements mean.
  const DType type = weights.bytes == 1   ? DType(u8)
                     : weights.bytes == 2 ? DType(u16)
                                          : DType(u32);
  const int piece = weights.piece();
  const std::int64_t blocks = weights.blocksN() * weights.blocksK();
  const Tensor raw = p.raw.view(type, {weights.n, weights.k}, Preshuffled::kPieceBytes); // (n, k)
  const Tensor pieces = flat_divide(raw, {1, piece}); // (1, piece, n, k / piece)
  const Tensor out =
      p.out.view(type, {blocks, lanes, piece}, Preshuffled::kPieceBytes); // (blocks, lanes, piece)
  const Int32 thread = thread_idx().x, lane = thread % lanes;
  const Int32 block = block_idx().x * (threads / lanes) + thread / lanes;
  exit_if(block >= blocks);
  const Int32 row = block / weights.blocksK() * Preshuffled::kRows + lane % Preshuffled::kRows;
  const Int32 column = block % weights.blocksK() * Preshuffled::kPieces + lane / Preshuffled::kRows;
  const auto read = [&] { return pieces(0, _, row, column).load(); };
  const bool whole = weights.n % Preshuffled::kRows == 0 && weights.k % weights.blockK() == 0;
  const Vector moved =
      whole ? read()
            : if_(Boolean((row < weights.n) & (column * piece < weights.k)), read,
                  [&] { return Vector::splat(0, piece, type); });
  out(block, lane, _).store(moved);
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
