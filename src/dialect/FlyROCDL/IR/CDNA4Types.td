// Instructions that CDNA4 (gfx950) adds.
#ifndef FLYDSL_DIALECT_FLYROCDL_CDNA4_TYPES_TD
#define FLYDSL_DIALECT_FLYROCDL_CDNA4_TYPES_TD

include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"

def FlyROCDL_CopyOpCDNA4LdsReadTranspose
    : FlyROCDL_CopyOp<"CopyOpCDNA4LdsReadTranspose", "cdna4.lds_read_trans"> {
  let summary = "sixteen threads read and transpose a block of LDS: `!fly_rocdl.cdna4.lds_read_trans<trans = 16b, 64>`";
  let parameters = (ins "int32_t":$transGranularity, "int32_t":$bitSize);
  let assemblyFormat = "`<` `trans` `=` custom<BitCount>($transGranularity) `,` $bitSize `>`";
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;";
}

// Asynchronous copies into LDS: the program waits for them by counting marks; the compiler adds no
// wait.
def FlyROCDL_CopyOpCDNA4BufferLoadAsyncLDS
    : FlyROCDL_StatefulCopyOp<"CopyOpCDNA4BufferLoadAsyncLDS", "cdna4.buffer_load_async_lds"> {
  let parameters = (ins "int32_t":$bitSize, DefaultValuedParameter<"int32_t", "0">:$cacheModifier);
  let assemblyFormat = "`<` $bitSize (`,` `cache` `=` $cacheModifier^)? `>`";
  let builders = [TypeBuilder<(ins "int32_t":$bitSize), [{ return $_get($_ctxt, bitSize, 0); }]>];
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;";
}

def FlyROCDL_CopyOpCDNA4GlobalLoadAsyncLDS
    : FlyROCDL_CopyOp<"CopyOpCDNA4GlobalLoadAsyncLDS", "cdna4.global_load_async_lds"> {
  let parameters = (ins "int32_t":$bitSize, DefaultValuedParameter<"int32_t", "0">:$cacheModifier);
  let assemblyFormat = "`<` $bitSize (`,` `cache` `=` $cacheModifier^)? `>`";
  let builders = [TypeBuilder<(ins "int32_t":$bitSize), [{ return $_get($_ctxt, bitSize, 0); }]>];
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;";
}

def FlyROCDL_MmaOpCDNA4_MFMAScale
    : FlyROCDL_ScaledMmaOp<"MmaOpCDNA4_MFMAScale", "cdna4.mfma_scale", "MFMAScale", "32",
                           "(getHardwareK() ? 0 : 32)"> {
  let summary = "an MFMA of 8, 6 or 4 bit floats with a shared exponent per 32 elements of K";
  // opsel picks the byte of a lane's 32-bit scale word that holds the operand's scale.
  // hardwareK: a lane's values lie along K as the instruction counts it for the scales, those of an
  // operand of bytes in two runs of 16. Without it the 32 values of a lane are neighbours, as in
  // FlyDSL's IR: K of A and of B are then permuted alike, if both or neither have bytes, and the
  // product is the same where all scales of a row are.
  let parameters = (ins "int32_t":$m, "int32_t":$n, "int32_t":$k, "::mlir::Type":$elemTyA,
                        "::mlir::Type":$elemTyB, "::mlir::Type":$elemTyAcc, "int32_t":$opselA,
                        "int32_t":$opselB, DefaultValuedParameter<"bool", "false">:$hardwareK);
  let assemblyFormat = [{
    `<` custom<MNKDimensionList>($m, $n, $k) `,` `(` $elemTyA `,` $elemTyB `)` `->` $elemTyAcc
    `,` `opselA` `=` $opselA `,` `opselB` `=` $opselB (`,` `hardwareK` `=` $hardwareK^)? `>`
  }];
}

#endif // FLYDSL_DIALECT_FLYROCDL_CDNA4_TYPES_TD
