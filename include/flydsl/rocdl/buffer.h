// Global memory through buffer descriptors, whose range AMD's hardware checks.
#pragma once

#include <flydsl/tensor.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// How far a buffer descriptor reaches.
struct BufferOptions {
  /// Bytes; not given: 4 GiB - 1, or what the layout covers where `max_size` is false.
  std::optional<Int64> num_records_bytes = {};
  bool max_size = true;
};
/// A tensor of global memory, reached through a buffer descriptor. Its offsets have 32 bits and
/// reach 4 GiB from where the tensor starts: a larger tensor is a TraceError, here or, where only
/// the launch knows, when a launch with it is traced. Take the block's tile of a large tensor first
/// (global pointers move by 64 bits) and make the buffer of that; a tile that is too large itself
/// stops the kernel.
FLYDSL_API Tensor make_buffer_tensor(const Tensor &tensor, const BufferOptions &options = {},
                                     Loc loc = Loc::current());
FLYDSL_API Pointer make_buffer_ptr(const Pointer &pointer, const BufferOptions &options = {},
                                   Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
