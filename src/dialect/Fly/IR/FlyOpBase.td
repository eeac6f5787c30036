// Base classes and type constraints of Fly's operations. Each group of operations has a file of its
// own, from which its declarations and definitions are generated.
#ifndef FLYDSL_DIALECT_FLY_OP_BASE_TD
#define FLYDSL_DIALECT_FLY_OP_BASE_TD

include "dialect/Fly/IR/FlyAlgebraInterface.td"
include "dialect/Fly/IR/FlyAttrs.td"
include "dialect/Fly/IR/FlyTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Fly_Scalar : AnyTypeOf<[I32, I64]>;
def Fly_Iterator : AnyTypeOf<[Fly_IntTuple, Fly_Pointer]>;
def Fly_Tensor : AnyTypeOf<[Fly_CoordTensor, Fly_MemRef]>;
def Fly_NarrowLayout : AnyTypeOf<[Fly_Layout, Fly_ComposedLayout]>;
def Fly_LayoutLike : AnyTypeOf<[Fly_NarrowLayout, Fly_Tensor]>;
def Fly_IntTupleLike : AnyTypeOf<[Fly_IntTuple, Fly_LayoutLike]>;

class Fly_Op<string mnemonic, list<Trait> traits = []> : Op<Fly_Dialect, mnemonic, traits> {
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, results)";
}

// An operation of the algebra: `compute` is all of its meaning, and throws LayoutError where the
// operation is not admissible. Inference and `evaluate` are made from it.
class Fly_AlgebraOp<string mnemonic, list<Trait> traits = []>
    : Fly_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
                                    Fly_AlgebraOpInterface], traits)> {
  code algebraDeclaration = [{
    /// The operation on algebra values. Throws `flydsl::layout::LayoutError`.
    static void compute(const ::mlir::fly::AlgebraArgs &args,
                        ::llvm::SmallVectorImpl<::mlir::fly::AlgebraValue> &results);
  }];
  code algebraDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties properties,
        ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mlir::fly::detail::inferByAlgebra(&$cppClass::compute, $cppClass::getOperationName(),
                                                 context, location, operands, properties, types);
    }
  }];
  let extraClassDeclaration = algebraDeclaration;
  let extraClassDefinition = algebraDefinition;
}

// One whose answer replaces it where the answer's type says all.
class Fly_FoldedAlgebraOp<string mnemonic, list<Trait> traits = []>
    : Fly_AlgebraOp<mnemonic, traits> {
  let hasFolder = 1;
  code foldedDefinition = algebraDefinition # [{
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor) {
      return ::mlir::fly::detail::foldStatic(getResult().getType());
    }
  }];
  let extraClassDefinition = foldedDefinition;
}

// One whose meaning is the row of the same name in layout/operations.h.
class Fly_RowOp<string mnemonic, list<Trait> traits = []> : Fly_FoldedAlgebraOp<mnemonic, traits> {
  let extraClassDefinition = foldedDefinition # [{
    void $cppClass::compute(const ::mlir::fly::AlgebraArgs &args,
                            ::llvm::SmallVectorImpl<::mlir::fly::AlgebraValue> &results) {
      ::mlir::fly::detail::computeByRow<$cppClass>(args, results);
    }
  }];
}

#endif // FLYDSL_DIALECT_FLY_OP_BASE_TD
