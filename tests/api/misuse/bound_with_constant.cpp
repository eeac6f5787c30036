// A bound kernel's constants are part of the code; a call does not pass them again.
// says: as many arguments as the kernel has parameters
#include <flydsl/kernel.h>
#include <flydsl/kernel/tensor.h>
void f(const flydsl::Kernel<void(flydsl::Tensor, flydsl::Constexpr<int>)> &kernel,
       const flydsl::TensorArg &x) {
  auto bound = kernel(x, 4).compile().bound();
  bound(x).launch({.block = 64});
#ifdef MISUSE
  bound(x, 4).launch({.block = 64});
#endif
}
