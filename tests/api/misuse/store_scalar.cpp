// A tensor's store takes a vector; fill takes a number.
#include <flydsl/kernel/tensor.h>
void f(flydsl::Tensor t) {
  t.fill(1.0f);
  t.store(t.load() + t.load());
#ifdef MISUSE
  t.store(1.0f);
#endif
}
