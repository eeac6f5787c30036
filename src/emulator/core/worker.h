// The threads of a launch: each runs workgroups, one after another, or several in turns where they
// wait for each other.
#pragma once

#include "emulator/core/dispatch.h"
#include "emulator/core/group.h"
#include "emulator/core/observer.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

namespace flyemu {

/// One launch as its threads see it.
struct Launch {
  Launch(const Dispatch &d, const Options &o, const MemoryMap &m, const Program &p, Watch *w)
      : dispatch(d), options(o), memory(m), program(p), watch(w) {}

  const Dispatch &dispatch;
  const Options &options;
  const MemoryMap &memory;
  const Program &program;
  Watch *const watch; ///< null if nobody watches
  uint64_t packet = 0;
  unsigned lanes = 64, wavesOfGroup = 1;
  uint32_t ldsBytes = 0;
  uint64_t groups = 1;
  uint32_t clusterGroups = 1;      ///< workgroups of a cluster, which one thread runs
  uint64_t resident = 1;           ///< the most workgroups in execution at a time
  std::atomic<uint64_t> next{0};   ///< the next workgroup, or cluster, to start
  std::atomic<uint64_t> active{0}; ///< workgroups in execution
  std::atomic<uint64_t> ended{0};  ///< workgroups that are done
  std::atomic<bool> failed{false};
  std::atomic<bool> noticed{false}; ///< somebody has told that the launch takes long
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  GridBarrier grid;
  std::mutex mutex;
  DispatchResult result;

  /// What is started as one: clusters, or workgroups where there are none.
  uint64_t units() const { return groups / clusterGroups; }
};

/// Runs workgroups until none is left or one has failed.
void runWorker(Launch &launch);

} // namespace flyemu
