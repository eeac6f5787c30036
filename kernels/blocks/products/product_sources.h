// The operands of a product's main loop in global memory.
#pragma once

#include "blocks/common/groups.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/operand.h"
#include "blocks/products/operand_reach.h"

#include <flydsl/flydsl.h>

#include <cstdint>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Bytes from a tile's start to a place that is outside of every tile's buffer.
inline constexpr int kPastTheEnd = 1 << 30;

/// Registers for parts of a tile of A, and of both halves of one of B. K is the fastest mode: the
/// registers of a piece are neighbours.
inline std::vector<Tensor> partsOfA(const LoopShape &shape, const TiledMma &mma, int count) {
  std::vector<Tensor> fragments;
  const int round = shape.round();
  for (int i = 0; i < count; ++i)
    fragments.push_back(mma.make_fragment_B(make_layout({shape.tileM, round}, {round, 1})));
  return fragments;
}
inline std::vector<Tensor> partsOfB(const LoopShape &shape, const TiledMma &mma, int count) {
  std::vector<Tensor> fragments;
  const int round = shape.round();
  for (int i = 0; i < count * shape.halves; ++i)
    fragments.push_back(mma.make_fragment_A(make_layout({shape.tileOfHalf(), round}, {round, 1})));
  return fragments;
}

/// Rows of an operand in global memory: `size` of them, of which `exist` do, `distance` elements
/// apart. None exist if that is no positive number.
inline Tensor rowsOf(DType dtype, int size, const LoopShape &shape, const Int64 &first,
                     const Int64 &distance, const Int32 &exist) {
  const Pointer start = Pointer::from_address(first, dtype, AddressSpace::global, kPieceBytes);
  const Layout layout = make_layout({size, shape.tileK}, {Int32(distance.to(i32)), 1});
  const Int64 span = reachOfRows<Int32>(exist, size, distance, shape.k) * shape.form.bytes(),
              end = select(exist > 0, span, Int64(0));
  return rocdl::make_buffer_tensor(make_view(start, layout),
                                   {.num_records_bytes = end}); // (size, tileK)
}

/// Rows of A, seen by lanes that load them straight into the registers of their instructions.
class RowsInRegisters {
public:
  /// `lane` is that of the wave.
  RowsInRegisters(const LoopShape &shape, const Int32 &lane, const Int64 &first,
                  const Int64 &distance, const Int32 &rows)
      : shape_(shape),
        buffer_(rowsOf(shape.form.a, shape.tileM, shape, first, distance, rows).iter()),
        column_(lane / 16 % shape.form.across * shape.form.piece()) {
    const Int32 apart(distance.to(i32));
    for (int i = 0; i < shape.tilesM(); ++i)
      rows_.push_back(Int32(((lane % 16 + 16 * i) * apart + column_) * shape.form.bytes()));
  }

  /// Loads a part of a step. `guarded`: columns past the end of K are zeros; otherwise all of the
  /// part exists.
  void fetch(const Int32 &step, int part, bool guarded, const Tensor &into) const {
    const MatrixForm &form = shape_.form;
    for (int i = 0; i < shape_.tilesM(); ++i) {
      const auto load = [&](int piece) {
        const int column = part * form.part() + piece * form.granule();
        const Int32 offset = rows_[static_cast<std::size_t>(i)] + column * form.bytes();
        const Boolean inside =
            step * shape_.tileK + column_ + column < static_cast<std::int32_t>(shape_.k);
        return rocdl::raw_buffer_load(
            buffer_, guarded ? Int32(select(inside, offset, kPastTheEnd)) : offset, i32,
            kPieceBytes / 4, {.soffset = step * (shape_.tileK * form.bytes())});
      };
      // A lane holds one piece of each granule of a part, of which there are one or two.
      const Vector first = load(0);
      into(_, i, _).store(
          (form.part() > form.granule() ? joined(first, load(1)) : first).bitcast(form.a));
    }
  }

private:
  LoopShape shape_;
  Pointer buffer_;
  Int32 column_;
  std::vector<Int32> rows_; // byte offsets of the lane's rows
};

/// A tile of columns of the product, that is of rows of preshuffled weights.
class ColumnsOfB {
public:
  /// `thread` counts those of the waves that share a step. In each half of B the tile starts at an
  /// address, that of the block's part of K; `blocks` blocks of 16 rows exist from there on.
  ColumnsOfB(const LoopShape &shape, const Preshuffled &weights, const TiledMma &mma,
             const Int32 &thread, const std::vector<Int64> &first, const Int32 &blocks)
      : shape_(shape), columns_(paddedPart(shape, weights)),
        atom_(make_copy_atom(rocdl::BufferCopy128b(), shape.form.b)),
        slice_(make_tiled_copy_A(atom_, mma).get_slice(thread)),
        inRound_(shape.slices() == 1
                     ? Int32(0)
                     : Int32(gpu::uniform(thread / shape.threads()) * shape.form.part())) {
    for (const Int64 &address : first)
      tiles_.push_back(slice_.partition_S(buffer(shape, weights, address, blocks)));
  }

  /// Loads a part of a step's tile into a fragment of a part. `guarded`: parts past the end of the
  /// block's part of K are zeros. What lies there are columns of another part, or other rows.
  void fetch(const Int32 &step, int part, int half, const Tensor &fragment,
             bool guarded = false) const {
    const Tensor &tile = tiles_[static_cast<std::size_t>(half)];
    const Int32 away = select(firstOfPart<Int32>(shape_, step, part, inRound_) <
                                  static_cast<std::int32_t>(columns_),
                              0, kPastTheEnd / shape_.form.bytes());
    const Tensor from = guarded ? make_view(tile.iter() + away, tile.layout()) : tile;
    copy(atom_, from(_, _, part), slice_.retile(fragment)(_, _, 0),
         {.soffset = step * (Preshuffled::kRows * shape_.tileK)});
  }

private:
  static Tensor buffer(const LoopShape &shape, const Preshuffled &weights, const Int64 &first,
                       const Int32 &blocks) {
    const Pointer start =
        Pointer::from_address(first, shape.form.b, AddressSpace::global, kPieceBytes);
    const Int64 end = reachOfWeights<Int32>(shape, weights, blocks) * weights.bytes;
    return rocdl::make_buffer_tensor(
        make_view(start, preshuffledTile(weights, shape.tileOfHalf(), shape.tileK)),
        {.num_records_bytes = end}); // (tileOfHalf, tileK)
  }

  LoopShape shape_;
  std::int64_t columns_; // of the block's part of K
  CopyAtom atom_;
  ThrCopy slice_;
  Int32 inRound_;             // the wave's first element of K in those that all waves multiply
  std::vector<Tensor> tiles_; // (V, n, parts) of each half
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
