// The order that groups of a scheduling pipeline ask for (`sched_group_barrier`).
//
// A pipeline is a list of groups. Each takes up to some number of instructions of a kind out of
// those that stand above its barrier, and what one group took comes before what the next one took.
// Which instruction goes to which group is chosen greedily, as LLVM does it (AMDGPUIGroupLP.cpp):
// in the order of the instructions, each goes to the first group with room that costs the fewest
// broken orders. LLVM asks its graph anew for each pair of instructions whether one is reached from
// the other, by a search; with sets of bits the same choice takes a twentieth of the time.
#pragma once

#include "jit/compile/rocm/schedule/reachability.h"

#include "llvm/ADT/SmallVector.h"

#include <utility>
#include <vector>

namespace flydsl::jit {

/// A group of a pipeline.
struct OrderedGroup {
  unsigned barrier; ///< its barrier's node, which is told to come after what the group takes
  unsigned size;    ///< the most instructions that it takes
};

/// An instruction, and the groups of its pipeline that may take it, first to last.
struct GroupCandidate {
  unsigned node;
  llvm::SmallVector<unsigned, 8> groups;
};

/// One pipeline: its groups, first to last, and the instructions by their node's number.
struct GroupPipeline {
  std::vector<OrderedGroup> groups;
  std::vector<GroupCandidate> candidates;
};

/// The edges, each from an earlier node to a later one, that bring a graph into the order of the
/// pipelines as far as its own edges allow that. Most edges that others imply are left out.
std::vector<std::pair<unsigned, unsigned>>
edgesOfGroups(const Reachability &graph, const std::vector<GroupPipeline> &pipelines);

} // namespace flydsl::jit
