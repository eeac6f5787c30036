// The border between the layout algebra's errors and the eDSL's.
#pragma once

#include "layout/error.h"

#include <flydsl/detail/handle.h>
#include <flydsl/error.h>

namespace flydsl::builder {

/// fn(), its LayoutError as a TraceError at the user's call.
template <class Fn> decltype(auto) layoutErrorsAt(Loc loc, Fn &&fn) {
  try {
    return fn();
  } catch (const layout::LayoutError &e) {
    throw TraceError(e.what(), loc);
  }
}

} // namespace flydsl::builder
