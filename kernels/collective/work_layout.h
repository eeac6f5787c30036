// Where the numbers lie by which blocks of a launch share roles (collective/work_numbers.h).
#pragma once

#include <flydsl/host/device.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// In i32: tickets of two launches, the count of tickets that are done, and how far each teller is.
/// Each lies in a line of caches of its own, but for the tellers.
struct WorkLayout {
  static constexpr int kLine = 32, kTickets[2] = {0, kLine}, kDone = 2 * kLine, kTold = 3 * kLine,
                       kMostTellers = 128, kWords = kTold + kMostTellers;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
