// Comparisons: VOPC in its two forms, the writing to a mask and (cmpx) to EXEC.
#include "emulator/ops/vector/lanes.h"

namespace flyemu {

namespace {
// Conditions are bits - less, equal, greater, unordered - which is how hardware numbers them.

void writeResult(Wave &w, const Inst &i, uint64_t bits) {
  if (i.op->has(Trait::ComparesToExec)) {
    if (w.target->encoding == Encoding::Gfx9)
      w.setMask(i.mask.index, bits);
    w.setExec(bits);
  } else {
    w.setMask(i.mask.index, bits);
  }
}

/// Conditions above 7 are the complements of those below, so they hold for unordered operands.
template <unsigned Condition, class L> inline bool holds(L a, L b) {
  if constexpr (Condition > 7)
    return !holds<15 - Condition>(a, b);
  else if constexpr (Condition == 0)
    return false;
  else if constexpr (Condition == 1)
    return a < b;
  else if constexpr (Condition == 2)
    return a == b;
  else if constexpr (Condition == 3)
    return a <= b;
  else if constexpr (Condition == 4)
    return a > b;
  else if constexpr (Condition == 5)
    return a < b || a > b;
  else if constexpr (Condition == 6)
    return a >= b;
  else
    return a == a && b == b;
}

template <class T, unsigned Condition> void compareOp(Wave &w, const Inst &i) {
  using L = typename T::type;
  uint64_t exec = w.exec(), result = 0;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk], bb[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba), *b = fetch<T>(w, i.src[1], c, bb);
    const uint32_t bits = maskOf([&](int l) { return holds<Condition>(a[l], b[l]); });
    result |= uint64_t(bits & m) << (c * kChunk);
  }
  writeResult(w, i, result);
}

/// The class of a float as the bit that the mask operand selects it by.
template <class U, int Mantissa, int Exponent> uint32_t classBit(U x) {
  constexpr U kFraction = (U(1) << Mantissa) - 1, kExponents = (U(1) << Exponent) - 1;
  bool negative = x >> (Mantissa + Exponent) & 1;
  U e = x >> Mantissa & kExponents, f = x & kFraction;
  if (e == kExponents && f)
    return f >> (Mantissa - 1) & 1 ? 2 : 1; // quiet, signalling
  if (e == kExponents)
    return negative ? 4 : 0x200;
  if (e == 0 && f == 0)
    return negative ? 0x20 : 0x40;
  if (e == 0)
    return negative ? 0x10 : 0x80;
  return negative ? 8 : 0x100;
}

/// `M` is the operand with the classes: 16 bits beside a half, so that RDNA's code may have it in
/// either half of a register.
template <class T, class M, int Mantissa, int Exponent> void classOp(Wave &w, const Inst &i) {
  using L = typename T::type;
  uint64_t exec = w.exec(), result = 0;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk];
    alignas(64) typename M::type bb[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba);
    const typename M::type *b = fetch<M>(w, i.src[1], c, bb);
    uint32_t bits =
        maskOf([&](int l) { return (classBit<L, Mantissa, Exponent>(a[l]) & b[l]) != 0; });
    result |= uint64_t(bits & m) << (c * kChunk);
  }
  writeResult(w, i, result);
}

template <class T, unsigned Condition> constexpr OpDef compare(const char *name, TraitSet traits) {
  return {name,       compareOp<T, Condition>,        Class::Valu,
          Type::Mask, {T::kind, T::kind, Type::None}, {},
          traits};
}

#define FLOAT_CONDITIONS(P, S, T, X)                                                               \
  compare<T, 0>(P "f_" S, X), compare<T, 1>(P "lt_" S, X), compare<T, 2>(P "eq_" S, X),            \
      compare<T, 3>(P "le_" S, X), compare<T, 4>(P "gt_" S, X), compare<T, 5>(P "lg_" S, X),       \
      compare<T, 6>(P "ge_" S, X), compare<T, 7>(P "o_" S, X), compare<T, 8>(P "u_" S, X),         \
      compare<T, 9>(P "nge_" S, X), compare<T, 10>(P "nlg_" S, X), compare<T, 11>(P "ngt_" S, X),  \
      compare<T, 12>(P "nle_" S, X), compare<T, 13>(P "neq_" S, X), compare<T, 14>(P "nlt_" S, X), \
      compare<T, 15>(P "tru_" S, X), compare<T, 15>(P "t_" S, X)
#define INTEGER_CONDITIONS(P, S, T, X)                                                             \
  compare<T, 0>(P "f_" S, X), compare<T, 1>(P "lt_" S, X), compare<T, 2>(P "eq_" S, X),            \
      compare<T, 3>(P "le_" S, X), compare<T, 4>(P "gt_" S, X), compare<T, 5>(P "ne_" S, X),       \
      compare<T, 6>(P "ge_" S, X), compare<T, 7>(P "t_" S, X)
#define FLOATS(S, T)                                                                               \
  FLOAT_CONDITIONS("v_cmp_", S, T, {}), FLOAT_CONDITIONS("v_cmpx_", S, T, Trait::ComparesToExec)
#define INTEGERS(S, T)                                                                             \
  INTEGER_CONDITIONS("v_cmp_", S, T, {}), INTEGER_CONDITIONS("v_cmpx_", S, T, Trait::ComparesToExec)
template <class T, class M, int Mantissa, int Exponent>
constexpr OpDef classify(const char *name, TraitSet traits) {
  return {name,       classOp<T, M, Mantissa, Exponent>, Class::Valu,
          Type::Mask, {T::kind, M::kind, Type::None},    {},
          traits};
}
#define CLASS(S, T, M, MANTISSA, EXPONENT)                                                         \
  classify<T, M, MANTISSA, EXPONENT>("v_cmp_class_" S, {}),                                        \
      classify<T, M, MANTISSA, EXPONENT>("v_cmpx_class_" S, Trait::ComparesToExec)

constexpr OpDef kOps[] = {
    FLOATS("f16", F16),
    FLOATS("f32", F32),
    FLOATS("f64", F64),
    INTEGERS("i16", I16),
    INTEGERS("u16", U16),
    INTEGERS("i32", I32),
    INTEGERS("u32", U32),
    INTEGERS("i64", I64),
    INTEGERS("u64", U64),
    CLASS("f16", H16, U16, 10, 5),
    CLASS("f32", B32F, U32, 23, 8),
    CLASS("f64", B64F, U32, 52, 11),
};
} // namespace

FLYEMU_EXPORT(ValuCompare, kOps)

} // namespace flyemu
