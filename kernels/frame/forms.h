// Kernels that compute the same and keep ever less in registers: which of them a plan has.
#pragma once

#include "frame/compile.h"

#include <cstdint>
#include <optional>
#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Compiles the first of a kernel's forms whose code spills none and takes no scratch memory, which LLVM
/// may reserve for spills that it found a place for later. If all spill, it is the first one without
/// scratch memory, whose scalars lie in lanes of vector registers; and if all take scratch memory, the one
/// that takes least.
template <class P, template <class> class Params>
void compileFirstThatFits(const Compiler<P> &compiler,
                          std::span<const FamilyKernel<P, Params>> forms, Dim3 block) {
  if (forms.size() == 1) { // there is no choice, and no need to look at its code
    compiler(forms.front(), block);
    return;
  }
  const FamilyKernel<P, Params> *found = &forms.front();
  std::optional<std::uint64_t> least; // bytes of scratch memory
  for (const FamilyKernel<P, Params> &form : forms) {
    const Executable code = compiler.codeOf(form, block);
    if (code.scratch_bytes() == 0 && code.spills() == 0) {
      found = &form;
      break;
    }
    if (!least || code.scratch_bytes() < *least) {
      least = code.scratch_bytes();
      found = &form;
    }
  }
  compiler(*found, block);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
