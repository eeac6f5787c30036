// Integers of 64 bits as gfx1250 has them, and its multiply-adds without a carry.
#include "emulator/ops/vector/lanes.h"

namespace flyemu {

namespace {
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

/// A function of two bits, half of a dual instruction: of the table of three the entries whose third
/// bit is clear.
void bitop2(Wave &w, const Inst &i) {
  const uint64_t exec = w.exec();
  u32 both[4];
  for (unsigned k = 0; k < 4; ++k)
    both[k] = i.truthTable >> (2 * k) & 1 ? ~u32(0) : 0;
  for (unsigned c = 0; c * kChunk < w.lanes; ++c) {
    const auto m = static_cast<u32>(exec >> (c * kChunk));
    if (!m)
      continue;
    alignas(64) u32 bufs[2][kChunk], r[kChunk];
    const u32 *a = fetch<U32>(w, i.src[0], c, bufs[0]), *b = fetch<U32>(w, i.src[1], c, bufs[1]);
    FLYEMU_EACH (l)
      r[l] = (~a[l] & ~b[l] & both[0]) | (~a[l] & b[l] & both[1]) | (a[l] & ~b[l] & both[2]) |
             (a[l] & b[l] & both[3]);
    storeRow(w.row(i.dst.index) + c * kChunk, r, m);
  }
}

constexpr OpDef kOps[] = {
    OpDef{"v_bitop2_b32", bitop2, Class::Valu, Type::B32, {Type::B32, Type::B32, Type::None}}
        .with(Trait::TruthTable),
    lane<U64, U64, U64>("v_min_u64", [](u64 a, u64 b) { return a < b ? a : b; }),
    lane<U64, U64, U64>("v_max_u64", [](u64 a, u64 b) { return a > b ? a : b; }),
    lane<I64, I64, I64>("v_min_i64", [](i64 a, i64 b) { return a < b ? a : b; }),
    lane<I64, I64, I64>("v_max_i64", [](i64 a, i64 b) { return a > b ? a : b; }),
    lane<U32, U32, U32, U32>("v_mad_u32", [](u32 a, u32 b, u32 c) { return a * b + c; })
        .costs(Cost::Product)
        .with(Trait::LowFromLow),
    lane<U64, U32, U32, U64>("v_mad_nc_u64_u32", [](u32 a, u32 b, u64 c) { return u64(a) * b + c; })
        .costs(Cost::Product),
    lane<I64, I32, I32, I64>("v_mad_nc_i64_i32",
                             [](i32 a, i32 b, i64 c) {
                               return static_cast<i64>(static_cast<u64>(i64(a) * b) +
                                                       static_cast<u64>(c));
                             })
        .costs(Cost::Product),
    lane<F64, F64, F64, F64>("v_fmamk_f64",
                             [](double a, double b, double c) { return fma(a, b, c); })
        .constant(Literal::Second),
    lane<F64, F64, F64, F64>("v_fmaak_f64",
                             [](double a, double b, double c) { return fma(a, b, c); })
        .constant(Literal::Third),
};
} // namespace

FLYEMU_EXPORT(ValuInt64, kOps)

} // namespace flyemu
