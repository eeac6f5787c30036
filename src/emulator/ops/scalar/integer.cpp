// Scalar arithmetic: SOP1, SOP2, SOPC, SOPK.
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"

#include <bit>
#include <iterator>

namespace flyemu {

namespace {
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

template <class T> T nonZero(Wave &w, T x) {
  w.scc = x != 0;
  return x;
}
template <class T> T bitRange(T x, unsigned offset, unsigned width) {
  if (width == 0 || offset >= sizeof(T) * 8)
    return 0;
  T r = x >> offset;
  return width >= sizeof(T) * 8 ? r : r & ((T(1) << width) - 1);
}
template <class U> U bitRangeSigned(U x, unsigned offset, unsigned width) {
  if (width == 0)
    return 0;
  unsigned total = sizeof(U) * 8;
  if (offset >= total)
    offset = total - 1;
  if (width > total - offset)
    width = total - offset;
  auto s = static_cast<std::make_signed_t<U>>(x << (total - offset - width));
  return static_cast<U>(s >> (total - width));
}
template <class T> T bitMask(u32 width, u32 offset, unsigned limit) {
  return ((T(1) << (width & limit)) - 1) << (offset & limit);
}
template <class T> T reverseBits(T x) {
  T r = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i)
    r |= (x >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return r;
}
template <class T> T quadAny(T x) {
  T r = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i)
    r |= T((x >> (4 * i) & 15) != 0) << i;
  return r;
}
template <class T> T wholeQuad(T x) {
  T r = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i)
    r |= (x >> (4 * i) & 15) ? T(15) << (4 * i) : T(0);
  return r;
}
template <class T> i32 signBits(T x) { // leading bits equal to the sign, -1 if all are
  auto s = static_cast<std::make_signed_t<T>>(x);
  T y = s < 0 ? ~x : x;
  return y ? std::countl_zero(y) : -1;
}

u32 addCarry(Wave &w, u32 a, u32 b, u32 c) {
  u64 r = u64(a) + b + c;
  w.scc = r >> 32 & 1;
  return static_cast<u32>(r);
}
u32 subBorrow(Wave &w, u32 a, u32 b, u32 c) {
  w.scc = u64(a) < u64(b) + c;
  return a - b - c;
}
u32 addSigned(Wave &w, u32 a, u32 b) {
  i32 r;
  w.scc = __builtin_add_overflow(static_cast<i32>(a), static_cast<i32>(b), &r);
  return static_cast<u32>(r);
}
u32 subSigned(Wave &w, u32 a, u32 b) {
  i32 r;
  w.scc = __builtin_sub_overflow(static_cast<i32>(a), static_cast<i32>(b), &r);
  return static_cast<u32>(r);
}
template <unsigned N> u32 shiftAdd(Wave &w, u32 a, u32 b) {
  u64 r = (u64(a) << N) + b;
  w.scc = r >> 32 != 0;
  return static_cast<u32>(r);
}

#define LOGIC(NAME, FUNCTION, EXPR)                                                                \
  sop2<u32, u32, u32>("s_" NAME "_b32",                                                            \
                      [](Wave &w, u32 a, u32 b) { return nonZero<u32>(w, EXPR); })                 \
      .flows(Flow::Logic, Logic::FUNCTION),                                                        \
      sop2<u64, u64, u64>("s_" NAME "_b64", [](Wave &w, u64 a, u64 b) {                            \
        return nonZero<u64>(w, EXPR);                                                              \
      }).flows(Flow::Logic, Logic::FUNCTION)

// These save EXEC: the old EXEC, as many bits as a wave has lanes, goes to the destination.
#define SAVEEXEC(NAME, FUNCTION, EXPR)                                                             \
  sop1<u64, u64>("s_" NAME "_saveexec_b64",                                                        \
                 [](Wave &w, u64 s) {                                                              \
                   u64 e = w.exec(), r = EXPR;                                                     \
                   w.setExec(r);                                                                   \
                   w.scc = r != 0;                                                                 \
                   return e;                                                                       \
                 })                                                                                \
      .flows(Flow::SaveExec, Logic::FUNCTION),                                                     \
      sop1<u32, u32>("s_" NAME "_saveexec_b32", [](Wave &w, u32 s) {                               \
        u32 e = static_cast<u32>(w.exec()), r = static_cast<u32>(EXPR);                            \
        w.s[kExec] = r;                                                                            \
        w.scc = r != 0;                                                                            \
        return e;                                                                                  \
      }).flows(Flow::SaveExec, Logic::FUNCTION)
#define WREXEC(NAME, FUNCTION, EXPR)                                                               \
  sop1<u64, u64>("s_" NAME "_wrexec_b64",                                                          \
                 [](Wave &w, u64 s) {                                                              \
                   u64 e = w.exec(), r = EXPR;                                                     \
                   w.setExec(r);                                                                   \
                   w.scc = r != 0;                                                                 \
                   return r;                                                                       \
                 })                                                                                \
      .flows(Flow::WriteExec, Logic::FUNCTION),                                                    \
      sop1<u32, u32>("s_" NAME "_wrexec_b32", [](Wave &w, u32 s) {                                 \
        u32 e = static_cast<u32>(w.exec()), r = static_cast<u32>(EXPR);                            \
        w.s[kExec] = r;                                                                            \
        w.scc = r != 0;                                                                            \
        return r;                                                                                  \
      }).flows(Flow::WriteExec, Logic::FUNCTION)

#define COMPARE(NAME, OP, FLOW)                                                                    \
  sopc<i32, i32>("s_cmp_" NAME "_i32", [](i32 a, i32 b) { return a OP b; }).flows(Flow::FLOW),     \
      sopc<u32, u32>("s_cmp_" NAME "_u32", [](u32 a, u32 b) { return a OP b; }).flows(Flow::FLOW), \
      plain(                                                                                       \
          "s_cmpk_" NAME "_i32", Class::Salu,                                                      \
          [](Wave &w, const Inst &i) { w.scc = static_cast<i32>(w.s[i.dst.index]) OP i.offset; }), \
      plain("s_cmpk_" NAME "_u32", Class::Salu, [](Wave &w, const Inst &i) {                       \
        w.scc = w.s[i.dst.index] OP(static_cast<u32>(i.offset) & 0xffff);                          \
      })

constexpr OpDef kOps[] = {
    sop2<u32, u32, u32>("s_add_u32", [](Wave &w, u32 a, u32 b) { return addCarry(w, a, b, 0); }),
    sop2<u32, u32, u32>("s_sub_u32", [](Wave &w, u32 a, u32 b) { return subBorrow(w, a, b, 0); }),
    sop2<u32, u32, u32>("s_addc_u32", [](Wave &w, u32 a, u32 b) { return addCarry(w, a, b, w.scc); }),
    sop2<u32, u32, u32>("s_subb_u32", [](Wave &w, u32 a, u32 b) { return subBorrow(w, a, b, w.scc); }),
    sop2<u32, u32, u32>("s_add_i32", [](Wave &w, u32 a, u32 b) { return addSigned(w, a, b); }),
    sop2<u32, u32, u32>("s_sub_i32", [](Wave &w, u32 a, u32 b) { return subSigned(w, a, b); }),
    sop2<u64, u64, u64>("s_add_u64", [](Wave &, u64 a, u64 b) { return a + b; }),
    sop2<u64, u64, u64>("s_sub_u64", [](Wave &, u64 a, u64 b) { return a - b; }),
    sop2<u64, u64, u64>("s_mul_u64", [](Wave &, u64 a, u64 b) { return a * b; }),
    sop2<i32, i32, i32>("s_min_i32", [](Wave &w, i32 a, i32 b) { w.scc = a < b; return a < b ? a : b; }),
    sop2<u32, u32, u32>("s_min_u32", [](Wave &w, u32 a, u32 b) { w.scc = a < b; return a < b ? a : b; }),
    sop2<i32, i32, i32>("s_max_i32", [](Wave &w, i32 a, i32 b) { w.scc = a >= b; return a >= b ? a : b; }),
    sop2<u32, u32, u32>("s_max_u32", [](Wave &w, u32 a, u32 b) { w.scc = a >= b; return a >= b ? a : b; }),
    sop2<u32, u32, u32>("s_cselect_b32", [](Wave &w, u32 a, u32 b) { return w.scc ? a : b; }).flows(Flow::Select),
    sop2<u64, u64, u64>("s_cselect_b64", [](Wave &w, u64 a, u64 b) { return w.scc ? a : b; }).flows(Flow::Select),
    LOGIC("and", And, a & b), LOGIC("or", Or, a | b), LOGIC("xor", Xor, a ^ b), LOGIC("andn2", AndNot, a & ~b), LOGIC("orn2", OrNot, a | ~b),
    LOGIC("nand", Nand, ~(a & b)), LOGIC("nor", Nor, ~(a | b)), LOGIC("xnor", Xnor, ~(a ^ b)),
    sop2<u32, u32, u32>("s_lshl_b32", [](Wave &w, u32 a, u32 b) { return nonZero<u32>(w, a << (b & 31)); }).flows(Flow::ShiftLeft),
    sop2<u64, u64, u32>("s_lshl_b64", [](Wave &w, u64 a, u32 b) { return nonZero<u64>(w, a << (b & 63)); }).flows(Flow::ShiftLeft),
    sop2<u32, u32, u32>("s_lshr_b32", [](Wave &w, u32 a, u32 b) { return nonZero<u32>(w, a >> (b & 31)); }).flows(Flow::ShiftRight),
    sop2<u64, u64, u32>("s_lshr_b64", [](Wave &w, u64 a, u32 b) { return nonZero<u64>(w, a >> (b & 63)); }).flows(Flow::ShiftRight),
    sop2<i32, i32, u32>("s_ashr_i32", [](Wave &w, i32 a, u32 b) { return nonZero<i32>(w, a >> (b & 31)); }),
    sop2<i64, i64, u32>("s_ashr_i64", [](Wave &w, i64 a, u32 b) { return nonZero<i64>(w, a >> (b & 63)); }),
    sop2<u32, u32, u32>("s_bfm_b32", [](Wave &, u32 a, u32 b) { return bitMask<u32>(a, b, 31); }),
    sop2<u64, u32, u32>("s_bfm_b64", [](Wave &, u32 a, u32 b) { return bitMask<u64>(a, b, 63); }),
    sop2<u32, u32, u32>("s_mul_i32", [](Wave &, u32 a, u32 b) { return a * b; }),
    sop2<u32, u32, u32>("s_mul_hi_u32", [](Wave &, u32 a, u32 b) { return u64(a) * b >> 32; }),
    sop2<u32, i32, i32>("s_mul_hi_i32", [](Wave &, i32 a, i32 b) { return static_cast<u64>(i64(a) * b) >> 32; }),
    sop2<u32, u32, u32>("s_bfe_u32", [](Wave &w, u32 a, u32 b) {
      return nonZero<u32>(w, bitRange<u32>(a, b & 31, b >> 16 & 127));
    }).flows(Flow::Extract),
    sop2<u32, u32, u32>("s_bfe_i32", [](Wave &w, u32 a, u32 b) {
      return nonZero<u32>(w, bitRangeSigned<u32>(a, b & 31, b >> 16 & 127));
    }).flows(Flow::Extract).with(Trait::SignExtends),
    sop2<u64, u64, u32>("s_bfe_u64", [](Wave &w, u64 a, u32 b) {
      return nonZero<u64>(w, bitRange<u64>(a, b & 63, b >> 16 & 127));
    }).flows(Flow::Extract),
    sop2<u64, u64, u32>("s_bfe_i64", [](Wave &w, u64 a, u32 b) {
      return nonZero<u64>(w, bitRangeSigned<u64>(a, b & 63, b >> 16 & 127));
    }).flows(Flow::Extract).with(Trait::SignExtends),
    sop2<u32, i32, i32>("s_absdiff_i32", [](Wave &w, i32 a, i32 b) {
      u32 d = static_cast<u32>(a) - static_cast<u32>(b);
      return nonZero<u32>(w, static_cast<i32>(d) < 0 ? 0 - d : d);
    }),
    sop2<u32, u32, u32>("s_lshl1_add_u32", [](Wave &w, u32 a, u32 b) { return shiftAdd<1>(w, a, b); }),
    sop2<u32, u32, u32>("s_lshl2_add_u32", [](Wave &w, u32 a, u32 b) { return shiftAdd<2>(w, a, b); }),
    sop2<u32, u32, u32>("s_lshl3_add_u32", [](Wave &w, u32 a, u32 b) { return shiftAdd<3>(w, a, b); }),
    sop2<u32, u32, u32>("s_lshl4_add_u32", [](Wave &w, u32 a, u32 b) { return shiftAdd<4>(w, a, b); }),
    sop2<u32, u32, u32>("s_pack_ll_b32_b16", [](Wave &, u32 a, u32 b) { return (a & 0xffff) | b << 16; }),
    sop2<u32, u32, u32>("s_pack_lh_b32_b16", [](Wave &, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }),
    sop2<u32, u32, u32>("s_pack_hh_b32_b16", [](Wave &, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }),
    sop2<u32, u32, u32>("s_pack_hl_b32_b16", [](Wave &, u32 a, u32 b) { return a >> 16 | b << 16; }),

    sop1<u32, u32>("s_mov_b32", [](Wave &, u32 a) { return a; }).flows(Flow::Move),
    sop1<u64, u64>("s_mov_b64", [](Wave &, u64 a) { return a; }).flows(Flow::Move),
    plain("s_cmov_b32", Class::Salu, [](Wave &w, const Inst &i) {
      if (w.scc)
        writeScalar<u32>(w, i.dst, read32(w, i.src[0]));
    }, Type::B32).flows(Flow::MoveIf),
    plain("s_cmov_b64", Class::Salu, [](Wave &w, const Inst &i) {
      if (w.scc)
        writeScalar<u64>(w, i.dst, read64(w, i.src[0]));
    }, Type::B64, Type::None, Type::B64).flows(Flow::MoveIf),
    sop1<u32, u32>("s_not_b32", [](Wave &w, u32 a) { return nonZero<u32>(w, ~a); }).flows(Flow::Logic, Logic::Not),
    sop1<u64, u64>("s_not_b64", [](Wave &w, u64 a) { return nonZero<u64>(w, ~a); }).flows(Flow::Logic, Logic::Not),
    sop1<u32, u32>("s_wqm_b32", [](Wave &w, u32 a) { return nonZero(w, wholeQuad(a)); }),
    sop1<u64, u64>("s_wqm_b64", [](Wave &w, u64 a) { return nonZero(w, wholeQuad(a)); }),
    sop1<u32, u32>("s_brev_b32", [](Wave &, u32 a) { return reverseBits(a); }),
    sop1<u64, u64>("s_brev_b64", [](Wave &, u64 a) { return reverseBits(a); }),
    sop1<u32, u32>("s_bcnt0_i32_b32", [](Wave &w, u32 a) { return nonZero<u32>(w, std::popcount(~a)); }),
    sop1<u32, u64>("s_bcnt0_i32_b64", [](Wave &w, u64 a) { return nonZero<u32>(w, std::popcount(~a)); }),
    sop1<u32, u32>("s_bcnt1_i32_b32", [](Wave &w, u32 a) { return nonZero<u32>(w, std::popcount(a)); }),
    sop1<u32, u64>("s_bcnt1_i32_b64", [](Wave &w, u64 a) { return nonZero<u32>(w, std::popcount(a)); }),
    sop1<i32, u32>("s_ff0_i32_b32", [](Wave &, u32 a) { return ~a ? std::countr_one(a) : -1; }),
    sop1<i32, u64>("s_ff0_i32_b64", [](Wave &, u64 a) { return ~a ? std::countr_one(a) : -1; }),
    sop1<i32, u32>("s_ff1_i32_b32", [](Wave &, u32 a) { return a ? std::countr_zero(a) : -1; }),
    sop1<i32, u64>("s_ff1_i32_b64", [](Wave &, u64 a) { return a ? std::countr_zero(a) : -1; }),
    sop1<i32, u32>("s_flbit_i32_b32", [](Wave &, u32 a) { return a ? std::countl_zero(a) : -1; }),
    sop1<i32, u64>("s_flbit_i32_b64", [](Wave &, u64 a) { return a ? std::countl_zero(a) : -1; }),
    sop1<i32, u32>("s_flbit_i32", [](Wave &, u32 a) { return signBits(a); }),
    sop1<i32, u64>("s_flbit_i32_i64", [](Wave &, u64 a) { return signBits(a); }),
    sop1<i32, u32>("s_sext_i32_i8", [](Wave &, u32 a) { return static_cast<int8_t>(a); }),
    sop1<i32, u32>("s_sext_i32_i16", [](Wave &, u32 a) { return static_cast<int16_t>(a); }),
    plain("s_bitset0_b32", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u32>(w, i.dst, w.s[i.dst.index] & ~(1u << (read32(w, i.src[0]) & 31)));
    }, Type::B32).with(Trait::ChangesDestination),
    plain("s_bitset1_b32", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u32>(w, i.dst, w.s[i.dst.index] | 1u << (read32(w, i.src[0]) & 31));
    }, Type::B32).with(Trait::ChangesDestination),
    plain("s_bitset0_b64", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u64>(w, i.dst, w.s64(i.dst.index) & ~(u64(1) << (read32(w, i.src[0]) & 63)));
    }, Type::B32, Type::None, Type::B64).with(Trait::ChangesDestination),
    plain("s_bitset1_b64", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u64>(w, i.dst, w.s64(i.dst.index) | u64(1) << (read32(w, i.src[0]) & 63));
    }, Type::B32, Type::None, Type::B64).with(Trait::ChangesDestination),
    SAVEEXEC("and", And, s & e), SAVEEXEC("or", Or, s | e), SAVEEXEC("xor", Xor, s ^ e), SAVEEXEC("andn2", AndNot, s & ~e),
    SAVEEXEC("orn2", OrNot, s | ~e), SAVEEXEC("nand", Nand, ~(s & e)), SAVEEXEC("nor", Nor, ~(s | e)), SAVEEXEC("xnor", Xnor, ~(s ^ e)),
    SAVEEXEC("andn1", NotAnd, ~s & e), SAVEEXEC("orn1", NotOr, ~s | e),
    WREXEC("andn1", NotAnd, ~s & e), WREXEC("andn2", AndNot, s & ~e),
    sop1<u32, u32>("s_quadmask_b32", [](Wave &w, u32 a) { return nonZero(w, quadAny(a)); }),
    sop1<u64, u64>("s_quadmask_b64", [](Wave &w, u64 a) { return nonZero(w, quadAny(a)); }),
    sop1<u32, u32>("s_abs_i32", [](Wave &w, u32 a) { return nonZero<u32>(w, static_cast<i32>(a) < 0 ? 0 - a : a); }),
    sop1<u64, u32>("s_bitreplicate_b64_b32", [](Wave &, u32 a) {
      u64 r = 0;
      for (unsigned i = 0; i < 32; ++i)
        r |= u64(a >> i & 1) * 3 << (2 * i);
      return r;
    }),
    plain("s_movrels_b32", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u32>(w, i.dst, w.s[(i.src[0].index + w.m0()) & 127]);
    }, Type::B32).flows(Flow::None),
    plain("s_movrels_b64", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u64>(w, i.dst, w.s64((i.src[0].index + w.m0()) & 126));
    }, Type::B64, Type::None, Type::B64).flows(Flow::None),
    plain("s_movreld_b32", Class::Salu, [](Wave &w, const Inst &i) {
      w.s[(i.dst.index + w.m0()) & 127] = read32(w, i.src[0]);
    }, Type::B32).flows(Flow::None),
    plain("s_movreld_b64", Class::Salu, [](Wave &w, const Inst &i) {
      w.setS64((i.dst.index + w.m0()) & 126, read64(w, i.src[0]));
    }, Type::B64, Type::None, Type::B64).flows(Flow::None),

    // M0 has one index for each side.
    plain("s_movrelsd_2_b32", Class::Salu, [](Wave &w, const Inst &i) {
      w.s[(i.dst.index + (w.m0() >> 16 & 1023)) & 127] = w.s[(i.src[0].index + (w.m0() & 1023)) & 127];
    }, Type::B32).flows(Flow::None),

    COMPARE("eq", ==, Equal), COMPARE("lg", !=, Equal), COMPARE("gt", >, Any), COMPARE("ge", >=, Any), COMPARE("lt", <, Any), COMPARE("le", <=, Any),
    sopc<u64, u64>("s_cmp_eq_u64", [](u64 a, u64 b) { return a == b; }).flows(Flow::Equal),
    sopc<u64, u64>("s_cmp_lg_u64", [](u64 a, u64 b) { return a != b; }).flows(Flow::Equal),
    sopc<u32, u32>("s_bitcmp0_b32", [](u32 a, u32 b) { return !(a >> (b & 31) & 1); }).flows(Flow::BitTest),
    sopc<u32, u32>("s_bitcmp1_b32", [](u32 a, u32 b) { return a >> (b & 31) & 1; }).flows(Flow::BitTest),
    sopc<u64, u32>("s_bitcmp0_b64", [](u64 a, u32 b) { return !(a >> (b & 63) & 1); }).flows(Flow::BitTest),
    sopc<u64, u32>("s_bitcmp1_b64", [](u64 a, u32 b) { return static_cast<u32>(a >> (b & 63) & 1); }).flows(Flow::BitTest),

    plain("s_movk_i32", Class::Salu, [](Wave &w, const Inst &i) { writeScalar<i32>(w, i.dst, i.offset); }).flows(Flow::Defines),
    plain("s_cmovk_i32", Class::Salu, [](Wave &w, const Inst &i) {
      if (w.scc)
        writeScalar<i32>(w, i.dst, i.offset);
    }).flows(Flow::MoveIf),
    plain("s_addk_i32", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u32>(w, i.dst, addSigned(w, w.s[i.dst.index], static_cast<u32>(i.offset)));
    }),
    plain("s_mulk_i32", Class::Salu, [](Wave &w, const Inst &i) {
      writeScalar<u32>(w, i.dst, w.s[i.dst.index] * static_cast<u32>(i.offset));
    }),
};
} // namespace

OpTable tableSalu() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
