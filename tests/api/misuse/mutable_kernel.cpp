// A kernel's body runs once for each signature, on any thread, so it changes nothing of its own.
// says: a kernel's lambda is not mutable
#include <flydsl/flydsl.h>

namespace fx = flydsl;

inline int n = 0;
const fx::Kernel good{"good", [k = n](fx::Tensor x) { x(k) = 1; }};
#ifdef MISUSE
const fx::Kernel bad{"bad", [k = n](fx::Tensor x) mutable { x(k++) = 1; }};
#endif
