// Tiled copies and multiplications: atoms spread over threads and values, and a thread's part of a
// tensor.
#ifndef FLYDSL_DIALECT_FLY_TILED_OPS_TD
#define FLYDSL_DIALECT_FLY_TILED_OPS_TD

include "dialect/Fly/IR/FlyOpBase.td"

def Fly_MakeTiledCopyOp : Fly_Op<"make_tiled_copy", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins Fly_CopyAtom:$copyAtom, Fly_Layout:$layoutThrVal, Fly_Tile:$tileMN);
  let results = (outs Fly_TiledCopy:$result);
}

def Fly_MakeTiledMmaOp : Fly_Op<"make_tiled_mma", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins AnyType:$mmaAtom, Fly_Layout:$atomLayout, Optional<Fly_Tile>:$permutation);
  let results = (outs Fly_TiledMma:$result);
  let assemblyFormat = [{
    `(` $mmaAtom `,` $atomLayout (`,` $permutation^)? `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Fly_GetCopyAtomOp : Fly_Op<"get_copy_atom", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the atom of a tiled copy, with its state";
  let arguments = (ins Fly_TiledCopy:$tiledCopy);
  let results = (outs Fly_CopyAtom:$result);
  let hasFolder = 1;
}
def Fly_GetMmaAtomOp : Fly_Op<"get_mma_atom", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the atom of a tiled mma, with its state";
  let arguments = (ins Fly_TiledMma:$tiledMma);
  let results = (outs Fly_MmaAtom:$result);
  let hasFolder = 1;
}

def Fly_TiledCopyPartitionSrcOp : Fly_FoldedAlgebraOp<"tiled_copy.partition_src"> {
  let summary = "a thread's part of a source: (value, rest...)";
  let arguments = (ins Fly_TiledCopy:$tiledCopy, Fly_Tensor:$src, Fly_IntTuple:$coord);
  let results = (outs Fly_Tensor:$result);
}
def Fly_TiledCopyPartitionDstOp : Fly_FoldedAlgebraOp<"tiled_copy.partition_dst"> {
  let summary = "a thread's part of a destination: (value, rest...)";
  let arguments = (ins Fly_TiledCopy:$tiledCopy, Fly_Tensor:$dst, Fly_IntTuple:$coord);
  let results = (outs Fly_Tensor:$result);
}
def Fly_TiledCopyRetileOp : Fly_AlgebraOp<"tiled_copy.retile"> {
  let summary = "a fragment of another partition, its values grouped as this copy wants them";
  let arguments = (ins Fly_TiledCopy:$tiledCopy, Fly_MemRef:$input);
  let results = (outs Fly_MemRef:$result);
}

def Fly_TiledMmaPartitionOp : Fly_FoldedAlgebraOp<"tiled_mma.partition"> {
  let summary = "a thread's part of an operand: (value, rest...)";
  let arguments = (ins Fly_MmaOperandAttr:$operand_id, Fly_TiledMma:$tiled_mma, Fly_Tensor:$input,
                       Fly_IntTuple:$coord);
  let results = (outs Fly_Tensor:$result);
  let assemblyFormat = [{
    `(` $operand_id `,` $tiled_mma `,` $input `,` $coord `)` attr-dict
    `:` functional-type(operands, results)
  }];
}
def Fly_TiledMmaPartitionShapeOp : Fly_FoldedAlgebraOp<"tiled_mma.partition_shape"> {
  let arguments = (ins Fly_MmaOperandAttr:$operand_id, Fly_TiledMma:$tiled_mma, Fly_IntTuple:$shape);
  let results = (outs Fly_IntTuple:$result);
}
def Fly_MmaMakeFragmentOp : Fly_Op<"mma.make_fragment", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "register memory for a thread's part of an operand";
  let arguments = (ins Fly_MmaOperandAttr:$operand_id, Fly_TiledMma:$tiled_mma, Fly_MemRef:$input,
                       OptionalAttr<I32Attr>:$stages);
  let results = (outs Res<Fly_MemRef, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    `(` $operand_id `,` $tiled_mma `,` $input (`,` `stages` `=` $stages^)? `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // FLYDSL_DIALECT_FLY_TILED_OPS_TD
