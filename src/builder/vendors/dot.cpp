// The functions of flydsl/kernel/dot.h.
#include <flydsl/kernel/dot.h>

#include "builder/vendors/vendors.h"

FLYDSL_NAMESPACE_BEGIN

Int32 dot4(const Int32 &a, const Int32 &b, const Int32 &sum, Loc loc) {
  return builder::instructionsFor("dot4", loc).dot4(a, b, sum, loc);
}

FLYDSL_NAMESPACE_END
