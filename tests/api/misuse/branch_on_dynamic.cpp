// A condition that is known only at run time is not a C++ condition.
// says: fx::if_
#include <flydsl/kernel/gpu.h>
int f() {
  flydsl::Int32 x = flydsl::thread_idx().x;
  flydsl::Boolean b = x < 3;
#ifdef MISUSE
  if (b)
    return 1;
#endif
  return 0;
}
