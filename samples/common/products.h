// The matrix instruction of a sample that runs on several generations of processors.
#pragma once

#include <flydsl/flydsl.h>

namespace samples {

/// The product of 16 x 16 elements of one type, summed in float, with the smallest K on the target
/// of the kernel: 16x16x4 of floats on CDNA and gfx1250, 16x16x16 of halves on CDNA and RDNA, and
/// 16x16x32 on gfx1250. In a kernel for a target without one it throws TraceError.
inline flydsl::rocdl::MatrixProduct shortestProduct(flydsl::DType type) {
  namespace fx = flydsl;
  const fx::Target target = fx::target();
  const fx::rocdl::MatrixProduct *shortest = nullptr;
  const auto all = fx::rocdl::matrix_products(target, type, type);
  for (const fx::rocdl::MatrixProduct &product : all)
    if (product.m == 16 && product.n == 16 && product.acc == fx::f32 && !product.is_scaled() &&
        (!shortest || product.k < shortest->k))
      shortest = &product;
  fx::require(shortest != nullptr, "{} has no matrix instruction for 16 x 16 products of {}",
              target.name(), type.name());
  return *shortest;
}

} // namespace samples
