// std::max compares while the kernel is traced.
// says: fx::max
#include <flydsl/kernel/gpu.h>

#include <algorithm>
void f() {
  flydsl::Int32 x = flydsl::thread_idx().x, y = flydsl::block_idx().x;
  flydsl::Numeric m = flydsl::max(x, y);
#ifdef MISUSE
  flydsl::Numeric n = std::max(x, y);
#endif
}
