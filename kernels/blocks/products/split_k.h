// Products whose K is shared by several blocks: each writes the sums of its part to memory. A
// second kernel, or the last block of a tile to arrive, adds the parts, always in the same order,
// and finishes the result. So the result does not depend on which block comes first.
#pragma once

#include "blocks/products/epilogue.h"
#include "blocks/products/split_k_rules.h"

#include <flydsl/flydsl.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sums of all parts, in the workspace: (part, row, column).
class PartSums {
public:
  PartSums(const PartsShape &shape, const Tensor &sums) : shape_(shape), sums_(sums) {}
  PartSums(const PartsShape &shape, const Strided<OnDevice, 0> &workspace, const Int32 &m)
      : PartSums(shape, workspace.view(shape.acc, {shape.parts, m, shape.columns()},
                                       kPieceBytes)) { // (part, row, column)
  }

  /// The tile of a part's sums that starts at (row, column).
  Tensor tile(const Int32 &part, const TileOfC &tile, const Int32 &column) const {
    return tileFrom(sums_(part, _, _), {tile.firstRow(), column}, tile.shape()); // (tileM, tileN)
  }
  /// The sums of all parts, of a tile whose columns are those of the workspace from column `from`
  /// on.
  SumsAt total(const TileOfC &tile, std::int64_t from) const {
    std::vector<Tensor> parts;
    for (int part = 0; part < shape_.parts; ++part)
      parts.push_back(
          tile.existing(this->tile(Int32(part), tile, tile.firstColumn() + Int32(from))));
    return [parts, tile](int i, int j) {
      std::vector<Vector> sums{tile.load(parts[0], i, j)};
      for (std::size_t part = 1; part < parts.size(); ++part)
        sums.push_back(sums.back() + tile.load(parts[part], i, j));
      return sums.back();
    };
  }

private:
  PartsShape shape_;
  Tensor sums_; // (parts, m, columns)
};

/// The place of a tile's flag among those of a product, line after line (PartFlags).
inline Int32 flagOf(const Int32 &tile) {
  const auto room = static_cast<std::int32_t>(PartFlags::kRoom),
             lines = static_cast<std::int32_t>(PartFlags::kLines),
             ofLine = static_cast<std::int32_t>(PartFlags::kOfLine);
  static_assert(std::has_single_bit(std::uint64_t(PartFlags::kLines)));
  return select(tile < room,
                (tile & (lines - 1)) * ofLine + (tile >> std::countr_zero(std::uint32_t(lines))),
                tile);
}

/// Counts a block by its part, after it has written its sums, and runs `finish` in the block that
/// comes last, which sees the sums of all. All threads of the block call it. `word` is the tile's
/// flag.
///
/// What orders the sums of one block before the reads of another: a barrier, after which one thread
/// has seen what its block wrote; its atomic, which releases that and acquires what the blocks
/// before it released; and a barrier, which passes that on to its block.
///
/// A word that is no count of parts, or one that has the block's own part already, was not zero
/// when the call began: the block traps.
inline void ifLast(const PartsShape &shape, const Pointer &word, const Int32 &part,
                   const std::function<void()> &finish) {
  const int all = (1 << shape.parts) - 1;
  SharedAllocator shared;
  const Tensor arrived = shared.tensor(i32, make_layout(kArrivedBytes / i32.bytes())); // (1)
  gpu::barrier();
  if_(thread_idx().x == 0, [&] {
    const Int32 own = Int32(1) << part;
    const Int64 before(atomic(AtomicOp::add, word, own * PartFlags::kMark, MemoryOrder::acq_rel));
    const Int32 others(before.to(i32));
    if_(before != others * PartFlags::kMark || (others & (own | ~all)) != 0, [&] { gpu::trap(); });
    if_((others | own) == all, [&] { atomic_store(word, 0, MemoryOrder::relaxed); });
    arrived(0) = others | own;
  });
  gpu::barrier();
  if_(arrived(0) == all, finish);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
