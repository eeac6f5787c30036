// A call of a bound kernel has the types of the kernel's run-time parameters.
// says: an integer parameter takes an integer
#include <flydsl/kernel.h>
#include <flydsl/kernel/numeric.h>
#include <flydsl/kernel/tensor.h>
void f(const flydsl::Kernel<void(flydsl::Tensor, flydsl::Constexpr<int>, flydsl::Int32)> &kernel,
       const flydsl::TensorArg &x) {
  auto bound = kernel(x, 4, 1).compile().bound();
  bound(x, 7).launch({.block = 64});
#ifdef MISUSE
  bound(x, 7.5f).launch({.block = 64});
#endif
}
