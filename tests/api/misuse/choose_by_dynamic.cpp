// C++'s ?: chooses while the kernel is traced.
// says: fx::select
#include <flydsl/kernel/gpu.h>
void f() {
  flydsl::Int32 x = flydsl::thread_idx().x;
  flydsl::Numeric y = flydsl::select(x < 3, x, 0);
#ifdef MISUSE
  flydsl::Numeric z = x < 3 ? y : y + 1;
#endif
}
