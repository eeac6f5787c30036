// Global memory through buffer descriptors, whose range AMD's hardware checks.
#pragma once

#include <flydsl/kernel/tensor.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// The range of a buffer descriptor.
struct BufferOptions {
  /// The range in bytes. By default 4 GiB - 1, or the bytes that the layout covers if `max_size` is
  /// false.
  std::optional<Int64> num_records_bytes = {};
  bool max_size = true;
};
/// A tensor of global memory that is accessed through a buffer descriptor. Its offsets have 32 bits
/// and reach 4 GiB from the start of the tensor. A larger tensor is a TraceError: here, or, if only
/// the launch knows the size, when a launch with it is traced. Take the block's tile of a large
/// tensor first (global pointers move by 64 bits) and make a buffer of the tile; a tile that is too
/// large stops the kernel.
FLYDSL_API Tensor make_buffer_tensor(const Tensor &tensor, const BufferOptions &options = {},
                                     Loc loc = Loc::current());
/// A pointer that accesses the memory of a global pointer through a buffer descriptor.
FLYDSL_API Pointer make_buffer_ptr(const Pointer &pointer, const BufferOptions &options = {},
                                   Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
