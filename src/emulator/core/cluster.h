// A cluster of workgroups in execution (gfx1250): workgroups that run at the same time, meet at a
// barrier of their own, and ask for data that memory sends to several of them at once.
//
// Sources: the registers that LLVM's lowering of llvm.amdgcn.workgroup.id and
// llvm.amdgcn.cluster.workgroup.* reads; the code that it makes of llvm.amdgcn.s.cluster.barrier,
// and FlyDSL's cluster_barrier: one wave of each workgroup signals, all wait.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace flyemu {

struct Wave;

class Cluster {
public:
  /// Workgroups of a cluster at most: masks of them have 16 bits.
  static constexpr uint32_t kMostGroups = 16;

  explicit Cluster(const std::array<uint32_t, 3> &size)
      : size_(size), groups_(size[0] * size[1] * size[2]), signals_(groups_) {}

  const std::array<uint32_t, 3> &size() const { return size_; }
  uint32_t groups() const { return groups_; }

  /// A workgroup signals at the cluster's barrier. Throws WaveFault where it has signalled before,
  /// and not all others have since.
  void signal(uint32_t rank);
  /// How often all workgroups have signalled.
  uint64_t rounds() const { return rounds_; }

  /// A load that memory sends to the workgroups of a mask at once. Each of them makes the same
  /// request, and gets what it asked for.
  struct Multicast {
    uint32_t workgroups; ///< as bits
    uint64_t global;
    uint32_t place; ///< the byte of LDS, or the lane of a load into registers
    bool intoLds = true;
    std::array<uint32_t, 16> rows = {}; ///< of a gather
    auto operator<=>(const Multicast &) const = default;
  };
  /// Throws WaveFault where the mask names workgroups that are not there, or does not name the one
  /// that asks.
  void request(uint32_t rank, const Multicast &load);
  /// Called when all workgroups have ended. Throws WaveFault where a workgroup of a mask has not made
  /// the requests that another one has made for it.
  void checkRequests() const;

private:
  const std::array<uint32_t, 3> size_;
  const uint32_t groups_;
  std::vector<uint64_t> signals_; ///< of each workgroup
  uint64_t rounds_ = 0;
  std::map<Multicast, std::array<uint64_t, kMostGroups>> requests_; ///< how often by each workgroup
};

} // namespace flyemu
