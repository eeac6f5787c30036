// A lane of a head in the kernel: which elements of a row are its own.
#pragma once

#include "blocks/common/where.h"
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
  /// The lane's access of a slot, in a row of the head's elements (head).
  Tensor access(const Tensor &row, const HeadSlot &slot) const {
    return access(row, slot.first, shape_.vector);
  }
  /// The lane's access in a row where each lane takes `each` elements, lane 0 those from `first` on.
  Tensor access(const Tensor &row, int first, int each) const {
    const Tensor accesses = logical_divide(row, each); // (each, accesses)
    return accesses(_, lane_ + first / each);          // (each)
  }
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

private:
  const HeadShape &shape_;
  Int32 lane_;
};

/// The elements of an access, which is read where the guard holds; elsewhere they are 0.
inline Vector loadWhere(const std::optional<Boolean> &guard, const Tensor &access) {
  if (!guard)
    return access.load();
  return if_(
      *guard, [&] { return access.load(); },
      [&] { return Vector::splat(0, size(access).value(), access.dtype()); });
}
/// Two guards in one.
inline std::optional<Boolean> both(const std::optional<Boolean> &a,
                                   const std::optional<Boolean> &b) {
  return a && b ? std::optional<Boolean>(*a & *b) : a ? a : b;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
