#include "emulator/core/cluster.h"

#include "emulator/core/wave.h"

#include <algorithm>
#include <bit>
#include <string>

namespace flyemu {

void Cluster::signal(uint32_t rank) {
  if (signals_[rank] != rounds_)
    throw WaveFault{
        "a workgroup signals at the barrier of its cluster again, before the others have: "
        "one wave of each workgroup signals"};
  ++signals_[rank];
  rounds_ = *std::min_element(signals_.begin(), signals_.end());
}

void Cluster::request(uint32_t rank, const Multicast &load) {
  if (load.workgroups >> groups_)
    throw WaveFault{"a load for workgroup " + std::to_string(std::bit_width(load.workgroups) - 1) +
                    " of a cluster of " + std::to_string(groups_)};
  if (!(load.workgroups >> rank & 1))
    throw WaveFault{"workgroup " + std::to_string(rank) +
                    " of the cluster loads for others, and not for itself: each workgroup of the "
                    "mask makes the same request"};
  ++requests_[load][rank];
}

void Cluster::checkRequests() const {
  for (const auto &[load, counts] : requests_) {
    uint64_t most = 0;
    for (uint64_t count : counts)
      most = std::max(most, count);
    for (uint32_t rank = 0; rank < groups_; ++rank)
      if (load.workgroups >> rank & 1 && counts[rank] != most)
        throw WaveFault{"a load to " + std::string(load.intoLds ? "LDS byte " : "lane ") +
                        std::to_string(load.place) +
                        " was asked for by other workgroups of the cluster for workgroup " +
                        std::to_string(rank) + " too, which asked for it " +
                        std::to_string(counts[rank]) + " times, not " + std::to_string(most) +
                        ": each workgroup of the mask makes the same request"};
  }
}

} // namespace flyemu
