// Copies and fills as the API gives them: checked against the address space, staged where host
// memory may change after the call, and submitted.
#pragma once

#include "emulator/hip/stream/submit.h"

namespace flyemu::hip {

CopyOperation plainCopy(void *target, const void *source, size_t size);

/// Linear memory only; throws hipErrorNotSupported for arrays.
CopyOperation copyFrom3D(const hipMemcpy3DParms &parameters);

/// Throws when a side that must be known to HIP is not, or a row would run past an allocation's
/// end.
void checkCopy(const CopyOperation &operation, hipMemcpyKind kind);
void checkFill(const FillOperation &operation);

/// Submits a copy. With \p wait false, pageable host memory still behaves as with HIP: a source is
/// read before the call returns, and a target is written before it returns.
void submitCopy(const StreamRef &stream, CopyOperation operation, hipMemcpyKind kind, bool wait);
void submitFill(const StreamRef &stream, FillOperation operation, bool wait);

} // namespace flyemu::hip
