// Interfaces of Fly's types and attributes.
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
    InterfaceMethod<[{
        Whether the tensor in global memory is given by its coordinates, and its address by the
        atom's state.
      }], "bool", "takesCoordinates", (ins), "", "return false;">,
    InterfaceMethod<[{
        The pairs of memories that the instruction copies between. The list is empty for an instruction
        that copies between any two.
      }], "::llvm::SmallVector<::mlir::fly::CopyRoute>", "getRoutes", (ins), "", "return {};">,
    InterfaceMethod<[{
        What an atomic does with the destination's old value; null for instructions that do not look at it.
      }], "::mlir::fly::AtomicOpAttr", "getAtomicOp", (ins), "", "return {};">,
    InterfaceMethod<"The type of the value that an atomic works on; null for other instructions.",
      "::mlir::Type", "getValType", (ins), "", "return {};">
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
    InterfaceMethod<[{
        Whether `name` is set by a tuple or a pointer, and a pass of the instruction's dialect
        makes of it the numbers that the atom carries.
      }], "bool", "isCompoundField", (ins "::llvm::StringRef":$name), "", "return false;">,
    InterfaceMethod<"The types of the values that the atom carries, in the order of their indices.",
      "::llvm::SmallVector<::mlir::Type>", "getStateFieldTypes", (ins)>,
    InterfaceMethod<"Their values where nothing was set.",
      "::llvm::SmallVector<int64_t>", "getStateFieldDefaults", (ins)>
  ];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Fly_AddressSpaceInterface : AttrInterface<"AddressSpaceInterface"> {
  let cppNamespace = "::mlir::fly";
  let description = [{
    The memory that a pointer points into: one of Fly's own (`#fly.address_space`), or one that a
    target adds.
  }];
  let methods = [
    InterfaceMethod<[{
        Bits of an address in this memory, or of the offset of a descriptor. Offsets are computed in
        as many bits.
      }], "unsigned", "getAddressBits", (ins)>,
    InterfaceMethod<"Whether a pointer is a descriptor with an offset, and not an address.",
      "bool", "isDescriptor", (ins), "", "return false;">,
    InterfaceMethod<"What the memory is called in messages: \"shared memory\".",
      "::llvm::StringRef", "getMemoryName", (ins)>
  ];
}

#endif // FLYDSL_DIALECT_FLY_INTERFACES_TD
