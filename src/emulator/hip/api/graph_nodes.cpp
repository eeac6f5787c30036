// The nodes of graphs: adding them, and reading and changing their parameters.
#include "emulator/hip/graph/graph_nodes.h"
#include "emulator/hip/module/registration.h"
#include "emulator/hip/stream/submit.h"

using namespace flyemu::hip;

namespace {

template <typename Set>
hipError_t addNode(const char *name, hipGraphNode_t *result, hipGraph_t handle,
                   const hipGraphNode_t *dependencies, size_t count, hipGraphNodeType type,
                   Set &&set) {
  return api(name, [&] {
    require(result && (!count || dependencies), "a pointer is null");
    *result = nullptr;
    std::shared_ptr<Graph> graph = Runtime::get().graphs.get(handle, "graph");
    std::vector<GraphNode *> before;
    for (size_t i = 0; i < count; ++i)
      before.push_back(Runtime::get().graphNodes.get(dependencies[i], "graph node").get());
    GraphNode draft; // parameters are checked before the graph changes
    set(draft);
    GraphNode *node = graph->add(type, std::move(draft.operation), std::move(before));
    node->child = std::move(draft.child);
    node->kernelParams.func = draft.kernelParams.func; // the rest points into the draft
    node->copyParams = draft.copyParams;
    node->fillParams = draft.fillParams;
    node->hostParams = draft.hostParams;
    *result = reinterpret_cast<hipGraphNode_t>(node);
  });
}

std::shared_ptr<GraphNode> nodeOf(hipGraphNode_t handle, hipGraphNodeType type) {
  std::shared_ptr<GraphNode> node = Runtime::get().graphNodes.get(handle, "graph node");
  bool isCopy = type == hipGraphNodeTypeMemcpy && (node->type == hipGraphNodeTypeMemcpy1D ||
                                                   node->type == hipGraphNodeTypeMemcpyFromSymbol ||
                                                   node->type == hipGraphNodeTypeMemcpyToSymbol);
  require(node->type == type || isCopy, "the node is of another type");
  return node;
}

template <typename Set>
hipError_t setNode(const char *name, hipGraphNode_t handle, hipGraphNodeType type, Set &&set) {
  return api(name, [&] { set(*nodeOf(handle, type)); });
}

template <typename Set>
hipError_t setInExec(const char *name, hipGraphExec_t execHandle, hipGraphNode_t handle,
                     hipGraphNodeType type, Set &&set) {
  return api(name, [&] {
    std::shared_ptr<GraphExec> exec = Runtime::get().graphExecs.get(execHandle, "executable graph");
    set(exec->copyOf(nodeOf(handle, type).get()));
    exec->rebuild();
  });
}

} // namespace

extern "C" {

hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph,
                                 const hipGraphNode_t *dependencies, size_t count,
                                 const hipKernelNodeParams *params) {
  return addNode("hipGraphAddKernelNode", node, graph, dependencies, count, hipGraphNodeTypeKernel,
                 [&](GraphNode &draft) {
                   require(params, "the parameters are null");
                   setKernel(draft, *params);
                 });
}
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams *params) {
  return setNode("hipGraphKernelNodeGetParams", node, hipGraphNodeTypeKernel, [&](GraphNode &n) {
    require(params, "no place for the result");
    describeCaptured(n);
    *params = n.kernelParams;
  });
}
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams *params) {
  return setNode("hipGraphKernelNodeSetParams", node, hipGraphNodeTypeKernel, [&](GraphNode &n) {
    require(params, "the parameters are null");
    setKernel(n, *params);
  });
}
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams *params) {
  return setInExec("hipGraphExecKernelNodeSetParams", exec, node, hipGraphNodeTypeKernel,
                   [&](GraphNode &n) {
                     require(params, "the parameters are null");
                     setKernel(n, *params);
                   });
}

hipError_t hipGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph,
                                 const hipGraphNode_t *dependencies, size_t count,
                                 const hipMemcpy3DParms *params) {
  return addNode("hipGraphAddMemcpyNode", node, graph, dependencies, count, hipGraphNodeTypeMemcpy,
                 [&](GraphNode &draft) {
                   require(params, "the parameters are null");
                   setCopy(draft, *params);
                 });
}
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *node, hipGraph_t graph,
                                   const hipGraphNode_t *dependencies, size_t count, void *target,
                                   const void *source, size_t size, hipMemcpyKind kind) {
  return addNode("hipGraphAddMemcpyNode1D", node, graph, dependencies, count,
                 hipGraphNodeTypeMemcpy1D,
                 [&](GraphNode &draft) { setCopy1D(draft, target, source, size, kind); });
}
hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms *params) {
  return setNode("hipGraphMemcpyNodeGetParams", node, hipGraphNodeTypeMemcpy, [&](GraphNode &n) {
    require(params, "no place for the result");
    if (!n.copyParams.extent.width)
      describeCaptured(n);
    *params = n.copyParams;
  });
}
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms *params) {
  return setNode("hipGraphMemcpyNodeSetParams", node, hipGraphNodeTypeMemcpy, [&](GraphNode &n) {
    require(params, "the parameters are null");
    setCopy(n, *params);
  });
}
hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void *target, const void *source,
                                         size_t size, hipMemcpyKind kind) {
  return setNode("hipGraphMemcpyNodeSetParams1D", node, hipGraphNodeTypeMemcpy,
                 [&](GraphNode &n) { setCopy1D(n, target, source, size, kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           hipMemcpy3DParms *params) {
  return setInExec("hipGraphExecMemcpyNodeSetParams", exec, node, hipGraphNodeTypeMemcpy,
                   [&](GraphNode &n) {
                     require(params, "the parameters are null");
                     setCopy(n, *params);
                   });
}
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void *target,
                                             const void *source, size_t size, hipMemcpyKind kind) {
  return setInExec("hipGraphExecMemcpyNodeSetParams1D", exec, node, hipGraphNodeTypeMemcpy,
                   [&](GraphNode &n) { setCopy1D(n, target, source, size, kind); });
}

hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t *node, hipGraph_t graph,
                                         const hipGraphNode_t *dependencies, size_t count,
                                         const void *symbol, const void *source, size_t size,
                                         size_t offset, hipMemcpyKind kind) {
  return addNode("hipGraphAddMemcpyNodeToSymbol", node, graph, dependencies, count,
                 hipGraphNodeTypeMemcpyToSymbol, [&](GraphNode &draft) {
                   setCopy1D(draft, inSymbol(symbol, size, offset), source, size, kind);
                 });
}
hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t *node, hipGraph_t graph,
                                           const hipGraphNode_t *dependencies, size_t count,
                                           void *target, const void *symbol, size_t size,
                                           size_t offset, hipMemcpyKind kind) {
  return addNode("hipGraphAddMemcpyNodeFromSymbol", node, graph, dependencies, count,
                 hipGraphNodeTypeMemcpyFromSymbol, [&](GraphNode &draft) {
                   setCopy1D(draft, target, inSymbol(symbol, size, offset), size, kind);
                 });
}
hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const void *symbol,
                                               const void *source, size_t size, size_t offset,
                                               hipMemcpyKind kind) {
  return setNode(
      "hipGraphMemcpyNodeSetParamsToSymbol", node, hipGraphNodeTypeMemcpyToSymbol,
      [&](GraphNode &n) { setCopy1D(n, inSymbol(symbol, size, offset), source, size, kind); });
}
hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void *target,
                                                 const void *symbol, size_t size, size_t offset,
                                                 hipMemcpyKind kind) {
  return setNode(
      "hipGraphMemcpyNodeSetParamsFromSymbol", node, hipGraphNodeTypeMemcpyFromSymbol,
      [&](GraphNode &n) { setCopy1D(n, target, inSymbol(symbol, size, offset), size, kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t exec, hipGraphNode_t node,
                                                   const void *symbol, const void *source,
                                                   size_t size, size_t offset, hipMemcpyKind kind) {
  return setInExec(
      "hipGraphExecMemcpyNodeSetParamsToSymbol", exec, node, hipGraphNodeTypeMemcpyToSymbol,
      [&](GraphNode &n) { setCopy1D(n, inSymbol(symbol, size, offset), source, size, kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t exec, hipGraphNode_t node,
                                                     void *target, const void *symbol, size_t size,
                                                     size_t offset, hipMemcpyKind kind) {
  return setInExec(
      "hipGraphExecMemcpyNodeSetParamsFromSymbol", exec, node, hipGraphNodeTypeMemcpyFromSymbol,
      [&](GraphNode &n) { setCopy1D(n, target, inSymbol(symbol, size, offset), size, kind); });
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph,
                                 const hipGraphNode_t *dependencies, size_t count,
                                 const hipMemsetParams *params) {
  return addNode("hipGraphAddMemsetNode", node, graph, dependencies, count, hipGraphNodeTypeMemset,
                 [&](GraphNode &draft) {
                   require(params, "the parameters are null");
                   setFill(draft, *params);
                 });
}
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams *params) {
  return setNode("hipGraphMemsetNodeGetParams", node, hipGraphNodeTypeMemset, [&](GraphNode &n) {
    require(params, "no place for the result");
    describeCaptured(n);
    *params = n.fillParams;
  });
}
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams *params) {
  return setNode("hipGraphMemsetNodeSetParams", node, hipGraphNodeTypeMemset, [&](GraphNode &n) {
    require(params, "the parameters are null");
    setFill(n, *params);
  });
}
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipMemsetParams *params) {
  return setInExec("hipGraphExecMemsetNodeSetParams", exec, node, hipGraphNodeTypeMemset,
                   [&](GraphNode &n) {
                     require(params, "the parameters are null");
                     setFill(n, *params);
                   });
}

hipError_t hipGraphAddHostNode(hipGraphNode_t *node, hipGraph_t graph,
                               const hipGraphNode_t *dependencies, size_t count,
                               const hipHostNodeParams *params) {
  return addNode("hipGraphAddHostNode", node, graph, dependencies, count, hipGraphNodeTypeHost,
                 [&](GraphNode &draft) {
                   require(params, "the parameters are null");
                   setHost(draft, *params);
                 });
}
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams *params) {
  return setNode("hipGraphHostNodeGetParams", node, hipGraphNodeTypeHost, [&](GraphNode &n) {
    require(params, "no place for the result");
    *params = n.hostParams;
  });
}
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams *params) {
  return setNode("hipGraphHostNodeSetParams", node, hipGraphNodeTypeHost, [&](GraphNode &n) {
    require(params, "the parameters are null");
    setHost(n, *params);
  });
}
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                         const hipHostNodeParams *params) {
  return setInExec("hipGraphExecHostNodeSetParams", exec, node, hipGraphNodeTypeHost,
                   [&](GraphNode &n) {
                     require(params, "the parameters are null");
                     setHost(n, *params);
                   });
}

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph,
                                     const hipGraphNode_t *dependencies, size_t count,
                                     hipGraph_t child) {
  return addNode(
      "hipGraphAddChildGraphNode", node, graph, dependencies, count, hipGraphNodeTypeGraph,
      [&](GraphNode &draft) { draft.child = Runtime::get().graphs.get(child, "graph")->clone(); });
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph,
                                const hipGraphNode_t *dependencies, size_t count) {
  return addNode("hipGraphAddEmptyNode", node, graph, dependencies, count, hipGraphNodeTypeEmpty,
                 [](GraphNode &) {});
}

hipError_t hipGraphAddEventRecordNode(hipGraphNode_t *node, hipGraph_t graph,
                                      const hipGraphNode_t *dependencies, size_t count,
                                      hipEvent_t event) {
  return addNode("hipGraphAddEventRecordNode", node, graph, dependencies, count,
                 hipGraphNodeTypeEventRecord, [&](GraphNode &draft) {
                   draft.operation =
                       RecordOperation{Runtime::get().events.get(event, "event"), nullptr};
                 });
}

hipError_t hipGraphAddEventWaitNode(hipGraphNode_t *node, hipGraph_t graph,
                                    const hipGraphNode_t *dependencies, size_t count,
                                    hipEvent_t event) {
  return addNode("hipGraphAddEventWaitNode", node, graph, dependencies, count,
                 hipGraphNodeTypeWaitEvent, [&](GraphNode &draft) {
                   draft.operation =
                       WaitOperation{nullptr, Runtime::get().events.get(event, "event")};
                 });
}

} // extern "C"
