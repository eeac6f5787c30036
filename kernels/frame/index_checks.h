// The host's part of checked plans: the memory in which calls that failed are marked and reported,
// and the error.
//
// A check must not stop the process: a trap in a kernel is an error of HIP's context that stays, and an
// engine would lose all of its requests for the mistake of one. So the check marks the call, the
// call's kernels end before they read or write anything, and the report goes to pinned memory,
// where the next call of the plan, or Plan::check, finds it without a copy.
#pragma once

#include "frame/index_rows.h"

#include <flydsl/host/device_array.h>
#include <flydsl/host/host_memory.h>
#include <flydsl/kernels/plan.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The state of one checked plan. All functions may be called by several threads.
class IndexChecks {
public:
  /// Takes the memory of the current device if there is one.
  IndexChecks(std::string_view family, std::vector<IndexRule> rules);

  /// Fills in what a new call's check takes besides the rows, and gives what the call's kernels
  /// take. The first call on a device takes memory there.
  IndexTicket begin(StreamRef stream, IndexCheckParams<OnHost> &params,
                    const std::source_location &where);
  /// Throws IndexError if a call failed since the last error.
  void expectNone(const std::source_location &where);

private:
  void makeReport(const std::source_location &where);
  DeviceArray<std::int64_t> &wordsOf(int device, const std::source_location &where);
  [[noreturn]] void fail(const std::array<std::int64_t, kReportWords> &report,
                         const std::source_location &where) const;

  std::string_view family_;
  std::vector<IndexRule> rules_;
  std::mutex mutex_;
  std::atomic<std::int64_t> calls_ = 0;
  std::optional<HostMemory> report_;
  std::atomic<std::int64_t *> words_ = nullptr; ///< of the report, once it is there
  std::int64_t told_ = 0;                       ///< failed calls that errors told of
  std::map<int, DeviceArray<std::int64_t>> devices_;
};

/// Launches the check of a call before the first of its kernels. A family's arguments have been
/// checked then, and a call without rows launches neither.
class PendingCheck {
public:
  /// What the call's kernels take.
  const IndexTicket &started() {
    if (!ticket_)
      ticket_.emplace(start());
    return *ticket_;
  }

protected:
  ~PendingCheck() = default;
  virtual IndexTicket start() = 0;

private:
  std::optional<IndexTicket> ticket_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
