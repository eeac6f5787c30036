// Operands of products as tensors, and their tiles as buffers.
//
// A buffer's range is checked by the hardware: what lies past the end of it reads as zeros and is
// not written. So a tile over the edge of its matrix needs no branches.
#pragma once

#include "blocks/common/host_or_traced.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Bytes from a tile's start to a place that is outside of every tile's buffer.
inline constexpr int kPastTheEnd = 1 << 30;

/// A matrix (m, n) of a matrix (n, m).
inline Tensor transposed(const Tensor &matrix) {
  return make_view(matrix.iter(), select(matrix.layout(), {1, 0})); // (m, n)
}
/// A tile of a matrix, or of a vector, that begins at any element.
inline Tensor tileFrom(const Tensor &matrix, const IntTuple &first, const IntTuple &shape) {
  const IntTuple stride = matrix.stride();
  const bool vector = shape.is_leaf() && !stride.is_leaf();
  return make_view(matrix.iter() + crd2idx(first, matrix.layout()),
                   make_layout(shape, vector ? stride[0] : stride)); // (rows, columns)
}

/// Entry `number` of an operand's first mode, whose elements are of type `type`: an operand of one mode less.
template <int Modes>
Strided<OnDevice, Modes - 1> entryOf(const Strided<OnDevice, Modes> &all, const Int32 &number,
                                     DType type) {
  return [&]<std::size_t... Mode>(std::index_sequence<Mode...>)->Strided<OnDevice, Modes - 1> {
    return {.address = Int64(all.address + number * all.stride[0] * (type.memory_bits() / 8)),
            .stride = {all.stride[Mode + 1]...}};
  }
  (std::make_index_sequence<Modes - 1>());
}

/// Strides of 32 bits: offsets inside of a buffer have no more.
inline IntTuple narrow(const IntTuple &stride) {
  if (stride.is_leaf())
    return stride.is_static() ? stride : IntTuple(Int64(stride).to(i32));
  switch (stride.rank()) {
  case 1:
    return make_stride(narrow(stride[0]));
  case 2:
    return make_stride(narrow(stride[0]), narrow(stride[1]));
  case 3:
    return make_stride(narrow(stride[0]), narrow(stride[1]), narrow(stride[2]));
  }
  throw Error("a tile's modes have up to three modes of their own");
}

/// The elements from the first of a part to its last, both included. The extents of the part are at
/// least 1 and have 32 bits; what they span has 64.
class ReachOfPart {
public:
  ReachOfPart(const IntTuple &extent, const IntTuple &stride) {
    add(extent, stride);
    if (!neighbours_)
      terms_.push_back(Int64(1));
  }
  Int64 elements() const { return sum(terms_.size() - 1); }

private:
  /// What a mode adds: to its last element, and one more if its elements are neighbours.
  void add(const IntTuple &extent, const IntTuple &stride) {
    if (!extent.is_leaf()) {
      for (int mode = 0; mode < extent.rank(); ++mode)
        add(extent[mode], stride[mode]);
      return;
    }
    const bool counted = !neighbours_ && stride.is_static() && stride.value() == 1;
    neighbours_ |= counted;
    const Numeric steps = extent.is_static() ? Numeric(Int64(extent.value() - !counted))
                          : counted          ? Numeric(Int32(extent))
                                             : Numeric(Int32(extent) - 1);
    terms_.push_back(Int64(steps * Int64(stride)));
  }
  Int64 sum(std::size_t last) const {
    return last == 0 ? terms_[0] : Int64(sum(last - 1) + terms_[last]);
  }
  std::vector<Int64> terms_;
  bool neighbours_ = false;
};
/// The buffer of a tile. `valid` are the extents of the tile that the matrix has, with the modes of the tile:
/// the buffer ends after the last of these elements. `any`: whether there is one; without it, there is.
inline Tensor bufferOf(const Tensor &tile, const IntTuple &valid,
                       const std::optional<Boolean> &any = {}) {
  const Int64 bytes =
      ReachOfPart(valid, tile.stride()).elements() * (tile.dtype().memory_bits() / 8);
  const Int64 end = any ? Int64(select(*any, bytes, Int64(0))) : bytes;
  return bounded(make_view(tile.iter(), make_layout(tile.shape(), narrow(tile.stride()))),
                 end); // (as tile)
}
/// A number of elements from a buffer's start: the given one if it is inside, otherwise one that is
/// outside of every buffer.
inline Int32 insideOf(const Tensor &buffer, const Boolean &inside, const Int32 &index) {
  return select(inside, index, kPastTheEnd / (buffer.dtype().memory_bits() / 8));
}
/// A part of a buffer if it is inside, otherwise zeros: the same part of what lies past the end.
inline Tensor zerosUnless(const Boolean &inside, const Tensor &part) {
  return make_view(part.iter() + insideOf(part, inside, Int32(0)), part.layout()); // (as part)
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
