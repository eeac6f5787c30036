// Operations of the FlyROCDL dialect.
include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"
include "dialect/Fly/IR/FlyTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def FlyROCDL_GetBufferRsrcOp : Op<FlyROCDL_Dialect, "get_buffer_rsrc", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the buffer resource of a pointer in #fly_rocdl.buffer_desc, for raw buffer intrinsics";
  let arguments = (ins AnyType:$ptr);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $ptr `)` attr-dict `:` functional-type($ptr, $result)";
}

// An atom that moves a tile of `tensor`, arranged in LDS as `smemLayout` says, with `numWarps` waves
// that share it, and the coordinates of the tensor. `internalType` is reserved.
class FlyROCDL_MakeTiledMoveOp<string mnemonic> : Op<FlyROCDL_Dialect, mnemonic, [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins Fly_MemRef:$tensor, Fly_Layout:$smemLayout, Fly_Tile:$tiler,
                       DefaultValuedAttr<I32Attr, "1">:$numWarps,
                       DefaultValuedAttr<BoolAttr, "true">:$initBoundaryCheck,
                       DefaultValuedAttr<I32Attr, "0">:$cacheModifier,
                       DefaultValuedAttr<BoolAttr, "false">:$atomicBarrier,
                       OptionalAttr<TypeAttr>:$internalType);
  let results = (outs Fly_CopyAtom:$atom, Fly_CoordTensor:$coordTensor);
  let assemblyFormat = [{
    $tensor `,` $smemLayout `,` $tiler attr-dict `:` qualified(type($tensor)) `,`
    qualified(type($smemLayout)) `,` qualified(type($tiler))
  }];
}
def FlyROCDL_MakeTiledTdmLoadAtomOp : FlyROCDL_MakeTiledMoveOp<"make_tiled_tdm_load_atom"> {
  let summary = "an atom of the tensor data mover for tiles into LDS, and the tensor's coordinates";
}
def FlyROCDL_MakeTiledTdmStoreAtomOp : FlyROCDL_MakeTiledMoveOp<"make_tiled_tdm_store_atom"> {
  let summary = "an atom of the tensor data mover for tiles out of LDS, and the tensor's coordinates";
}

def FlyROCDL_TensorMoveOp : Op<FlyROCDL_Dialect, "tensor_move"> {
  let summary = "one box of the tensor data mover, at its coordinates, innermost first, to or from an address in LDS";
  let arguments = (ins Fly_CopyAtom:$atom, I32:$lds, Variadic<I32>:$coordinates);
  let assemblyFormat = "$atom `,` $lds `[` $coordinates `]` attr-dict `:` qualified(type($atom))";
  let hasVerifier = 1;
}
