// Loads of values that are the same for all lanes of a wave, into scalar registers.
#pragma once

#include <flydsl/rocdl/cache.h>
#include <flydsl/rocdl/intrinsics.h>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {
namespace impl {
FLYDSL_API detail::Handle scalarBufferLoad(const Pointer &buffer, const Numeric &offset,
                                           ResultType result, const CacheControl &cache, Loc loc);
FLYDSL_API detail::Handle scalarLoad(const Pointer &pointer, ResultType result, Loc loc);
} // namespace impl

/// Reads a value of 32 or 64 bits at `offset` bytes (a multiple of 4) from the buffer's start, as
/// one load of the wave into scalar registers (`s_buffer_load`); past the buffer's range it reads
/// zero. A page table or the scale of a block is read so, without taking a register of each lane.
/// The offset is the same in all lanes, and the compiler must see that: it comes from block_idx(),
/// arguments, constants or readfirstlane. Otherwise each lane loads for itself, with the same
/// result. Nothing may write the memory while the kernel runs. `buffer` comes from make_buffer_ptr,
/// or is a buffer tensor's `iter()`.
inline Numeric s_buffer_load(const Pointer &buffer, const Numeric &offset, DType type,
                             const CacheControl &cache = {}, Loc loc = Loc::current()) {
  return Numeric(impl::scalarBufferLoad(buffer, offset, {type}, cache, loc));
}
/// The same for `size` elements, which have 32, 64, 128, 256 or 512 bits together.
inline Vector s_buffer_load(const Pointer &buffer, const Numeric &offset, DType type,
                            std::int64_t size, const CacheControl &cache = {},
                            Loc loc = Loc::current()) {
  return Vector(impl::scalarBufferLoad(buffer, offset, {type, size}, cache, loc));
}

/// Reads a value of 32 or 64 bits of global memory, as one load of the wave into scalar registers
/// (`s_load`). The address is the same in all lanes, a multiple of 4, and the compiler must see
/// that, as for s_buffer_load. Nothing may write the memory while the kernel runs.
inline Numeric s_load(const Pointer &pointer, DType type, Loc loc = Loc::current()) {
  return Numeric(impl::scalarLoad(pointer, {type}, loc));
}
/// The same of a tensor's element: `s_load(table, {sequence, 0})`. Its place, too, is the same in all
/// lanes.
inline Numeric s_load(const Tensor &tensor, const IntTuple &coord, Loc loc = Loc::current()) {
  return s_load(tensor.iter(loc) + IntTuple::Arg(crd2idx(coord, tensor.layout(loc), loc), loc),
                tensor.dtype(loc), loc);
}
/// The same for `size` elements, which have 32, 64, 128, 256 or 512 bits together.
inline Vector s_load(const Pointer &pointer, DType type, std::int64_t size,
                     Loc loc = Loc::current()) {
  return Vector(impl::scalarLoad(pointer, {type, size}, loc));
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
