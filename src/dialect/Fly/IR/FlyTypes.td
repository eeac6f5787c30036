// Types of the Fly dialect. Those of the algebra hold its C++ values; equality and hash ignore how
// a dynamic number is computed and see its width and divisibility only.
#ifndef FLYDSL_DIALECT_FLY_TYPES_TD
#define FLYDSL_DIALECT_FLY_TYPES_TD

include "dialect/Fly/IR/FlyAttrs.td"
include "dialect/Fly/IR/FlyDialect.td"
include "dialect/Fly/IR/FlyInterfaces.td"

// A value of the algebra as a parameter: passed by reference, stored without the expressions of its
// dynamic numbers (see FlyTypeStorage.h).
class Fly_LayoutParameter<string cppName>
    : AttrOrTypeParameter<cppName, "a value of the layout algebra"> {
  let cppAccessorType = "const " # cppName # " &";
  let allocator = "$_dst = ::mlir::fly::detail::anonymous($_self);";
}
def Fly_IntTupleParameter : Fly_LayoutParameter<"::flydsl::layout::IntTuple">;
def Fly_LayoutValueParameter : Fly_LayoutParameter<"::flydsl::layout::Layout">;
def Fly_ComposedLayoutParameter : Fly_LayoutParameter<"::flydsl::layout::ComposedLayout">;
def Fly_AnyLayoutParameter : Fly_LayoutParameter<"::flydsl::layout::AnyLayout">;
def Fly_TileParameter : Fly_LayoutParameter<"::flydsl::layout::Tile">;
def Fly_SwizzleParameter : Fly_LayoutParameter<"::flydsl::layout::Swizzle">;
def Fly_CoordSwizzleParameter : Fly_LayoutParameter<"::flydsl::layout::CoordSwizzle">;

class Fly_StaticType<string cppName, string typeMnemonic, list<Trait> traits = []>
    : Fly_Type<cppName, typeMnemonic,
               !listconcat(traits, [DeclareTypeInterfaceMethods<Fly_MayStaticTypeInterface>])> {
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// The algebra
//===----------------------------------------------------------------------===//

def Fly_IntTuple : Fly_StaticType<"IntTuple", "int_tuple"> {
  let summary = "a shape, stride, coordinate or index: `!fly.int_tuple<(8,(?{div=4},2))>`";
  let parameters = (ins Fly_IntTupleParameter:$value);
}

def Fly_Layout : Fly_StaticType<"Layout", "layout"> {
  let summary = "a function from coordinates to indices: `!fly.layout<(8,16):(1,8)>`";
  let parameters = (ins Fly_LayoutValueParameter:$value);
}

def Fly_ComposedLayout : Fly_StaticType<"ComposedLayout", "composed_layout"> {
  let summary = "inner(offset + outer(c)): `!fly.composed_layout<S<3,3,3> o 0 o (8,64):(64,1)>`";
  let parameters = (ins Fly_ComposedLayoutParameter:$value);
}

def Fly_Swizzle : Fly_StaticType<"Swizzle", "swizzle"> {
  let summary = "an XOR of index bits: `!fly.swizzle<S<mask,base,shift>>`";
  let parameters = (ins Fly_SwizzleParameter:$value);
}

def Fly_CoordSwizzle : Fly_StaticType<"CoordSwizzle", "coord_swizzle"> {
  let summary = "an XOR of one mode's bits with another's: `!fly.coord_swizzle<CS<3,0,[0],0,[1]>>`";
  let parameters = (ins Fly_CoordSwizzleParameter:$value);
}

def Fly_Tile : Fly_StaticType<"Tile", "tile"> {
  let summary = "a tiler, one mode each: `!fly.tile<[8|64]>`, `!fly.tile<[*|4:2]>`";
  let parameters = (ins Fly_TileParameter:$value);
}

def Fly_Basis : Fly_StaticType<"Basis", "basis"> {
  let summary = "a scaled unit vector of the coordinates: `!fly.basis<2E1E0>`";
  let parameters = (ins Fly_IntTupleParameter:$value);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Fly_Pointer : Fly_Type<"Pointer", "ptr"> {
  let summary = "a typed pointer: `!fly.ptr<f32, global, align<16>, S<3,3,3>>`";
  let description = [{
    The address space is `#fly.address_space` or another attribute with AddressSpaceInterface. The alignment is in bytes; it
    is printed where it is not the element's own. The swizzle is applied to the index of each
    access.
  }];
  let parameters = (ins
    "::mlir::Type":$elemTy,
    "::mlir::Attribute":$addressSpace,
    "int64_t":$alignment,
    Fly_SwizzleParameter:$swizzle
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::mlir::Type":$elemTy, "::mlir::Attribute":$addressSpace)>,
    TypeBuilderWithInferredContext<(ins "::mlir::Type":$elemTy, "::mlir::Attribute":$addressSpace,
                                        "int64_t":$alignment)>,
    TypeBuilderWithInferredContext<(ins "::mlir::Type":$elemTy, "::mlir::fly::AddressSpace":$space)>
  ];
  let extraClassDeclaration = [{
    /// The alignment that an element of the type has by itself, in bytes.
    static int64_t getTrivialAlignment(::mlir::Type elemTy);
    /// What every index that this pointer stands for is a multiple of, in elements.
    int64_t getValueDivisibility() const;
    /// The same pointer, known to stand at a multiple of `divisibility` elements.
    PointerType withValueDivisibility(int64_t divisibility) const;
    /// The address space, and whether it is `space` of Fly's own.
    AddressSpaceInterface getSpace() const;
    bool isIn(::mlir::fly::AddressSpace space) const;
  }];
}

def Fly_MemRef : Fly_Type<"MemRef", "memref"> {
  let summary = "a pointer with a layout: `!fly.memref<f32, global, (4,8):(8,1), align<16>>`";
  let parameters = (ins
    "::mlir::Type":$elemTy,
    "::mlir::Attribute":$addressSpace,
    Fly_AnyLayoutParameter:$layout,
    "int64_t":$alignment,
    Fly_SwizzleParameter:$swizzle
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::mlir::fly::PointerType":$pointer,
                                        "const ::flydsl::layout::AnyLayout &":$layout)>
  ];
  let extraClassDeclaration = [{
    /// The type of the tensor's iterator.
    PointerType getPointerType() const;
    /// What every index that the iterator stands for is a multiple of, in elements.
    int64_t getValueDivisibility() const;
    /// Whether the address space is `space` of Fly's own.
    bool isIn(::mlir::fly::AddressSpace space) const;
  }];
}

def Fly_CoordTensor : Fly_StaticType<"CoordTensor", "coord_tensor"> {
  let summary = "coordinates as a tensor: `!fly.coord_tensor<(0,?), (8,64):(1E0,1E1)>`";
  let parameters = (ins Fly_IntTupleParameter:$base, Fly_AnyLayoutParameter:$layout);
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

def Fly_CopyAtom : Fly_StaticType<"CopyAtom", "copy_atom"> {
  let summary = "a copy instruction for values of so many bits: `!fly.copy_atom<!fly.universal_copy<128>, 32>`";
  let parameters = (ins "::mlir::Type":$copyOp, "int32_t":$valBits);
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$copyOp, "int32_t":$valBits), [{
    return $_get(copyOp.getContext(), copyOp, valBits);
  }]>];
  let extraClassDeclaration = [{
    /// Threads of the instruction.
    ::flydsl::layout::Layout getThrLayout() const;
    /// (thread, value) to value of the block, in units of `getValBits()`; throws LayoutError where the
    /// instruction's bits are not whole values.
    ::flydsl::layout::Layout getThrValLayoutSrc() const;
    ::flydsl::layout::Layout getThrValLayoutDst() const;
    ::flydsl::layout::Layout getThrValLayoutRef() const;
    /// Whether `fly.atom.set_value` applies.
    bool isStateful() const;
  }];
}

def Fly_MmaAtom : Fly_StaticType<"MmaAtom", "mma_atom"> {
  let summary = "a matrix instruction: `!fly.mma_atom<!fly.universal_fma<1x1x1, (f32, f32) -> f32>>`";
  let parameters = (ins "::mlir::Type":$mmaOp);
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$mmaOp), [{
    return $_get(mmaOp.getContext(), mmaOp);
  }]>];
  let extraClassDeclaration = [{
    ::flydsl::layout::Layout getThrLayout() const;
    ::flydsl::layout::IntTuple getShapeMNK() const;
    /// The element type of an operand.
    ::mlir::Type getValType(::mlir::fly::MmaOperand operand) const;
    /// (thread, value) to column-major index in the operand's tile.
    ::flydsl::layout::Layout getThrValLayout(::mlir::fly::MmaOperand operand) const;
    /// Whether `fly.atom.set_value` applies.
    bool isStateful() const;
  }];
}

def Fly_TiledCopy : Fly_StaticType<"TiledCopy", "tiled_copy"> {
  let summary = "a copy atom spread over threads and values of a tile";
  let parameters = (ins
    "::mlir::fly::CopyAtomType":$copyAtom,
    "::mlir::fly::LayoutType":$layoutThrVal,
    "::mlir::fly::TileType":$tileMN
  );
  let genVerifyDecl = 1;
}

def Fly_TiledMma : Fly_StaticType<"TiledMma", "tiled_mma"> {
  let summary = "an mma atom repeated over (M, N, K), its tile permuted";
  let parameters = (ins
    "::mlir::fly::MmaAtomType":$mmaAtom,
    "::mlir::fly::LayoutType":$atomLayout,
    "::mlir::fly::TileType":$permutation
  );
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `[*|*|*]`: no permutation.
    static TileType getDefaultPermutationMNK(::mlir::MLIRContext *context);
  }];
}

//===----------------------------------------------------------------------===//
// Instructions of any target
//===----------------------------------------------------------------------===//

class Fly_CopyOpType<string cppName, string typeMnemonic>
    : Fly_StaticType<cppName, typeMnemonic, [DeclareTypeInterfaceMethods<Fly_CopyOpTypeInterface>]>;

def Fly_CopyOpUniversalCopy : Fly_CopyOpType<"CopyOpUniversalCopy", "universal_copy"> {
  let summary = "one thread moves so many bits: `!fly.universal_copy<128>`";
  // A copy that is not temporal moves data that nobody reads again soon, so that caches need not
  // keep them: `!fly.universal_copy<128, nontemporal = true>`.
  let parameters = (ins "int32_t":$bitSize, DefaultValuedParameter<"bool", "false">:$nontemporal);
  let hasCustomAssemblyFormat = 0;
  let assemblyFormat = "`<` $bitSize (`,` `nontemporal` `=` $nontemporal^)? `>`";
  let builders = [TypeBuilder<(ins "int32_t":$bitSize), [{ return $_get($_ctxt, bitSize, false); }]>];
  let genVerifyDecl = 1;
}

def Fly_CopyOpUniversalAtomic : Fly_CopyOpType<"CopyOpUniversalAtomic", "universal_atomic"> {
  let summary = "one thread combines one value with memory: `!fly.universal_atomic<add, f32>`";
  let parameters = (ins
    "::mlir::fly::AtomicOpAttr":$atomicOp,
    "::mlir::Type":$valType,
    StringRefParameter<"the LLVM synchronisation scope", [{""}]>:$syncscope
  );
  let hasCustomAssemblyFormat = 0;
  let assemblyFormat = "`<` $atomicOp `,` $valType (`,` $syncscope^)? `>`";
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins
      "::mlir::fly::AtomicOpAttr":$atomicOp, "::mlir::Type":$valType,
      CArg<"::llvm::StringRef", [{""}]>:$syncscope), [{
    return $_get(valType.getContext(), atomicOp, valType, syncscope);
  }]>];
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::fly::CopyRoute> getRoutes() const;";
}

def Fly_MmaOpUniversalFMA : Fly_StaticType<"MmaOpUniversalFMA", "universal_fma", [
    DeclareTypeInterfaceMethods<Fly_MmaOpTypeInterface>]> {
  let summary = "one thread, one fused multiply-add: `!fly.universal_fma<1x1x1, (f32, f32) -> f32>`";
  let parameters = (ins "::mlir::Type":$elemTy);
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$elemTy), [{
    return $_get(elemTy.getContext(), elemTy);
  }]>];
}

#endif // FLYDSL_DIALECT_FLY_TYPES_TD
