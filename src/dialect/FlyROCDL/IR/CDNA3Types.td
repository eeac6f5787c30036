// Instructions of CDNA3 (gfx942), most of them on gfx90a and gfx950 too.
#ifndef FLYDSL_DIALECT_FLYROCDL_CDNA3_TYPES_TD
#define FLYDSL_DIALECT_FLYROCDL_CDNA3_TYPES_TD

include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"

def FlyROCDL_CopyOpCDNA3BufferCopy
    : FlyROCDL_StatefulCopyOp<"CopyOpCDNA3BufferCopy", "cdna3.buffer_copy"> {
  let summary = "one thread, through a buffer descriptor with range check: `!fly_rocdl.cdna3.buffer_copy<128>`";
  // The cache modifier is the intrinsic's: 0 keeps the data, 2 is for data used once.
  let parameters = (ins "int32_t":$bitSize, DefaultValuedParameter<"int32_t", "0">:$cacheModifier);
  let assemblyFormat = "`<` $bitSize (`,` `cache` `=` $cacheModifier^)? `>`";
  let builders = [TypeBuilder<(ins "int32_t":$bitSize), [{ return $_get($_ctxt, bitSize, 0); }]>];
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;";
}

def FlyROCDL_CopyOpCDNA3BufferCopyLDS
    : FlyROCDL_StatefulCopyOp<"CopyOpCDNA3BufferCopyLDS", "cdna3.buffer_copy_lds"> {
  let summary = "from a buffer into LDS past the registers: `!fly_rocdl.cdna3.buffer_copy_lds<32>`";
  let parameters = (ins "int32_t":$bitSize, DefaultValuedParameter<"int32_t", "0">:$cacheModifier);
  let assemblyFormat = "`<` $bitSize (`,` `cache` `=` $cacheModifier^)? `>`";
  let builders = [TypeBuilder<(ins "int32_t":$bitSize), [{ return $_get($_ctxt, bitSize, 0); }]>];
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;";
}

def FlyROCDL_CopyOpCDNA3BufferAtomic
    : FlyROCDL_StatefulCopyOp<"CopyOpCDNA3BufferAtomic", "cdna3.buffer_atomic"> {
  let summary = "an atomic through a buffer descriptor: `!fly_rocdl.cdna3.buffer_atomic<add, f32>`";
  let parameters = (ins "::mlir::fly::AtomicOpAttr":$atomicOp, "::mlir::Type":$valType);
  let assemblyFormat = "`<` $atomicOp `,` $valType `>`";
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;";
}

def FlyROCDL_MmaOpCDNA3_MFMA : FlyROCDL_MmaOp<"MmaOpCDNA3_MFMA", "cdna3.mfma", "MFMA"> {
  let summary = "a dense MFMA: `!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>`";
  // Instructions of several blocks stand by the product that they make of one block of A and the
  // blocks of B side by side: `<4x64x4, (f16, f16) -> f32>` is f32.4x4x4f16 of 16 blocks.
  let parameters = (ins "int32_t":$m, "int32_t":$n, "int32_t":$k, "::mlir::Type":$elemTyA,
                        "::mlir::Type":$elemTyB, "::mlir::Type":$elemTyAcc);
  let assemblyFormat = [{
    `<` custom<MNKDimensionList>($m, $n, $k) `,` `(` $elemTyA `,` $elemTyB `)` `->` $elemTyAcc `>`
  }];
}

#endif // FLYDSL_DIALECT_FLYROCDL_CDNA3_TYPES_TD
