// Device memory for what an op keeps between its kernels.
#pragma once

#include <flydsl/host/device_array.h>

#include <cstddef>
#include <deque>

namespace flydsl_ggml {
namespace fx = flydsl;

/// Memory that the ops of a stream use one after another: what an op takes is its own until the next op
/// begins. Addresses stay valid as long as the object, because captured graphs have them; so a piece that
/// became too small is kept, and all pieces together are at most twice the largest. What an op took once
/// needs no new piece when it is taken again: a graph can be captured the second time that it is computed.
class Scratch {
public:
  /// The next op begins.
  void restart() { used_ = taken_ = 0; }
  /// `bytes` at a multiple of 256 bytes, on the current device. Throws RuntimeError if there is no
  /// memory.
  void *take(std::size_t bytes);

private:
  struct Piece {
    fx::detail::DeviceMemory memory;
    std::size_t bytes;
  };
  std::deque<Piece> pieces_; ///< the last is in use
  std::size_t used_ = 0;     ///< of the last piece
  std::size_t taken_ = 0;    ///< by the op, of all pieces
};

} // namespace flydsl_ggml
