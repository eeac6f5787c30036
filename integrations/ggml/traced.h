// Memory in a kernel's body: elements at coordinates of an operand, as f32 or as they are.
#pragma once

#include "blocks.h"
#include "types.h"

#include <utility>

namespace flydsl_ggml {

/// The coordinates of an element.
using Place = std::array<fx::Int32, 4>;

/// The address of a row, or of the element `place` if it counts whole elements.
inline fx::Int64 rowAddress(const TracedOperand &x, const fx::Int32 &i1, const fx::Int32 &i2,
                            const fx::Int32 &i3) {
  return x.address + i1.to(fx::i64) * x.stride[1] + i2.to(fx::i64) * x.stride[2] +
         i3.to(fx::i64) * x.stride[3];
}
inline fx::Int64 elementAddress(const TracedOperand &x, const Place &at) {
  return rowAddress(x, at[1], at[2], at[3]) + at[0].to(fx::i64) * x.stride[0];
}
inline fx::Numeric loadAs(const fx::Int64 &address, fx::DType type) {
  return fx::Pointer::from_address(address, type).load();
}
/// The element as it is.
inline fx::Numeric rawAt(const TracedOperand &x, ggml_type type, const Place &at) {
  return loadAs(elementAddress(x, at), dtypeOf(type));
}
/// Element `k` of the row at an address, in f32: of numbers with a stride, or of blocks.
inline fx::Numeric inRow(ggml_type type, const fx::Int64 &row, const fx::Int64 &stride,
                         const fx::Int32 &k) {
  if (!dtypeOf(type))
    return blockElement(type, row, k);
  return loadAs(row + k.to(fx::i64) * stride, dtypeOf(type)).to(fx::f32);
}
/// The element in f32.
inline fx::Numeric valueAt(const TracedOperand &x, ggml_type type, const Place &at) {
  return inRow(type, rowAddress(x, at[1], at[2], at[3]), x.stride[0], at[0]);
}
inline void storeAt(const TracedOperand &x, ggml_type type, const Place &at,
                    const fx::Numeric &value) {
  const fx::DType to = dtypeOf(type);
  fx::Pointer::from_address(elementAddress(x, at), to)
      .store(value.dtype() == to ? value : value.to(to));
}

/// ALiBi's factor of a head: of `heads`, the largest power of two that is not above their number, each
/// has a power of `base`; those after them have the odd powers of its root.
inline fx::Numeric slopeOf(const fx::Int32 &head, const fx::Numeric &heads, const fx::Numeric &base,
                           const fx::Numeric &root) {
  const fx::Numeric h = head.to(fx::f32);
  return fx::select(h < heads, fx::math::pow(base, h + 1.0f),
                    fx::math::pow(root, (h - heads) * 2.0f + 1.0f));
}

/// The number of the thread in the grid.
inline fx::UInt32 threadOfGrid(int block) {
  return fx::UInt32((fx::block_idx().x * block + fx::thread_idx().x).to(fx::u32));
}
/// The coordinates of number `index`, dimension 0 fastest.
inline Place placeOf(const fx::UInt32 &index, const std::array<fx::Int32, 4> &extent) {
  const auto u = [&](int d) { return fx::UInt32(extent[d].to(fx::u32)); };
  const auto i = [](const fx::Numeric &x) { return fx::Int32(x.to(fx::i32)); };
  const fx::UInt32 rows = index / u(0), planes = rows / u(1), cubes = planes / u(2);
  return {i(index - rows * u(0)), i(rows - planes * u(1)), i(planes - cubes * u(2)), i(cubes)};
}
/// The coordinates in an operand that is repeated: each modulo the extent.
inline Place repeated(const Place &at, const TracedOperand &x) {
  return {at[0] % x.extent[0], at[1] % x.extent[1], at[2] % x.extent[2], at[3] % x.extent[3]};
}

} // namespace flydsl_ggml
