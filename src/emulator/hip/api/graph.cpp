// Graphs: their making and structure, instantiation and launch.
#include "emulator/hip/device/hip_version.h"
#include "emulator/hip/stream/submit.h"

#include <algorithm>

using namespace flyemu::hip;

namespace {

std::shared_ptr<Graph> graphOf(hipGraph_t handle) {
  return Runtime::get().graphs.get(handle, "graph");
}
std::shared_ptr<GraphNode> nodeOf(hipGraphNode_t handle) {
  return Runtime::get().graphNodes.get(handle, "graph node");
}
hipGraphNode_t handleOf(GraphNode *node) { return reinterpret_cast<hipGraphNode_t>(node); }

/// HIP's way of returning a list: with no array the count alone, else as many as fit, rest null.
void giveList(const std::vector<GraphNode *> &list, hipGraphNode_t *nodes, size_t *count) {
  require(count, "no place for the count");
  if (nodes)
    for (size_t i = 0; i < *count; ++i)
      nodes[i] = i < list.size() ? handleOf(list[i]) : nullptr;
  *count = list.size();
}

hipError_t instantiate(const char *name, hipGraphExec_t *exec, hipGraph_t graph) {
  return api(name, [&] {
    require(exec, "no place for the result");
    *exec = nullptr;
    auto made = std::make_shared<GraphExec>(*graphOf(graph));
    *exec = reinterpret_cast<hipGraphExec_t>(Runtime::get().graphExecs.add(std::move(made)));
  });
}

hipGraphExecUpdateResult compareNode(const GraphNode &have, const GraphNode &want) {
  if (have.type != want.type)
    return hipGraphExecUpdateErrorNodeTypeChanged;
  const auto *a = std::get_if<KernelOperation>(&have.operation);
  const auto *b = std::get_if<KernelOperation>(&want.operation);
  if (a && b && a->function != b->function)
    return hipGraphExecUpdateErrorFunctionChanged;
  return hipGraphExecUpdateSuccess;
}

size_t indexOf(const Graph &graph, const GraphNode *node) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].get() == node)
      return i;
  return graph.nodes.size();
}

bool sameEdges(const Graph &a, const Graph &b, size_t i) {
  const auto &left = a.nodes[i]->dependencies, &right = b.nodes[i]->dependencies;
  if (left.size() != right.size())
    return false;
  for (size_t k = 0; k < left.size(); ++k)
    if (indexOf(a, left[k]) != indexOf(b, right[k]))
      return false;
  return true;
}

} // namespace

extern "C" {

hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags) {
  return api("hipGraphCreate", [&] {
    require(graph && flags == 0, "no place for the result, or flags are set");
    *graph = static_cast<hipGraph_t>(Runtime::get().graphs.add(std::make_shared<Graph>()));
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return api("hipGraphDestroy", [&] {
    if (!Runtime::get().graphs.take(graph))
      fail(hipErrorInvalidHandle, "not a live graph handle");
  });
}

hipError_t hipGraphClone(hipGraph_t *copy, hipGraph_t graph) {
  return api("hipGraphClone", [&] {
    require(copy, "no place for the result");
    *copy = static_cast<hipGraph_t>(Runtime::get().graphs.add(graphOf(graph)->clone()));
  });
}

hipError_t hipGraphNodeFindInClone(hipGraphNode_t *result, hipGraphNode_t original,
                                   hipGraph_t clone) {
  return api("hipGraphNodeFindInClone", [&] {
    require(result, "no place for the result");
    std::shared_ptr<GraphNode> wanted = nodeOf(original);
    for (const auto &node : graphOf(clone)->nodes)
      if (node->origin == wanted.get()) {
        *result = handleOf(node.get());
        return;
      }
    fail(hipErrorInvalidValue, "the graph is no clone that has this node");
  });
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
  return api("hipGraphGetNodes", [&] {
    std::vector<GraphNode *> list;
    for (const auto &node : graphOf(graph)->nodes)
      list.push_back(node.get());
    giveList(list, nodes, count);
  });
}

hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
  return api("hipGraphGetRootNodes", [&] {
    std::vector<GraphNode *> list;
    for (const auto &node : graphOf(graph)->nodes)
      if (node->dependencies.empty())
        list.push_back(node.get());
    giveList(list, nodes, count);
  });
}

hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t *nodes, size_t *count) {
  return api("hipGraphNodeGetDependencies",
             [&] { giveList(nodeOf(node)->dependencies, nodes, count); });
}

hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t handle, hipGraphNode_t *nodes,
                                         size_t *count) {
  return api("hipGraphNodeGetDependentNodes", [&] {
    std::shared_ptr<GraphNode> node = nodeOf(handle);
    std::vector<GraphNode *> list;
    for (const auto &other : node->owner->nodes)
      if (std::count(other->dependencies.begin(), other->dependencies.end(), node.get()))
        list.push_back(other.get());
    giveList(list, nodes, count);
  });
}

hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from, hipGraphNode_t *to,
                            size_t *count) {
  return api("hipGraphGetEdges", [&] {
    require(count && !from == !to, "no place for the count, or for one of two lists");
    std::vector<GraphNode *> sources, targets;
    for (const auto &node : graphOf(graph)->nodes)
      for (GraphNode *dependency : node->dependencies) {
        sources.push_back(dependency);
        targets.push_back(node.get());
      }
    size_t room = *count;
    giveList(sources, from, &room);
    giveList(targets, to, count);
  });
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type) {
  return api("hipGraphNodeGetType", [&] {
    require(type, "no place for the result");
    *type = graphNodeTypeOf(nodeOf(node)->type);
  });
}

hipError_t hipGraphAddDependencies(hipGraph_t handle, const hipGraphNode_t *from,
                                   const hipGraphNode_t *to, size_t count) {
  return api("hipGraphAddDependencies", [&] {
    require(!count || (from && to), "a list is null");
    std::shared_ptr<Graph> graph = graphOf(handle);
    for (size_t i = 0; i < count; ++i) {
      std::shared_ptr<GraphNode> source = nodeOf(from[i]), target = nodeOf(to[i]);
      require(source->owner == graph.get() && target->owner == graph.get() && source != target,
              "an edge leaves the graph or returns to its node");
      require(!std::count(target->dependencies.begin(), target->dependencies.end(), source.get()),
              "the edge exists already");
      target->dependencies.push_back(source.get());
    }
  });
}

hipError_t hipGraphRemoveDependencies(hipGraph_t handle, const hipGraphNode_t *from,
                                      const hipGraphNode_t *to, size_t count) {
  return api("hipGraphRemoveDependencies", [&] {
    require(!count || (from && to), "a list is null");
    std::shared_ptr<Graph> graph = graphOf(handle);
    for (size_t i = 0; i < count; ++i) {
      std::shared_ptr<GraphNode> source = nodeOf(from[i]), target = nodeOf(to[i]);
      require(target->owner == graph.get() && std::erase(target->dependencies, source.get()) == 1,
              "no such edge in the graph");
    }
  });
}

hipError_t hipGraphDestroyNode(hipGraphNode_t handle) {
  return api("hipGraphDestroyNode", [&] {
    std::shared_ptr<GraphNode> node = nodeOf(handle);
    Graph &graph = *node->owner;
    for (const auto &other : graph.nodes)
      std::erase(other->dependencies, node.get());
    std::erase(graph.nodes, node);
    Runtime::get().graphNodes.take(node.get());
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *errorNode,
                               char *, size_t) {
  if (errorNode)
    *errorNode = nullptr;
  return instantiate("hipGraphInstantiate", exec, graph);
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph,
                                        unsigned long long) {
  return instantiate("hipGraphInstantiateWithFlags", exec, graph);
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return api("hipGraphLaunch", [&] {
    std::shared_ptr<GraphExec> graph = Runtime::get().graphExecs.get(exec, "executable graph");
    submit(Runtime::get().stream(stream), GraphOperation{graph->plan}, hipGraphNodeTypeGraph);
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return api("hipGraphExecDestroy", [&] {
    if (!Runtime::get().graphExecs.take(exec))
      fail(hipErrorInvalidHandle, "not a live executable graph handle");
  });
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t handle, hipGraphNode_t *errorNode,
                              hipGraphExecUpdateResult *result) {
  return api("hipGraphExecUpdate", [&] {
    require(errorNode && result, "no place for the result");
    std::shared_ptr<GraphExec> graph = Runtime::get().graphExecs.get(exec, "executable graph");
    std::shared_ptr<Graph> wanted = graphOf(handle);
    *errorNode = nullptr;
    *result = hipGraphExecUpdateErrorTopologyChanged;
    if (graph->source->nodes.size() != wanted->nodes.size())
      fail(hipErrorGraphExecUpdateFailure, "the number of nodes differs");
    for (size_t i = 0; i < wanted->nodes.size(); ++i) {
      if (sameEdges(*graph->source, *wanted, i))
        *result = compareNode(*graph->source->nodes[i], *wanted->nodes[i]);
      else
        *result = hipGraphExecUpdateErrorTopologyChanged;
      if (*result != hipGraphExecUpdateSuccess) {
        *errorNode = handleOf(wanted->nodes[i].get());
        fail(hipErrorGraphExecUpdateFailure, "node " + std::to_string(i) + " differs");
      }
    }
    *result = hipGraphExecUpdateSuccess;
    graph->source = wanted->clone();
    graph->rebuild();
  });
}

} // extern "C"
