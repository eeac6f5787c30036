#include "builder/kernel/expr.h"
#include "builder/kernel/vendor_instructions.h"

namespace flydsl::builder {

Int32 dotByShifts(const Int32 &a, const Int32 &b, const Int32 &sum, Loc loc) {
  const auto byte = [&](const Int32 &word, int k) {
    return Expr(word, loc) << (24 - 8 * k) >> 24; // with its sign
  };
  Expr result(sum, loc);
  for (int k = 0; k < 4; ++k)
    result = result + byte(a, k) * byte(b, k);
  return Int32(result.number());
}

} // namespace flydsl::builder
