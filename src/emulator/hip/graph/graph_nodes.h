// Nodes from the parameter structs of the graph API, and back.
#pragma once

#include "emulator/hip/graph/graph.h"

namespace flyemu::hip {

/// Each of these checks the parameters as the immediate call of the same kind does, sets the node's
/// operation, and keeps the parameters for the getters. They throw StatusError.
void setKernel(GraphNode &node, const hipKernelNodeParams &parameters);
void setCopy(GraphNode &node, const hipMemcpy3DParms &parameters);
void setCopy1D(GraphNode &node, void *target, const void *source, size_t size, hipMemcpyKind kind);
void setFill(GraphNode &node, const hipMemsetParams &parameters);
void setHost(GraphNode &node, const hipHostNodeParams &parameters);

/// Fills the getters' structs of a node that was captured rather than made from parameters.
void describeCaptured(GraphNode &node);

} // namespace flyemu::hip
