// Memory in a kernel's body: elements at coordinates of an operand, as f32 or as they are.
#pragma once

#include "blocks.h"
#include "types.h"

#include <bit>
#include <cmath>
#include <vector>

namespace flydsl_ggml {

/// Whether kernels read elements of the type in f32.
inline bool reads(ggml_type type) { return isFloat(type) || readsBlocks(type); }
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
    return blockElements(type, row, k, 1)[0];
  return loadAs(row + k.to(fx::i64) * stride, dtypeOf(type)).to(fx::f32);
}
/// `width` elements of the row from number `k` on, in f32. The width is a power of two, of blocks at most
/// 16, and `k` a multiple of it. Where there are more than one and they are no blocks, they lie without
/// gaps, and the row begins at a multiple of `width` elements, too.
inline std::vector<fx::Numeric> neighboursInRow(ggml_type type, const fx::Int64 &row,
                                                const fx::Int64 &stride, const fx::Int32 &k,
                                                int width) {
  const fx::DType dtype = dtypeOf(type);
  if (!dtype)
    return blockElements(type, row, k, width);
  std::vector<fx::Numeric> values;
  if (width > 1) {
    const fx::Vector all =
        fx::Pointer::from_address(row + k.to(fx::i64) * dtype.bytes(), dtype,
                                  fx::AddressSpace::global, width * dtype.bytes())
            .load(width);
    const fx::Vector wide = dtype == fx::f32 ? all : all.to(fx::f32);
    for (int v = 0; v < width; ++v)
      values.push_back(wide.at(v));
    return values;
  }
  for (int v = 0; v < width; ++v)
    values.push_back(inRow(type, row, stride, k + v));
  return values;
}
/// Four of them as a vector, from number `first` on.
inline fx::Vector fourOf(const std::vector<fx::Numeric> &x, std::size_t first) {
  return fx::Vector::of({x[first], x[first + 1], x[first + 2], x[first + 3]});
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

/// The numbers of a launch by which slopeOf gives ALiBi's factors: the largest power of two that is not
/// above the number of heads, the base whose powers the heads before it have, and the root of the base.
inline std::array<float, 3> slopeNumbers(std::int64_t heads, float bias) {
  const auto even = static_cast<float>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  return {even, std::pow(2.0f, -bias / even), std::pow(2.0f, -bias / 2 / even)};
}
/// ALiBi's factor of a head by those three numbers: heads after the power of two have the odd powers
/// of the root.
inline fx::Numeric slopeOf(const fx::Int32 &head, const fx::Float32 *numbers) {
  const fx::Numeric h = head.to(fx::f32);
  return fx::select(h < numbers[0], fx::math::pow(numbers[1], h + 1.0f),
                    fx::math::pow(numbers[2], (h - numbers[0]) * 2.0f + 1.0f));
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
