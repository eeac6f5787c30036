// Global memory with an end that the hardware checks.
//
// A tile over the edge of its matrix needs no branches: what lies outside of a bounded view reads as
// zeros and is not written. A view of AMD's targets is accessed through a buffer descriptor; see
// flydsl/rocdl/buffer.h for what else these can do.
#pragma once

#include <flydsl/kernel/copy.h>
#include <flydsl/kernel/tensor.h>

#include <cstdint>
#include <optional>

FLYDSL_NAMESPACE_BEGIN

/// A view of global memory that ends `bytes` after its start, a number that the lanes of a wave have
/// in common. Its offsets have 32 bits and reach 4 GiB from its start.
FLYDSL_API Tensor bounded(const Tensor &tensor, const Int64 &bytes, Loc loc = Loc::current());

/// A load or store of `bits` (8 to 128) of a bounded view. CopyOptions::soffset is a number of
/// elements that the lanes of a wave have in common and that is added to all places.
FLYDSL_API CopyOp BoundedCopy(int bits, Loc loc = Loc::current());
/// The same with a cache policy, which the tracer turns into what the target's instructions have for it.
FLYDSL_API CopyOp BoundedCopy(int bits, CachePolicy cache, Loc loc = Loc::current());
inline CopyOp BoundedCopy128b(Loc loc = Loc::current()) { return BoundedCopy(128, loc); }

/// A place in a bounded view, in bytes from its start.
struct BoundedPlace {
  Numeric ofLane;
  std::optional<Numeric> ofWave = {}; ///< added to it; the lanes of a wave have it in common
};
/// The element at a place; zero outside of the view. `view` is the view's `iter()`, whose own offset
/// does not count.
FLYDSL_API Numeric bounded_load(const Pointer &view, const BoundedPlace &place, DType type,
                                Loc loc = Loc::current());
/// The same for `size` neighbours, which have 32, 64, 96 or 128 bits together.
FLYDSL_API Vector bounded_load(const Pointer &view, const BoundedPlace &place, DType type,
                               std::int64_t size, Loc loc = Loc::current());
/// The same with a cache policy, as BoundedCopy has it.
FLYDSL_API Vector bounded_load(const Pointer &view, const BoundedPlace &place, DType type,
                               std::int64_t size, CachePolicy cache, Loc loc = Loc::current());
/// Copies `bytes` (4; 16 with feature::buffer_to_lds_wide) of each lane from a place to shared
/// memory past the registers. The lanes' bytes lie one after another from `shared` on, which the
/// lanes of a wave have in common. gpu::wait_for waits for such loads. TraceError for a target and for
/// bytes without it.
FLYDSL_API void bounded_load_to_shared(const Pointer &view, const BoundedPlace &place,
                                       const Pointer &shared, int bytes, Loc loc = Loc::current());
/// The same with a cache policy.
FLYDSL_API void bounded_load_to_shared(const Pointer &view, const BoundedPlace &place,
                                       const Pointer &shared, int bytes, CachePolicy cache,
                                       Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
