// A value never counts up or down; a Var and an element of a tensor do.
// says: fx::Var holds what changes
#include <flydsl/kernel/control_flow.h>
#include <flydsl/kernel/gpu.h>
void f(flydsl::Tensor t, flydsl::IntTuple n, flydsl::Vector x) {
  const flydsl::Int32 i = flydsl::thread_idx().x;
  flydsl::Var v(i);
  v++;
  --v;
  flydsl::Int32 before = v--;
  t(i)++;
  ++t(before);
#ifdef MISUSE
  i++;
  ++i;
  n--;
  x++;
#endif
}
