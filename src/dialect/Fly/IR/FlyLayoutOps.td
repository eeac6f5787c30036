// The algebra of layouts.
#ifndef FLYDSL_DIALECT_FLY_LAYOUT_OPS_TD
#define FLYDSL_DIALECT_FLY_LAYOUT_OPS_TD

include "dialect/Fly/IR/FlyOpBase.td"

def Fly_SizeOp : Fly_RowOp<"size"> {
  let arguments = (ins Fly_IntTupleLike:$int_tuple);
  let results = (outs Fly_IntTuple:$result);
}

class Fly_CodomainOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins Fly_LayoutLike:$layout);
  let results = (outs Fly_IntTuple:$result);
}
def Fly_CoprofileOp : Fly_CodomainOp<"coprofile">;
def Fly_CoshapeOp : Fly_CodomainOp<"coshape">;
def Fly_CosizeOp : Fly_CodomainOp<"cosize">;

def Fly_Crd2IdxOp : Fly_RowOp<"crd2idx"> {
  let summary = "the layout, or the swizzle, as a function";
  let arguments = (ins Fly_IntTuple:$coord,
                       AnyTypeOf<[Fly_NarrowLayout, Fly_Swizzle, Fly_CoordSwizzle]>:$layout);
  let results = (outs Fly_IntTuple:$index);
}

class Fly_IndexOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins Fly_IntTuple:$index, Fly_Layout:$layout);
  let results = (outs Fly_IntTuple:$result);
}
def Fly_Idx2CrdOp : Fly_IndexOp<"idx2crd">;
def Fly_GetFlatCoordOp : Fly_IndexOp<"get_flat_coord">;
def Fly_Get1DCoordOp : Fly_IndexOp<"get_1d_coord">;

def Fly_CoalesceOp : Fly_RowOp<"coalesce"> {
  let arguments = (ins Fly_LayoutLike:$layout, Optional<Fly_IntTuple>:$pattern);
  let results = (outs Fly_LayoutLike:$result);
  let assemblyFormat =
      "`(` $layout (`,` $pattern^)? `)` attr-dict `:` functional-type(operands, results)";
}
def Fly_CompositionOp : Fly_RowOp<"composition"> {
  let summary = "c to outer(inner(c))";
  let arguments = (ins Fly_LayoutLike:$outer, AnyTypeOf<[Fly_Layout, Fly_Tile]>:$inner);
  let results = (outs Fly_LayoutLike:$result);
}
def Fly_ComplementOp : Fly_RowOp<"complement"> {
  let arguments = (ins Fly_NarrowLayout:$layout, Optional<Fly_IntTuple>:$codomain_size);
  let results = (outs Fly_NarrowLayout:$result);
  let assemblyFormat =
      "`(` $layout (`,` $codomain_size^)? `)` attr-dict `:` functional-type(operands, results)";
}

class Fly_InverseOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins Fly_NarrowLayout:$layout);
  let results = (outs Fly_NarrowLayout:$result);
}
def Fly_RightInverseOp : Fly_InverseOp<"right_inverse">;
def Fly_LeftInverseOp : Fly_InverseOp<"left_inverse">;

class Fly_DivideOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins Fly_LayoutLike:$layout, AnyTypeOf<[Fly_Layout, Fly_Tile]>:$divisor);
  let results = (outs Fly_LayoutLike:$result);
}
def Fly_LogicalDivideOp : Fly_DivideOp<"logical_divide">;
def Fly_ZippedDivideOp : Fly_DivideOp<"zipped_divide">;
def Fly_TiledDivideOp : Fly_DivideOp<"tiled_divide">;
def Fly_FlatDivideOp : Fly_DivideOp<"flat_divide">;

class Fly_ProductOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins Fly_NarrowLayout:$layout, Fly_Layout:$tile);
  let results = (outs Fly_NarrowLayout:$result);
}
def Fly_LogicalProductOp : Fly_ProductOp<"logical_product">;
def Fly_ZippedProductOp : Fly_ProductOp<"zipped_product">;
def Fly_TiledProductOp : Fly_ProductOp<"tiled_product">;
def Fly_FlatProductOp : Fly_ProductOp<"flat_product">;
def Fly_BlockedProductOp : Fly_ProductOp<"blocked_product">;
def Fly_RakedProductOp : Fly_ProductOp<"raked_product">;

def Fly_RecastLayoutOp : Fly_RowOp<"recast_layout"> {
  let summary = "the layout of the same memory in elements of another size";
  let arguments = (ins I32Attr:$new_type_bits, I32Attr:$old_type_bits, Fly_NarrowLayout:$src);
  let results = (outs Fly_NarrowLayout:$result);
}

def Fly_TileToShapeOp : Fly_RowOp<"tile_to_shape"> {
  let summary = "the block repeated to a shape, its repetitions in the given order";
  let arguments = (ins Fly_NarrowLayout:$block, Fly_IntTuple:$trg_shape, Fly_IntTuple:$ord_shape);
  let results = (outs Fly_NarrowLayout:$result);
}

#endif // FLYDSL_DIALECT_FLY_LAYOUT_OPS_TD
