//===- Passes.td - Conversion of Fly to LLVM, for any target --------------------------------------===//

#ifndef FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_PASSES
#define FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_PASSES

include "mlir/Pass/PassBase.td"

def ConvertFlyToLLVMPass : Pass<"convert-fly-to-llvm"> {
  let summary = "Convert pointers, views and calls of universal atoms to LLVM operations, for a target without atoms of its own";
  let description = [{
    What `convert-fly-to-rocdl` does, without the part that is AMD's: atoms and address spaces of a target's
    dialect are refused. The result names no target; functions stay `gpu.func` and ids stay `gpu.thread_id`.
  }];
  let options = [
    ListOption<"addressSpaces", "address-spaces", "unsigned",
               "LLVM's numbers of the generic, global, shared and register address space; all are 0 where none is given">
  ];
}

#endif // FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_PASSES
