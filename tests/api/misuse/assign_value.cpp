// A value never changes, so it can't be assigned to.
// says: fx::Var holds what changes
#include <flydsl/kernel/gpu.h>
void f() {
  flydsl::Int32 x = flydsl::thread_idx().x;
  flydsl::Numeric y = x + 1;
#ifdef MISUSE
  x = y;
#endif
}
