// A value never changes; a Var does.
// says: fx::Var holds what changes
#include <flydsl/kernel/control_flow.h>
#include <flydsl/kernel/gpu.h>
void f() {
  flydsl::Int32 x = flydsl::thread_idx().x;
  flydsl::Var v(x);
  v += 1;
#ifdef MISUSE
  x += 1;
#endif
}
