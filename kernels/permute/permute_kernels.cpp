// The kernel of permutes.
//
// A block brings square tiles from rows of x to rows of y through shared memory. A thread reads a
// square of `access` by `access` elements, a piece of 16 bytes from each of as many rows of x where
// rows are aligned, turns it in registers, and writes its pieces, which are parts of rows of y, to
// shared memory; then it takes pieces of y's rows from there. So all of memory is read and written in
// lines of 128 bytes, and shared memory in pieces.
//
// A tile's row in shared memory fills all 32 banks. Threads that write have neighbouring squares of
// one row of squares, whose pieces would fall into the same banks: so the number of a piece in its row
// is xored with the number of the square that the row is of.
#include "blocks/common/element_bits.h"
#include "frame/compile.h"
#include "permute/permute_family.h"

#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

class PermuteBlock {
public:
  PermuteBlock(const PermuteProblem &problem, const PermuteConfig &config,
               const PermuteParams<OnDevice> &params)
      : p_(params), tiles_(problem, config), type_(bitsOf(problem.type)) {}

  void turnTiles() const {
    const int wide = tiles_.pieces * tiles_.tiles;
    const std::vector<Int32> at = digits({ceildiv(p_.i, wide), ceildiv(p_.j, tiles_.pieces)});
    const Int32 firstI = at[0] * wide, firstJ = at[1] * tiles_.pieces;
    const Tensor x = batch(rowsOf(p_.x, p_.j * access(), p_.i), at); // (J, I pieces, A)
    const Tensor y = batch(rowsOf(p_.y, p_.i * access(), p_.j), at); // (I, J pieces, A)
    SharedAllocator shared;
    const int side = tiles_.side;
    const Tensor tile = shared.tensor(type_,
                                      make_layout({access(), tiles_.pieces, side, tiles_.tiles},
                                                  {1, access(), side, side * side}),
                                      16); // (A, pieces of J, I, tiles)

    eachTurn([&](const Int32 &turn) {
      const Int32 square = place(turn), i = square % tiles_.pieces,
                  j = square / tiles_.pieces % tiles_.pieces,
                  of = square / (tiles_.pieces * tiles_.pieces);
      const Int32 piece = firstI + of * tiles_.pieces + i, row = firstJ + j;
      const Boolean isInside((piece < p_.i) & (row < p_.j));
      std::vector<Vector> read;
      for (int a = 0; a < access(); ++a)
        read.push_back(if_(
            isInside, [&] { return x(row * access() + a, piece, _).load(); }, // (A)
            [&] { return Vector::splat(std::int64_t(0), access(), type_); }));
      for (int a = 0; a < access(); ++a)
        tile(_, j ^ i, i * access() + a, of).store(column(read, a)); // (A)
    });
    gpu::barrier(AddressSpace::shared);
    eachTurn([&](const Int32 &turn) {
      for (int a = 0; a < access(); ++a) {
        const Int32 at = place(turn) + a * tiles_.turns * tiles_.block, j = at % tiles_.pieces,
                    i = at / tiles_.pieces % side, of = at / (tiles_.pieces * side);
        const Int32 row = (firstI + of * tiles_.pieces) * access() + i, piece = firstJ + j;
        if_((row < p_.i * access()) & (piece < p_.j),
            [&] { y(row, piece, _).store(tile(_, j ^ (i / access()), i, of).load()); }); // (A), (A)
      }
    });
  }

  void moveRows() const {
    const int each = tiles_.block * kPiecesOfRows;
    const std::vector<Int32> at = digits({ceildiv(p_.i, each), p_.j});
    const Int32 first = at[0] * each + thread_idx().x;
    const Tensor x = batch(rowsOf(p_.x, p_.j, p_.i), at)(at[1], _, _); // (I pieces, A)
    const Tensor y = batch(rowsOf(p_.y, p_.j, p_.i), at)(at[1], _, _); // (I pieces, A)
    std::vector<Vector> read;
    for (int part = 0; part < kPiecesOfRows; ++part)
      read.push_back(if_(
          first + part * tiles_.block < p_.i,
          [&] { return x(first + part * tiles_.block, _).load(); }, // (A)
          [&] { return Vector::splat(std::int64_t(0), access(), type_); }));
    for (int part = 0; part < kPiecesOfRows; ++part)
      if_(first + part * tiles_.block < p_.i, [&] {
        y(first + part * tiles_.block, _).store(read[static_cast<std::size_t>(part)]); // (A)
      });
  }

private:
  int access() const { return tiles_.access; }
  /// A tensor as rows of pieces: (B0, B1, B2, rows, pieces, A).
  Tensor rowsOf(const Strided<OnDevice, 4> &operand, const Int32 &rows, const Int32 &pieces) const {
    return operand.view(type_, {p_.b0, p_.b1, p_.b2, rows, pieces, access()},
                        access() * tiles_.bytes); // (b0, b1, b2, rows, pieces, access)
  }
  /// The digits of the block's number to these bases, then those of the batch: B2, B1 and B0.
  std::vector<Int32> digits(std::vector<Numeric> bases) const {
    bases.push_back(p_.b2);
    bases.push_back(p_.b1);
    std::vector<Numeric> rests{block_idx().x.to(u32)};
    std::vector<Int32> found;
    for (const Numeric &base : bases) {
      const Numeric rest = rests.back(), of = base.to(u32);
      found.push_back(Int32((rest % of).to(i32)));
      rests.push_back(rest / of);
    }
    found.push_back(Int32(rests.back().to(i32)));
    return found;
  }
  /// The part of a tensor that the block's batch has, by its digits after the first two.
  static Tensor batch(const Tensor &of, const std::vector<Int32> &digits) {
    return of(digits[4], digits[3], digits[2], _, _, _); // (I, J pieces, A)
  }
  /// The number of a thread's square in a turn.
  Int32 place(const Int32 &turn) const { return turn * tiles_.block + thread_idx().x; }
  /// Calls `body` for each square of a thread: some of them unrolled, so that their loads overlap.
  template <class F> void eachTurn(const F &body) const {
    constexpr int kUnrolled = 4;
    if (tiles_.turns <= kUnrolled) {
      for (int turn = 0; turn < tiles_.turns; ++turn)
        body(Int32(turn));
      return;
    }
    for (Int32 turn : range(tiles_.turns))
      body(turn);
  }
  /// Element `a` of each of some pieces.
  Vector column(const std::vector<Vector> &pieces, int a) const {
    if (pieces.size() == 1)
      return pieces.front();
    const Tensor all = make_rmem_tensor(IntTuple(access()), type_); // (access)
    for (int b = 0; b < access(); ++b)
      all(b) = pieces[static_cast<std::size_t>(b)].at(a);
    return all.load();
  }

  const PermuteParams<OnDevice> &p_;
  PermuteTiles tiles_;
  DType type_;
};

const FamilyKernel permute{
    kPermute, [](const PermuteParams<OnDevice> &p, const Constexpr<Spec<PermuteProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const PermuteBlock block(problem, config, p);
      if (isTurned(problem))
        block.turnTiles();
      else
        block.moveRows();
    }};

} // namespace

void Family<PermuteProblem>::compile(const Compiler<PermuteProblem> &compiler) {
  compiler(permute, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(PermuteProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
