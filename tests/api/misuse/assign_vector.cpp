// A value never changes; a Var does.
// says: fx::Var holds what changes
#include <flydsl/kernel/var.h>
void f(flydsl::Vector x) {
  flydsl::Var v(x);
  v = x + 1;
#ifdef MISUSE
  x = x + 1;
#endif
}
