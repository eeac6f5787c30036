// && of two conditions of a kernel is a condition of the kernel, not a C++ condition.
// says: fx::if_
#include <flydsl/kernel/gpu.h>
int f() {
  flydsl::Int32 x = flydsl::thread_idx().x;
  flydsl::Boolean b = (x < 3 && x != 1) || !(x == 5) || false;
#ifdef MISUSE
  if (b && x < 2)
    return 1;
#endif
  return 0;
}
