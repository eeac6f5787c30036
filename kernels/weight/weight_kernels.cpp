// The kernel that prepares weights: a wave moves a block of 16 rows by 64 bytes, each lane 16 bytes
// of it.
#include "frame/compile.h"
#include "weight/weight_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

void moveBlock(const Preshuffled &weights, int threads, const WeightParams<OnDevice> &p) {
  constexpr int lanes = Preshuffled::kRows * Preshuffled::kPieces, words = 4;
  const Int32 thread = thread_idx().x, lane = thread % lanes;
  const Int32 block = block_idx().x * (threads / lanes) + thread / lanes;
  exit_if(block >= weights.blocksN() * weights.blocksK());
  const Int32 row = block / weights.blocksK() * Preshuffled::kRows + lane % Preshuffled::kRows;
  const Int32 column =
      block % weights.blocksK() * weights.blockK() + lane / Preshuffled::kRows * weights.piece();
  const auto read = [&] {
    const Int64 place = row.to(i64) * p.raw.stride[0] + column.to(i64);
    return Pointer::from_address(p.raw.address + place * weights.bytes, i32, AddressSpace::global,
                                 16)
        .load(words);
  };
  const bool whole = weights.n % Preshuffled::kRows == 0 && weights.k % weights.blockK() == 0;
  const Vector piece = whole ? read()
                             : if_(Boolean((row < weights.n) & (column < weights.k)), read,
                                   [&] { return Vector::splat(0, words, i32); });
  const Int64 place = (block.to(i64) * lanes + lane.to(i64)) * Preshuffled::kPieceBytes;
  Pointer::from_address(p.out.address + place, i32, AddressSpace::global, 16).store(piece);
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
