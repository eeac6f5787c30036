// Which of two memories a thread works on.
#pragma once

#include <flydsl/kernel/tensor.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
FLYDSL_API Handle selectMemory(const Handle &condition, const Handle &a, const Handle &b, Loc loc);
} // namespace detail

/// `a` if the condition holds, otherwise `b`; nothing is read, and there is no branch. Threads may
/// choose differently: a load of the result is one load, of one operand in some lanes and of the
/// other in the rest. Both tensors have the same element type, layout and known alignment, and lie in
/// the same memory, which is not registers; strides that only the call knows may differ. Throws
/// TraceError otherwise.
inline Tensor select(const Boolean &condition, const Tensor &a, const Tensor &b,
                     Loc loc = Loc::current()) {
  return Tensor(detail::selectMemory(condition.handle(), a.handle(), b.handle(), loc));
}
/// The same of pointers.
inline Pointer select(const Boolean &condition, const Pointer &a, const Pointer &b,
                      Loc loc = Loc::current()) {
  return Pointer(detail::selectMemory(condition.handle(), a.handle(), b.handle(), loc));
}

FLYDSL_NAMESPACE_END
