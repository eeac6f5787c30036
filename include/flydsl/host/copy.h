// Copies of bytes in the order of a stream.
#pragma once

#include <flydsl/host/stream.h>

#include <cstddef>
#include <source_location>

FLYDSL_NAMESPACE_BEGIN

/// Puts a copy of bytes into a stream: it begins when the work before it in the stream has finished,
/// and the work after it waits for it. Each of the two pieces is memory of a device, pinned memory of the
/// host (fx::HostMemory), or other memory of the host; HIP tells which by their addresses. They do not
/// overlap.
///
/// Both must live until the copy is done; the call waits for nothing else than HIP does, which is the copy
/// itself where other memory of the host is written, and for the reading of such memory. Only copies of
/// device memory and of pinned memory run while the host does something else.
///
/// A graph that is captured has the copy in it, with these addresses. Copying no bytes does nothing.
/// Throws RuntimeError if HIP refuses, such as for a piece that is longer than its allocation.
FLYDSL_API void copy_async(void *to, const void *from, std::size_t bytes, StreamRef stream,
                           std::source_location where = std::source_location::current());

FLYDSL_NAMESPACE_END
