// Interfaces of Fly's types and operations.
#ifndef FLYDSL_DIALECT_FLY_INTERFACES_TD
#define FLYDSL_DIALECT_FLY_INTERFACES_TD

include "mlir/IR/OpBase.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Fly_MayStaticTypeInterface : TypeInterface<"MayStaticTypeInterface"> {
  let cppNamespace = "::mlir::fly";
  let description = [{
    A type whose values may be known from the type alone: no `?` inside, no state set at run time.
    `rebuildStaticValue` builds such a value in its normal form (constructors over
    `fly.make_int_tuple()`); it returns null where `current` is in that form already or where the
    type is not static.
  }];
  let methods = [
    InterfaceMethod<"Whether the type determines the value.", "bool", "isStatic", (ins)>,
    InterfaceMethod<"Builds the value in normal form.", "::mlir::Value", "rebuildStaticValue",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$current)>
  ];
}

def Fly_CopyOpTypeInterface : TypeInterface<"CopyOpTypeInterface"> {
  let cppNamespace = "::mlir::fly";
  let description = [{
    The instruction of a copy atom. Its layouts map (thread, bit) to a bit of the moved block:
    `Src` as the source is read, `Dst` as the destination is written, and `Ref` the one that a tiled
    copy's thread-value layout is written in. `CopyAtomType` recasts bits to values.
  }];
  let methods = [
    InterfaceMethod<"Threads of the instruction: thread index to thread.",
      "::flydsl::layout::Layout", "getThrLayout", (ins)>,
    InterfaceMethod<"", "::flydsl::layout::Layout", "getThrBitLayoutSrc", (ins)>,
    InterfaceMethod<"", "::flydsl::layout::Layout", "getThrBitLayoutDst", (ins)>,
    InterfaceMethod<"", "::flydsl::layout::Layout", "getThrBitLayoutRef", (ins)>,
    InterfaceMethod<[{
        Whether one call moves a whole tile, whatever its shape, so that a copy is not taken apart
        value by value.
      }], "bool", "isWholeTileCopy", (ins), "", "return false;">,
    InterfaceMethod<"Whether the destination's old value counts, as for an atomic.",
      "bool", "isReadModifyWrite", (ins), "", "return false;">
  ];
}

def Fly_MmaOpTypeInterface : TypeInterface<"MmaOpTypeInterface"> {
  let cppNamespace = "::mlir::fly";
  let description = [{
    The instruction of an mma atom: D = A * B + C for an M x K tile A, an N x K tile B and M x N
    tiles C and D. The thread-value layouts map (thread, value) to the column-major index in the
    operand's tile.
  }];
  let methods = [
    InterfaceMethod<"", "::flydsl::layout::Layout", "getThrLayout", (ins)>,
    InterfaceMethod<"The tile's (M, N, K).", "::flydsl::layout::IntTuple", "getShapeMNK", (ins)>,
    InterfaceMethod<"", "::mlir::Type", "getValTypeA", (ins)>,
    InterfaceMethod<"", "::mlir::Type", "getValTypeB", (ins)>,
    InterfaceMethod<"", "::mlir::Type", "getValTypeC", (ins)>,
    InterfaceMethod<"", "::mlir::Type", "getValTypeD", (ins)>,
    InterfaceMethod<"", "::flydsl::layout::Layout", "getThrValLayoutA", (ins)>,
    InterfaceMethod<"", "::flydsl::layout::Layout", "getThrValLayoutB", (ins)>,
    InterfaceMethod<"", "::flydsl::layout::Layout", "getThrValLayoutC", (ins)>
  ];
}

def Fly_StatefulOpTypeInterface : TypeInterface<"StatefulOpTypeInterface"> {
  let cppNamespace = "::mlir::fly";
  let description = [{
    An instruction of an atom with operands of its own beside the tensors, which
    `fly.atom.set_value` sets by name (an offset, a scale, a mask).
  }];
  let methods = [
    InterfaceMethod<[{
        The index of the field `name` among the values that the atom carries, or none where the
        instruction has no such field.
      }], "::std::optional<unsigned>", "getStateFieldIndex", (ins "::llvm::StringRef":$name)>,
    InterfaceMethod<"The types of the values that the atom carries, in the order of their indices.",
      "::llvm::SmallVector<::mlir::Type>", "getStateFieldTypes", (ins)>,
    InterfaceMethod<"Their values where nothing was set.",
      "::llvm::SmallVector<int64_t>", "getStateFieldDefaults", (ins)>
  ];
}

// How an atom becomes instructions. Attached to the types above by the conversion, as external
// models, so that the dialect itself knows no target's intrinsics.
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

#endif // FLYDSL_DIALECT_FLY_INTERFACES_TD
