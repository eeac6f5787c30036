// A configuration holds what is known while tracing.
// says: a configuration holds what is known while tracing
#include <flydsl/flydsl.h>

namespace fx = flydsl;

struct Tile {
  int m = 128;
#ifdef MISUSE
  fx::Tensor bias;
#else
  fx::DType dtype = fx::f16;
#endif
};

const fx::Kernel kernel{"configuration_field",
                        [](fx::Tensor x, fx::Constexpr<Tile> tile) { x(tile->m) = 0; }};
