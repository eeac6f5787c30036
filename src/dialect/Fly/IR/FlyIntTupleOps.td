// Arithmetic on tuples, and what regroups the modes of tuples, layouts and tensors.
#ifndef FLYDSL_DIALECT_FLY_INT_TUPLE_OPS_TD
#define FLYDSL_DIALECT_FLY_INT_TUPLE_OPS_TD

include "dialect/Fly/IR/FlyOpBase.td"

class Fly_UnaryTupleOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins Fly_IntTuple:$input);
  let results = (outs Fly_IntTuple:$result);
}
class Fly_BinaryTupleOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins Fly_IntTuple:$lhs, Fly_IntTuple:$rhs);
  let results = (outs Fly_IntTuple:$result);
}
// The result's type needs no inference, so there is no definition of it here.
class Fly_CompareTupleOp<string mnemonic> : Fly_Op<mnemonic, [Pure, Fly_AlgebraOpInterface]> {
  let arguments = (ins Fly_IntTuple:$lhs, Fly_IntTuple:$rhs);
  let results = (outs I1:$result);
  let hasFolder = 1;
  let extraClassDeclaration = [{
    static void compute(const ::mlir::fly::AlgebraArgs &args,
                        ::llvm::SmallVectorImpl<::mlir::fly::AlgebraValue> &results);
  }];
}

def Fly_IntTupleAddOp : Fly_BinaryTupleOp<"int_tuple_add">;
def Fly_IntTupleSubOp : Fly_BinaryTupleOp<"int_tuple_sub">;
def Fly_IntTupleMulOp : Fly_BinaryTupleOp<"int_tuple_mul">;
def Fly_IntTupleDivOp : Fly_BinaryTupleOp<"int_tuple_div">;
def Fly_IntTupleModOp : Fly_BinaryTupleOp<"int_tuple_mod">;
def Fly_IntTupleProductOp : Fly_UnaryTupleOp<"int_tuple_product">;
def Fly_IntTupleProductEachOp : Fly_UnaryTupleOp<"int_tuple_product_each">;
def Fly_IntTupleProductLikeOp : Fly_BinaryTupleOp<"int_tuple_product_like">;
def Fly_ShapeDivOp : Fly_BinaryTupleOp<"shape_div">;
def Fly_CeilDivOp : Fly_BinaryTupleOp<"ceil_div">;

def Fly_ElemLessOp : Fly_CompareTupleOp<"elem_less"> {
  let summary = "whether each leaf of the left is less than the right's";
}
def Fly_EqualOp : Fly_CompareTupleOp<"equal">;

def Fly_GetOp : Fly_RowOp<"get"> {
  let summary = "the mode at a path";
  let arguments = (ins Fly_IntTupleLike:$input, DenseI32ArrayAttr:$mode);
  let results = (outs Fly_IntTupleLike:$result);
}
def Fly_TakeOp : Fly_RowOp<"take"> {
  let summary = "the modes in [begin, end)";
  let arguments = (ins Fly_IntTupleLike:$tuple, I32Attr:$begin, I32Attr:$end);
  let results = (outs Fly_IntTupleLike:$result);
}
def Fly_SelectOp : Fly_RowOp<"select"> {
  let summary = "the modes at the given places, in that order";
  let arguments = (ins Fly_IntTupleLike:$tuple, DenseI32ArrayAttr:$indices);
  let results = (outs Fly_IntTupleLike:$result);
}
def Fly_GroupOp : Fly_RowOp<"group"> {
  let summary = "the modes in [begin, end) as one mode";
  let arguments = (ins Fly_IntTupleLike:$tuple, I32Attr:$begin, I32Attr:$end);
  let results = (outs Fly_IntTupleLike:$result);
}

class Fly_ExtendOp<string mnemonic> : Fly_RowOp<mnemonic> {
  let arguments = (ins AnyTypeOf<[Fly_IntTuple, Fly_NarrowLayout]>:$tuple,
                       AnyTypeOf<[Fly_IntTuple, Fly_Layout]>:$elem, OptionalAttr<I32Attr>:$n);
  let results = (outs AnyTypeOf<[Fly_IntTuple, Fly_NarrowLayout]>:$result);
  let assemblyFormat =
      "(`<` $n^ `>`)? `(` operands `)` attr-dict `:` functional-type(operands, results)";
}
def Fly_AppendOp : Fly_ExtendOp<"append"> {
  let summary = "a mode more at the end, or as many as it takes to be of rank n";
}
def Fly_PrependOp : Fly_ExtendOp<"prepend"> {
  let summary = "a mode more at the front, or as many as it takes to be of rank n";
}

def Fly_SliceOp : Fly_FoldedAlgebraOp<"slice"> {
  let summary = "the modes where the coordinate is `*`; a tensor moves to the rest of the coordinate";
  let arguments = (ins Fly_IntTupleLike:$src, Fly_IntTuple:$coord);
  let results = (outs Fly_IntTupleLike:$result);
}
def Fly_DiceOp : Fly_RowOp<"dice"> {
  let summary = "the modes where the coordinate is not `*`";
  let arguments = (ins AnyTypeOf<[Fly_IntTuple, Fly_Layout]>:$src, Fly_IntTuple:$coord);
  let results = (outs AnyTypeOf<[Fly_IntTuple, Fly_Layout]>:$result);
}

#endif // FLYDSL_DIALECT_FLY_INT_TUPLE_OPS_TD
