// A plan that a thread remembers is named by the serial number of its owner, so that one of an
// owner that is gone is never taken for another's.
#include "jit/program/plans.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>

namespace flydsl::jit {
namespace {

/// The most plans that a function keeps; a call beyond them begins anew.
constexpr std::size_t kMostPlans = 4096;

std::uint64_t nextSerial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// A plan that this thread has used.
struct Remembered {
  std::uint64_t owner = 0;
  std::shared_ptr<const KeptPlan> plan;
};

/// The plan of that hash, or another one that was used later.
Remembered &remembered(std::uint64_t owner, std::uint64_t hash) {
  constexpr std::size_t count = 16;
  thread_local std::array<Remembered, count> all;
  return all[(hash + owner) % count];
}

Dim3 dim3(const std::array<std::int64_t, 3> &extents) {
  return Dim3(extents[0], extents[1], extents[2]);
}

LaunchConfig configOf(const PlannedLaunch &launch) {
  LaunchConfig config;
  config.grid = dim3(launch.grid);
  config.block = dim3(launch.block);
  config.cluster = dim3(launch.cluster);
  config.smem = static_cast<std::size_t>(launch.smem); // that is not negative is checked
  return config;
}

} // namespace

KeptLaunch::KeptLaunch(PlannedLaunch launch)
    : planned(std::move(launch)), config(configOf(planned)) {}

KeptPlan::KeptPlan(std::string key, Plan plan) : key(std::move(key)) {
  for (PlannedLaunch &launch : plan)
    launches.push_back(std::make_unique<const KeptLaunch>(std::move(launch)));
}

Plans::Plans(const HostFunction &function) : serial_(nextSerial()) {
  for (const Slot &slot : function.slots) {
    if (!slot.decides)
      continue;
    if (!deciding_.empty() && deciding_.back().offset + deciding_.back().size == slot.piece.offset)
      deciding_.back().size += slot.piece.size;
    else
      deciding_.push_back(slot.piece);
  }
}

bool Plans::decide(const KeptPlan &plan, std::span<const std::byte> call) const {
  const char *key = plan.key.data();
  for (const Piece &piece : deciding_) {
    if (std::memcmp(key, call.data() + piece.offset, piece.size) != 0)
      return false;
    key += piece.size;
  }
  return true;
}

std::uint64_t Plans::hashOf(std::span<const std::byte> call) const {
  std::uint64_t sum = 0;
  for (const Piece &piece : deciding_)
    for (std::size_t at = 0; at < piece.size; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, call.data() + piece.offset + at,
                  std::min<std::size_t>(8, piece.size - at));
      sum = std::rotl(sum, 11) + word * 0x9e3779b97f4a7c15u;
    }
  return sum ^ sum >> 32;
}

std::string Plans::keyOf(std::span<const std::byte> call) const {
  std::string key;
  for (const Piece &piece : deciding_)
    key.append(reinterpret_cast<const char *>(call.data()) + piece.offset, piece.size);
  return key;
}

const KeptPlan *Plans::find(std::span<const std::byte> call) const {
  Remembered &last = remembered(serial_, hashOf(call));
  if (last.owner == serial_ && decide(*last.plan, call)) [[likely]]
    return last.plan.get();
  std::shared_lock lock(mutex_);
  const auto found = plans_.find(keyOf(call));
  if (found == plans_.end())
    return nullptr;
  last = {serial_, found->second};
  return last.plan.get();
}

const KeptPlan &Plans::keep(std::span<const std::byte> call, Plan plan) {
  std::lock_guard lock(mutex_);
  if (plans_.size() >= kMostPlans)
    plans_.clear();
  const std::string key = keyOf(call);
  auto [at, isNew] = plans_.try_emplace(key);
  if (isNew)
    at->second = std::make_shared<const KeptPlan>(key, std::move(plan));
  Remembered &last = remembered(serial_, hashOf(call));
  last = {serial_, at->second};
  return *last.plan;
}

std::size_t Plans::size() const {
  std::shared_lock lock(mutex_);
  return plans_.size();
}

} // namespace flydsl::jit
