// WMMA of RDNA3 (gfx11xx) and RDNA4 (gfx1200, gfx1201), wave32.
#ifndef FLYDSL_DIALECT_FLYROCDL_RDNA_TYPES_TD
#define FLYDSL_DIALECT_FLYROCDL_RDNA_TYPES_TD

include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"

// signA, signB and clamp are the integer forms' modifiers: whether an operand is signed, and
// whether the sum saturates.
class FlyROCDL_WMMA<string cppName, string typeMnemonic, string family>
    : FlyROCDL_MmaOp<cppName, typeMnemonic, family> {
  let parameters = (ins "int32_t":$m, "int32_t":$n, "int32_t":$k, "::mlir::Type":$elemTyA,
                        "::mlir::Type":$elemTyB, "::mlir::Type":$elemTyAcc, "bool":$signA,
                        "bool":$signB, "bool":$clamp);
  let assemblyFormat = [{
    `<` custom<MNKDimensionList>($m, $n, $k) `,` `(` $elemTyA `,` $elemTyB `)` `->` $elemTyAcc
    `,` `signA` `=` $signA `,` `signB` `=` $signB `,` `clamp` `=` $clamp `>`
  }];
}

def FlyROCDL_MmaOpGFX11_WMMA : FlyROCDL_WMMA<"MmaOpGFX11_WMMA", "gfx11.wmma", "GFX11"> {
  let summary = "RDNA3's: both halves of the wave hold the same A and B";
}

def FlyROCDL_MmaOpGFX120X_WMMA : FlyROCDL_WMMA<"MmaOpGFX120X_WMMA", "gfx120x.wmma", "GFX120X"> {
  let summary = "RDNA4's: each half of the wave holds its half of K";
}

#endif // FLYDSL_DIALECT_FLYROCDL_RDNA_TYPES_TD
