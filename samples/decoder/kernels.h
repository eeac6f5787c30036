// The kernels of this engine that the library has no family for, written with flydsl as any engine
// would write its own. A block has a row.
#pragma once

#include <flydsl/flydsl.h>

namespace decoder {

namespace fx = flydsl;
using fx::_;

inline constexpr int kThreads = 256;

/// x[t, :] = scale * table[ids[t], :].
inline const fx::Kernel embedKernel{
    "embed", [](fx::Tensor ids, fx::Tensor table, fx::Float32 scale, fx::Tensor x) {
      const fx::Int32 row = fx::block_idx().x, id = ids(row).to<fx::Int32>();
      const fx::Tensor from = table(id, _), to = x(row, _); // (N)
      const fx::Int32 N = x.shape()[1];
      for (fx::Int32 i : fx::range(fx::thread_idx().x, N, kThreads))
        to(i) = from(i).to(fx::f32) * scale;
    }};

/// x = cap * tanh(x / cap).
inline const fx::Kernel capKernel{"soft_cap", [](fx::Tensor x, fx::Float32 cap) {
                                    const fx::Tensor row = x(fx::block_idx().x, _); // (N)
                                    const fx::Int32 N = x.shape()[1];
                                    for (fx::Int32 i : fx::range(fx::thread_idx().x, N, kThreads))
                                      row(i) = cap * fx::math::tanh(row(i) / cap);
                                  }};

} // namespace decoder
