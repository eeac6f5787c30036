// A loop of the matrix products' kind: as many turns as are known while tracing, at least one.
#pragma once

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Runs `body(first)` for first = 0, stride, 2 * stride and so on, below `end`, which is positive.
///
/// LLVM knows neither the number of turns nor what `first` will be: the test stands at the
/// end, and the variable is a vector of one element to it. Of a loop that it knows, with
/// vectors of bytes, it copies the fragments that live from turn to turn at each turn, keeps
/// addresses of the wave in lanes, or unrolls all turns. The price are two to five scalar
/// instructions a turn, which compute offsets.
template <class Body> void turns(std::int32_t end, std::int32_t stride, Body body) {
  Var<Int32> first(0);
  while_(
      [&] {
        body(Int32(first));
        first += stride;
        return first < end;
      },
      [] {});
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
