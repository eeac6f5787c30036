// Values of an element from the values of one element of each source: the engine of all ops that
// work element by element.
#pragma once

#include "ops/op.h"

#include <optional>

namespace flydsl_ggml {

/// The value in f32 from the values of the sources in f32 and the numbers of the launch.
using Formula = std::function<fx::Numeric(std::span<const fx::Numeric> x, const fx::Float32 *f)>;

/// An operand of the engine.
struct Element {
  ggml_type type;
  HostOperand memory;
};
/// Computes `result` from sources of the same shape, or of one that is repeated. `formula` is null for a
/// copy, which leaves elements as they are where the types are the same, and otherwise converts them once.
void elementwise(const Run &run, const std::string &name, const Element &result,
                 std::span<const Element> sources, const Formula &formula,
                 std::vector<float> numbers = {});

/// An op that is a formula of its sources.
struct ElementOp {
  std::string name;
  Formula formula;
  std::vector<Element> sources;
  /// The tensors that the sources are, or are parts of.
  std::vector<const ggml_tensor *> tensors;
  std::vector<float> numbers = {};
};
/// None for another op, and for one whose types the engine does not take.
std::optional<ElementOp> elementOpOf(const ggml_tensor *op);

inline Element elementOf(const ggml_tensor *tensor, std::size_t offset = 0) {
  return {tensor->type, operandOf(tensor, offset)};
}

} // namespace flydsl_ggml
