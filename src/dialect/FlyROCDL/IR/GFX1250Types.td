// Instructions of gfx1250, wave32: WMMA, scaled WMMA, and the tensor data mover.
#ifndef FLYDSL_DIALECT_FLYROCDL_GFX1250_TYPES_TD
#define FLYDSL_DIALECT_FLYROCDL_GFX1250_TYPES_TD

include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"
include "dialect/FlyROCDL/IR/RDNATypes.td"

def FlyROCDL_MmaOpGFX1250_WMMA : FlyROCDL_MmaOp<"MmaOpGFX1250_WMMA", "gfx1250.wmma", "GFX1250"> {
  // modC negates (1) C, takes its magnitude (2), or both (3), in the products of floats.
  let parameters = (ins "int32_t":$m, "int32_t":$n, "int32_t":$k, "::mlir::Type":$elemTyA,
                        "::mlir::Type":$elemTyB, "::mlir::Type":$elemTyAcc, "bool":$signA,
                        "bool":$signB, "bool":$clamp, DefaultValuedParameter<"int32_t", "0">:$modC);
  let assemblyFormat = [{
    `<` custom<MNKDimensionList>($m, $n, $k) `,` `(` $elemTyA `,` $elemTyB `)` `->` $elemTyAcc
    `,` `signA` `=` $signA `,` `signB` `=` $signB `,` `clamp` `=` $clamp
    (`,` `modC` `=` $modC^)? `>`
  }];
  let builders = [TypeBuilder<(ins "int32_t":$m, "int32_t":$n, "int32_t":$k,
      "::mlir::Type":$elemTyA, "::mlir::Type":$elemTyB, "::mlir::Type":$elemTyAcc, "bool":$signA,
      "bool":$signB, "bool":$clamp), [{
    return $_get($_ctxt, m, n, k, elemTyA, elemTyB, elemTyAcc, signA, signB, clamp, 0);
  }]>];
}

def FlyROCDL_MmaOpGFX1250_WMMAScale
    : FlyROCDL_ScaledMmaOp<"MmaOpGFX1250_WMMAScale", "gfx1250.wmma_scale", "GFX1250Scale",
                           "getBlockSize()", "(getHardwareK() ? 0 : 8)"> {
  let summary = "a WMMA of 8, 6 or 4 bit floats with a shared exponent per block of K";
  // opsel: which half of the wave holds an operand's scales. modC, reuseA and reuseB are the
  // instruction's modifiers. blockSize, 32 or 16: elements that share an exponent; scales are i32
  // or i64 words. hardwareK: as for CDNA4's; without it a lane's values lie in runs of 8 along K, as
  // in FlyDSL's IR.
  let parameters = (ins "int32_t":$m, "int32_t":$n, "int32_t":$k, "::mlir::Type":$elemTyA,
                        "::mlir::Type":$elemTyB, "::mlir::Type":$elemTyAcc, "int32_t":$opselA,
                        "int32_t":$opselB, "int32_t":$modC, "bool":$reuseA, "bool":$reuseB,
                        "int32_t":$blockSize,
                        DefaultValuedParameter<"bool", "false">:$hardwareK);
  let assemblyFormat = [{
    `<` custom<MNKDimensionList>($m, $n, $k) `,` `(` $elemTyA `,` $elemTyB `)` `->` $elemTyAcc
    `,` `opselA` `=` $opselA `,` `opselB` `=` $opselB `,` `modC` `=` $modC `,` `reuseA` `=` $reuseA
    `,` `reuseB` `=` $reuseB `,` `blockSize` `=` $blockSize
    (`,` `hardwareK` `=` $hardwareK^)? `>`
  }];
}

def FlyROCDL_CopyOpGFX1250TDM : FlyROCDL_StatefulCopyOp<"CopyOpGFX1250TDM", "gfx1250.tdm"> {
  let summary = "the tensor data mover: a whole tile between global memory and LDS, by descriptor";
  // numWarps waves share the tile. padInterval and padAmount are in elements: after so many
  // elements, so many are left free in LDS. The state: a multicast mask, the tensor's extent and
  // stride per dimension, and a byte offset of the tile.
  let parameters = (ins "int32_t":$rank, "int32_t":$numWarps, "int32_t":$padInterval,
                        "int32_t":$padAmount, "int32_t":$cacheModifier, "bool":$atomicBarrier,
                        "bool":$earlyTimeout);
  let assemblyFormat = [{
    `<` `rank` `=` $rank `,` `warps` `=` $numWarps `,` `pad` `=` $padInterval `,` $padAmount
    `,` `cache` `=` $cacheModifier `,` `barrier` `=` $atomicBarrier `,` `timeout` `=` $earlyTimeout `>`
  }];
  let extraClassDeclaration = [{
    /// Dimensions that a descriptor has at most.
    static constexpr int32_t kMaxRank = 5;
    /// A stride that was not set; no tensor has it.
    static constexpr int64_t kStrideNotSet = INT32_MIN;
    bool isWholeTileCopy() const { return true; }
    ::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;
  }];
}

#endif // FLYDSL_DIALECT_FLYROCDL_GFX1250_TYPES_TD
