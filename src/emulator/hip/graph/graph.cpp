#include "emulator/hip/graph/graph.h"

#include "emulator/hip/device/device.h"

#include <algorithm>
#include <unordered_set>

namespace flyemu::hip {
namespace {

/// Appends a graph that begins after the steps `before`, and returns the step that stands for its
/// end.
uint32_t appendSteps(const Graph &graph, const std::vector<uint32_t> &before, GraphPlan &plan) {
  std::unordered_map<const GraphNode *, uint32_t> stepOf;
  std::unordered_set<uint32_t> last;
  for (const GraphNode *node : graph.ordered()) {
    std::vector<uint32_t> dependencies =
        node->dependencies.empty() ? before : std::vector<uint32_t>();
    for (const GraphNode *dependency : node->dependencies) {
      dependencies.push_back(stepOf.at(dependency));
      last.erase(stepOf.at(dependency));
    }
    const uint32_t step = node->child ? appendSteps(*node->child, dependencies, plan)
                                      : plan.add(node->operation, dependencies);
    stepOf[node] = step;
    last.insert(step);
  }
  if (last.empty())
    return plan.add(EmptyOperation(), before);
  return plan.add(EmptyOperation(), {last.begin(), last.end()});
}

} // namespace

Graph::~Graph() {
  for (const auto &node : nodes)
    Runtime::get().graphNodes.take(node.get());
}

GraphNode *Graph::add(hipGraphNodeType type, Operation operation,
                      std::vector<GraphNode *> dependencies) {
  for (const GraphNode *dependency : dependencies)
    require(dependency->owner == this, "a dependency is a node of another graph");
  auto node = std::make_shared<GraphNode>();
  node->type = type;
  node->operation = std::move(operation);
  node->dependencies = std::move(dependencies);
  node->owner = this;
  nodes.push_back(node);
  Runtime::get().graphNodes.add(node);
  return node.get();
}

std::vector<GraphNode *> Graph::ordered() const {
  std::unordered_map<const GraphNode *, size_t> missing;
  std::unordered_map<const GraphNode *, std::vector<GraphNode *>> dependents;
  std::vector<GraphNode *> result;
  for (const auto &node : nodes) {
    missing[node.get()] = node->dependencies.size();
    for (const GraphNode *dependency : node->dependencies)
      dependents[dependency].push_back(node.get());
    if (node->dependencies.empty())
      result.push_back(node.get());
  }
  for (size_t i = 0; i < result.size(); ++i)
    for (GraphNode *dependent : dependents[result[i]])
      if (--missing[dependent] == 0)
        result.push_back(dependent);
  require(result.size() == nodes.size(), "the graph's dependencies have a cycle");
  return result;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const GraphNode *, GraphNode *> copies;
  for (const auto &node : nodes) {
    GraphNode *twin = copy->add(node->type, node->operation, {});
    twin->child = node->child ? node->child->clone() : nullptr;
    twin->origin = node.get();
    twin->kernelParams = node->kernelParams;
    twin->copyParams = node->copyParams;
    twin->fillParams = node->fillParams;
    twin->hostParams = node->hostParams;
    copies[node.get()] = twin;
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    for (GraphNode *dependency : nodes[i]->dependencies)
      copy->nodes[i]->dependencies.push_back(copies.at(dependency));
  return copy;
}

GraphExec::GraphExec(const Graph &graph) : source(graph.clone()) { rebuild(); }

GraphNode &GraphExec::copyOf(const GraphNode *original) {
  for (const auto &node : source->nodes)
    if (node->origin == original)
      return *node;
  fail(hipErrorInvalidValue, "the node is not in the graph that was instantiated");
}

void GraphExec::rebuild() {
  auto made = std::make_shared<GraphPlan>();
  appendSteps(*source, {}, *made);
  plan = std::move(made);
}

} // namespace flyemu::hip
