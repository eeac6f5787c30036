// How a kernel is launched: dimensions, dynamic shared memory, stream.
#pragma once

#include <flydsl/stream.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

FLYDSL_NAMESPACE_BEGIN

/// Extents in x, y and z; what is not given is 1. Made from any integers: `.grid = {gm, gn}`,
/// `.block = 128`. A value that 64 bits do not hold stays out of every limit, and the launch says
/// so.
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

/// One launch. The workgroup size is known to the compiler: each size is a kernel of its own.
struct LaunchConfig {
  Dim3 grid = {}; ///< workgroups
  /// Work-items of a workgroup; at most Target::max_block_size(). Where it is not given (0), the
  /// size that the kernel was compiled for or its hint names; a TraceError where neither does.
  Dim3 block = 0;
  /// Bytes of dynamic shared memory, beside what the kernel declares. A TraceError where they are
  /// fewer than the kernel was traced to use.
  std::size_t smem = 0;
  StreamRef stream = {}; ///< an fx::Stream or a hipStream_t; none: the default stream
  Dim3 cluster = {};     ///< workgroups of a cluster, on targets that have clusters
  /// A grid with an extent of 0 is a launch of nothing; otherwise it is a TraceError.
  bool allow_empty = false;
};

FLYDSL_NAMESPACE_END
