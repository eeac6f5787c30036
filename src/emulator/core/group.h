// A workgroup in execution.
#pragma once

#include "emulator/core/cluster.h"
#include "emulator/core/named_barriers.h"
#include "emulator/core/wave.h"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace flyemu {

struct Dispatch;
struct Options;

/// Memory that a thread keeps from workgroup to workgroup: register files, LDS, scratch.
class GroupStorage {
public:
  /// The register file of wave `index`, whose first registers of each kind are zero.
  uint32_t *registers(const Machine &machine, unsigned index, unsigned vgprs, unsigned accVgprs);
  uint8_t *lds(size_t bytes);
  uint8_t *scratch(unsigned index, size_t bytes);

private:
  struct Free {
    void operator()(void *p) const;
  };
  using Block = std::unique_ptr<void, Free>;
  struct Sized {
    Block block;
    size_t bytes = 0;
  };
  static void *reserve(Sized &s, size_t bytes);
  std::vector<Sized> files_, scratches_;
  Sized ldsBlock_;
};

/// The barrier of all workgroups of a cooperative launch (GWS resource 0), shared by its threads.
struct GridBarrier {
  bool exists = false;              ///< cooperative launches have one
  std::atomic<uint64_t> arrived{0}; ///< since the launch began
};

struct Group {
  std::array<uint32_t, 3> id = {};
  uint64_t number = 0; ///< in the order of the launch
  unsigned dies = 0;   ///< of the device, to which workgroups go in turn; 0: of the default product
  GridBarrier *grid = nullptr;
  std::vector<Wave> waves;
  unsigned barrierSignals = 0;      ///< of the split barrier's current round
  std::shared_ptr<Cluster> cluster; ///< null: the launch has none
  uint32_t rank = 0;                ///< the workgroup's number in its cluster
  /// Of each wave: the rounds of the cluster's barrier that it has waited for, with the one that it
  /// waits for now. Empty without a cluster.
  std::vector<uint64_t> clusterWaits;
  NamedBarriers named;
  /// Whether the wave waits at the cluster's barrier.
  bool isHeldByCluster(const Wave &w) const {
    return cluster && clusterWaits[w.index] > cluster->rounds();
  }
  /// Whether the wave waits at the cluster's barrier or at a named one.
  bool isHeld(const Wave &w) const { return isHeldByCluster(w) || named.isHeld(w.index); }
};

} // namespace flyemu
