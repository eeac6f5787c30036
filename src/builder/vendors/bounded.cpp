// Global memory with an end, which each vendor has instructions of its own for.
#include <flydsl/kernel/bounded.h>

#include "builder/vendors/vendors.h"

FLYDSL_NAMESPACE_BEGIN

using builder::instructionsFor;

Tensor bounded(const Tensor &tensor, const Int64 &bytes, Loc loc) {
  return instructionsFor("bounded", loc).bounded(tensor, bytes, loc);
}
CopyOp BoundedCopy(int bits, Loc loc) { return BoundedCopy(bits, CachePolicy::cached, loc); }
CopyOp BoundedCopy(int bits, CachePolicy cache, Loc loc) {
  return instructionsFor("BoundedCopy", loc).boundedCopy(bits, cache, loc);
}
Numeric bounded_load(const Pointer &view, const BoundedPlace &place, DType type, Loc loc) {
  return instructionsFor("bounded_load", loc).boundedLoad(view, place, type, loc);
}
Vector bounded_load(const Pointer &view, const BoundedPlace &place, DType type, std::int64_t size,
                    Loc loc) {
  return bounded_load(view, place, type, size, CachePolicy::cached, loc);
}
Vector bounded_load(const Pointer &view, const BoundedPlace &place, DType type, std::int64_t size,
                    CachePolicy cache, Loc loc) {
  return instructionsFor("bounded_load", loc).boundedLoad(view, place, type, size, cache, loc);
}
void bounded_load_to_shared(const Pointer &view, const BoundedPlace &place, const Pointer &shared,
                            int bytes, Loc loc) {
  bounded_load_to_shared(view, place, shared, bytes, CachePolicy::cached, loc);
}
void bounded_load_to_shared(const Pointer &view, const BoundedPlace &place, const Pointer &shared,
                            int bytes, CachePolicy cache, Loc loc) {
  instructionsFor("bounded_load_to_shared", loc)
      .boundedLoadToShared(view, place, shared, bytes, cache, loc);
}

FLYDSL_NAMESPACE_END
