// Kernels as functions of the host, for tests of what every backend shares.
//
// The pipeline that makes LLVM's dialect of a gpu.module that convert-fly-to-llvm has converted:
//
//   gpu.module(convert-scf-to-cf,convert-vector-to-llvm,test-host-kernels,convert-to-llvm,
//              reconcile-unrealized-casts)
//
// The gpu.module then translates to LLVM IR (translateModuleToLLVMIR) for any machine without
// address spaces.
#pragma once

#include <cstdint>

namespace flydsl::test {

/// Where a work-item stands.
struct HostIds {
  std::int64_t thread[3], block[3], blockDim[3], gridDim[3];
};

/// A kernel that was made a function. `arguments` is laid out as a struct of the kernel's arguments
/// is, which is how a GPU's kernels take them too. A call runs one work-item.
using HostKernel = void(const void *arguments, const HostIds *ids);

/// Registers convert-to-llvm and the pass test-host-kernels, on gpu.module, which makes each
/// gpu.func an llvm.func of the same name that is a HostKernel. Barriers and what lanes exchange
/// are errors.
void registerHostKernels();

} // namespace flydsl::test
