// tensor(i) += x reads and writes; a named element is a value.
// says: fx::Var holds what changes
#include <flydsl/kernel/tensor.h>
void f(flydsl::Tensor t) {
  auto e = t(0);
  t(1) += e;
  t(1) <<= 2;
#ifdef MISUSE
  e += 1.0f;
#endif
}
