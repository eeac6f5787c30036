// A variable of a kernel is not a C++ condition either.
// says: fx::while_
#include <flydsl/kernel/control_flow.h>
void f(flydsl::Boolean first) {
  flydsl::Var going(first);
  flydsl::while_([&] { return going.get(); }, [&] { going = going && first; });
#ifdef MISUSE
  while (going)
    going = first;
#endif
}
