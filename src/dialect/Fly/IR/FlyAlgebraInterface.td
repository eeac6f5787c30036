// The one evaluation scheme of the algebra operations.
#ifndef FLYDSL_DIALECT_FLY_ALGEBRA_INTERFACE_TD
#define FLYDSL_DIALECT_FLY_ALGEBRA_INTERFACE_TD

include "mlir/IR/OpBase.td"

def Fly_AlgebraOpInterface : OpInterface<"AlgebraOpInterface"> {
  let cppNamespace = "::mlir::fly";
  let description = [{
    A pure operation whose results are a function of its operands' algebra values and its
    attributes. Type inference evaluates it on the operand types, where every `?` is an anonymous
    number; folding takes the answer where it has no `?`; lowering evaluates it on named symbols and
    turns the expressions of the answer into arithmetic.
  }];
  let methods = [
    InterfaceMethod<[{
        Evaluates the operation on `operands`, one value per operand. An operation that is not
        admissible on them emits an error at its location and fails.
      }],
      "::llvm::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::mlir::fly::AlgebraValue>":$operands,
           "::llvm::SmallVectorImpl<::mlir::fly::AlgebraValue> &":$results),
      [{}], [{
        return ::mlir::fly::detail::evaluateAlgebra<ConcreteOp>($_op, operands, results);
      }]>
  ];
}

#endif // FLYDSL_DIALECT_FLY_ALGEBRA_INTERFACE_TD
