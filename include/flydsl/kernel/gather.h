// Indexed loads and stores: copies whose addresses are data.
#pragma once

#include <flydsl/kernel/copy.h>

FLYDSL_NAMESPACE_BEGIN

/// destination = base[offset], one atom call after another. `offsets` (V, rest...) holds one
/// element offset per atom call, and `destination` ((values of a call, V), rest...) takes the
/// elements there. With `pred` (V, rest...), only calls whose boolean holds happen. V and the rest
/// must be static.
FLYDSL_API void gather(const CopyAtom &atom, const Pointer &base, const Tensor &offsets,
                       const Tensor &destination, const CopyOptions &options = {},
                       Loc loc = Loc::current());
/// base[offset] = source, one atom call after another, with the same shapes.
FLYDSL_API void scatter(const CopyAtom &atom, const Tensor &source, const Pointer &base,
                        const Tensor &offsets, const CopyOptions &options = {},
                        Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
