// Prints the keys of kernels whose calls leave the order of their arguments open.
#include <flydsl/flydsl.h>

#include <cstdio>

namespace fx = flydsl;
using fx::_;

namespace {

template <class Kernel> void print(const Kernel &kernel) {
  const auto none = fx::tensor(static_cast<float *>(nullptr), {64, 64});
  std::printf("%s\n",
              kernel(none, none, 5).compile({.block = 64, .arch = "gfx942"}).ir_hash().c_str());
}

fx::Numeric middle(const fx::Numeric &a, const fx::Numeric &b, const fx::Numeric &c) {
  return fx::max(fx::min(a, b), fx::min(fx::max(a, b), c));
}

} // namespace

int main() {
  print(fx::Kernel{"reads", [](fx::Tensor x, fx::Tensor y, fx::Int32 n) {
                     auto i = fx::thread_idx().x;
                     y(i, n) = middle(x(i, 0), x(i, n) * y(i, 1), y(n, i)) + x(n, n) / y(i, i);
                   }});
  print(fx::Kernel{"choices", [](fx::Tensor x, fx::Tensor y, fx::Int32 n) {
                     auto i = fx::thread_idx().x;
                     y(i, 0) = fx::select(x(i, n) < y(n, i), fx::math::exp(x(n, i)),
                                          fx::math::log(y(i, n)) - x(i, 0));
                   }});
  print(fx::Kernel{"carried", [](fx::Tensor x, fx::Tensor y, fx::Int32 n) {
                     auto i = fx::thread_idx().x;
                     auto [a, b] = fx::for_(0, n, 1, fx::carry(x(i, 0), y(i, 0)),
                                            [&](fx::Int32 k, auto p, auto q) {
                                              return fx::yield(p + x(i, k), q * y(i, k));
                                            });
                     y(i, 0) = a + b;
                   }});
  print(fx::Kernel{"tiles", [](fx::Tensor x, fx::Tensor y, fx::Int32 n) {
                     auto row = fx::make_tile(1, 64);
                     auto r = fx::make_rmem_tensor(4, fx::f32);
                     auto tile = [&](const fx::Tensor &t, const fx::Int32 &at) {
                       return fx::logical_divide(fx::flat_divide(t, row)(0, _, at, 0),
                                                 4)(_, fx::thread_idx().x % 16);
                     };
                     const auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
                     fx::copy(atom, tile(x, n), r);
                     fx::copy(atom, r, tile(y, n + 1));
                   }});
}
