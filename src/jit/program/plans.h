// The plans that a program keeps, with kernels that are ready to be launched.
#pragma once

#include "jit/program/plan.h"
#include "runtime/loaded_kernel.h"
#include "runtime/per_device.h"

#include <flydsl/host/launch.h>

#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace flydsl::jit {

/// A kernel on a device, and how its argument buffer is made.
struct ReadyLaunch {
  const runtime::LoadedKernel *kernel;
  PackedOperands operands;
};

/// A launch of a plan. Its kernel is ready on the devices that it was launched on.
struct KeptLaunch {
  explicit KeptLaunch(PlannedLaunch planned);

  const PlannedLaunch planned;
  const LaunchConfig config; ///< without the stream
  mutable runtime::PerDevice<ReadyLaunch> ready{runtime::kMaxDevices};
};

/// A plan, and the bytes that decided.
struct KeptPlan : std::enable_shared_from_this<KeptPlan> {
  KeptPlan(std::string key, Plan plan);

  const std::string key;
  std::vector<std::unique_ptr<const KeptLaunch>> launches;
};

/// The plans of one function. Calls that agree in the bytes that decide have one plan. A thread
/// remembers the plans of its last calls, and finds those without a lock.
class Plans {
public:
  explicit Plans(const HostFunction &function);
  Plans(const Plans &) = delete;
  Plans &operator=(const Plans &) = delete;

  /// The plan of a call with these bytes; null where none is kept. It lives at least until this
  /// thread calls `find` or `keep` of any Plans again.
  const KeptPlan *find(std::span<const std::byte> call) const;
  /// Keeps a plan, for as long as `find` says. Where another thread has kept one meanwhile, that
  /// one is returned.
  const KeptPlan &keep(std::span<const std::byte> call, Plan plan);
  std::size_t size() const;

private:
  bool decide(const KeptPlan &plan, std::span<const std::byte> call) const;
  std::uint64_t hashOf(std::span<const std::byte> call) const;
  std::string keyOf(std::span<const std::byte> call) const;

  const std::uint64_t serial_; ///< no other object of this process has or had it
  std::vector<Piece> deciding_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const KeptPlan>> plans_;
};

} // namespace flydsl::jit
