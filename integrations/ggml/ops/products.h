// What the kernels of products share: what comes after a product before it is stored.
#pragma once

#include "ops/op.h"

namespace flydsl_ggml {

/// What is done with products before they are stored.
struct Then {
  const ggml_tensor *result;
  const ggml_tensor *addend = nullptr; ///< is added
  /// The product is the gate of GLU, and this product is the other factor.
  const ggml_tensor *up = nullptr;

  /// Products of each element: two where there is GLU.
  int products() const { return up ? 2 : 1; }
  /// Adds to a launch whose operands are the result, the weights and the inputs what comes after: operand
  /// 3 is the addend, or the weights of the other factor.
  void addTo(Launch &what) const;
  /// Stores the element of the result, whose products are given.
  using Store =
      std::function<void(const Traced &p, const Place &at, std::span<const fx::Numeric> products)>;
  Store store() const;
};

} // namespace flydsl_ggml
