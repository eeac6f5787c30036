// Copies whose places are data: indexed loads and stores.
#pragma once

#include <flydsl/copy.h>

FLYDSL_NAMESPACE_BEGIN

/// destination = base[offset], call by call: `offsets` (V, rest...) holds one element offset per
/// atom call, and `destination` ((values of a call, V), rest...) takes what is there. With `pred`
/// (V, rest...), only where it holds. V and the rest are static.
FLYDSL_API void gather(const CopyAtom &atom, const Pointer &base, const Tensor &offsets,
                       const Tensor &destination, const CopyOptions &options = {},
                       Loc loc = Loc::current());
/// base[offset] = source, call by call, with the same shapes.
FLYDSL_API void scatter(const CopyAtom &atom, const Tensor &source, const Pointer &base,
                        const Tensor &offsets, const CopyOptions &options = {},
                        Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
