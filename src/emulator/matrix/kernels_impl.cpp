// Compiled once per SIMD level, with FLYEMU_SIMD_LEVEL naming the level and the compiler's target
// flags set for it. Nothing here may be an inline function shared with other translation units.
#include "emulator/matrix/kernels.h"

#include <immintrin.h>

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
/// Whether an element is other than 0.
inline bool any(Int value) {
  int32_t bits = 0;
  for (unsigned lane = 0; lane < 16; ++lane)
    bits |= value[lane];
  return bits;
}
template <typename V, typename M> inline V select(M mask, V yes, V no) { return mask ? yes : no; }
inline Int maximum(Int a, Int b) { return a > b ? a : b; }
inline Int minimum(Int a, Int b) { return a < b ? a : b; }

/// Calls convert(code) for each strip, with the elements' bits, and keeps what it returns.
template <typename Convert>
inline void eachStrip(const Strips &strips, unsigned bits, float *values, Convert convert) {
  if (strips.paired) {
    for (unsigned first = 0; first < strips.count; first += 2 * strips.step)
      for (unsigned k = first; k < first + strips.step; ++k) {
        const StripPlace place = strips.places[k];
        const Int words = load<Int>(strips.registers + place.reg * strips.stride + place.lane);
        store(values + 16 * k, convert(words & 0xffff));
        store(values + 16 * (k + strips.step), convert((words >> 16) & 0xffff));
      }
    return;
  }
  const int mask = static_cast<int>(bits == 32 ? ~0u : (1u << bits) - 1);
  for (unsigned k = 0; k < strips.count; ++k) {
    const StripPlace place = strips.places[k];
    const Int words = load<Int>(strips.registers + place.reg * strips.stride + place.lane);
    store(values + 16 * k, convert((words >> static_cast<int>(place.shift)) & mask));
  }
}

#ifdef __AVX512BW__
/// The values of f16 strips that are the halves of words.
void pairsOfHalves(const Strips &strips, float *values) {
  // The low halves, and then the high ones.
  alignas(64) static constexpr uint16_t kOrder[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                                      22, 24, 26, 28, 30, 1,  3,  5,  7,  9,  11,
                                                      13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  const __m512i apart = _mm512_load_si512(kOrder);
  for (unsigned first = 0; first < strips.count; first += 2 * strips.step)
    for (unsigned k = first; k < first + strips.step; ++k) {
      const StripPlace place = strips.places[k];
      const __m512i halves = _mm512_permutexvar_epi16(
          apart, _mm512_loadu_si512(strips.registers + place.reg * strips.stride + place.lane));
      _mm512_storeu_ps(values + 16 * k, _mm512_cvtph_ps(_mm512_castsi512_si256(halves)));
      _mm512_storeu_ps(values + 16 * (k + strips.step),
                       _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)));
    }
}
#endif

void floats(const Strips &strips, unsigned bits, const FloatFormat &format, float *values) {
  using flydsl::detail::FloatSpecials;
  const int up = 23 - format.mantissa;
  if (format.exponent == 8) // f32, bf16 and xf32 are an f32's upper bits
    return eachStrip(strips, bits, values, [&](Int code) { return code << up; });
#ifdef __AVX512BW__
  if (format.exponent == 5 && format.mantissa == 10 && strips.paired)
    return pairsOfHalves(strips, values);
#endif
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
  Float sum; // Clang and GCC make one instruction of a register's elements.
  for (unsigned lane = 0; lane < sizeof sum / sizeof(float); ++lane)
    sum[lane] = __builtin_fmaf(a, b[lane], c[lane]);
  return sum;
#else
  return a * b + c;
#endif
}

/// Rows whose sums are kept in registers: as many as there is room for, and more than an addition
/// takes cycles.
#ifdef __AVX512F__
constexpr unsigned kRows = 16;
#else
constexpr unsigned kRows = 4;
#endif

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

/// The sum of `Count` products at a stride of `Step`.
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

/// The sum of interleaved products, of even and of odd k.
inline Aligned join(Aligned even, Aligned odd) {
  const Int exponent = maximum(even.exponent, odd.exponent);
  // Arithmetic shifts round toward minus infinity, as the model's second alignment does.
  return {(even.sum >> minimum(exponent - even.exponent, Int{} + 31)) +
              (odd.sum >> minimum(exponent - odd.exponent, Int{} + 31)),
          exponent};
}

/// c + the sum of a group.
template <bool Interleaved> inline Float addGroup(Float c, Aligned sum) {
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
  Long wide = __builtin_convertvector(sum.sum, Long) << 7 >> __builtin_convertvector(downSum, Long);
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
  return __builtin_convertvector(__builtin_convertvector(total, Double) * scale, Float);
}

/// Of groups of Group products; interleaved ones are summed apart by even and odd k.
template <unsigned Group, bool Interleaved>
void groupsTruncate(const GroupStrip &strip, float *acc) {
  Float c = load<Float>(acc);
  for (unsigned k = 0; k < strip.k; k += Group) {
    if constexpr (Interleaved)
      c = addGroup<true>(
          c, join(alignedSum<Group / 2, 2>(strip, k), alignedSum<Group / 2, 2>(strip, k + 1)));
    else
      c = addGroup<false>(c, alignedSum<Group, 1>(strip, k));
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

bool exponents(const float *values, unsigned count, int32_t least, int32_t *exponents) {
  Int special = {};
  for (unsigned k = 0; k < count; k += 16) {
    const Int bits = load<Int>(values + k), biased = (bits >> 23) & 255;
    special |= biased == 255;
    const Int nonzero = (bits & 0x7fffffff) != 0;
    store(exponents + k,
          select(nonzero, maximum(biased - 127, Int{} + least), Int{} + kZeroExponent));
  }
  return !any(special);
}

/// A group of k of 16 columns.
template <unsigned Count> struct GroupColumns {
  Float values[Count];
  Int exponents[Count];
};

/// As alignedSum, of a row given by its first value and exponent, in steps of StepA. A product of
/// values is exact, and so is its scaling, after which a conversion truncates it. Elements of `bad`
/// become other than 0 where this may not hold: products that are not far below all others have to
/// be in the range of normal numbers.
template <unsigned Count, unsigned Step, unsigned StepA>
inline Aligned alignedProducts(const float *value, const int32_t *exponent, const Float *values,
                               const Int *exponents, Int &bad) {
  constexpr int kMost = 120, kLeast = -90;
  Int largest = Int{} + 4 * kZeroExponent;
  for (unsigned i = 0; i < Count * Step; i += Step)
    largest = maximum(largest, exponents[i] + exponent[i * StepA]);
  bad |= (largest >= kMost) | ((largest < kLeast) & (largest > kZeroExponent / 2));
  const Int scaleBits = (127 + 24 - maximum(largest, Int{} + kLeast)) << 23;
  Float scale;
  __builtin_memcpy(&scale, &scaleBits, sizeof scale);
  Int sum = {};
  for (unsigned i = 0; i < Count * Step; i += Step)
    sum += __builtin_convertvector(values[i] * value[i * StepA] * scale, Int);
  return {sum, largest};
}

template <unsigned Group, bool Interleaved, unsigned StepA>
Int addTileGroup(const GroupTile &tile, unsigned k, float *__restrict acc, unsigned step) {
  Int bad = {};
  GroupColumns<Group> b;
  for (unsigned i = 0; i < Group; ++i) {
    b.values[i] = load<Float>(tile.valueB + size_t(k + i) * tile.stepB);
    b.exponents[i] = load<Int>(tile.exponentB + size_t(k + i) * tile.stepB);
  }
  const float *value = tile.valueA + k * StepA;
  const int32_t *exponent = tile.exponentA + k * StepA;
  for (unsigned row = 0; row < 16; ++row, ++value, ++exponent, acc += step) {
    const Float c = load<Float>(acc);
    if constexpr (Interleaved)
      store(acc,
            addGroup<true>(
                c, join(alignedProducts<Group / 2, 2, StepA>(value, exponent, b.values, b.exponents,
                                                             bad),
                        alignedProducts<Group / 2, 2, StepA>(value + StepA, exponent + StepA,
                                                             b.values + 1, b.exponents + 1, bad))));
    else
      store(acc, addGroup<false>(c, alignedProducts<Group, 1, StepA>(value, exponent, b.values,
                                                                     b.exponents, bad)));
  }
  return bad;
}

bool areFinite(const float *acc, unsigned step) {
  Int infinite = {};
  for (unsigned row = 0; row < 16; ++row)
    infinite |= (load<Int>(acc + row * step) & 0x7f800000) == 0x7f800000;
  return !any(infinite);
}

template <unsigned Group, bool Interleaved, unsigned StepA>
bool addTile(const GroupTile &tile, float *acc, unsigned step) {
  if (!areFinite(acc, step))
    return false;
  Int bad = {};
  for (unsigned k = 0; k < tile.k; k += Group)
    bad |= addTileGroup<Group, Interleaved, StepA>(tile, k, acc, step);
  return !any(bad) && areFinite(acc, step);
}

template <unsigned StepA> bool addTileBy(const GroupTile &tile, float *acc, unsigned step) {
  if (tile.interleaved)
    return addTile<16, true, StepA>(tile, acc, step);
  switch (tile.group) {
  case 2:
    return addTile<2, false, StepA>(tile, acc, step);
  case 4:
    return addTile<4, false, StepA>(tile, acc, step);
  case 8:
    return addTile<8, false, StepA>(tile, acc, step);
  default:
    __builtin_trap(); // chooseArithmetic makes no other groups
  }
}

bool groupTile(const GroupTile &tile, float *acc, unsigned step) {
  return tile.stepA == 32 ? addTileBy<32>(tile, acc, step) : addTileBy<16>(tile, acc, step);
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
                                                  exponents,
                                                  groupTile,
                                                  groupTruncate,
                                                  fmaChainF32,
                                                  fmaChainF64,
                                                  dot,
                                                  dotInteger};

} // namespace flyemu::matrix
