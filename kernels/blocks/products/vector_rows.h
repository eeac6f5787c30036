// Products of few rows without matrix units: each lane multiplies pieces of 16 bytes, along K, of
// rows of A and of B in f32 (i8: in i32), and the lanes' sums are added in the end. A wave loads a
// row of B together, so that nothing is padded to the tiles of an instruction.
#pragma once

#include "blocks/common/groups.h"
#include "blocks/products/epilogue.h"
#include "blocks/products/loop_schedule.h"
#include "blocks/products/operand_tile.h"
#include "blocks/products/turns.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>
#include <flydsl/kernel/wave_memory.h>

#include <cstdint>
#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class VectorRows {
public:
  /// `a` and `b` are the block's tiles. Rows past the end of either matrix are read as zeros.
  VectorRows(const LoopShape &shape, const OperandTile &a, const OperandTile &b)
      : shape_(shape), once_(b.once), a_(firstStepOf(shape, a)), b_(firstStepOf(shape, b)),
        load_(make_copy_atom(BoundedCopy128b(), a.dtype())), loadB_(128, b.dtype()),
        piece_(kPieceBytes * 8 / a.dtype().memory_bits()), thread_(thread_idx().x),
        lane_(thread_ % shape.form.lanes), wave_(gpu::uniform(thread_ / shape.form.lanes)),
        waveK_(wave_ % shape.wavesK), firstRow_(wave_ / shape.wavesK * rowsOfWave()),
        pieces_(make_rmem_tensor(IntTuple({piece_, shape.tileM, 2}), a.dtype())),   // (piece, m, 2)
        piecesB_(make_rmem_tensor(IntTuple({piece_, rowsOfWave(), 2}), b.dtype())), // (piece, n, 2)
        sums_(make_rmem_tensor(IntTuple({kWidth, shape.tileM, rowsOfWave()}),
                               shape.form.acc)) { // (width, m, n)
  }

  /// Sums up the tile, then runs `finish` in the threads that have a group of C, with the place of
  /// the tile's sums. `tileOf` makes the tile of so many threads.
  void run(const std::function<TileOfC(int threads)> &tileOf,
           const std::function<void(const TileOfC &, const SumsAt &)> &finish) {
    once_([&](CachePolicy cache) {
      loadB_.by(cache);
      each([&](int i, int j) {
        sums_(_, i, j).store(Vector::splat(0, kWidth, shape_.form.acc)); // (width)
      });
      runRounds<Int32>(shape_, *this);
    });
    SharedAllocator shared;
    const int row = vectorSumsRow(shape_);
    const Tensor totals =
        make_view(shared.allocate(vectorSumsBytes(shape_), kPieceBytes).recast(shape_.form.acc),
                  make_layout({shape_.tileN, shape_.tileM, shape_.wavesK},
                              {1, row, row * shape_.tileM})); // (tileN, tileM, wavesK)
    each([&](int i, int j) {
      const Numeric total =
          gpu::warp_reduce(sums_(_, i, j).load().reduce(Reduction::add), Reduction::add); // (width)
      if_(lane_ == 0, [&] { totals(firstRow_ + j, i, waveK_) = total; });
    });
    gpu::barrier(AddressSpace::shared);
    const int waves = shape_.tileN / 16;
    // Lanes of rows past tile_m do nothing: the host checked addresses for tile_m rows only.
    if_(thread_ < waves * shape_.form.lanes && lane_ % 16 < shape_.tileM, [&] {
      const TileOfC tile = tileOf(waves * shape_.form.lanes);
      finish(tile, [&](int i, int j) {
        std::vector<Vector> sums;
        for (int wave = 0; wave < shape_.wavesK; ++wave) {
          const Pointer group =
              totals.iter() + Int32(totals.layout()(tile.column(j), tile.row(i), wave));
          const Vector own = group.load(tile.group());
          sums.push_back(wave ? sums.back() + own : own);
        }
        return sums.back();
      });
    });
  }

  // What runRounds calls.
  template <class Body> static void turns(int end, int stride, const Body &body) {
    impl::turns(end, stride, body);
  }
  void fetch(const Int32 &round, int set, bool guarded) const {
    const Int32 step = round * shape_.wavesK + waveK_;
    for (int j = 0; j < rowsOfWave(); ++j)
      fetchPiece(loadB_.atom(), b_, Int32(firstRow_ + j), step, piecesB_(_, j, set),
                 guarded); // (piece)
    for (int i = 0; i < shape_.tileM; ++i)
      fetchPiece(load_, a_, Int32(i), step, pieces_(_, i, set), guarded); // (piece)
    // Otherwise the scheduler moves the loads down to where they are waited for.
    gpu::schedule_fence();
  }
  void multiply(int set) const {
    for (int at = 0; at < piece_; at += kWidth) {
      const auto numbers = [&](const Tensor &from, int number) {
        return part(from(_, number, set).load(), at, kWidth).to(shape_.form.acc); // (piece)
      };
      std::vector<Vector> rows;
      for (int i = 0; i < shape_.tileM; ++i)
        rows.push_back(numbers(pieces_, i));
      for (int j = 0; j < rowsOfWave(); ++j) {
        const Vector column = numbers(piecesB_, j);
        for (int i = 0; i < shape_.tileM; ++i) {
          const Tensor sum = sums_(_, i, j); // (width)
          sum.store(multiplied(column, rows[static_cast<std::size_t>(i)], sum.load()));
        }
      }
    }
    gpu::schedule_fence();
  }

private:
  /// Sums of a lane for one element of C.
  static constexpr int kWidth = 4;

  /// Rows of B that a wave multiplies, from row `firstRow_` of the tile on.
  int rowsOfWave() const { return shape_.tileN / shape_.waves; }
  template <class Body> void each(const Body &body) const {
    for (int j = 0; j < rowsOfWave(); ++j)
      for (int i = 0; i < shape_.tileM; ++i)
        body(i, j);
  }
  /// A lane's piece of a row of a step. `guarded`: it is zeros past the end of K.
  void fetchPiece(const CopyAtom &atom, const Tensor &operand, const Int32 &row, const Int32 &step,
                  const Tensor &to, bool guarded) const {
    const Int32 column = lane_ * piece_;
    const Tensor from = make_view(operand.iter() + Int32(operand.layout()(row, column)),
                                  make_layout(piece_)); // (piece)
    const Boolean inside = step * shape_.tileK + column < static_cast<std::int32_t>(shape_.k);
    copy(atom, guarded ? zerosUnless(inside, from) : from, to, {.soffset = step * shape_.tileK});
  }
  /// sum + a * b; of floats rounded once.
  Vector multiplied(const Vector &a, const Vector &b, const Vector &sum) const {
    return shape_.form.acc == f32 ? Vector(math::fma(a, b, sum)) : Vector(sum + a * b);
  }

  LoopShape shape_;
  ReadOnce once_;
  Tensor a_, b_; // (tileM, tileK), (tileN, tileK) of the first step; the others follow
  CopyAtom load_;
  CopyByPolicy loadB_;
  int piece_; ///< elements of 16 bytes
  Int32 thread_, lane_, wave_;
  Int32 waveK_, firstRow_;  ///< the wave's number among those that share K, and its first row of B
  Tensor pieces_, piecesB_; // (piece, rows, 2): of two steps
  Tensor sums_;             // (4, tileM, rows of B)
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
