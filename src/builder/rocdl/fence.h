// The fences of a barrier for one memory.
#pragma once

#include "builder/trace/tracer.h"

#include <flydsl/kernel/tensor.h>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace flydsl::builder {

/// Orders the block's accesses to shared or to global memory alone ("Memory Model Relaxation
/// Annotations" in LLVM's AMDGPU guide).
inline void blockFence(Tracer &t, mlir::LLVM::AtomicOrdering order, AddressSpace memory, Loc loc) {
  t.create<mlir::LLVM::FenceOp>(loc, order, "workgroup")
      ->setAttr(mlir::LLVM::LLVMDialect::getMmraAttrName(),
                mlir::LLVM::MMRATagAttr::get(t.context(), "amdgpu-synchronize-as",
                                             memory == AddressSpace::shared ? "local" : "global"));
}

} // namespace flydsl::builder
