// What moves of the tensor data mover ask of their operands.
#pragma once

#include "builder/trace/tracer.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/layout.h"

#include <flydsl/kernel/tensor.h>

#include <string>

namespace flydsl::builder {

/// A gap after every `interval` elements of LDS; both 0: there is none.
struct MoverGap {
  std::int64_t interval = 0, amount = 0;
};

/// The tracer of a kernel whose target has the mover. A TraceError at `loc` otherwise.
Tracer &withMover(const char *function, Loc loc);

/// Refuses a tile that `waves` waves share where its place differs among the lanes of a wave, and where
/// all waves of a larger block get there. The latter is right for a tile of one wave if each wave writes
/// to a place of its own: `place`, in LDS of a load and in the tensor of a store, is made of the wave's
/// number. `instead` names what makes the tile one for all of them.
void expectWaves(const char *function, Tracer &tracer, int waves, bool isLoad, const Tensor &place,
                 const std::string &instead, Loc loc);

/// The operands of a move that `function` is called with. What does not fit is a TraceError at `loc`.
class MoverOperands {
public:
  /// `tensor` is in global memory and has a last mode of stride 1; `lds` is in shared memory, and its shape is
  /// known. Their elements are the same.
  MoverOperands(const char *function, Tracer &tracer, const Tensor &tensor, const Tensor &lds,
                Loc loc);

  /// Modes of the tensor, and of the tile.
  int tensorRank() const { return rank(from_); }
  int tileRank() const { return rank(to_); }
  /// The tile's extent along a mode.
  std::int64_t extent(int mode) const { return at(to_, mode).shape().leaf().value(); }
  int elementBits() const { return bits_; }
  /// The gap that the strides of the tile in LDS tell of: modes follow each other, the last one
  /// fastest, but for one gap after every so many elements.
  MoverGap gap() const;

  [[noreturn]] void refuse(const std::string &why) const;
  /// Cache bits have th in bits 0 to 2 and scope in bits 3 and 4.
  void expectCache(int bits) const;

  /// Elements from somewhere in the tensor on to its end, as far as 31 bits count them; an i32.
  static detail::Handle reach(const IntTuple &extent, Loc loc);

private:
  layout::Layout layoutOf(Tracer &tracer, const Tensor &operand, const char *what,
                          mlir::fly::AddressSpace space, const char *memory) const;
  static layout::Layout at(const layout::Layout &layout, int mode) {
    return layout.isLeaf() ? layout : layout.at(mode);
  }
  static int rank(const layout::Layout &layout) { return layout.isLeaf() ? 1 : layout.rank(); }

  const char *function_;
  Loc loc_;
  layout::Layout from_, to_;
  int bits_ = 0;
};

} // namespace flydsl::builder
