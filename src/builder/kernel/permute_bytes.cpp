#include "builder/kernel/expr.h"
#include "builder/kernel/vendor_instructions.h"

namespace flydsl::builder {

Int32 bytesByShifts(const Int32 &high, const Int32 &low, std::uint32_t selector, Loc loc) {
  const Expr words[] = {Expr(low, loc).bitcast(u32), Expr(high, loc).bitcast(u32)};
  Expr result(u32, 0, loc);
  for (unsigned byte = 0; byte < 4; ++byte) {
    const unsigned number = selector >> 8 * byte & 0xff;
    const Expr value = words[number / 4] >> 8 * (number % 4) & 0xffu;
    result = result | value << 8 * byte;
  }
  return Int32(result.bitcast(i32).number());
}

} // namespace flydsl::builder
