// What runs for a part of the threads, if they are not all.
#pragma once

#include <flydsl/flydsl.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Runs `body` where the guard holds; without one, always.
template <class Body> void where(const std::optional<Boolean> &guard, Body body) {
  if (guard)
    if_(*guard, body);
  else
    body();
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
