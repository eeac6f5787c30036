// A constant that is a number may stand wherever a host number may; a text is not a number.
#include <flydsl/flydsl.h>

namespace fx = flydsl;

const fx::Kernel kernel{"constexpr_operand",
                        [](fx::Tensor x, fx::Constexpr<int> n, fx::Constexpr<float> a,
                           fx::Constexpr<std::string> name) {
                          auto i = fx::block_idx().x * n + fx::thread_idx().x;
                          auto tile = fx::flat_divide(x, {n, 4});
                          auto layout = fx::make_layout({4, n}, {n, 1});
                          for (fx::Int32 k : fx::range(0, n))
                            x(n * k + layout(1, n)) = fx::max(x(k), a);
                          x.fill(a);
                          x.store(x.load() * a + n);
                          fx::Var<fx::Int32> v{fx::Int32(n)};
                          v += n;
#ifdef MISUSE
                          x(i) = name;
#else
                          x(i) = a;
#endif
                        }};
