#include "jit/compile/rocm/schedule/group_order.h"

#include <limits>

namespace flydsl::jit {

namespace {

using Members = llvm::SmallVector<unsigned, 4>;
using Edge = std::pair<unsigned, unsigned>;

/// Chooses the groups of one pipeline's instructions. The graph gets the edges of the choice.
class Placement {
public:
  Placement(Reachability &graph, const GroupPipeline &pipeline)
      : graph_(graph), pipeline_(pipeline), members_(pipeline.groups.size()),
        placed_(graph.size()) {}

  std::vector<Members> run() {
    for (const GroupCandidate &candidate : pipeline_.candidates)
      place(candidate);
    return std::move(members_);
  }

private:
  bool isFull(unsigned group) const {
    return members_[group].size() >= pipeline_.groups[group].size;
  }

  void place(const GroupCandidate &candidate) {
    const unsigned node = candidate.node;
    // What is in an earlier group should come before the node, what is in a later one after it. An
    // order is broken where the graph says the opposite already.
    unsigned brokenByEarlier = 0, earlierGroups = 0;
    NodeSet later = placed_;
    NodeSet bound(
        graph_.size()); // what comes before the node, or would by the orders of earlier ones
    bound.add(graph_.before(node));
    unsigned best = 0, bestCost = std::numeric_limits<unsigned>::max();
    for (unsigned group : candidate.groups) {
      if (isFull(group))
        continue;
      for (; earlierGroups < group; ++earlierGroups)
        for (unsigned member : members_[earlierGroups]) {
          later.reset(member);
          if (graph_.reaches(node, member))
            ++brokenByEarlier;
          else
            bound.add(graph_.before(member));
        }
      NodeSet others = later;
      for (unsigned member : members_[group])
        others.reset(member);
      const unsigned cost = brokenByEarlier + others.common(bound);
      if (cost < bestCost) {
        best = group;
        bestCost = cost;
      }
      if (cost == 0)
        break;
    }
    if (bestCost != std::numeric_limits<unsigned>::max())
      put(node, best);
  }

  /// The nearest groups come first: most orders with the others follow from theirs.
  void put(unsigned node, unsigned group) {
    for (unsigned earlier = group; earlier-- > 0;)
      for (unsigned member : members_[earlier])
        if (!graph_.reaches(node, member))
          graph_.add(member, node);
    for (unsigned later = group + 1; later < members_.size(); ++later)
      for (unsigned member : members_[later])
        if (!graph_.reaches(member, node))
          graph_.add(node, member);
    members_[group].push_back(node);
    placed_.set(node);
  }

  Reachability &graph_;
  const GroupPipeline &pipeline_;
  std::vector<Members> members_;
  NodeSet placed_; ///< what is in some group
};

/// What goes to the groups of a pipeline.
struct PlacedPipeline {
  const std::vector<OrderedGroup> &groups;
  std::vector<Members> members;

  /// Calls `order(from, to)` for what a group and one `distance` behind it ask for.
  template <class Order> void visit(std::size_t first, std::size_t distance, Order order) const {
    const std::size_t second = first + distance;
    for (unsigned from : members[first])
      order(from, groups[second].barrier);
    if (distance != 0)
      for (unsigned to : members[second])
        for (unsigned from : members[first])
          order(from, to);
  }
};

/// Adds all orders, those of the nearest groups first: most of them imply the others. False if two
/// contradict each other.
bool addNearestFirst(Reachability &graph, const std::vector<PlacedPipeline> &pipelines,
                     std::vector<Edge> &edges) {
  bool agree = true;
  auto order = [&](unsigned from, unsigned to) {
    if (from == to || graph.reaches(from, to))
      return;
    agree &= !graph.reaches(to, from);
    if (agree) {
      graph.add(from, to);
      edges.push_back({from, to});
    }
  };
  for (const PlacedPipeline &pipeline : pipelines)
    for (std::size_t distance = 0; distance < pipeline.groups.size(); ++distance)
      for (std::size_t first = 0; agree && first + distance < pipeline.groups.size(); ++first)
        pipeline.visit(first, distance, order);
  return agree;
}

/// Adds the orders as LLVM does: all those of a group with later ones, from the first group to the
/// last, each unless the ones before contradict it.
std::vector<Edge> addGroupByGroup(Reachability graph,
                                  const std::vector<PlacedPipeline> &pipelines) {
  std::vector<Edge> edges;
  auto order = [&](unsigned from, unsigned to) {
    if (from == to || graph.reaches(from, to) || graph.reaches(to, from))
      return;
    graph.add(from, to);
    edges.push_back({from, to});
  };
  for (const PlacedPipeline &pipeline : pipelines)
    for (std::size_t group = 0; group < pipeline.groups.size(); ++group)
      pipeline.visit(group, 0, order);
  for (const PlacedPipeline &pipeline : pipelines)
    for (std::size_t first = 0; first < pipeline.groups.size(); ++first)
      for (std::size_t distance = 1; first + distance < pipeline.groups.size(); ++distance)
        pipeline.visit(first, distance, order);
  return edges;
}

} // namespace

std::vector<Edge> edgesOfGroups(const Reachability &graph,
                                const std::vector<GroupPipeline> &pipelines) {
  std::vector<PlacedPipeline> placed;
  Reachability scratch = graph;
  for (const GroupPipeline &pipeline : pipelines)
    placed.push_back({pipeline.groups, Placement(scratch, pipeline).run()});
  scratch = graph;
  std::vector<Edge> edges;
  if (addNearestFirst(scratch, placed, edges))
    return edges;
  return addGroupByGroup(graph, placed);
}

} // namespace flydsl::jit
