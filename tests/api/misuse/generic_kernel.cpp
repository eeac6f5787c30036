// A kernel's parameters have types, by which calls pack their arguments.
// says: a lambda that names the type of each parameter: not auto
#include <flydsl/flydsl.h>

namespace fx = flydsl;

const fx::Kernel good{"good", [](fx::Tensor x) noexcept { x(0) = 1; }};
#ifdef MISUSE
const fx::Kernel bad{"bad", [](auto x) { x(0) = 1; }};
#endif
