// Passes over the Fly dialect.
//
// These passes take a module from traced Fly IR down to atom calls, pointers and arith. They run in
// the order of this file, for every target. The conversion of a backend (convert-fly-to-rocdl, or
// convert-fly-to-llvm alone) follows them.

#ifndef FLYDSL_DIALECT_FLY_TRANSFORMS_PASSES
#define FLYDSL_DIALECT_FLY_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def FlyRewriteFuncSignaturePass : Pass<"fly-rewrite-func-signature"> {
  let summary = "Carry Fly values across functions and control flow as pointers and packed structs";
  let description = [{
    At every boundary where a Fly value is an argument, a result, a loop-carried or a branch value:
      - a value whose type is static vanishes and is rebuilt on the other side as `fly.static`;
      - an int tuple becomes `!llvm.struct<packed (...)>` of its dynamic leaves, in order;
      - a layout becomes a packed struct of its shape's and its stride's struct; a part without
        dynamic leaves is left out;
      - a memref becomes its pointer, followed by its layout's struct where that has dynamic leaves.
    Covers func.func, func.call, func.return, gpu.func, gpu.launch_func, scf.for, scf.if, scf.while,
    arith.select.
  }];
  let dependentDialects = ["::mlir::fly::FlyDialect", "::mlir::LLVM::LLVMDialect"];
}

def FlyCanonicalizePass : Pass<"fly-canonicalize"> {
  let summary = "Bring Fly values into normal form";
  let description = [{
    Rewrites `fly.static` to constructors, and `make_shape`, `make_stride`, `make_coord` to
    `make_int_tuple`; merges nested `llvm.extractvalue`; removes what is dead.
  }];
  let dependentDialects = ["::mlir::fly::FlyDialect", "::mlir::LLVM::LLVMDialect"];
}

def FlyLayoutLoweringPass : Pass<"fly-layout-lowering"> {
  let summary = "Lower the layout algebra to arith, and copies and gemms to atom calls";
  let description = [{
    Evaluates every operation of the algebra symbolically and materialises, as arith operations,
    only those expressions that a remaining operation needs. Tensors become a pointer plus an
    offset; `fly.copy` and `fly.gemm` become one atom call per atom; loads and stores through
    memrefs become loads and stores through pointers.
  }];
  let dependentDialects = ["::mlir::fly::FlyDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect", "::mlir::ub::UBDialect"];
}

def FlyIntSwizzleSimplifyPass : Pass<"fly-int-swizzle-simplify"> {
  let summary = "Take addends that a swizzle cannot see out of it";
  let description = [{
    A swizzle `x ^ ((x & mask) >> shift)` commutes with adding a multiple of the power of two above
    its mask. Taking such addends out of the XOR lets several accesses share one swizzled base.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FlyCheckRegisterReadsPass : Pass<"fly-check-register-reads"> {
  let summary = "Refuse reads of register memory that nothing can have written";
  let description = [{
    An error for each register memory with an element that is read before any path has written it;
    the first round of a loop counts. Changes nothing unless `unwritten` is given. Runs where layouts
    are lowered.
  }];
  let options = [
    Option<"unwritten", "unwritten", "std::string", "\"\"",
           "an instruction whose result, $0, begins each register memory that is read where only some paths have written it">,
    Option<"constraint", "constraint", "std::string", "\"=r\"",
           "the constraint of its result">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def FlyConvertAtomCallToSSAFormPass : Pass<"fly-convert-atom-call-to-ssa-form"> {
  let summary = "Pass contiguous register operands of atom calls as vectors";
  let description = [{
    Rewrites `copy_atom_call` and `mma_atom_call` whose register operands are contiguous to
    `copy_atom_call_ssa` and `mma_atom_call_ssa`, with `ptr.load` before and `ptr.store` after.
    Operands in other memory stay memrefs.
  }];
  let dependentDialects = ["::mlir::fly::FlyDialect", "::mlir::vector::VectorDialect"];
}

def FlyPromoteRegMemToVectorSSAPass : Pass<"fly-promote-regmem-to-vectorssa"> {
  let summary = "Turn register memory into vector values";
  let description = [{
    Replaces each `make_ptr` in register memory, its loads and its stores by a vector value that is
    passed through scf.for, scf.if and scf.while. Memory that is recast or reached at a dynamic
    offset stays memory.
  }];
  let options = [
    Option<"requireStatic", "require-static", "bool", "false",
           "report register memory at a dynamic offset as an error instead of leaving it in memory">,
    Option<"pieces", "pieces", "bool", "false",
           "read back what was stored as it was stored, and join it into the vector only where all of it is asked for; "
           "without, the IR is FlyDSL's, one vector after every store">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::ub::UBDialect"];
}

def FlyExactRangesPass : Pass<"fly-exact-ranges"> {
  let summary = "Let loops end whose number and step add up to more than the largest integer";
  let description = [{
    `scf.for` compares after it has added the step, and the sum wraps where the end is near the largest
    integer. A loop for which known bounds do not rule that out compares without signs if its first number is known not to be
    negative, and otherwise becomes an `scf.while` that compares before it adds. It runs just before loops become branches, because
    other passes know the numbers of `scf.for`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif // FLYDSL_DIALECT_FLY_TRANSFORMS_PASSES
