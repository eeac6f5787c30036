//===- Passes.td - Conversion of Fly to ROCDL -----------------------------------------------------===//

#ifndef FLYDSL_DIALECT_CONVERSION_FLYTOROCDL_PASSES
#define FLYDSL_DIALECT_CONVERSION_FLYTOROCDL_PASSES

include "mlir/Pass/PassBase.td"

def ConvertFlyToROCDLPass : Pass<"convert-fly-to-rocdl"> {
  let summary = "Convert pointers, views and atom calls of the Fly dialects to LLVM and ROCDL operations";
  let description = [{
    Pointers and memrefs become `!llvm.ptr` of their address space (generic 0, global 1, shared 3,
    register 5), those with a buffer descriptor `!llvm.struct<(ptr<8>, i32)>` of the resource and an
    offset in elements. Atoms become structs of their state. Loads and stores carry the alignment of
    their pointer's type. Atom calls become what their instruction is; under a predicate, inside an
    `scf.if`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // FLYDSL_DIALECT_CONVERSION_FLYTOROCDL_PASSES
