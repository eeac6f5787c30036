// One launch of a folded host function: numbers that are constants, and where the bytes of its
// kernel's arguments come from.
#pragma once

#include "jit/program/plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

namespace flydsl::jit {

/// Where a field of a packed struct of integers and of such structs begins, in bytes.
std::size_t offsetInPacked(mlir::LLVM::LLVMStructType type, llvm::ArrayRef<int64_t> position);

/// Reads the launches of one function. Each `read` returns false after an error with a line.
class LaunchReader {
public:
  LaunchReader(const HostFunction &host, mlir::func::FuncOp function)
      : host_(host), function_(function) {}

  bool read(mlir::gpu::LaunchFuncOp launch, PlannedLaunch &into) const;

private:
  bool extents(mlir::gpu::LaunchFuncOp launch, const mlir::gpu::KernelDim3 &values,
               const char *what, std::array<std::int64_t, 3> &into) const;
  bool number(mlir::gpu::LaunchFuncOp launch, mlir::Value value, const std::string &what,
              std::int64_t &into) const;
  bool stream(mlir::gpu::LaunchFuncOp launch, int &into) const;
  bool operand(mlir::gpu::LaunchFuncOp launch, mlir::Value value, KernelOperand &into) const;
  bool append(mlir::Value value, std::size_t at, std::vector<ArgumentPart> &parts) const;
  bool refuse(mlir::gpu::LaunchFuncOp launch, mlir::Value value, const std::string &what) const;

  const HostFunction &host_;
  mlir::func::FuncOp function_;
};

} // namespace flydsl::jit
