// Operations that take algebra values and views apart.
#ifndef FLYDSL_DIALECT_FLY_EXTRACT_OPS_TD
#define FLYDSL_DIALECT_FLY_EXTRACT_OPS_TD

include "dialect/Fly/IR/FlyOpBase.td"

def Fly_GetScalarOp : Fly_AlgebraOp<"get_scalar"> {
  let summary = "the number of a tuple that has one leaf";
  let arguments = (ins Fly_IntTuple:$int_tuple);
  let results = (outs AnyType:$result);
  let hasFolder = 1;
}

def Fly_GetLeavesOp : Fly_AlgebraOp<"get_leaves"> {
  let summary = "the numbers of a tuple, left to right; those known only at run time if dynamicOnly";
  let arguments = (ins Fly_IntTuple:$input, DefaultValuedAttr<BoolAttr, "false">:$dynamicOnly);
  let results = (outs Variadic<Fly_Scalar>:$results);
  let hasFolder = 1;
}

def Fly_GetShapeOp : Fly_RowOp<"get_shape"> {
  let arguments = (ins Fly_LayoutLike:$layout);
  let results = (outs Fly_IntTuple:$result);
}

def Fly_GetStrideOp : Fly_RowOp<"get_stride"> {
  let arguments = (ins Fly_LayoutLike:$layout);
  let results = (outs Fly_IntTuple:$result);
}

def Fly_GetLayoutOp : Fly_RowOp<"get_layout"> {
  let arguments = (ins Fly_Tensor:$memref);
  let results = (outs Fly_NarrowLayout:$result);
}

def Fly_GetIterOp : Fly_FoldedAlgebraOp<"get_iter"> {
  let arguments = (ins Fly_Tensor:$memref);
  let results = (outs Fly_Iterator:$result);
}

def Fly_ComposedGetInnerOp : Fly_RowOp<"composed_get_inner"> {
  let arguments = (ins Fly_ComposedLayout:$input);
  let results = (outs AnyType:$result);
}

def Fly_ComposedGetOffsetOp : Fly_RowOp<"composed_get_offset"> {
  let arguments = (ins Fly_ComposedLayout:$input);
  let results = (outs Fly_IntTuple:$result);
}

def Fly_ComposedGetOuterOp : Fly_RowOp<"composed_get_outer"> {
  let arguments = (ins Fly_ComposedLayout:$input);
  let results = (outs Fly_NarrowLayout:$result);
}

#endif // FLYDSL_DIALECT_FLY_EXTRACT_OPS_TD
