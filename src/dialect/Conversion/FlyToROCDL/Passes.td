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
}

def ExpandROCDLOpsPass : Pass<"fly-rocdl-expand-ops"> {
  let summary = "Expand the atoms of the tensor data mover that are made of a tensor, and copies by coordinates";
  let description = [{
    `fly_rocdl.make_tiled_tdm_*_atom` becomes an atom with its state and a coordinate tensor, each box of a copy a
    `fly_rocdl.tensor_move`. It runs before fly-layout-lowering.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::fly::FlyDialect", "::mlir::fly_rocdl::FlyROCDLDialect"];
}

def ConvertNarrowFloatsPass : Pass<"fly-convert-narrow-floats"> {
  let summary = "Convert arith.extf and arith.truncf of floats of 8 bits and less to instructions or integer arithmetic";
  let description = [{
    `arith.extf` to and `arith.truncf` from f32 of fp8, fp6, fp4 and f8E8M0FNU values, scalars and vectors. fp8 in the
    format of the target's instructions uses them, all else is integer arithmetic that gives the same bits.
  }];
  let options = [Option<"chipset", "chipset", "std::string", /*default=*/"", "The processor, such as gfx942">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def ConvertNativeMathPass : Pass<"fly-convert-native-math"> {
  let summary = "Convert math operations that the code generator lowers by itself to LLVM intrinsics";
  let description = [{
    `exp`, `exp2`, `log`, `log2`, `log10` of at most 32 bits, and `sqrt`, `rsqrt`, `floor`, `ceil`, `trunc`, `roundeven` and
    `absf`, scalars and vectors, with their fast-math flags. Approximate (`afn`) exponentials in f32 are the hardware's `exp2`, whose
    results below the smallest normal number are 0. `rsqrt` in f32 is the hardware's too, within two units of the last place. Other functions
    stay for ROCm's device library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def LdsAliasScopesPass : Pass<"fly-lds-alias-scopes"> {
  let summary = "Distinguish loads into LDS that write to different bytes of a variable by alias scopes";
  let description = [{
    For each variable in LDS that `rocdl.raw.ptr.buffer.load.lds` or `rocdl.global.load.lds` writes to, accesses are divided into sets
    without a byte in common, as far as ranges of offsets tell, and get `alias_scopes` and `noalias_scopes`. A variable is left alone if it has uses
    that are not followed, accesses with scopes, or accesses that could be anywhere. The bytes of a load into LDS are those at the pointer of
    each lane, so the pass comes before `fly-scalar-lds-addresses`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LdsRedZonesPass : Pass<"fly-lds-red-zones", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Append red zones to the variables in LDS, and let functions say where they lie";
  let description = [{
    Each variable grows by at least `bytes` bytes. Each function begins with instructions that give address and size of the
    variables that it uses and of their zones, by which the emulator names an access that leaves a variable. It runs on functions and variables of the
    LLVM dialect, and where nothing uses dynamic LDS, whose place would move.
  }];
  let options = [Option<"bytes", "bytes", "uint64_t", /*default=*/"64", "The least bytes of a zone">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ScalarLdsAddressesPass : Pass<"fly-scalar-lds-addresses"> {
  let summary = "Compute the LDS addresses of loads into LDS from the wave's first thread";
  let description = [{
    The address of `rocdl.raw.ptr.buffer.load.lds` and `rocdl.load.to.lds`'s kin is a scalar of the wave. The arithmetic from
    `gpu.thread_id` to that address is repeated with the id of the wave's first thread, which `rocdl.readfirstlane` reads once where
    the id is made. Addresses that depend on the thread in another way stay as they are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::ROCDL::ROCDLDialect"];
}

def LowerShufflesPass : Pass<"fly-lower-shuffles"> {
  let summary = "Lower shuffles whose lanes are known while compiling to the instructions that need no address";
  let description = [{
    `gpu.shuffle xor` by a constant below its width becomes DPP moves within rows of 16 lanes, `v_permlanex16`, `v_permlane16_swap` and
    `v_permlane32_swap` between rows where the processor has them, `ds_swizzle` or, past 32 lanes, `ds_bpermute`. `gpu.shuffle idx` of
    one lane of the wave becomes `v_readlane`. All others stay. Values of 8 to 64 bits move by words of 32.
  }];
  let options = [Option<"chipset", "chipset", "std::string", /*default=*/"", "The processor, such as gfx942">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect"];
}

def SplitAddressesPass : Pass<"fly-split-addresses"> {
  let summary = "Add up addresses of global memory by wave, lane and constant";
  let description = [{
    A chain of `llvm.getelementptr` from a pointer that all lanes of a wave have becomes one that adds first the terms that all lanes have,
    then those of the lane, then the constants. The lane's terms are added in 32 bits where they are known to fit. Sums in 32 bits that could
    wrap stay whole. The pass runs while loops and branches are those of `scf`, which tell what lanes have in common.
  }];
  let options = [Option<"offsetBits", "offset-bits", "unsigned", "13", "The bits of the signed offset in the instruction, in bytes">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerKtracePass : Pass<"fly-lower-ktrace"> {
  let summary = "Lower marks and ranges of time to records in the buffer that is the kernel's last argument";
  let description = [{
    Each event becomes a record of the first active lane of the wave, with the constant clock, and the names of all events
    a constant of the code object. The layout of the buffer is that of support/ktrace_record.h.
  }];
  let options = [Option<"chipset", "chipset", "std::string", /*default=*/"", "The processor, such as gfx942">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect",
                           "::mlir::scf::SCFDialect"];
}

def LowerLaterIntrinsicsPass : Pass<"fly-lower-later-intrinsics"> {
  let summary = "Lower calls of intrinsics that only later versions of LLVM have";
  let description = [{
    Asynchronous loads into LDS become ordinary ones, and a wait for their marks a wait for all of them. Moves of tensors
    lose the fifth group of their descriptor, which must be zero. Scalar loads from a buffer take the resource as words.
  }];
  let options = [Option<"chipset", "chipset", "std::string", /*default=*/"", "The processor, such as gfx942">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect"];
}

def LowerMemorySpacesPass : Pass<"fly-lower-memory-spaces"> {
  let summary = "Give memrefs in address spaces of the gpu dialect the target's numbers of these spaces";
  let description = [{
    `memref<16xf32, #gpu.address_space<workgroup>>` becomes `memref<16xf32, 3>`. Only then does convert-vector-to-llvm take its loads
    and stores.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def PinImmediatesPass : Pass<"fly-pin-immediates"> {
  let summary = "Keep operations whose constant operands differ from becoming one";
  let description = [{
    MLIR merges two branches that do alike into one block, and what differs becomes a value that the branch chooses. LLVM demands
    constants as some operands of AMD's operations, such as the cache policy of a buffer load. Constants of an operation become an attribute
    of it, too: operations with different constants are then different ones, and their blocks stay two.
  }];
}

#endif // FLYDSL_DIALECT_CONVERSION_FLYTOROCDL_PASSES
