// Quantisation in a kernel: the largest magnitude, the scale, and the conversion.
#pragma once

#include "blocks/common/near_bytes.h"
#include "blocks/quant/group_rules.h"
#include "blocks/rows/row.h"

#include <flydsl/kernels/weight.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The magnitudes of f32 values as integers, whose order is that of the magnitudes and puts a NaN
/// above everything, so that a maximum of them does not lose it.
inline Vector magnitudes(const Vector &values) { return values.bitcast(u32) & 0x7fffffff; }

/// The scale of values whose largest magnitude has these bits.
inline Numeric scaleOf(const Numeric &largestBits, DType type) {
  const Numeric scale = largestBits.bitcast(f32) / static_cast<float>(largestOf(type));
  return select(scale.bitcast(u32) < UInt32(0x00800000u), Float32(1.0f), scale);
}

/// Values over their scale, where `inverse` is 1 / scale, in the type; NaNs stay where the type
/// has them and `keepNan` asks for it.
inline Vector quantised(const Vector &values, const Numeric &inverse, DType type, bool keepNan) {
  const Vector scaled = values * inverse;
  const double most = largestOf(type);
  if (type == i8)
    return min(max(math::roundeven(scaled), -128.0f), 127.0f).to(i8);
  const Vector limited = min(max(scaled, static_cast<float>(-most)), static_cast<float>(most));
  return (keepNan ? select(math::isnan(scaled), scaled, limited) : limited).to(type);
}

/// The scale of a block of the microscaling formats.
struct BlockExponent {
  Numeric byte;    ///< f8E8M0FNU, as u8
  Numeric inverse; ///< 1 / scale in f32
};

/// The scale of values whose largest magnitude has these bits. Exponents are biased by 127 in f32
/// and in the scale alike.
inline BlockExponent blockExponent(const Numeric &largestBits, DType type, BlockScale rule) {
  const detail::FloatFormat &format = *detail::smallFloatFormat(type);
  const float most = format.toFloat(format.largest());
  const auto exponentOf = [](const Numeric &bits) { return (bits >> 23).to(i32); };
  const bool up = rule == BlockScale::ceil;
  // Up: of largest / most, rounded up where it is no power of two.
  const Numeric bits = up ? (largestBits.bitcast(f32) * (1 / most)).bitcast(u32) : largestBits;
  const Numeric raw = up ? exponentOf(bits + UInt32(0x7fffffu))
                         : exponentOf(bits) - format.parts(format.largest()).exponent;
  const Numeric limited = max(raw, 0);
  const Boolean finite = largestBits < UInt32(0x7f800000u);
  return {.byte = select(finite, limited, 255).to(u8),
          .inverse = ((254 - limited).to(u32) << 23).bitcast(f32)};
}

/// Up to eight values in a type of 4 bits, as bytes; the first has the lowest bits. They are
/// converted one by one: LLVM takes vectors of 4-bit elements apart through scratch memory.
inline Vector packed(const Vector &values, DType type) {
  std::vector<Numeric> parts;
  for (std::int64_t i = 0; i < values.size(); ++i)
    parts.push_back(values.at(i).to(type).bitcast(u4).to(u32) << static_cast<int>(4 * i));
  const Numeric word =
      combine<Numeric>(parts, [](const Numeric &a, const Numeric &b) { return Numeric(a | b); });
  const DType dtype = values.size() == 8 ? u32 : values.size() == 4 ? u16 : u8;
  return Vector::splat(word.to(dtype), 1).bitcast(u8);
}

/// The values of a block over its scale, elements of 4 bits as bytes.
inline Vector blockValues(const Vector &values, const BlockExponent &exponent, DType type) {
  const detail::FloatFormat &format = *detail::smallFloatFormat(type);
  const float most = format.toFloat(format.largest());
  const Vector limited = min(max(values * exponent.inverse, -most), most);
  return type.bits() < 8 ? packed(limited, type) : limited.to(type);
}

/// A thread's values of a group as they are written, elements of 4 bits as bytes, and the group's scale,
/// in f32 or as a byte.
struct QuantisedGroup {
  Vector values;
  Numeric scale;
};

/// Quantises the values of a thread in f32. `lanes` neighbours have a group together, and all of them
/// take part.
inline QuantisedGroup quantisedGroup(const Vector &values, int lanes, const QuantGroups &groups,
                                     DType type) {
  const Numeric largest =
      gpu::warp_reduce(magnitudes(values).reduce(Reduction::max), Reduction::max, lanes);
  if (groups.scale == f32) {
    const Numeric scale = scaleOf(largest, type);
    return {quantised(values, 1.0f / scale, type, false), scale};
  }
  const BlockExponent exponent = blockExponent(largest, type, groups.block);
  return {blockValues(values, exponent, type), exponent.byte};
}

/// The type in which a kernel writes scales of this type.
inline DType writtenScale(DType scale) { return scale == f32 ? DType(f32) : DType(u8); }

/// The scales that a kernel writes for the groups of m rows of n elements. Those of a row span less
/// than kNearBytes, as the host has checked. Prepared ones are packed.
inline Tensor scalesOfGroups(const QuantGroups &groups, const Strided<OnDevice, 2> &operand,
                             const Int32 &m, int n) {
  const DType type = writtenScale(groups.scale);
  const int count = n / groups.size;
  if (groups.prepared) {
    constexpr int kBlock = PreparedScales::kBlock;
    const int blocks = count / PreparedScales::kScales;
    const Int32 ofRows = ceildiv(m, PreparedScales::kRows);
    const Strided<OnDevice, 0> packed{.address = operand.address, .stride = {}};
    const Tensor bytes = packed.view(type, {ofRows, blocks, kBlock}); // (groups, blocks, block)
    return make_view(bytes.iter(),
                     make_layout({make_shape(16, 2, ofRows), make_shape(4, 2, blocks)},
                                 {make_stride(4, 1, blocks * kBlock),
                                  make_stride(64, 2, kBlock)})); // (m, n / group)
  }
  const Int64 &stride = operand.stride[1];
  assume(Boolean((stride >= 0) & (stride <= kNearBytes / (std::int64_t(count) * type.bytes()))));
  return operand.view(type, {m, count}); // (m, n / group)
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
