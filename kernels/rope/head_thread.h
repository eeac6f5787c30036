// A thread of a head in the kernel: what it loads, and where it stores.
#pragma once

#include "rope/head_shape.h"

#include <flydsl/flydsl.h>

#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A lane's values of a head: a vector for each slot.
using HeadValues = std::vector<Vector>;

/// The lane of a thread among those of its head.
class HeadLane {
public:
  HeadLane(const HeadShape &shape, const Int32 &lane) : shape_(shape), lane_(lane) {}

  const HeadShape &shape() const { return shape_; }
  /// The lane's number.
  const Int32 &number() const { return lane_; }
  /// The address of the lane's part of a row of elements of which each lane takes `each`.
  Numeric start(const Numeric &row, DType dtype, int each) const {
    return row + (lane_.to(u32) * UInt32(each * dtype.bytes())).to(u64).to(i64);
  }
  Numeric start(const Numeric &row, DType dtype) const { return start(row, dtype, shape_.vector); }
  /// Whether the lane has an access in a slot; none: all lanes have.
  std::optional<Boolean> inside(const HeadSlot &slot) const { return lanes(0, slot.accesses); }
  /// Whether the lane is among those from `from` to below `to`; none: all lanes are.
  std::optional<Boolean> lanes(int from, int to) const {
    const bool low = from > 0, high = to < shape_.lanes;
    if (low && high)
      return Boolean((lane_ >= from) & (lane_ < to));
    if (low)
      return Boolean(lane_ >= from);
    return high ? std::optional<Boolean>(lane_ < to) : std::nullopt;
  }
  /// `elements` elements at `first` from the lane's start, and `fill` where the guard does not
  /// hold.
  static Vector load(const Numeric &start, int first, int elements, DType dtype,
                     const std::optional<Boolean> &guard, double fill) {
    const auto read = [&] { return place(start, first, elements, dtype).load(elements); };
    if (!guard)
      return read();
    return if_(*guard, read, [&] { return Vector::splat(fill, elements, dtype); });
  }
  static void store(const Numeric &start, int first, const Vector &values) {
    place(start, first, static_cast<int>(values.size()), values.dtype()).store(values);
  }
  /// The element of a head at which the lane's access starts.
  Numeric element(const HeadSlot &slot) const {
    return lane_.to(u32) * UInt32(shape_.vector) + UInt32(slot.first);
  }

private:
  /// The start is added up first, so that an instruction's offset takes what is the same for all.
  static Pointer place(const Numeric &start, int first, int elements, DType dtype) {
    const int bytes = elements * dtype.bytes();
    return Pointer::from_address(start + std::int64_t(first) * dtype.bytes(), dtype,
                                 AddressSpace::global, std::min(16, bytes));
  }
  const HeadShape &shape_;
  Int32 lane_;
};

/// Two guards in one.
inline std::optional<Boolean> both(const std::optional<Boolean> &a,
                                   const std::optional<Boolean> &b) {
  return a && b ? std::optional<Boolean>(*a & *b) : a ? a : b;
}
/// Runs `body` where the guard holds; without one, always.
template <class Body> void where(const std::optional<Boolean> &guard, Body body) {
  if (guard)
    if_(*guard, body);
  else
    body();
}
/// The values in another type.
inline Vector converted(const Vector &values, DType dtype) {
  return values.dtype() == dtype ? values : values.to(dtype);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
