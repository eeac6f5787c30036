// The sizes of a product's main loop. No compiler is needed to ask.
#pragma once

#include "blocks/facts/matrix_form.h"

#include <algorithm>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The elements of K that share a scale, and the rows of B that do.
inline constexpr int kScaleBlock = 128;

/// The scales of a row that an instruction with scales of 32 elements of K takes.
inline constexpr int kMxScalesOfPart = 4;
/// Words of them that a load brings: those of up to four parts of a step of `parts`, if all rows, of
/// `ofRow` scales, start at multiples of them; 0: a load brings a byte.
inline int mxWords(std::int64_t ofRow, int parts) {
  for (int words : {4, 2, 1})
    if (parts % words == 0 && ofRow % (kMxScalesOfPart * words) == 0)
      return words;
  return 0;
}

/// What a loop is traced for. kernels/README.md has the words.
struct LoopShape {
  MatrixForm form;
  int tileM, tileN, tileK; ///< a block's tile of C, and the columns of a step
  int waves;               ///< waves side by side along N
  std::int64_t k;          ///< columns of the block's part of K
  /// 2: pairs are gated. A tile has tileN / 2 rows from each half of B, gates and ups; see half in
  /// kernels/README.md.
  int halves = 1;
  int wavesM = 1; ///< rows of waves, along M
  int wavesK = 1; ///< waves that share K
  bool sliced =
      false;        ///< these waves share the K of each step; otherwise they take the steps in turn
  int stages = 2;   ///< tiles of the ring
  bool dma = false; ///< tiles of the ring come to LDS without registers
  /// With dma: a tensor data mover brings them (gfx1250), otherwise LDS's own loads do.
  bool mover = false;
  bool ringB = false;     ///< B goes through the ring, too
  bool preparedB = false; ///< B is prepared weights

  /// Threads of the waves that multiply the same elements of K.
  int threads() const { return waves * wavesM * form.lanes; }
  /// Waves that share the K of a step, and the threads that load its tiles together.
  int slices() const { return sliced ? wavesK : 1; }
  int loaders() const { return threads() * slices(); }
  /// The elements of K that all waves of a step multiply together: a part for each slice.
  int round() const { return form.part() * slices(); }
  /// Columns of a tile in a half of B.
  int tileOfHalf() const { return tileN / halves; }
  int steps() const { return static_cast<int>((k + tileK - 1) / tileK); }
  /// The parts of a step that a wave multiplies.
  int parts() const { return tileK / round(); }
  /// The parts of a step; the last step may have fewer.
  int partsOf(int step) const {
    const std::int64_t left = k - static_cast<std::int64_t>(step) * tileK;
    return left >= tileK ? parts() : static_cast<int>((left + round() - 1) / round());
  }
  /// True for the last step if K ends in a round of the waves that share it: past the end, the
  /// prepared weights are other rows', and must not be read.
  bool endsInRound(int step) const {
    return step == steps() - 1 && slices() > 1 && k % round() != 0;
  }
  /// Bytes of a row of A's tile, and of the gap after each row in LDS, if a mover brings the tile. The
  /// mover knows no swizzle; by the gap, neighbouring rows lie in different banks.
  int rowBytes() const { return tileK * form.bytes(); }
  int gapBytes() const { return mover ? kPieceBytes : 0; }
  int ringBytes() const {
    return stages * (tileM + (ringB ? tileN : 0)) * (rowBytes() + gapBytes());
  }
  /// Bytes of shared memory for the sums of waves that share K, but for the first of them.
  int slicesBytes() const { return (wavesK - 1) * tileM * tileN * form.acc.bytes(); }
  /// Bytes of shared memory of the loop and what follows it. The sums of waves that share K take the place
  /// of the ring's tiles. With dma they have memory of their own: the compiler would wait for each load that
  /// may write what it reads (RingLoop::run, mainloop.h).
  int ldsBytes() const {
    const int ring = sliced ? ringBytes() : 0;
    return dma ? ring + slicesBytes() : std::max(ring, slicesBytes());
  }
  /// Loads of 16 bytes of a thread for a tile of so many rows.
  int loadsOf(int rows) const { return rows * rowBytes() / kPieceBytes / loaders(); }
  /// Loads of 16 bytes of a thread for B's fragments of a part; reads of LDS if B goes through the ring.
  int loadsB() const { return tileN / waves / 16 * form.part() / form.granule(); }
  /// Rows of a tile that a wave moves, if a mover brings the tile.
  int rowsOfMover(int rows) const { return rows / (loaders() / form.lanes); }
  /// Reads of 16 bytes of shared memory for a part, and its multiplications.
  int reads() const { return tilesM() * form.part() / form.granule(); }
  int products() const { return tilesM() * (tileN / waves / 16) * form.products(); }
  /// Tiles of 16 x 16 of a wave: rows of them, and columns in a half of B.
  int tilesM() const { return tileM / 16 / wavesM; }
  int tilesOfHalf() const { return tileOfHalf() / waves / 16; }

  /// Parts of a block of K with a scale of its own, and how many such blocks so many parts are.
  int partsOfBlock() const { return kScaleBlock / form.part(); }
  int blocksOf(int parts) const { return (parts + partsOfBlock() - 1) / partsOfBlock(); }
  /// Blocks of K that have a scale of their own.
  std::int64_t scaleBlocks() const { return (k + kScaleBlock - 1) / kScaleBlock; }
  /// Scales of B for a step of one block of K: of a tile's columns in a half.
  int scalesOfHalf() const { return tileOfHalf() > kScaleBlock ? tileOfHalf() / kScaleBlock : 1; }
};

/// The stride of rows of a loop without matrix instructions (VectorRows) in shared memory. Lanes that are
/// served together read up to four rows in one column, and others in the next one (lds_layout.h): of 32
/// and of 64 banks, rows that begin two pieces of 16 bytes after a multiple of 16 floats meet none twice.
inline int vectorSumsRow(const LoopShape &shape) {
  return shape.tileM > 1 ? shape.tileN + 8 : shape.tileN;
}
/// Shared memory of such a loop, for the sums of all waves.
inline int vectorSumsBytes(const LoopShape &shape) {
  return shape.wavesK * shape.tileM * vectorSumsRow(shape) * shape.form.acc.bytes();
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
