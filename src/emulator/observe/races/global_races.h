// Races in global memory, per byte, between workgroups and between the waves of one; shared by the
// threads of a launch.
//
// Two accesses conflict (races() in touch.h) unless something orders them. The rule is LLVM's memory
// model for AMDGPU (AMDGPUUsage, "Memory Model"), read off the instructions that fences become, and
// docs/memory-order.md tells it to users. An access by workgroup A comes before one by workgroup B if
//
//   1. A releases it: it writes its caches back to where the device sees them. Where caches of the
//      first level write through (ReleaseBy::Access), a store has done so by itself.
//   2. A then publishes it by a write of device scope: an atomic operation, a store of a wide scope.
//   3. B later reads by a read of device scope: an atomic operation, a load of a wide scope.
//   4. B then acquires: it invalidates its caches for the device. A read that itself has device scope
//      needs no acquire.
//
// What A publishes gets its time before the instruction runs, and what B has seen gets it afterwards,
// so that B's time is the later one whenever B has read what A wrote, on whichever threads they run.
// Two atomic operations on one place may be noted in the other order than they run in. So an atomic
// write counts as published by itself: whoever has looked since may write the place, by a plain store
// too, and may read it after an acquire.
// Any publication counts as one for any reader, so a race may be missed where workgroups communicate
// at other places too; none is reported where they rightly do.
//
// The waves of a workgroup are ordered by its barriers. Waves that both synchronize after the first
// access, by an atomic operation or a fence of any scope, count as ordered too.
#pragma once

#include "emulator/isa/machine.h"
#include "emulator/observe/function_ref.h"
#include "emulator/observe/lane_access.h"
#include "emulator/observe/races/history_pages.h"

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace flyemu {

/// What a workgroup must do so that others may see what it has written, besides publishing it.
enum class ReleaseBy : uint8_t {
  WriteBack,   ///< caches keep what is written until they are told to write it back
  Publication, ///< nothing: stores go on to where the device sees them
  Access,      ///< nothing, and a publication may look like a plain store
};

inline ReleaseBy releaseBy(const Machine &machine) {
  const bool isCdna2 = machine.processor->family == flydsl::Family::cdna2;
  if (machine.encoding == Encoding::Gfx9 && !isCdna2)
    return ReleaseBy::WriteBack;
  // A relaxed atomic store of device scope is a plain store on gfx90a and gfx11.
  return machine.encoding == Encoding::Gfx11 || isCdna2 ? ReleaseBy::Access
                                                        : ReleaseBy::Publication;
}
/// Whether instructions of fences say how far they reach.
inline bool hasScopedFences(const Machine &machine) {
  return machine.encoding == Encoding::Gfx12 || releaseBy(machine) == ReleaseBy::WriteBack;
}

class GlobalRaces {
public:
  explicit GlobalRaces(ReleaseBy releaseBy) : releaseBy_(releaseBy) {}

  /// What is missing for one access to come before another.
  enum class Missing : uint8_t { Nothing, Publication, Look, Acquire, Barrier };

  /// Called for each place of a conflict: the access made before, whether it wrote, what orders
  /// them not, the lanes that conflict with it, and the place.
  using Report = FunctionRef<void(const Touch &before, bool wrote, Missing missing, uint64_t lanes,
                                  uint64_t address, uint64_t bytes)>;
  /// Whose access it is.
  struct Owner {
    uint32_t inst, group, wave;
    uint32_t kind; ///< kAtomic and kExpectsWrites of Touch
  };

  /// A workgroup's part in the order of accesses; of the thread that runs it.
  struct GroupOrder {
    bool touched = false;               ///< whether it has touched memory since it released
    uint32_t released = 0;              ///< accesses made before this time have been released
    uint32_t published = 0;             ///< and before this one, published
    uint32_t seen = 0;                  ///< it has seen what was published up to here
    uint32_t acquired = 0;              ///< and may read it
    uint32_t barrier = 0;               ///< the time of its last barrier
    std::vector<uint32_t> synchronized; ///< of each wave, the time of its last synchronization
  };

  /// A workgroup starts.
  void begin(GroupOrder &order, size_t waves) const {
    order = {};
    order.barrier = now();
    order.synchronized.assign(waves, 0);
  }
  /// Caches are written back for the device.
  void release(GroupOrder &order);
  /// Called before a write of device scope runs.
  void publish(uint32_t group, GroupOrder &order);
  /// Called after a read of device scope has run.
  void look(GroupOrder &order);
  /// Caches are invalidated for the device.
  void acquire(GroupOrder &order) const { order.acquired = order.seen; }
  /// All waves of the workgroup have come to a barrier.
  void barrier(GroupOrder &order) { order.barrier = tick(); }
  /// A wave does something by which waves of one workgroup may order themselves.
  void synchronize(GroupOrder &order, unsigned wave) const { order.synchronized[wave] = now() + 1; }

  /// Notes an access.
  void access(const Owner &owner, const GroupOrder &order, const LaneAccess &access,
              const Report &report);

private:
  static constexpr size_t kShards = 64;
  /// What open histories may take, of all pages together.
  static constexpr size_t kOpenMemory = size_t(2) << 30;
  struct Shard {
    std::mutex mutex;
    HistoryPages pages{kOpenMemory / kShards};
  };
  /// What was made before the time `covers` was published at the time `at`.
  struct Publication {
    uint32_t covers, at;
  };

  uint32_t now() const { return time_.load(std::memory_order_acquire); }
  uint32_t tick() { return time_.fetch_add(1) + 1; }
  /// What of a place's history an access races with; null if nothing.
  const Touch *conflictOf(const History &history, const Touch &touch, const GroupOrder &order,
                          bool write, Missing &missing) const;
  Missing orderOf(const Touch &before, bool wrote, const Touch &touch, bool writes,
                  const GroupOrder &order) const;
  /// When an access was published; none if it was not yet.
  std::optional<uint32_t> publicationOf(const Touch &touch, bool publishesItself) const;

  const ReleaseBy releaseBy_;
  std::atomic<uint32_t> time_{1}; ///< later than the 0 of who has seen nothing
  std::array<Shard, kShards> shards_;
  mutable std::mutex publicationsMutex_;
  std::unordered_map<uint32_t, std::vector<Publication>> publications_; ///< of each workgroup
};

} // namespace flyemu
