// The parameters of a launch: dimensions, dynamic shared memory, stream.
#pragma once

#include <flydsl/host/stream.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

FLYDSL_NAMESPACE_BEGIN

/// Extents in x, y and z; an extent that is not given is 1. It is made from any integers: `.grid =
/// {gm, gn}`, `.block = 128`. A value too large for a signed 64-bit integer becomes the largest
/// one, so that it exceeds every limit and the launch reports it.
struct Dim3 {
  std::int64_t x = 1, y = 1, z = 1;

  constexpr Dim3() = default;
  template <std::integral X> constexpr Dim3(X x) : x(wide(x)) {}
  template <std::integral X, std::integral Y> constexpr Dim3(X x, Y y) : x(wide(x)), y(wide(y)) {}
  template <std::integral X, std::integral Y, std::integral Z>
  constexpr Dim3(X x, Y y, Z z) : x(wide(x)), y(wide(y)), z(wide(z)) {}
  friend constexpr bool operator==(const Dim3 &, const Dim3 &) = default;

private:
  template <class T> static constexpr std::int64_t wide(T value) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t))
      return value > static_cast<T>(std::numeric_limits<std::int64_t>::max())
                 ? std::numeric_limits<std::int64_t>::max()
                 : static_cast<std::int64_t>(value);
    else
      return value;
  }
};

/// The parameters of one launch. The compiler knows the workgroup size: each size makes a kernel of
/// its own.
struct LaunchConfig {
  Dim3 grid = {}; ///< workgroups
  /// The number of work-items of a workgroup, at most Target::max_block_size(). 0: the size that
  /// the kernel was compiled for or that its hint names; a TraceError if neither names one.
  Dim3 block = 0;
  /// The number of bytes of dynamic shared memory, in addition to what the kernel declares. It is a
  /// TraceError if the kernel was traced to use more.
  std::size_t smem = 0;
  StreamRef stream = {}; ///< an fx::Stream or a hipStream_t; {}: the default stream
  /// The number of workgroups of a cluster along each dimension, on targets that have clusters
  /// (gfx1250): they run at the same time, and may meet at fx::rocdl::cluster_barrier(). Each divides
  /// the grid's, and a cluster has 16 workgroups at most; anything else is a TraceError.
  Dim3 cluster = {};
  /// If true, a launch of a grid with an extent of 0 does nothing; otherwise it is a TraceError.
  bool allow_empty = false;
};

FLYDSL_NAMESPACE_END
