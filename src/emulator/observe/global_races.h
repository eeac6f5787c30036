// Races between workgroups in global memory, per byte; shared by the threads of a launch.
//
// Two accesses of different workgroups conflict (races() in touch.h) unless something orders them.
// What orders two workgroups is communication through memory: atomic operations, accesses with
// device or system scope, cache write-backs and invalidations. Each is a synchronization, and they
// have an order in time. An access by A comes before one by B if A has synchronized after it, and B
// after that. (Any synchronization counts as one with any other, so a race may be missed where
// workgroups also communicate; none is reported where they rightly do.)
#pragma once

#include "emulator/observe/function_ref.h"
#include "emulator/observe/lane_access.h"
#include "emulator/observe/touch.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace flyemu {

class GlobalRaces {
public:
  /// Called for each place of a conflict: the access made before, whether it wrote, the lanes that
  /// conflict with it, and the place.
  using Report = FunctionRef<void(const Touch &before, bool wrote, uint64_t lanes, uint64_t address,
                                  uint64_t bytes)>;
  /// Whose access it is.
  struct Owner {
    uint32_t inst, group, wave;
    uint32_t kind; ///< kAtomic and kExpectsWrites of Touch
  };

  /// A workgroup's part in the order of synchronizations; of the thread that runs it.
  struct GroupOrder {
    uint32_t last = 0;    ///< its last synchronization
    bool touched = false; ///< whether it has touched memory since
  };

  uint32_t now() const { return time_.load(std::memory_order_relaxed); }
  void synchronize(uint32_t group, GroupOrder &order);

  /// Notes an access.
  void access(const Owner &owner, const GroupOrder &order, const LaneAccess &access,
              const Report &report);

private:
  static constexpr uint64_t kPage = 65536;
  static constexpr size_t kShards = 64;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, Histories> pages;
  };

  /// What of a place's history an access races with; null if nothing.
  const Touch *conflictOf(const History &history, const Touch &touch, const GroupOrder &order,
                          bool write) const;
  bool ordered(const Touch &before, const GroupOrder &now) const;

  std::atomic<uint32_t> time_{0};
  std::array<Shard, kShards> shards_;
  mutable std::mutex timesMutex_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> times_; ///< of each workgroup, ascending
};

} // namespace flyemu
