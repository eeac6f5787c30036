// Graphs: operations with dependencies, made by hand or captured, and their executable form.
#pragma once

#include "emulator/hip/graph/graph_run.h"

#include <hip/hip_runtime_api.h>
#include <memory>
#include <unordered_map>
#include <vector>

namespace flyemu::hip {

struct Graph;

struct GraphNode {
  hipGraphNodeType type = hipGraphNodeTypeEmpty;
  Operation operation;
  std::vector<GraphNode *> dependencies;
  Graph *owner = nullptr;
  std::shared_ptr<Graph> child;      ///< of a child graph node
  const GraphNode *origin = nullptr; ///< in a clone: the node that this one was copied from

  /// The parameters that the node was made with, which hipGraph...NodeGetParams returns.
  hipKernelNodeParams kernelParams = {};
  std::vector<void *>
      kernelPointers; ///< behind kernelParams.kernelParams, into the operation's kernarg
  hipMemcpy3DParms copyParams = {};
  hipMemsetParams fillParams = {};
  hipHostNodeParams hostParams = {};
};

struct Graph {
  std::vector<std::shared_ptr<GraphNode>> nodes;

  ~Graph();
  /// Adds a node and makes its handle live. Throws hipErrorInvalidValue when a dependency is of
  /// another graph.
  GraphNode *add(hipGraphNodeType type, Operation operation, std::vector<GraphNode *> dependencies);
  /// Nodes so that each comes after what it depends on; throws hipErrorInvalidValue for a cycle.
  std::vector<GraphNode *> ordered() const;
  std::shared_ptr<Graph> clone() const;
};

/// An instantiated graph. It is a copy, so that the graph may be changed or destroyed.
struct GraphExec {
  std::shared_ptr<Graph> source; ///< a clone, its nodes knowing their origins
  std::shared_ptr<const GraphPlan> plan;

  explicit GraphExec(const Graph &graph);
  /// The exec's own copy of a node of the original graph; throws hipErrorInvalidValue.
  GraphNode &copyOf(const GraphNode *original);
  /// Takes over changes of the nodes.
  void rebuild();
};

} // namespace flyemu::hip
