// Scalar floating point (gfx11.5 and gfx12): the same arithmetic as of the vector unit, on one
// value.
#include "emulator/ops/find_op.h"
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"
#include "emulator/ops/vector/lanes.h"

#include <algorithm>
#include <iterator>

namespace flyemu {

namespace {
float half(uint32_t x) { return halfToFloatSoft(static_cast<uint16_t>(x)); }
uint32_t toHalf(float x) { return floatToHalfSoft(x); }
float single(uint32_t x) { return asFloat(x); }
uint32_t toSingle(float x) { return bitsOf(x); }

/// In modes other than round to nearest with denormals kept: the vector operation that `Vector`
/// names, on one lane.
template <class Vector> void asVector(Wave &w, const Inst &i, const Operand (&operands)[3]) {
  static const OpDef *const vector = findOp(Vector{}());
  if (!vector)
    throw WaveFault{"scalar floating point in a rounding or denormal mode other than the default"};
  Inst run = i;
  run.op = vector;
  std::copy_n(operands, 3, run.src);
  run.dst = w.tempOperand(0);
  const uint64_t exec = w.exec();
  w.setExec(1);
  vector->fn(w, run);
  w.setExec(exec);
  writeScalar<uint32_t>(w, i.dst, w.temp(0)[0]);
}

/// The vector operation of a row.
#define VECTOR(NAME) decltype([] { return NAME; })

/// Where the operands are.
enum class Operands {
  Plain,      ///< the sources; the third, if there is one, is the literal
  Accumulate, ///< the third is the destination
  Middle,     ///< the literal comes between the two sources
};

template <class F, bool Half, class Vector, Operands Order>
void arithmetic(Wave &w, const Inst &i) {
  const Operand &second = Order == Operands::Middle ? i.src[2] : i.src[1];
  const Operand &third = Order == Operands::Accumulate ? i.dst
                         : Order == Operands::Middle   ? i.src[1]
                                                       : i.src[2];
  if (!w.plainFloat)
    return asVector<Vector>(w, i, {i.src[0], second, third});
  auto in = [&](const Operand &o) { return Half ? half(read32(w, o)) : single(read32(w, o)); };
  float r = F{}(in(i.src[0]), in(second), in(third));
  writeScalar<uint32_t>(w, i.dst, Half ? toHalf(r) : toSingle(r));
}
template <bool Half, class Vector, Operands Order = Operands::Plain, class F>
constexpr OpDef op(const char *name, F) {
  constexpr Type t = Half ? Type::F16 : Type::F32;
  return {name, arithmetic<F, Half, Vector, Order>, Class::Salu, Type::B32, {t, t, Type::None}};
}

/// The condition is the bits less, equal, greater, unordered, as of the vector comparisons.
template <bool Half> void compare(Wave &w, const Inst &i) {
  auto in = [&](const Operand &o) {
    const uint32_t x = read32(w, o);
    if constexpr (Half)
      return half(flushes<F16>(w, 1) ? flushBits(static_cast<uint16_t>(x)) : x);
    else
      return single(flushes<F32>(w, 1) ? flushBits(x) : x);
  };
  const float a = in(i.src[0]), b = in(i.src[1]);
  unsigned relation = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
  w.scc = (i.op->relations & relation) != 0;
}
template <bool Half> constexpr OpDef cmp(const char *name, uint8_t relations) {
  constexpr Type t = Half ? Type::F16 : Type::F32;
  return {.name = name,
          .fn = compare<Half>,
          .cls = Class::Salu,
          .src = {t, t, Type::None},
          .relations = relations};
}
#define COMPARE(NAME, CONDITION)                                                                   \
  cmp<false>("s_cmp_" NAME "_f32", CONDITION), cmp<true>("s_cmp_" NAME "_f16", CONDITION)
#define BOTH(NAME, EXPR)                                                                           \
  op<false, VECTOR("v_" NAME "_f32")>(                                                             \
      "s_" NAME "_f32", [](float a, [[maybe_unused]] float b, float) { return EXPR; }),            \
      op<true, VECTOR("v_" NAME "_f16")>(                                                          \
          "s_" NAME "_f16", [](float a, [[maybe_unused]] float b, float) { return EXPR; })

template <class Vector, bool High = false, class F>
constexpr OpDef convert(const char *name, Type type, F) {
  return {name,
          [](Wave &w, const Inst &i) {
            if (!w.plainFloat) {
              Operand first = i.src[0];
              first.flags |= High ? kHigh : 0;
              return asVector<Vector>(w, i, {first, i.src[1], i.src[2]});
            }
            writeScalar<uint32_t>(w, i.dst, F{}(read32(w, i.src[0])));
          },
          Class::Salu,
          Type::B32,
          {type, Type::None, Type::None}};
}

constexpr OpDef kOps[] = {
    BOTH("add", add(a, b)),
    BOTH("sub", sub(a, b)),
    BOTH("mul", mul(a, b)),
    BOTH("min", minNum(a, b)),
    BOTH("max", maxNum(a, b)),
    BOTH("minimum", a != a   ? quiet(a)
                    : b != b ? quiet(b)
                             : minNum(a, b)),
    BOTH("maximum", a != a   ? quiet(a)
                    : b != b ? quiet(b)
                             : maxNum(a, b)),
    BOTH("ceil", nanOf(__builtin_ceilf(a), a, a)),
    BOTH("floor", nanOf(__builtin_floorf(a), a, a)),
    BOTH("trunc", nanOf(__builtin_truncf(a), a, a)),
    BOTH("rndne", nanOf(__builtin_roundevenf(a), a, a)),
    op<false, VECTOR("v_fma_f32"), Operands::Accumulate>(
        "s_fmac_f32", [](float a, float b, float c) { return fma(a, b, c); }),
    op<true, VECTOR("v_fma_f16"), Operands::Accumulate>(
        "s_fmac_f16", [](float a, float b, float c) { return fmaHalf(a, b, c); }),
    op<false, VECTOR("v_fmaak_f32")>("s_fmaak_f32",
                                     [](float a, float b, float k) { return fma(a, b, k); }),
    op<false, VECTOR("v_fmamk_f32"), Operands::Middle>(
        "s_fmamk_f32", [](float a, float k, float b) { return fma(a, k, b); }),
    COMPARE("lt", 1),
    COMPARE("eq", 2),
    COMPARE("le", 3),
    COMPARE("gt", 4),
    COMPARE("lg", 5),
    COMPARE("ge", 6),
    COMPARE("o", 7),
    COMPARE("u", 8),
    COMPARE("nge", 9),
    COMPARE("nlg", 10),
    COMPARE("ngt", 11),
    COMPARE("nle", 12),
    COMPARE("neq", 13),
    COMPARE("nlt", 14),
    convert<VECTOR("v_cvt_f32_i32")>("s_cvt_f32_i32", Type::B32,
            [](uint32_t x) { return bitsOf(static_cast<float>(static_cast<int32_t>(x))); }),
    convert<VECTOR("v_cvt_f32_u32")>("s_cvt_f32_u32", Type::B32, [](uint32_t x) { return bitsOf(static_cast<float>(x)); }),
    convert<VECTOR("v_cvt_i32_f32")>("s_cvt_i32_f32", Type::F32,
            [](uint32_t x) {
              float a = asFloat(x);
              return static_cast<uint32_t>(a != a               ? 0
                                           : a >= 2147483648.0f ? INT32_MAX
                                           : a < -2147483648.0f ? INT32_MIN
                                                                : static_cast<int32_t>(a));
            }),
    convert<VECTOR("v_cvt_u32_f32")>("s_cvt_u32_f32", Type::F32,
            [](uint32_t x) {
              float a = asFloat(x);
              return a != a || a <= 0 ? 0 : a >= 4294967296.0f ? ~0u : static_cast<uint32_t>(a);
            }),
    convert<VECTOR("v_cvt_f16_f32")>("s_cvt_f16_f32", Type::F32, [](uint32_t x) { return toHalf(asFloat(x)); }),
    {"s_cvt_pk_rtz_f16_f32",
     [](Wave &w, const Inst &i) {
       const uint32_t low = halfRtz(asFloat(read32(w, i.src[0])));
       writeScalar<uint32_t>(w, i.dst, low | uint32_t(halfRtz(asFloat(read32(w, i.src[1])))) << 16);
     },
     Class::Salu,
     Type::B32,
     {Type::F32, Type::F32, Type::None}},
    convert<VECTOR("v_cvt_f32_f16")>("s_cvt_f32_f16", Type::F16, [](uint32_t x) { return bitsOf(half(x)); }),
    convert<VECTOR("v_cvt_f32_f16"), true>("s_cvt_hi_f32_f16", Type::F16, [](uint32_t x) { return bitsOf(half(x >> 16)); }),
};
} // namespace

OpTable tableSaluFloat() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
