// The arguments of products' kernels.
#pragma once

#include <flydsl/strided.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The arguments of the kernel of one product.
///
/// The scales of c stand last: few products have them, and what all have is loaded together.
template <class Side> struct GemmParams {
  Strided<Side, 1> a, b, c;      // (m, k), (n, k), (m, n); the stride is that of rows, or columns
  Strided<Side, 2> scaleA;       // (m); of blocks: (m, k / 128)
  Strided<Side, 0> scaleB, bias; // (n); of blocks: (n / 128, k / 128)
  Strided<Side, 0> groupScales, groupZeros; // (k / size, n)
  Param<Side, Int64> seed;
  Param<Side, Int32> m;
  Strided<Side, 2> scaleC;           // (1); of blocks: (m, n / 128)
  Strided<Side, 1> residual;         // (m, n)
  Strided<Side, 0> rows, seedMemory; // one each
};

/// The arguments of the kernel of a batch of matrices; the first stride is that from a matrix to the next.
template <class Side> struct GemmBatchParams {
  Strided<Side, 2> a, b, c;                 // (batch, m, k), (batch, n, k), (batch, m, n)
  Strided<Side, 3> scaleA;                  // (batch, m); of blocks: (batch, m, k / 128)
  Strided<Side, 1> scaleB, bias;            // (batch, n); of blocks: (batch, n / 128, k / 128)
  Strided<Side, 0> groupScales, groupZeros; // (batch, k / size, n)
  Param<Side, Int32> m;
  Strided<Side, 3> scaleC;   // (batch); of blocks: (batch, m, n / 128)
  Strided<Side, 2> residual; // (batch, m, n)
  Strided<Side, 0> rows;     // one
};

/// The arguments of the kernel that writes the sums of parts of K.
template <class Side> struct GemmPartsParams {
  Strided<Side, 0> workspace; // (parts, m, columns), the sums
  Strided<Side, 1> a, b;
  Strided<Side, 2> scaleA;
  Strided<Side, 0> scaleB;
  Strided<Side, 0> groupScales, groupZeros;
  Param<Side, Int32> m;
  Strided<Side, 0> rows; // one
};

/// The arguments of the kernel that adds the parts of K.
template <class Side> struct GemmSumParams {
  Strided<Side, 0> workspace; // (parts, m, columns), the sums
  Strided<Side, 1> c;
  Strided<Side, 0> scaleA, scaleB, bias;
  Param<Side, Int64> seed;
  Param<Side, Int32> m;
  Strided<Side, 2> scaleC;           // (1)
  Strided<Side, 1> residual;         // (m, n)
  Strided<Side, 0> rows, seedMemory; // one each
};

/// The arguments of the kernel that writes parts and adds them in one launch.
template <class Side> struct GemmSplitParams {
  Strided<Side, 1> a, b, c;
  Strided<Side, 2> scaleA;
  Strided<Side, 0> scaleB, bias;
  Strided<Side, 0> groupScales, groupZeros;
  Strided<Side, 0> workspace; // (parts, m, columns), the sums
  Strided<Side, 0> flags;     // (tiles), in the workspace
  Param<Side, Int64> seed;
  Param<Side, Int32> m;
  Strided<Side, 2> scaleC;           // (1)
  Strided<Side, 1> residual;         // (m, n)
  Strided<Side, 0> rows, seedMemory; // one each
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
