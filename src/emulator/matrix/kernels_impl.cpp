// Compiled once per SIMD level, with FLYEMU_SIMD_LEVEL naming the level and the compiler's target
// flags set for it. Nothing here may be an inline function shared with other translation units.
#include "emulator/matrix/kernels.h"

namespace flyemu::matrix {
namespace {

typedef int32_t Int __attribute__((vector_size(64)));   // 16 lanes
typedef int64_t Long __attribute__((vector_size(128))); // 16 lanes
typedef float Float __attribute__((vector_size(64)));
typedef double Double __attribute__((vector_size(128)));

template <typename V, typename T> inline V load(const T *from) {
  V result;
  __builtin_memcpy(&result, from, sizeof(V));
  return result;
}
template <typename V, typename T> inline void store(T *to, V value) {
  __builtin_memcpy(to, &value, sizeof(V));
}
template <typename V, typename M> inline V select(M mask, V yes, V no) { return mask ? yes : no; }
inline Int maximum(Int a, Int b) { return a > b ? a : b; }
inline Int minimum(Int a, Int b) { return a < b ? a : b; }

int32_t decodeLanes(const LaneStrip &strip, int32_t *significand, int32_t *exponent,
                    int32_t *special) {
  using flydsl::detail::FloatSpecials;
  const FloatFormat &format = strip.format;
  Int bits = load<Int>(strip.words);
  // Logical shift and mask, so that an element at the top of its word works too.
  Int code = (bits >> static_cast<int>(strip.shift)) &
             static_cast<int>(strip.bits == 32 ? ~0u : (1u << strip.bits) - 1);
  int fractionMask = static_cast<int>((1u << format.mantissa) - 1);
  int exponentMask = static_cast<int>((1u << format.exponent) - 1);
  Int fraction = code & fractionMask;
  Int biased = (code >> format.mantissa) & exponentMask;
  Int negative = (code >> (format.mantissa + format.exponent)) & 1;

  Int isSpecial = {};
  if (format.specials == FloatSpecials::ieee)
    isSpecial = biased == exponentMask;
  else if (format.specials == FloatSpecials::unsignedZero)
    isSpecial = (negative == 1) & ((code & (fractionMask | exponentMask << format.mantissa)) == 0);
  else if (format.specials == FloatSpecials::finite)
    isSpecial = (biased == exponentMask) & (fraction == fractionMask);

  Int normal = biased != 0;
  Int magnitude = fraction | (normal & (1 << format.mantissa));
  Int sign = -negative;
  Int scale = maximum(biased, Int{} + 1) - format.bias;
  Int nonzero = magnitude != 0;
  scale = select(nonzero, scale, Int{} + kZeroExponent);
  store(significand, (magnitude ^ sign) - sign);
  store(exponent, scale);
  store(special, load<Int>(special) | isSpecial);

  Int finite = select(isSpecial, Int{} + kZeroExponent, scale);
  int32_t largest = kZeroExponent;
  for (unsigned lane = 0; lane < 16; ++lane)
    largest = finite[lane] > largest ? finite[lane] : largest;
  return largest;
}

/// Products k0, k0 + step, ... below k1, aligned to their largest exponent with 24 fraction bits
/// and truncated toward zero. Gives the sum and that exponent.
struct Aligned {
  Int sum, exponent;
};

inline Aligned alignedSum(const GroupStrip &strip, unsigned k0, unsigned k1, unsigned step) {
  Int largest = Int{} + (-(1 << 21));
  for (unsigned k = k0; k < k1; k += step)
    largest = maximum(largest, load<Int>(strip.exponentB + 16 * k) + strip.exponentA[k]);
  Int sum = {};
  int up = 24 - static_cast<int>(strip.fractionBits);
  for (unsigned k = k0; k < k1; k += step) {
    Int product = load<Int>(strip.significandB + 16 * k) * strip.significandA[k];
    Int exponent = load<Int>(strip.exponentB + 16 * k) + strip.exponentA[k];
    Int shift = minimum(largest - exponent, Int{} + 31);
    Int sign = product >> 31;
    Int magnitude = (((product ^ sign) - sign) << up) >> shift;
    sum += (magnitude ^ sign) - sign;
  }
  return {sum, largest};
}

void groupTruncate(const GroupStrip &strip, float *acc) {
  Float c = load<Float>(acc);
  for (unsigned k = 0; k < strip.k; k += strip.group) {
    unsigned end = k + strip.group;
    Aligned sum;
    if (strip.interleaved) {
      Aligned even = alignedSum(strip, k, end, 2), odd = alignedSum(strip, k + 1, end, 2);
      sum.exponent = maximum(even.exponent, odd.exponent);
      // Arithmetic shifts round toward minus infinity, as the model's second alignment does.
      sum.sum = (even.sum >> minimum(sum.exponent - even.exponent, Int{} + 31)) +
                (odd.sum >> minimum(sum.exponent - odd.exponent, Int{} + 31));
    } else {
      sum = alignedSum(strip, k, end, 1);
    }

    Int bits;
    __builtin_memcpy(&bits, &c, sizeof(bits));
    Int biased = (bits >> 23) & 255;
    Int significand = (bits & 0x7fffff) | (biased != 0 ? Int{} + 0x800000 : Int{});
    Int sign = bits >> 31;
    significand = (significand ^ sign) - sign;
    Int exponentC = maximum(biased, Int{} + 1) - 127; // of zero: -126, as of a subnormal

    Int top = maximum(sum.exponent, exponentC);
    Int downSum = minimum(top - sum.exponent, Int{} + 63);
    Int downC = minimum(top - exponentC, Int{} + 63);
    Long wide =
        __builtin_convertvector(sum.sum, Long) << 7 >> __builtin_convertvector(downSum, Long);
    Long wideC =
        __builtin_convertvector(significand, Long) << 1 >> __builtin_convertvector(downC, Long);
    if (strip.interleaved) {
      Long tooFar = __builtin_convertvector(downC, Long) > 25;
      wideC = select(tooFar, Long{}, wideC);
    }
    Long total = wide + (wideC << 7); // 31 fraction bits at exponent `top`
    Long scaleBits = (__builtin_convertvector(top, Long) - 31 + 1023) << 52;
    Double scale;
    __builtin_memcpy(&scale, &scaleBits, sizeof(scale));
    c = __builtin_convertvector(__builtin_convertvector(total, Double) * scale, Float);
  }
  store(acc, c);
}

void fmaChainF32(const float *a, const float *b, unsigned k, float *acc) {
  for (unsigned step = 0; step < k; ++step)
    for (unsigned lane = 0; lane < 16; ++lane)
      acc[lane] = __builtin_fmaf(a[step], b[16 * step + lane], acc[lane]);
}

void fmaChainF64(const double *a, const double *b, unsigned k, double *acc) {
  for (unsigned step = 0; step < k; ++step)
    for (unsigned lane = 0; lane < 16; ++lane)
      acc[lane] = __builtin_fma(a[step], b[16 * step + lane], acc[lane]);
}

void dot(const double *a, const double *b, unsigned k, double *acc) {
  for (unsigned step = 0; step < k; ++step)
    for (unsigned lane = 0; lane < 16; ++lane)
      acc[lane] = __builtin_fma(a[step], b[16 * step + lane], acc[lane]);
}

void dotInteger(const int32_t *a, const int32_t *b, unsigned k, int64_t *acc) {
  for (unsigned step = 0; step < k; ++step)
    for (unsigned lane = 0; lane < 16; ++lane)
      acc[lane] += static_cast<int64_t>(a[step]) * b[16 * step + lane];
}

} // namespace

#define FLYEMU_NAME_(level) #level
#define FLYEMU_NAME(level) FLYEMU_NAME_(level)
#define FLYEMU_SYMBOL_(level) kernels_##level
#define FLYEMU_SYMBOL(level) FLYEMU_SYMBOL_(level)

extern const Kernels FLYEMU_SYMBOL(FLYEMU_SIMD_LEVEL);
const Kernels FLYEMU_SYMBOL(FLYEMU_SIMD_LEVEL) = {FLYEMU_NAME(FLYEMU_SIMD_LEVEL),
                                                  decodeLanes,
                                                  groupTruncate,
                                                  fmaChainF32,
                                                  fmaChainF64,
                                                  dot,
                                                  dotInteger};

} // namespace flyemu::matrix
