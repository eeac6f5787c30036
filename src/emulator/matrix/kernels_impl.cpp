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

/// Calls convert(code) for each strip, with the elements' bits, and keeps what it returns.
template <typename Convert>
inline void eachStrip(const Strips &strips, unsigned bits, float *values, Convert convert) {
  const int mask = static_cast<int>(bits == 32 ? ~0u : (1u << bits) - 1);
  for (unsigned k = 0; k < strips.count; ++k) {
    const StripPlace place = strips.places[k];
    const Int words = load<Int>(strips.registers + place.reg * strips.stride + place.lane);
    store(values + 16 * k, convert((words >> static_cast<int>(place.shift)) & mask));
  }
}

void floats(const Strips &strips, unsigned bits, const FloatFormat &format, float *values) {
  using flydsl::detail::FloatSpecials;
  const int up = 23 - format.mantissa;
  if (format.exponent == 8) // f32, bf16 and xf32 are an f32's upper bits
    return eachStrip(strips, bits, values, [&](Int code) { return code << up; });
#ifdef __F16C__
  if (format.exponent == 5 && format.mantissa == 10)
    return eachStrip(strips, bits, values, [&](Int code) {
      typedef uint16_t Half __attribute__((vector_size(32)));
      typedef _Float16 HalfFloat __attribute__((vector_size(32)));
      const Half half = __builtin_convertvector(code, Half);
      HalfFloat value;
      __builtin_memcpy(&value, &half, sizeof value);
      return __builtin_convertvector(value, Float);
    });
#endif
  // Moved to the place of f32's fields, a number is 2^(bias - 127) of itself, subnormals too.
  const int magnitudeMask = static_cast<int>((1u << (format.mantissa + format.exponent)) - 1);
  const int scaleBits = (127 + 127 - format.bias) << 23;
  float scale;
  __builtin_memcpy(&scale, &scaleBits, sizeof scale);
  const int infinity = static_cast<int>(((1u << format.exponent) - 1) << format.mantissa);
  eachStrip(strips, bits, values, [&](Int code) {
    const Int magnitude = code & magnitudeMask;
    const Int sign = (code & (magnitudeMask + 1)) << (31 - format.mantissa - format.exponent);
    const Int small = magnitude << up;
    Float value;
    __builtin_memcpy(&value, &small, sizeof value);
    value *= scale;
    Int result;
    __builtin_memcpy(&result, &value, sizeof result);
    constexpr int kInfinity = 0x7f800000, kNan = 0x7fc00000;
    if (format.specials == FloatSpecials::ieee)
      result = select(magnitude >= infinity, (magnitude - infinity) << up | kInfinity, result);
    else if (format.specials == FloatSpecials::unsignedZero)
      result = select((magnitude == 0) & (sign != 0), Int{} + kNan, result);
    else if (format.specials == FloatSpecials::finite)
      result = select(magnitude == magnitudeMask, Int{} + kNan, result);
    return result | sign;
  });
}

inline Float multiplyAdd(float a, Float b, Float c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(Float{} + a, b, c);
#else
  return a * b + c;
#endif
}

/// Rows whose sums are kept in registers.
constexpr unsigned kRows = 8;

void multiplyFloats(const FloatTile &tile, const Strips &c, unsigned step, uint32_t *d) {
  for (unsigned row = 0; row < tile.m; row += kRows) {
    Float sums[kRows];
    unsigned words[kRows];
    for (unsigned r = 0; r < kRows; ++r) {
      const StripPlace place = c.places[(row + r) * step];
      words[r] = place.reg * c.stride + place.lane;
      sums[r] = load<Float>(c.registers + words[r]);
    }
    for (unsigned k = 0; k < tile.k; ++k) {
      const Float b = load<Float>(tile.b + k * tile.n);
      const float *a = tile.a + k * tile.m + row;
      for (unsigned r = 0; r < kRows; ++r)
        sums[r] = multiplyAdd(a[r], b, sums[r]);
    }
    for (unsigned r = 0; r < kRows; ++r)
      store(d + words[r], sums[r]);
  }
}

/// Products k0, k0 + step, ... below k1, aligned to their largest exponent with 24 fraction bits
/// and truncated toward zero. Gives the sum and that exponent.
struct Aligned {
  Int sum, exponent;
};

/// The sum of `Count` products, `Step` apart.
template <unsigned Count, unsigned Step>
inline Aligned alignedSum(const GroupStrip &strip, unsigned first) {
  Int exponents[Count];
  Int largest = Int{} + (-(1 << 21));
  for (unsigned i = 0; i < Count; ++i) {
    const unsigned k = first + i * Step;
    exponents[i] = load<Int>(strip.exponentB + 16 * k) + strip.exponentA[k];
    largest = maximum(largest, exponents[i]);
  }
  Int sum = {};
  int up = 24 - static_cast<int>(strip.fractionBits);
  for (unsigned i = 0; i < Count; ++i) {
    const unsigned k = first + i * Step;
    Int product = load<Int>(strip.significandB + 16 * k) * strip.significandA[k];
    Int shift = minimum(largest - exponents[i], Int{} + 31);
    Int sign = product >> 31;
    Int magnitude = (((product ^ sign) - sign) << up) >> shift;
    sum += (magnitude ^ sign) - sign;
  }
  return {sum, largest};
}

/// Of groups of Group products; interleaved ones are summed apart by even and odd k.
template <unsigned Group, bool Interleaved>
void groupsTruncate(const GroupStrip &strip, float *acc) {
  Float c = load<Float>(acc);
  for (unsigned k = 0; k < strip.k; k += Group) {
    Aligned sum;
    if constexpr (Interleaved) {
      Aligned even = alignedSum<Group / 2, 2>(strip, k),
              odd = alignedSum<Group / 2, 2>(strip, k + 1);
      sum.exponent = maximum(even.exponent, odd.exponent);
      // Arithmetic shifts round toward minus infinity, as the model's second alignment does.
      sum.sum = (even.sum >> minimum(sum.exponent - even.exponent, Int{} + 31)) +
                (odd.sum >> minimum(sum.exponent - odd.exponent, Int{} + 31));
    } else {
      sum = alignedSum<Group, 1>(strip, k);
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
    if constexpr (Interleaved) {
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

void groupTruncate(const GroupStrip &strip, float *acc) {
  if (strip.interleaved)
    return groupsTruncate<16, true>(strip, acc);
  switch (strip.group) { // of XF32 and the wider formats, which may have fewer k than eight
  case 2:
    return groupsTruncate<2, false>(strip, acc);
  case 4:
    return groupsTruncate<4, false>(strip, acc);
  case 8:
    return groupsTruncate<8, false>(strip, acc);
  default:
    __builtin_trap(); // chooseArithmetic makes no other groups
  }
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
                                                  floats,
                                                  multiplyFloats,
                                                  decodeLanes,
                                                  groupTruncate,
                                                  fmaChainF32,
                                                  fmaChainF64,
                                                  dot,
                                                  dotInteger};

} // namespace flyemu::matrix
