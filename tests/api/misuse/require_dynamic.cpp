// A demand is decided while tracing; what the GPU computes cannot be demanded.
#include <flydsl/flydsl.h>

namespace fx = flydsl;

const fx::Kernel kernel{"require_dynamic", [](fx::Tensor x, fx::Constexpr<int> block) {
                          auto i = fx::thread_idx().x;
#ifdef MISUSE
                          fx::require(i < block, "{} threads", block.value());
#else
                          fx::require(block > 0, "{} threads", block.value());
#endif
                          x(i) = 0;
                        }};
