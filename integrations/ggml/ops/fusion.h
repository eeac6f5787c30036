// Nodes of a graph that are computed together.
#pragma once

#include "ops/op.h"

#include <ggml-impl.h>

namespace flydsl_ggml {

/// Puts node `first` of the graph and nodes after it into the stream as one kernel, if there is one for
/// them. Returns how many nodes that were, those without work among them; 0: the node is one for itself.
int runFused(const Run &run, const ggml_cgraph *graph, int first);

// Ops with what follows them, in the files of their first ops. Each returns false, and does nothing, if it
// has no kernel for these tensors.

/// A norm of rows, times `weight`, plus `bias` if there is one.
bool normThen(const Run &run, const ggml_tensor *norm, const ggml_tensor *weight,
              const ggml_tensor *bias, const ggml_tensor *result);
/// A product plus `addend`.
bool mulMatThenAdd(const Run &run, const ggml_tensor *product, const ggml_tensor *addend,
                   const ggml_tensor *result);
/// Two products with the same inputs, then GLU of them.
bool mulMatsThenGlu(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                    const ggml_tensor *glu);
/// Rotated rows go to rows of a cache by their numbers.
bool ropeThenSetRows(const Run &run, const ggml_tensor *rope, const ggml_tensor *setRows);

} // namespace flydsl_ggml
