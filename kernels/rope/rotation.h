// The rotation of a head's pairs in a kernel.
#pragma once

#include "rope/head_thread.h"

#include <limits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <std::size_t... I, class F>
Vector pickedBy(const Vector &a, const Vector &b, F number, std::index_sequence<I...>) {
  return a.shuffle(b, {number(static_cast<std::int64_t>(I))...});
}
/// The vector of `size` elements, a power of two up to 8, whose element i is that of number(i) of
/// `a` and then `b`.
template <class F> Vector picked(const Vector &a, const Vector &b, std::int64_t size, F number) {
  switch (size) {
  case 1:
    return pickedBy(a, b, number, std::make_index_sequence<1>());
  case 2:
    return pickedBy(a, b, number, std::make_index_sequence<2>());
  case 4:
    return pickedBy(a, b, number, std::make_index_sequence<4>());
  case 8:
    return pickedBy(a, b, number, std::make_index_sequence<8>());
  default:
    throw Error("rope: an access of " + std::to_string(size) + " elements");
  }
}

/// The cosines and sines of a token for the lane's pairs.
class Rotation {
public:
  /// `cos` and `sin`: the token's rows of the tables (rotary / 2), which are read only if `known`.
  /// Otherwise the angles are NaNs.
  Rotation(const HeadLane &lane, const Tensor &cos, const Tensor &sin, const Boolean &known)
      : lane_(lane) {
    for (const HeadSlot &slot : lane.shape().slots) {
      if (slot.turn != Turn::low && slot.turn != Turn::neighbours) {
        cos_.emplace_back();
        sin_.emplace_back();
        continue;
      }
      const int each = lane.shape().vector / (slot.turn == Turn::low ? 1 : 2);
      const std::optional<Boolean> guard =
          slot.turn == Turn::low ? lane.inside(slot) : lane.lanes(slot.from, slot.to);
      const auto read = [&](const Tensor &row) {
        const Tensor pairs = lane.access(row, slot.angle, each); // (each)
        return select(Vector::splat(known, each), loadWhere(guard, pairs).to(f32),
                      Vector::splat(std::numeric_limits<double>::quiet_NaN(), each, f32));
      };
      cos_.push_back(read(cos));
      sin_.push_back(read(sin));
    }
  }

  /// The values of a head in f32, rotated.
  HeadValues operator()(const HeadValues &values) const {
    const std::vector<HeadSlot> &slots = lane_.shape().slots;
    HeadValues results;
    HeadValues high; // of the slots of Turn::high, which are in the order of those of Turn::low
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Vector &v = values[i];
      switch (slots[i].turn) {
      case Turn::none:
        results.push_back(v);
        break;
      case Turn::low: {
        const auto [a, b] = turn(v, values[i + static_cast<std::size_t>(slots[i].partner)], i);
        results.push_back(a);
        high.push_back(b);
        break;
      }
      case Turn::high:
        results.push_back(high[i - static_cast<std::size_t>(slots[i].partner)]);
        break;
      case Turn::neighbours:
        results.push_back(neighbours(v, i));
        break;
      }
    }
    return results;
  }

private:
  std::pair<Vector, Vector> turn(const Vector &a, const Vector &b, std::size_t slot) const {
    const Vector &c = *cos_[slot], &s = *sin_[slot];
    return {a * c - b * s, b * c + a * s};
  }
  Vector neighbours(const Vector &v, std::size_t slot) const {
    const std::int64_t size = v.size(), half = size / 2;
    const auto [a, b] = turn(picked(v, v, half, [](std::int64_t k) { return 2 * k; }),
                             picked(v, v, half, [](std::int64_t k) { return 2 * k + 1; }), slot);
    const Vector turned =
        picked(a, b, size, [&](std::int64_t k) { return k / 2 + (k % 2) * half; });
    const std::optional<Boolean> turns =
        lane_.lanes(lane_.shape().slots[slot].from, lane_.shape().slots[slot].to);
    return turns ? select(Vector::splat(*turns, size), turned, v) : turned;
  }
  const HeadLane &lane_;
  std::vector<std::optional<Vector>> cos_, sin_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
