// The fields of a struct of arguments have the names of the kernel's parameter.
// says: they have the same names in the same order
#include <flydsl/flydsl.h>
struct Parameters {
  flydsl::Tensor a, b;
};
#ifdef MISUSE
struct Arguments {
  flydsl::TensorArg b, a;
};
#else
struct Arguments {
  flydsl::TensorArg a, b;
};
#endif
void f(const flydsl::Kernel<void(Parameters)> &kernel, const Arguments &arguments) {
  kernel(arguments).launch({});
}
