// C++'s while runs while the kernel is traced.
// says: fx::while_
#include <flydsl/kernel/control_flow.h>
#include <flydsl/kernel/gpu.h>
void f() {
  flydsl::Int32 x = flydsl::thread_idx().x;
  flydsl::Var n(x);
  flydsl::while_([&] { return n < 3; }, [&] { n += 1; });
#ifdef MISUSE
  while (n < 3)
    n += 1;
#endif
}
