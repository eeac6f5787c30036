#include "builder/kernel/expr.h"
#include "builder/kernel/vendor_instructions.h"

namespace flydsl::builder {

Int32 bytesByShifts(const Int32 &high, const Int32 &low, const Int32 &selector, Loc loc) {
  const Expr numbers = Expr(selector, loc).bitcast(u32),
             both = Expr(high, loc).bitcast(u32).to(u64) << 32 | Expr(low, loc).bitcast(u32).to(u64);
  Expr result(u32, 0, loc);
  for (unsigned byte = 0; byte < 4; ++byte) {
    const Expr number = numbers >> 8 * byte & 7u;
    result = result | ((both >> (number * 8u).to(u64)).to(u32) & 0xffu) << 8 * byte;
  }
  return Int32(result.bitcast(i32).number());
}

} // namespace flydsl::builder
