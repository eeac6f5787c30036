// Kernels that compute the same and keep ever less in registers: which of them a plan has.
#pragma once

#include "frame/compile.h"

#include <algorithm>
#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Compiles the first of a kernel's forms whose code spills none and takes no scratch memory, which LLVM
/// may reserve for spills that it found a place for later. If all spill, it is the first one without
/// scratch memory, whose scalars lie in lanes of vector registers; and the last one if all take scratch
/// memory. Each form takes fewer registers than the one before.
template <class P, template <class> class Params>
void compileFirstThatFits(const Compiler<P> &compiler,
                          std::span<const FamilyKernel<P, Params>> forms, Dim3 block) {
  const std::size_t last = forms.size() - 1;
  std::size_t found = last;
  for (std::size_t i = 0; i <= last && last > 0; ++i) {
    const Executable code = compiler.codeOf(forms[i], block);
    if (code.scratch_bytes() > 0)
      continue;
    if (code.spills() == 0) {
      found = i;
      break;
    }
    found = std::min(found, i);
  }
  compiler(forms[found], block);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
