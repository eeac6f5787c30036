// Comparisons: VOPC in its two forms, the writing to a mask and (cmpx) to EXEC.
#include "emulator/exec/lanes.h"

namespace flyemu {

namespace {
// OpDef::info: the condition as bits - less, equal, greater, unordered - which is how hardware
// numbers them; and the cmpx flag, which permutes look at too.
constexpr uint32_t kCmpx = 0x100;

void writeResult(Wave &w, const Inst &i, uint64_t bits) {
  if (i.op->info & kCmpx) {
    if (w.target->family == Family::Gfx9)
      w.setMask(i.sdst.index, bits);
    w.setExec(bits);
  } else {
    w.setMask(i.sdst.index, bits);
  }
}

template <class T> void compareOp(Wave &w, const Inst &i) {
  using L = typename T::type;
  uint64_t exec = w.exec(), result = 0;
  const uint32_t condition = i.op->info & 15;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk], bb[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba), *b = fetch<T>(w, i.src[1], c, bb);
    uint32_t less = maskOf([&](int l) { return a[l] < b[l]; });
    uint32_t equal = maskOf([&](int l) { return a[l] == b[l]; });
    uint32_t greater = maskOf([&](int l) { return a[l] > b[l]; });
    uint32_t bits = (condition & 1 ? less : 0) | (condition & 2 ? equal : 0) |
                    (condition & 4 ? greater : 0) | (condition & 8 ? ~(less | equal | greater) : 0);
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

template <class T, int Mantissa, int Exponent> void classOp(Wave &w, const Inst &i) {
  using L = typename T::type;
  uint64_t exec = w.exec(), result = 0;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) L ba[kChunk];
    alignas(64) uint32_t bb[kChunk];
    const L *a = fetch<T>(w, i.src[0], c, ba);
    const uint32_t *b = fetch<U32>(w, i.src[1], c, bb);
    uint32_t bits =
        maskOf([&](int l) { return (classBit<L, Mantissa, Exponent>(a[l]) & b[l]) != 0; });
    result |= uint64_t(bits & m) << (c * kChunk);
  }
  writeResult(w, i, result);
}

template <class T> constexpr OpDef compare(const char *name, uint32_t info) {
  return {name, compareOp<T>, Class::Valu, Type::Mask, {T::kind, T::kind, Type::None}, info};
}

#define FLOAT_CONDITIONS(P, S, T, X)                                                               \
  compare<T>(P "f_" S, X | 0), compare<T>(P "lt_" S, X | 1), compare<T>(P "eq_" S, X | 2),         \
      compare<T>(P "le_" S, X | 3), compare<T>(P "gt_" S, X | 4), compare<T>(P "lg_" S, X | 5),    \
      compare<T>(P "ge_" S, X | 6), compare<T>(P "o_" S, X | 7), compare<T>(P "u_" S, X | 8),      \
      compare<T>(P "nge_" S, X | 9), compare<T>(P "nlg_" S, X | 10),                               \
      compare<T>(P "ngt_" S, X | 11), compare<T>(P "nle_" S, X | 12),                              \
      compare<T>(P "neq_" S, X | 13), compare<T>(P "nlt_" S, X | 14),                              \
      compare<T>(P "tru_" S, X | 15), compare<T>(P "t_" S, X | 15)
#define INTEGER_CONDITIONS(P, S, T, X)                                                             \
  compare<T>(P "f_" S, X | 0), compare<T>(P "lt_" S, X | 1), compare<T>(P "eq_" S, X | 2),         \
      compare<T>(P "le_" S, X | 3), compare<T>(P "gt_" S, X | 4), compare<T>(P "ne_" S, X | 5),    \
      compare<T>(P "ge_" S, X | 6), compare<T>(P "t_" S, X | 7)
#define FLOATS(S, T) FLOAT_CONDITIONS("v_cmp_", S, T, 0), FLOAT_CONDITIONS("v_cmpx_", S, T, kCmpx)
#define INTEGERS(S, T)                                                                             \
  INTEGER_CONDITIONS("v_cmp_", S, T, 0), INTEGER_CONDITIONS("v_cmpx_", S, T, kCmpx)
#define CLASS(S, T, M, E)                                                                          \
  {"v_cmp_class_" S,                                                                               \
   classOp<T, M, E>,                                                                               \
   Class::Valu,                                                                                    \
   Type::Mask,                                                                                     \
   {T::kind, Type::B32, Type::None},                                                               \
   0},                                                                                             \
  {                                                                                                \
    "v_cmpx_class_" S, classOp<T, M, E>, Class::Valu, Type::Mask,                                  \
        {T::kind, Type::B32, Type::None}, kCmpx                                                    \
  }

constexpr OpDef kOps[] = {
    FLOATS("f16", F16),       FLOATS("f32", F32),        FLOATS("f64", F64),
    INTEGERS("i16", I16),     INTEGERS("u16", U16),      INTEGERS("i32", I32),
    INTEGERS("u32", U32),     INTEGERS("i64", I64),      INTEGERS("u64", U64),
    CLASS("f16", H16, 10, 5), CLASS("f32", B32F, 23, 8), CLASS("f64", B64F, 52, 11),
};
} // namespace

FLYEMU_EXPORT(ValuCompare, kOps)

} // namespace flyemu
