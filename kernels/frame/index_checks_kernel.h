// The traced part of checked plans: the kernel that looks at indices, and what ends the others.
#pragma once

#include "frame/index_rows.h"

#include <flydsl/flydsl.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Traces the body of the kernel that checks these rows.
void traceIndexChecks(const std::vector<IndexRule> &rules,
                      const IndexCheckParams<OnDevice> &params);
/// Ends the kernel for all threads if the check of its call failed.
void exitIfMarked(const Int64 &lane, const Int64 &ticket);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
