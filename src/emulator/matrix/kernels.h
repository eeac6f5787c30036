// The inner loops of matrix instructions over decoded operands, compiled once per SIMD level.
#pragma once

#include "emulator/matrix/element.h"
#include "emulator/matrix/simd_level.h"

#include <cstddef>
#include <cstdint>

namespace flyemu::matrix {

/// Columns that one call computes; narrower products leave the rest unused.
constexpr unsigned kStripWidth = 16;

/// A decoded strip: one row of A against up to 16 columns of B, k by k.
struct GroupStrip {
  const int32_t *significandA, *exponentA; ///< [k]
  const int32_t *significandB, *exponentB; ///< [k][16]
  unsigned k;                              ///< products
  unsigned group;                          ///< products per rounding
  unsigned fractionBits;                   ///< of a product: A's and B's together
  bool interleaved; ///< 8-bit formats: even and odd k are summed apart, then joined
};

/// Where 16 elements are: 16 neighbouring lanes of one register.
struct StripPlace {
  uint8_t reg, lane;
  uint8_t shift; ///< of the element in its word
};

/// Strips of an operand in the registers of a wave.
struct Strips {
  const uint32_t *registers;
  unsigned stride; ///< words from one register to the next
  const StripPlace *places;
  unsigned count;
  unsigned step = 1;   ///< strips from one k to the next
  bool paired = false; ///< an even k and the next one are the halves of the same words
};

/// A product of small matrices of floats, 16 columns of it.
struct FloatTile {
  const float *a; ///< [k][m]
  const float *b; ///< [k][n], from the first of 16 columns on
  unsigned m, n, k;
};

/// A product of 16 rows and 16 columns whose sums are rounded by groups. Values and exponents (as
/// `exponents` gives them) of A are [k][stepA], those of B [k][stepB]; 16 of each row are used. The
/// step of A is 16 or 32.
struct GroupTile {
  const float *valueA, *valueB;
  const int32_t *exponentA, *exponentB;
  unsigned stepA, stepB;
  unsigned k;       ///< products
  unsigned group;   ///< products per rounding
  bool interleaved; ///< as in GroupStrip
};

struct Kernels {
  const char *name;
  /// The values of all strips' elements, [strip][16], NaN and infinities included. An element has
  /// `bits` bits, XF32 19 of them.
  void (*floats)(const Strips &strips, unsigned bits, const FloatFormat &format, float *values);
  /// d[row] = c[row] + the tile's row, by one fused multiply-add for each k where the level has
  /// them. The stride of strips is `step` places; c and d may be the same.
  void (*multiplyFloats)(const FloatTile &tile, const Strips &c, unsigned step, uint32_t *d);
  /// The exponents of values as `decode` gives them for a format whose least is `least`. Returns
  /// false if one is NaN or infinite.
  bool (*exponents)(const float *values, unsigned count, int32_t least, int32_t *exponents);
  /// acc[step * row + 16] += the tile, by the model of groupTruncate. Returns false
  /// if some sum is to be computed otherwise: one that is not finite, or whose
  /// products may leave the range of f32.
  bool (*groupTile)(const GroupTile &tile, float *acc, unsigned step);
  /// acc[16] += the strip, by CDNA3's group-and-truncate model. Values must be finite and no
  /// product may reach 2^127; exceptional strips are computed by `groupTruncateScalar`.
  void (*groupTruncate)(const GroupStrip &strip, float *acc);
  /// acc[16] = fma(a[k], b[k][16], acc) for k in order.
  void (*fmaChainF32)(const float *a, const float *b, unsigned k, float *acc);
  void (*fmaChainF64)(const double *a, const double *b, unsigned k, double *acc);
  /// acc[16] += a[k] * b[k][16], in double.
  void (*dot)(const double *a, const double *b, unsigned k, double *acc);
  /// acc[16] += a[k] * b[k][16], in 64-bit integers.
  void (*dotInteger)(const int32_t *a, const int32_t *b, unsigned k, int64_t *acc);
};

/// The kernels of a level.
const Kernels &kernels(SimdLevel level);
/// The kernels of this process's level (simd_level.h).
const Kernels &kernels();

} // namespace flyemu::matrix
