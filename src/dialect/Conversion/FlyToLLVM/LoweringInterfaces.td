// How atoms and address spaces become instructions.
//
// The types and attributes belong to a dialect that knows no instructions of LLVM. A backend's
// conversion attaches these interfaces to those of its own dialect, as external models. Universal
// atoms and Fly's address spaces have none: the conversion lowers them itself, for every backend.
#ifndef FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_LOWERING_INTERFACES_TD
#define FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_LOWERING_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Fly_CopyOpLoweringInterface : TypeInterface<"CopyOpLoweringInterface"> {
  let cppNamespace = "::mlir::fly";
  let methods = [
    InterfaceMethod<[{
        Emits one call without predicate. What lies in registers is a vector: `src` where `srcTy` is not a
        memref, and the result where `resultTy` is not null. The others are converted pointers, of the given
        memref types. `atom` is the converted atom, a struct of its state. Fails without an error where the
        instruction does not move between such places.
      }], "::llvm::FailureOr<::mlir::Value>", "emitCall",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Type":$resultTy,
           "::mlir::Type":$copyAtomTy, "::mlir::Type":$srcTy, "::mlir::Type":$dstTy,
           "::mlir::Value":$atom, "::mlir::Value":$src, "::mlir::Value":$dst)>
  ];
}

def Fly_MmaOpLoweringInterface : TypeInterface<"MmaOpLoweringInterface"> {
  let cppNamespace = "::mlir::fly";
  let methods = [
    InterfaceMethod<[{
        The value, a scalar or a vector, in which the instruction takes or gives an operand: a fragment has as
        many bits. Null where any type will do.
      }], "::mlir::Type", "getRegisterType", (ins "::mlir::fly::MmaOperand":$operand), "", "return {};">,
    InterfaceMethod<[{
        Emits D = A * B + C on vectors, or scalars, of registers; the result is D, of type `resultTy`. Fails
        without an error where the target has no such instruction.
      }], "::llvm::FailureOr<::mlir::Value>", "emitCall",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Type":$resultTy,
           "::mlir::Value":$atom, "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c)>
  ];
}

def Fly_DescriptorLoweringInterface : AttrInterface<"DescriptorLoweringInterface"> {
  let cppNamespace = "::mlir::fly";
  let description = [{
    The lowering of an address space whose pointers are a descriptor with an offset
    (`AddressSpaceInterface::isDescriptor`). `pointer` is always a value of the converted type.
  }];
  let methods = [
    InterfaceMethod<"The type of a value that stands for such a pointer.",
      "::mlir::Type", "getConvertedType", (ins "::mlir::fly::PointerType":$type)>,
    InterfaceMethod<"Lowers the operation that makes such a pointer. An error is emitted at `op`.",
      "::llvm::FailureOr<::mlir::Value>", "makePointer",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::fly::MakePtrOp":$op, "::mlir::ValueRange":$args)>,
    InterfaceMethod<"The pointer `offset` elements further on; `offset` is an i32 or an i64.",
      "::mlir::Value", "offsetBy",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::fly::PointerType":$type,
           "::mlir::Value":$pointer, "::mlir::Value":$offset)>,
    InterfaceMethod<"A value of `valueTy`, whole bytes, loaded from the pointer.",
      "::mlir::Value", "load",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::fly::PointerType":$type,
           "::mlir::Type":$valueTy, "::mlir::Value":$pointer)>,
    InterfaceMethod<"Stores a value of whole bytes to the pointer.",
      "void", "store",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::fly::PointerType":$type,
           "::mlir::Value":$value, "::mlir::Value":$pointer)>
  ];
}

#endif // FLYDSL_DIALECT_CONVERSION_FLYTOLLVM_LOWERING_INTERFACES_TD
