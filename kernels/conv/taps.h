// Which taps of a filter a tile of a convolution has, and what they read. A convolution has all taps.
// The elements of y of a transposed one are computed by phases: y[o] gets weight[r] x[i] where
//
//   o = i stride + r dilation - before,
//
// so the elements o with the same remainder by the stride have the same taps. With g the greatest
// common divisor of stride and dilation, these are the taps r0, r0 + stride / g, r0 + 2 stride / g, ...,
// if g divides o + before, and none otherwise. From tap to tap i falls by dilation / g; from element
// to element of a phase it grows by 1. So a phase is a convolution without a stride whose taps go
// backwards, and no product is made with the zeros that a stride would put between the elements of x.
#pragma once

#include "conv/conv_family.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Along one dimension.
struct TapsOfAxis {
  int taps;    ///< of a window
  int stride;  ///< from the window of an element to that of the next, in elements of x
  int step;    ///< from tap to tap, in elements of x
  bool inside; ///< no window reaches out of its image
  int apart;   ///< from tap to tap, in taps of the filter
  Int32 start; ///< where the window of element 0 begins
  Int32 first; ///< the filter's tap that is tap 0
  std::optional<Int32> exist; ///< so many taps exist; none: all
};
using Taps = std::array<TapsOfAxis, kImageModes>;

inline Taps tapsOf(const ConvProblem &problem) {
  const auto along = [](const ConvAxis &axis) {
    return TapsOfAxis{.taps = axis.kernel,
                      .stride = axis.stride,
                      .step = axis.dilation,
                      .inside = axis.before == 0 && axis.after == 0,
                      .apart = 1,
                      .start = Int32(-axis.before),
                      .first = Int32(0),
                      .exist = {}};
  };
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  return {along(axes[0]), along(axes[1]), along(axes[2])};
}

/// Those of the elements of y that have a remainder by the stride along each dimension.
inline Taps tapsOfPhase(const ConvProblem &problem, const std::array<Int32, kImageModes> &phase) {
  const auto along = [](const ConvAxis &axis, const Int32 &remainder) {
    const PhasesOfAxis phases(axis);
    const Int32 end = counted(Int32(remainder + axis.before));
    const Int32 first = end / phases.common * phases.inverse % phases.apart;
    const Int32 left = counted(Int32(Int32(axis.kernel + phases.apart - 1) - first));
    const Int32 exist(select(end % phases.common == 0, left / phases.apart, 0));
    return TapsOfAxis{.taps = phases.taps,
                      .stride = 1,
                      .step = -axis.dilation / phases.common,
                      .inside = false,
                      .apart = phases.apart,
                      .start = Int32((end - first * axis.dilation) / axis.stride),
                      .first = first,
                      .exist = exist};
  };
  const std::array<ConvAxis, kImageModes> axes = axesOf(problem);
  return {along(axes[0], phase[0]), along(axes[1], phase[1]), along(axes[2], phase[2])};
}

/// A column of K: the channel of a tap.
struct TapOfColumn {
  std::array<Int32, kImageModes> tap;
  Int32 channel;

  static TapOfColumn of(const Int32 &column, const Taps &taps, int channels) {
    const Int32 number = counted(column);
    const Int32 tap = number / channels, t = tap % taps[2].taps, lines = tap / taps[2].taps;
    return {{Int32(lines / taps[1].taps), Int32(lines % taps[1].taps), t},
            Int32(number % channels)};
  }
  /// Whether the tap exists, given what else is asked.
  void addExisting(const Taps &taps, std::vector<Boolean> &tests) const {
    for (std::size_t mode = 0; mode < taps.size(); ++mode)
      if (taps[mode].exist)
        tests.push_back(Boolean(tests.back() & (tap[mode] < *taps[mode].exist)));
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
