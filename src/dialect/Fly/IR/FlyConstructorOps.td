// Operations that make algebra values and views.
#ifndef FLYDSL_DIALECT_FLY_CONSTRUCTOR_OPS_TD
#define FLYDSL_DIALECT_FLY_CONSTRUCTOR_OPS_TD

include "dialect/Fly/IR/FlyOpBase.td"

def Fly_StaticOp : Fly_Op<"static", [Pure, ConstantLike]> {
  let summary = "the value that its type determines";
  let results = (outs AnyType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

// The type of the result gives the structure, and the operands fill its `?` from left to right. The
// width of a `?` comes from the type, not from the operand.
class Fly_MakeTupleOp<string mnemonic>
    : Fly_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<Fly_AlgebraOpInterface, ["evaluate"]>]> {
  let arguments = (ins Variadic<Fly_Scalar>:$dyncElems);
  let results = (outs Fly_IntTuple:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::evaluate(
        ::llvm::ArrayRef<::mlir::fly::AlgebraValue> operands,
        ::llvm::SmallVectorImpl<::mlir::fly::AlgebraValue> &results) {
      return ::mlir::fly::detail::evaluateMakeTuple(*this, getType(), operands, results);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mlir::fly::detail::verifyMakeTuple(*this, getType(), getDyncElems());
    }
  }];
}
def Fly_MakeIntTupleOp : Fly_MakeTupleOp<"make_int_tuple">;
def Fly_MakeShapeOp : Fly_MakeTupleOp<"make_shape">;
def Fly_MakeStrideOp : Fly_MakeTupleOp<"make_stride">;
def Fly_MakeCoordOp : Fly_MakeTupleOp<"make_coord">;

def Fly_MakeLayoutOp : Fly_AlgebraOp<"make_layout"> {
  let arguments = (ins Fly_IntTuple:$shape, Fly_IntTuple:$stride);
  let results = (outs Fly_Layout:$result);
}

def Fly_MakeLayoutLikeOp : Fly_RowOp<"make_layout_like"> {
  let summary = "a compact layout of the same shape, its modes in the order of the given strides";
  let arguments = (ins Fly_Layout:$ref);
  let results = (outs Fly_Layout:$result);
}

def Fly_MakeOrderedLayoutOp : Fly_RowOp<"make_ordered_layout"> {
  let summary = "a compact layout whose modes grow in the given order";
  let arguments = (ins Fly_IntTuple:$shape, Fly_IntTuple:$order);
  let results = (outs Fly_Layout:$result);
}

def Fly_MakeComposedLayoutOp : Fly_AlgebraOp<"make_composed_layout"> {
  let summary = "c to inner(offset + outer(c))";
  let arguments = (ins AnyTypeOf<[Fly_Layout, Fly_Swizzle, Fly_CoordSwizzle, Fly_ComposedLayout]>:$inner,
                       Fly_IntTuple:$offset, Fly_NarrowLayout:$outer);
  let results = (outs Fly_ComposedLayout:$result);
}

def Fly_MakeIdentityLayoutOp : Fly_RowOp<"make_identity_layout"> {
  let summary = "the layout that gives each coordinate itself";
  let arguments = (ins Fly_IntTuple:$shape);
  let results = (outs Fly_Layout:$result);
}

def Fly_MakeViewOp : Fly_AlgebraOp<"make_view"> {
  let summary = "a tensor: an iterator with a layout";
  let arguments = (ins Fly_Iterator:$iter, Fly_NarrowLayout:$layout);
  let results = (outs Fly_Tensor:$result);
}

def Fly_MakeFragmentLayoutLikeOp : Fly_RowOp<"make_fragment_layout_like"> {
  let summary = "the compact layout of a thread's registers for the values of a view";
  let arguments = (ins AnyTypeOf<[Fly_Layout, Fly_MemRef]>:$src);
  let results = (outs Fly_Layout:$result);
}

def Fly_MakeFragmentLikeOp : Fly_Op<"make_fragment_like", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "register memory for the values of a view";
  let arguments = (ins AnyTypeOf<[Fly_Layout, Fly_MemRef, Fly_CoordTensor]>:$src,
                       OptionalAttr<TypeAttr>:$dtype);
  let results = (outs Res<Fly_MemRef, "", [MemAlloc]>:$result);
  let assemblyFormat =
      "`(` $src (`,` $dtype^)? `)` attr-dict `:` functional-type(operands, results)";
}

#endif // FLYDSL_DIALECT_FLY_CONSTRUCTOR_OPS_TD
