// Fences for one memory.
#pragma once

#include "builder/trace/tracer.h"

#include <flydsl/kernel/tensor.h>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace flydsl::builder {

/// Orders accesses to shared or to global memory alone ("Memory Model Relaxation Annotations" in LLVM's
/// AMDGPU guide) among the threads of a scope, by LLVM's name of it.
inline void fenceOf(Tracer &t, mlir::LLVM::AtomicOrdering order, llvm::StringRef scope,
                    AddressSpace memory, Loc loc) {
  t.create<mlir::LLVM::FenceOp>(loc, order, scope)
      ->setAttr(mlir::LLVM::LLVMDialect::getMmraAttrName(),
                mlir::LLVM::MMRATagAttr::get(t.context(), "amdgpu-synchronize-as",
                                             memory == AddressSpace::shared ? "local" : "global"));
}
/// The same among the threads of a block.
inline void blockFence(Tracer &t, mlir::LLVM::AtomicOrdering order, AddressSpace memory, Loc loc) {
  fenceOf(t, order, "workgroup", memory, loc);
}

} // namespace flydsl::builder
